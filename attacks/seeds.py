"""Small valid images, runs, patches and models, which attacks then spoil; for tables see `table_seeds`."""

import gzip
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
from PIL import Image

from attacks import table_seeds
from eigenclean.cli.app import run

NETWORK = """
from torch import nn

def make_net():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
"""


def picture(seed: int, kind: str = "PNG") -> bytes:
    """A small image."""
    values = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, kind)
    return buffer.getvalue()


def write_network(folder: Path) -> None:
    """``nets.py``: an encoder of the user's own, so small that it costs nothing."""
    (folder / "nets.py").write_text(NETWORK)


def write_images(folder: Path) -> None:
    """``images/``: two class folders with images of several formats."""
    write_network(folder)
    for i in range(12):
        kind = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")[i % 6]
        path = folder / "images" / ("cat" if i % 2 else "dog") / f"{i}.{kind.lower()}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(i, kind))


def write_image_table(folder: Path) -> None:
    """``data.csv`` with a column of paths, and ``bytes.parquet`` with the images themselves."""
    write_network(folder)
    (folder / "pictures").mkdir()
    for i in range(10):
        (folder / "pictures" / f"{i}.png").write_bytes(picture(i))
    rows = "".join(f"{i},{'ab'[i % 2]},pictures/{i}.png\n" for i in range(10))
    (folder / "data.csv").write_text("id,label,image\n" + rows)
    content = {"image": [picture(i) for i in range(10)], "label": ["ab"[i % 2] for i in range(10)]}
    pq.write_table(pa.table(content), folder / "bytes.parquet")


def write_cifar(folder: Path) -> None:
    """``binary/`` and ``python/``: both versions of CIFAR-10, one image of each class and batch."""
    write_network(folder)
    pixels = np.random.default_rng(0).integers(0, 256, (10, 3072), dtype=np.uint8)
    labels = list(range(10))
    for version in ("binary", "python"):
        (folder / version).mkdir()
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        records = b"".join(bytes([label]) + row.tobytes() for label, row in zip(labels, pixels, strict=True))
        (folder / "binary" / f"{name}.bin").write_bytes(records)
        (folder / "python" / name).write_bytes(cifar_pickle(pixels, labels))


def cifar_pickle(pixels: Any, labels: list[int]) -> bytes:
    """A batch as Python 2 wrote it, opcode by opcode: {"data": array, "labels": list of table_seeds.numbers}."""

    def text(value: bytes) -> bytes:
        return b"T" + struct.pack("<i", len(value)) + value

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(" + number(0) + b"t" + text(b"b") + b"tR"
    dtype = b"cnumpy\ndtype\n(" + text(b"u1") + number(0) + number(1) + b"tR"
    dtype += b"(" + number(3) + text(b"|") + b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
    rows, columns = pixels.shape
    state = (
        b"(" + number(1) + b"(" + number(rows) + number(columns) + b"t" + dtype + b"\x89" + text(pixels.tobytes())
    )
    data = array + state + b"tb"
    listed = b"(" + b"".join(map(number, labels)) + b"l"
    return b"\x80\x02}(" + text(b"data") + data + text(b"labels") + listed + b"u."


def write_idx(folder: Path) -> None:
    """``mnist/``: idx files, one of them compressed."""
    write_network(folder)
    pixels = np.random.default_rng(0).integers(0, 256, (12, 28, 28), dtype=np.uint8)
    root = folder / "mnist"
    root.mkdir()
    for prefix in ("train", "t10k"):
        images = struct.pack(">HBB3I", 0, 8, 3, *pixels.shape) + pixels.tobytes()
        labels = struct.pack(">HBBI", 0, 8, 1, 12) + bytes(i % 10 for i in range(12))
        (root / f"{prefix}-images-idx3-ubyte").write_bytes(images)
        (root / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels, mtime=0))


def write_lists(folder: Path) -> None:
    """``webvision/`` and ``clothing/``: images that are named in lists."""
    write_network(folder)
    (folder / "webvision" / "info").mkdir(parents=True)
    (folder / "webvision" / "google").mkdir()
    (folder / "clothing" / "images").mkdir(parents=True)
    names = [f"{i}.jpg" for i in range(8)]
    for i, name in enumerate(names):
        (folder / "webvision" / "google" / name).write_bytes(picture(i, "JPEG"))
        (folder / "clothing" / "images" / name).write_bytes(picture(i, "JPEG"))
    listed = "".join(f"google/{name} {i % 3}\n" for i, name in enumerate(names))
    (folder / "webvision" / "info" / "train_filelist_google.txt").write_text(listed)
    keys, labels = (folder / "clothing" / f"noisy_{name}.txt" for name in ("train_key_list", "label_kv"))
    keys.write_text("".join(f"images/{name}\n" for name in names))
    labels.write_text("".join(f"images/{name} {i % 3}\n" for i, name in enumerate(names)))


def decisions(ids: list[Any], old: list[Any], new: list[Any], data_hash: str) -> str:
    """A patch of one relabelling per row, as JSON lines."""
    return "".join(
        json.dumps(
            {
                "id": id,
                "decision": "relabel",
                "old": before,
                "new": after,
                "score": 0.25,
                "reviewer": "Ada",
                "time": "2026-01-31T12:00:00Z",
                "data_hash": data_hash,
            }
        )
        + "\n"
        for id, before, after in zip(ids, old, new, strict=True)
    )


def detect(source: Path, out: Path, *more: str) -> None:
    """Run `eigenclean detect`, which must succeed."""
    assert run(["detect", str(source), "--out", str(out), *more]) == 0


