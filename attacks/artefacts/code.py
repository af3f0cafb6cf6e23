"""Artefacts that name code: runs that choose encoders, models that choose networks, pickles in every place."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from attacks import seeds, table_seeds
from attacks.artefacts.hostile import evil_module, evil_pickles
from attacks.commands import Action
from attacks.fuzz.tables import write_npz

Attack = tuple[str, str, Any]  # name, valid input, function of the folder that spoils it and returns commands

ENCODERS = (
    "torch:{work}/run/nets.py:make_net",
    "torch:run/nets.py:make_net",
    "torch:nets.py:make_net",
    "{work}/run/nets.py:make_net",
    "nets.py:make_net",
    "torch:{work}/run/nets.py:make_net?size=16",
    "{work}/run/model.pt",
    "torchscript:{work}/run/model.pt",
    "onnx:{work}/run/model.onnx",
    "{work}/run/model.onnx",
    "sentence-transformers:{work}/run/model",
    "transformers:{work}/run/model",
    "transformers-image:{work}/run/model",
    "timm:hf-hub:somebody/model",
    "torch:os:system",
)


def encoders() -> Iterator[Attack]:
    """Runs whose record names an encoder that would be code."""
    for number, encoder in enumerate(ENCODERS):
        for command in ("page", "patch", "check", "export"):

            def spoil(work: Path, encoder: str = encoder, command: str = command) -> list[Action]:
                return _run_with_encoder(work, encoder.format(work=work), command)

            yield f"encoder {number} {command}", "image-run", spoil


def _run_with_encoder(work: Path, encoder: str, command: str) -> list[Action]:
    run = work / "run"
    (run / "nets.py").write_text(evil_module(work.parent), encoding="utf-8")
    (work / "nets.py").write_text(evil_module(work.parent), encoding="utf-8")
    (run / "model.pt").write_bytes(evil_pickles(work.parent)["global"])
    (run / "model.onnx").write_bytes(b"\x08\x07" + bytes(100))
    _write_model_folder(run / "model", work.parent)
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    options = {"encoder": encoder, "half": False, "cache": str(work / "cache")}
    summary["embedding"] |= {"encoder": encoder, "options": options, "again": options}  # names of two versions
    (run / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    (run / "manifest.json").unlink(missing_ok=True)  # a hostile run need not have one
    (run / "review.npz").unlink(missing_ok=True)
    out = str(work / "out")
    return [
        {
            "page": ["review", str(run), "--export", f"{out}.html"],
            "patch": ["review", str(run), "--patch", f"{out}.jsonl"],
            "check": ["check", str(run)],
            "export": ["export", str(run), "--to", "label-studio", "--out", f"{out}.json"],
        }[command]
    ]


def _write_model_folder(folder: Path, root: Path) -> None:
    """A model folder as Hugging Face's libraries take it, with code of its own."""
    folder.mkdir()
    (folder / "modeling_evil.py").write_text(evil_module(root), encoding="utf-8")
    (folder / "config.json").write_text(
        json.dumps({"model_type": "bert", "auto_map": {"AutoModel": "modeling_evil.X"}})
    )
    (folder / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "", "type": "modeling_evil.X"}])
    )
    (folder / "pytorch_model.bin").write_bytes(evil_pickles(root)["global"])


NETS = (
    "nets.py:make_net",
    "torch:nets.py:make_net",
    "os:system",
    "os.system",
    "__import__",
    "../nets",
    "timm:evil",
)


def models() -> Iterator[Attack]:
    """Model folders whose record names code, and pickles in the place of weights."""
    for number, net in enumerate(NETS):
        for field in ("net", "recipe.net", "recipe.augment", "recipe.name"):

            def spoil(work: Path, net: str = net, field: str = field) -> list[Action]:
                path = work / "model" / "model.json"
                record = json.loads(path.read_text(encoding="utf-8"))
                holder, _, key = field.rpartition(".")
                (record[holder] if holder else record)[key] = net
                path.write_text(json.dumps(record), encoding="utf-8")
                (work / "model" / "nets.py").write_text(evil_module(work.parent), encoding="utf-8")
                return _use_model(work)

            yield f"{field} {number}", "model", spoil
    for name in evil_pickles(Path("/")):
        for file in ("model.safetensors", "checkpoint.safetensors", "verdict.parquet"):

            def replace(work: Path, name: str = name, file: str = file) -> list[Action]:
                (work / "model" / file).write_bytes(evil_pickles(work.parent)[name])
                (work / "model" / "manifest.json").unlink(missing_ok=True)
                return _use_model(work)

            yield f"pickle {name} as {file}", "model", replace


