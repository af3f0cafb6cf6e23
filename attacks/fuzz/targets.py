"""Every reader with a valid input, the files to mutate, and the commands that read them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from attacks import seeds, table_seeds
from attacks.commands import Action
from attacks.fuzz import tables, texts
from attacks.fuzz.mutations import Mutation

PARQUET, ARROW, STREAM = tables.parquet_mutations(), tables.arrow_mutations(), tables.arrow_stream_mutations()


@dataclass(frozen=True)
class Target:
    """A reader that is attacked.

    Attributes:
        name: what it reads.
        build: writes a valid input into a folder.
        files: patterns of files to mutate, each with the mutations of its format beside those of bytes.
        actions: commands that read the input in a folder and write to ``out`` there.
        share: how many cases it gets, relative to the others.
        folder: subfolder whose files are removed, renamed and replaced as well; None if there is nothing to mutate.
        pipes: whether a named pipe may take the place of a file; `FINE.load` would wait for it, see SECURITY.md.
    """

    name: str
    build: Callable[[Path], None]
    files: Mapping[str, tuple[Mutation, ...]]
    actions: Callable[[Path], list[Action]]
    share: float = 1.0
    folder: str | None = None
    pipes: bool = True


def _detect(source: str, *more: str) -> Callable[[Path], list[Action]]:
    return lambda folder: [
        ["detect", str(folder / source), "--out", str(folder / "out"), *more],
        ["detect", str(folder / source), "--out", str(folder / "out"), "--method", "fine", "--no-report", *more],
    ]


def _streamed(source: str) -> Callable[[Path], list[Action]]:
    return lambda folder: [
        *_detect(source)(folder),
        ["detect", str(folder / source), "--out", str(folder / "out"), "--engine", "stream", "--no-report"],
    ]


def _embedded(*sources: str) -> Callable[[Path], list[Action]]:
    def actions(folder: Path) -> list[Action]:
        named = [source.replace("PATH", str(folder)) for source in sources]
        return [["embed", *seeds.embedding(folder, name), "--out", str(folder / "out.npz")] for name in named]

    return actions


def _csv(folder: Path) -> list[Action]:
    source, out = str(folder / "data.csv"), str(folder / "out")
    return [
        *_detect("data.csv")(folder),
        ["detect", source, "--out", out, "--text-column", "text", "--id-column", "id", "--no-report"],
        ["noise", source, "--out", f"{out}.npz"],
        ["check", source, "--method", "fine"],
        ["patch", "show", source],
    ]


def _patched(name: str) -> Callable[[Path], list[Action]]:
    def actions(folder: Path) -> list[Action]:
        source, out, patch = str(folder / name), str(folder / "out"), str(folder / "patch.jsonl")
        return [
            ["detect", source, "--out", out, "--method", "fine", "--no-report"],
            ["patch", "apply", source, patch, "--in-place"],
            ["detect", source, "--out", out, "--text-column", "text", "--id-column", "id", "--no-report"],
            ["patch", "apply", source, patch, "--out", str(folder / f"out{name.removeprefix('data')}")],
        ]

    return actions


def _labels(folder: Path) -> list[Action]:
    return [
        [
            "detect",
            str(folder / "data.npy"),
            "--labels",
            str(folder / f"labels.{kind}"),
            "--out",
            str(folder / "out"),
        ]
        for kind in ("npy", "txt", "csv")
    ]


def _probabilities(folder: Path) -> list[Action]:
    labels, out = str(folder / "labels.npy"), str(folder / "out")
    return [
        ["detect", labels, "--pred-probs", str(folder / f"p.{kind}"), "--out", out, "--no-report"]
        for kind in ("npy", "npz", "parquet", "csv")
    ]


def _image_columns(folder: Path) -> list[Action]:
    out = str(folder / "out.npz")
    return [
        ["embed", *seeds.embedding(folder, folder / "data.csv"), "--image-column", "image", "--out", out],
        ["embed", *seeds.embedding(folder, folder / "bytes.parquet"), "--image-column", "image", "--out", out],
    ]


def _patches(folder: Path) -> list[Action]:
    csv, npz, out = str(folder / "data.csv"), str(folder / "data.npz"), str(folder / "out")
    return [
        ["patch", "show", str(folder / "csv.jsonl")],
        ["patch", "apply", csv, str(folder / "csv.jsonl"), "--out", f"{out}.csv"],
        ["patch", "apply", npz, str(folder / "npz.jsonl"), "--out", f"{out}.npz"],
        ["patch", "apply", npz, str(folder / "npz.parquet"), "--out", f"{out}.npy"],
        ["patch", "show", str(folder / "npz.parquet")],
        ["patch", "apply", csv, str(folder / "csv.jsonl"), "--in-place"],
        ["patch", "revert", str(folder / "applied" / "data.csv"), str(folder / "csv.jsonl"), "--in-place"],
        ["train", npz, "--patch", str(folder / "npz.jsonl"), "--out", out, *seeds.TRAINING],
        ["check", npz, "--patch", str(folder / "npz.jsonl"), "--method", "fine"],
    ]


def _moved_images(folder: Path) -> list[Action]:
    images, patch = str(folder / "images"), str(folder / "moves.jsonl")
    return [
        ["patch", "revert", images, patch, "--in-place"],
        ["patch", "apply", images, patch, "--in-place"],
        ["patch", "apply", images, patch, "--out", str(folder / "out.csv")],
    ]


def _run_folder(folder: Path) -> list[Action]:
    run, out = str(folder / "run"), str(folder / "out")
    return [
        ["review", run, "--export", f"{out}.html"],
        ["review", run, "--patch", f"{out}.jsonl"],
        ["check", run],
        ["export", run, "--to", "csv", "--out", f"{out}.csv"],
        ["export", run, "--to", "label-studio", "--out", f"{out}.json"],
        ["score", run, "--truth", str(folder / "truth.npz")],
        ["detect", str(folder / "data.npz"), "--out", run],
    ]


def _truth(folder: Path) -> list[Action]:
    return [["score", str(folder / "run"), "--truth", str(folder / f"truth.{kind}")] for kind in ("npy", "npz")]


def _model(folder: Path) -> list[Action]:
    def load() -> Any:
        from eigenclean import RobustClassifier

        return RobustClassifier.load(folder / "model").predict(table_seeds.numbers()[0])

    resume = ["train", str(folder / "data.npz"), "--out", str(folder / "model"), "--resume", *seeds.TRAINING]
    return [load, load, resume, ["score", str(folder / "model"), "--truth", str(folder / "data.npz")]]


def _probe(folder: Path) -> list[Action]:
    def load() -> Any:
        from eigenclean import RobustClassifier

        return RobustClassifier.load(folder / "model").classes_

    predicted = str(folder / "out.csv")
    return [load, ["predict", str(folder / "model"), str(folder / "data.csv"), "--out", predicted]]


def _moments(folder: Path) -> list[Action]:
    def load() -> None:
        from eigenclean import FINE

        fine = FINE.load(folder / "moments")
        with suppress(TypeError, ValueError):  # changed numbers may load and not judge: an ordinary Python error
            fine.judge(*table_seeds.numbers())

    return [load]


TARGETS: tuple[Target, ...] = (
    Target("csv", table_seeds.write_csv, {"data.csv": texts.CSV}, _csv, 2.5),
    *(
        Target(
            kind,
            partial(seeds.write_patched, write),
            {name: mutations, "patch.jsonl": texts.JSON_LINES},
            _patched(name),
        )
        for kind, write, name, mutations in (
            ("json-lines", table_seeds.write_json_lines, "data.jsonl", texts.JSON_LINES),
            ("json", table_seeds.write_json, "data.json", texts.JSON),
            ("csv-gz", table_seeds.write_compressed, "data.csv.gz", texts.COMPRESSED_CSV),
            ("excel", table_seeds.write_workbook, "data.xlsx", tables.WORKBOOK),
        )
    ),
    Target("parquet", table_seeds.write_parquet, {"data.parquet": PARQUET}, _streamed("data.parquet"), 1.5),
    Target("arrow", table_seeds.write_arrow, {"data.arrow": ARROW}, _streamed("data.arrow"), 1.5),
    Target("npz", table_seeds.write_npz, {"data.npz": tables.NPZ}, _detect("data.npz"), 1.5),
    Target(
        "npy",
        table_seeds.write_npy,
        {"data.npy": tables.NPY, "labels.npy": tables.NPY, "labels.txt": texts.CSV, "labels.csv": texts.CSV},
        _labels,
        1.5,
    ),
    Target(
        "probabilities",
        table_seeds.write_probabilities,
        {
            "labels.npy": tables.NPY,
            "p.npy": tables.NPY,
            "p.npz": tables.NPZ,
            "p.parquet": PARQUET,
            "p.csv": texts.CSV,
        },
        _probabilities,
        1.5,
    ),
    Target("shards", table_seeds.write_shards, {"shards/*": PARQUET}, _streamed("shards"), 1.0, "shards"),
    Target(
        "hugging-face",
        table_seeds.write_hugging_face,
        {"hf/*.arrow": STREAM, "hf/*.json": texts.JSON},
        _streamed("hf"),
        1.0,
        "hf",
    ),
    Target("images", seeds.write_images, {"images/*/*": ()}, _embedded("PATH/images"), 1.5, "images"),
    Target(
        "image-column",
        seeds.write_image_table,
        {"data.csv": texts.CSV, "bytes.parquet": PARQUET, "pictures/*": ()},
        _image_columns,
        1.0,
        "pictures",
    ),
    Target(
        "cifar",
        seeds.write_cifar,
        {"*/*batch*": ()},
        _embedded("cifar10:PATH/binary", "cifar10:PATH/python"),
        1.0,
        "python",
    ),
    Target("idx", seeds.write_idx, {"mnist/*": ()}, _embedded("mnist:PATH/mnist"), 0.7, "mnist"),
    Target(
        "image-lists",
        seeds.write_lists,
        {"webvision/info/*": texts.CSV, "clothing/*.txt": texts.CSV},
        _embedded("mini-webvision:PATH/webvision", "clothing1m:PATH/clothing"),
        1.0,
        "clothing",
    ),
    Target(
        "patch",
        seeds.write_patches,
        {"*.jsonl": texts.JSON_LINES, "npz.parquet": PARQUET, "applied/*.undo.json": texts.JSON},
        _patches,
        2.5,
    ),
    Target(
        "image-patch",
        seeds.write_image_patch,
        {"moves.jsonl": texts.JSON_LINES, "images/.eigenclean-moved.json": texts.JSON},
        _moved_images,
        1.5,
        "images",
    ),
    Target(
        "run",
        seeds.write_run,
        {
            "run/summary.json": texts.JSON,
            "run/verdict.parquet": PARQUET,
            "run/report.json": texts.JSON,
            "run/review.sqlite": (),
            "run/*": (),
        },
        _run_folder,
        4.0,
        "run",
    ),
    Target("truth", seeds.write_run, {"truth.np*": (*tables.NPY, *tables.NPZ)}, _truth, 1.0),
    Target(
        "model",
        seeds.write_model,
        {"model/*.json": texts.JSON, "model/*.jsonl": texts.JSON_LINES, "model/*": ()},
        _model,
        2.0,
        "model",
    ),
    Target(
        "probe",
        seeds.write_probe,
        {"model/*.json": texts.JSON, "model/*.npz": tables.NPZ, "model/*": ()},
        _probe,
        1.5,
        "model",
    ),
    Target(
        "moments",
        seeds.write_moments,
        {"moments/*.json": texts.JSON, "moments/*": ()},
        _moments,
        1.0,
        "moments",
        pipes=False,
    ),
    Target("feature-cache", seeds.write_cache, {"cache/*/*": ()}, _embedded("PATH/images"), 0.7, "cache"),
)