def write_run(folder: Path) -> None:
    """``data.npz``, ``run/`` as `detect` writes it, with two decisions, and the truth."""
    from eigenclean.review import Review
    from eigenclean.review.store import Change

    table_seeds.write_npz(folder)
    table_seeds.write_truth(folder)
    detect(folder / "data.npz", folder / "run", "--csv")
    review = Review.open(folder / "run")
    try:
        verdict = review.suspects.verdict
        for row, state in zip(review.suspects.rows[:2].tolist(), ("keep", "relabel"), strict=False):
            given = verdict.labels[row].item()
            label = (given + 1) % 3 if state == "relabel" else None
            review.store.record(
                [Change(verdict.ids[row].item(), given, state, label)], reviewer="Ada", action=state, request=state
            )
    finally:
        review.close()


def write_review_run(folder: Path) -> None:
    """``data.npz`` with many wrong labels, and ``run/`` about it: some dozen suspects."""
    rng = np.random.default_rng(0)
    right = np.arange(300) % 3
    features = rng.normal(size=(300, 4)).astype(np.float32) + 4 * np.eye(3, 4, dtype=np.float32)[right]
    labels = np.where(np.arange(300) % 5 == 0, (right + 1) % 3, right)
    np.savez(folder / "data.npz", features=features, labels=labels)
    detect(folder / "data.npz", folder / "run", "--no-report")


def write_patches(folder: Path) -> None:
    """``data.csv`` and ``data.npz``, each with a patch, applied to copies in place so that there are undo logs."""
    from eigenclean.patch import Patch
    from eigenclean.sources import open_source

    table_seeds.write_csv(folder)
    table_seeds.write_npz(folder)
    for name, suffix in (("data.csv", "csv"), ("data.npz", "npz")):
        source = open_source(str(folder / name))
        rows = [7, 17, 27]
        other = {str(a): b for a, b in (("ant", "bee, the"), ("bee", "cat"), ("cat", "ant"))} | {
            "0": 1,
            "1": 2,
            "2": 0,
        }
        old = source.labels[rows].tolist()
        text = decisions(source.ids[rows].tolist(), old, [other[str(label)] for label in old], source.data_hash())
        (folder / f"{suffix}.jsonl").write_text(text)
    Patch.load(folder / "npz.jsonl").save(folder / "npz.parquet")
    write_csv_applied(folder)


def write_csv_applied(folder: Path) -> None:
    """``applied/data.csv``: the patch is applied, and an undo log lies beside the file."""
    (folder / "applied").mkdir()
    content = (folder / "data.csv").read_bytes()
    (folder / "applied" / "data.csv").write_bytes(content)
    patch = str(folder / "csv.jsonl")
    assert run(["patch", "apply", str(folder / "applied" / "data.csv"), patch, "--in-place"]) == 0


def write_patched(write: Callable[[Path], None], folder: Path) -> None:
    """A data file, and ``patch.jsonl`` with three of its labels changed."""
    from eigenclean.sources import open_source

    write(folder)
    source = open_source(str(next(folder.glob("data.*"))))
    rows, other = [7, 17, 27], {"ant": "bee, the", "bee": "cat", "cat": "ant"}
    old = source.labels[rows].tolist()
    text = decisions(source.ids[rows].tolist(), old, [other[label] for label in old], source.data_hash())
    (folder / "patch.jsonl").write_text(text)


def write_image_patch(folder: Path) -> None:
    """``images/``, to which the patch ``moves.jsonl`` has been applied: two images have moved."""
    from eigenclean.sources import open_source

    write_images(folder)
    source = open_source(str(folder / "images"))
    rows = [0, len(source.ids) - 1]
    old = source.labels[rows].tolist()
    new = ["dog" if label == "cat" else "cat" for label in old]
    (folder / "moves.jsonl").write_text(decisions(source.ids[rows].tolist(), old, new, source.data_hash()))
    assert run(["patch", "apply", str(folder / "images"), str(folder / "moves.jsonl"), "--in-place"]) == 0


def write_model(folder: Path) -> None:
    """``model/`` as `train` writes it, and the data that it was trained on."""
    table_seeds.write_npz(folder)
    command = ["train", str(folder / "data.npz"), "--out", str(folder / "model"), *TRAINING]
    assert run(command) == 0


TRAINING = ("--recipe", "standard", "--epochs", "2", "--device", "cpu", "--set", "net.hidden=[8]")


def write_probe(folder: Path) -> None:
    """``model/`` of the recipe `probe`, which needs no torch, and the data that it was trained on."""
    table_seeds.write_csv(folder)
    assert run(["train", str(folder / "data.csv"), "--recipe", "probe", "--out", str(folder / "model")]) == 0


def write_moments(folder: Path) -> None:
    """``moments/`` as `FINE.save` writes them."""
    from eigenclean import FINE

    FINE(keep_moments=True).fit(*table_seeds.numbers()).save(folder / "moments")


def write_cache(folder: Path) -> None:
    """``images/``, and ``cache/`` with their features."""
    write_images(folder)
    assert run(["embed", *embedding(folder, folder / "images"), "--out", str(folder / "features.npz")]) == 0
    (folder / "features.npz").unlink()


def write_image_run(folder: Path) -> None:
    """``images/``, and ``run/`` about their embedding by an encoder of the user's own."""
    for i in range(24):
        path = folder / "images" / ("cat" if i % 2 else "dog") / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(i))
    write_network(folder)
    detect(folder / "images", folder / "run", *embedding(folder, "")[1:], "--method", "fine")


def embedding(folder: Path, source: Path | str) -> list[str]:
    """Arguments of `embed` for a source in ``folder``, with the encoder there."""
    encoder = f"torch:{folder / 'nets.py'}:make_net?size=16"
    return [str(source), "--encoder", encoder, "--device", "cpu", "--cache", str(folder / "cache")]