def _use_model(work: Path) -> list[Action]:
    def load() -> Any:
        from eigenclean import RobustClassifier

        return RobustClassifier.load(work / "model").predict(table_seeds.numbers()[0])

    resume = ["train", str(work / "data.npz"), "--out", str(work / "model"), "--resume", *seeds.TRAINING]
    return [load, resume]


def moments() -> Iterator[Attack]:
    """Moments whose record names code."""
    for field in ("method", "class_type", "parameters.cut", "cut.name"):
        for number, value in enumerate(
            ("os.system", "__import__('os')", "nets.py:make_net", {"name": "os.system"}, "O")
        ):

            def spoil(work: Path, field: str = field, value: Any = value) -> list[Action]:
                path = work / "moments" / "moments.json"
                record = json.loads(path.read_text(encoding="utf-8"))
                holder, _, key = field.rpartition(".")
                (record.setdefault(holder, {}) if holder else record)[key] = value
                path.write_text(json.dumps(record), encoding="utf-8")
                return _load_moments(work)

            yield f"{field} {number}", "moments", spoil
    for name in evil_pickles(Path("/")):

        def replace(work: Path, name: str = name) -> list[Action]:
            (work / "moments" / "moments.safetensors").write_bytes(evil_pickles(work.parent)[name])
            return _load_moments(work)

        yield f"pickle {name}", "moments", replace


def _load_moments(work: Path) -> list[Action]:
    def load() -> Any:
        from eigenclean import FINE

        return FINE.load(work / "moments").judge(*table_seeds.numbers())

    return [load]


def pickles() -> Iterator[Attack]:
    """Pickles in files of arrays, in CIFAR's batches, and in the schema of a table."""
    for name in evil_pickles(Path("/")):
        for array in ("features", "labels", "ids", "images", "texts"):

            def in_archive(work: Path, name: str = name, array: str = array) -> list[Action]:
                features, labels = table_seeds.numbers()
                content = write_npz({"features": features, "labels": labels})
                (work / "data.npz").write_bytes(_with_member(content, f"{array}.npy", _object_array(work, name)))
                return [["detect", str(work / "data.npz"), "--out", str(work / "out")]]

            yield f"{name} as {array}", "npz", in_archive

        def as_labels(work: Path, name: str = name) -> list[Action]:
            (work / "labels.npy").write_bytes(_object_array(work, name))
            (work / "data.npy").write_bytes((work / "data.npy").read_bytes())
            labels = str(work / "labels.npy")
            return [["detect", str(work / "data.npy"), "--labels", labels, "--out", str(work / "out")]]

        yield f"{name} as --labels", "npy", as_labels

        def as_batch(work: Path, name: str = name) -> list[Action]:
            (work / "python" / "data_batch_2").write_bytes(evil_pickles(work.parent)[name])
            source = f"cifar10:{work / 'python'}"
            return [["embed", *seeds.embedding(work, source), "--out", str(work / "out.npz")]]

        yield f"{name} as CIFAR batch", "cifar", as_batch

        def in_schema(work: Path, name: str = name) -> list[Action]:
            return _extension_type(work, evil_pickles(work.parent)[name])

        yield f"{name} in a schema", "parquet", in_schema

        def as_truth(work: Path, name: str = name) -> list[Action]:
            (work / "truth.npy").write_bytes(_object_array(work, name))
            (work / "run" / "review.npz").write_bytes(_object_array(work, name))
            run = str(work / "run")
            return [
                ["score", run, "--truth", str(work / "truth.npy")],
                ["review", run, "--export", str(work / "out.html")],
            ]

        yield f"{name} as truth", "run", as_truth


def _object_array(work: Path, name: str) -> bytes:
    """A ``.npy`` file of objects."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|O", "fortran_order": False, "shape": (60,)})
    return buffer.getvalue() + evil_pickles(work.parent)[name]


def _with_member(content: bytes, name: str, member: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info, old.read(info))
        new.writestr(name, member)
    return buffer.getvalue()


def _extension_type(work: Path, pickled: bytes) -> list[Action]:
    """Columns of Arrow's former Python extension types, which were pickles."""
    metadata: dict[bytes | str, bytes | str] = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickled,
    }
    table = table_seeds.table()
    fields = [field.with_metadata(metadata) if field.name == "f0" else field for field in table.schema]
    changed = pa.table(table.columns, schema=pa.schema(fields))
    pq.write_table(changed, work / "data.parquet")
    with pa.ipc.new_file(str(work / "data.arrow"), changed.schema) as writer:
        writer.write_table(changed)
    return [["detect", str(work / name), "--out", str(work / "out")] for name in ("data.parquet", "data.arrow")]
