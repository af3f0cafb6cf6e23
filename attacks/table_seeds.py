"""Small valid tables and arrays in every format, which attacks then spoil."""

import gzip
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

N = 60


def numbers(seed: int = 0) -> tuple[Any, Any]:
    """Features of three classes, and labels of which a tenth are wrong."""
    rng = np.random.default_rng(seed)
    right = np.arange(N) % 3
    features = rng.normal(size=(N, 4)).astype(np.float32) + 3 * np.eye(3, 4, dtype=np.float32)[right]
    return features, np.where(np.arange(N) % 10 == 7, (right + 1) % 3, right)


def table() -> pa.Table:
    """The same as columns, with ids and texts."""
    features, labels = numbers()
    names = np.array(["ant", "bee", "cat"])
    return pa.table(
        {
            "id": [f"r{i:02d}" for i in range(N)],
            "label": names[labels].tolist(),
            **{f"f{j}": features[:, j] for j in range(4)},
            "text": [f"this is text {i}" for i in range(N)],
        }
    )


def write_csv(folder: Path) -> None:
    """``data.csv``."""
    pyarrow.csv.write_csv(table(), str(folder / "data.csv"), pyarrow.csv.WriteOptions(quoting_style="none"))


def write_json_lines(folder: Path) -> None:
    """``data.jsonl``."""
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table().to_pylist()))


def write_json(folder: Path) -> None:
    """``data.json``: a list of records."""
    (folder / "data.json").write_text(json.dumps(table().to_pylist()))


def write_compressed(folder: Path) -> None:
    """``data.csv.gz``."""
    write_csv(folder)
    (folder / "data.csv.gz").write_bytes(gzip.compress((folder / "data.csv").read_bytes(), mtime=0))
    (folder / "data.csv").unlink()


def write_workbook(folder: Path) -> None:
    """``data.xlsx``, with fixed times, so that equal workbooks have equal bytes."""
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    book.properties.created = book.properties.modified = datetime(2026, 1, 31)
    rows = table().to_pylist()
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        sheet.append(row)
    book.save(folder / "data.xlsx")


def write_parquet(folder: Path) -> None:
    """``data.parquet``."""
    pq.write_table(table(), folder / "data.parquet", row_group_size=25)


def write_arrow(folder: Path) -> None:
    """``data.arrow``."""
    with pa.ipc.new_file(str(folder / "data.arrow"), table().schema) as writer:
        writer.write_table(table())


def write_npz(folder: Path) -> None:
    """``data.npz``, and the right labels in ``truth.npy`` and ``truth.npz``."""
    features, labels = numbers()
    np.savez(folder / "data.npz", features=features, labels=labels, ids=np.arange(N) + 100)


def write_truth(folder: Path) -> None:
    """``truth.npy`` and ``truth.npz``: the right labels."""
    np.save(folder / "truth.npy", np.arange(N) % 3)
    np.savez(folder / "truth.npz", labels=np.arange(N) % 3, ids=np.arange(N) + 100)


def write_npy(folder: Path) -> None:
    """``data.npy``, and labels in three kinds of files."""
    features, labels = numbers()
    np.save(folder / "data.npy", features)
    np.save(folder / "labels.npy", labels)
    (folder / "labels.txt").write_text("\n".join(map(str, labels.tolist())) + "\n")
    (folder / "labels.csv").write_text("label\n" + "\n".join(map(str, labels.tolist())) + "\n")


def write_probabilities(folder: Path) -> None:
    """Labels alone, and predicted probabilities of their classes in four kinds of files."""
    features, labels = numbers()
    scores = np.exp(features[:, :3].astype(np.float64))
    p = scores / scores.sum(axis=1, keepdims=True)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "p.npy", p)
    np.savez(folder / "p.npz", pred_probs=p, classes=np.arange(3), ids=np.arange(N))
    named = pa.table({"id": np.arange(N)[::-1], **{str(c): p[::-1, c] for c in (2, 0, 1)}})
    pq.write_table(named, folder / "p.parquet")
    pyarrow.csv.write_csv(named, str(folder / "p.csv"))


def write_shards(folder: Path) -> None:
    """``shards/``: the rows in three Parquet files."""
    (folder / "shards").mkdir()
    for number in range(3):
        pq.write_table(
            table().slice(20 * number, 20), folder / "shards" / f"part-{number}.parquet", row_group_size=7
        )


def write_hugging_face(folder: Path) -> None:
    """``hf/``: a saved Hugging Face data set."""
    features, labels = numbers()
    data = pa.table(
        {
            "embedding": pa.array(features.tolist(), pa.list_(pa.float32())),
            "label": pa.array(labels, pa.int64()),
            "text": [f"text {i}" for i in range(N)],
        }
    )
    root = folder / "hf"
    root.mkdir()
    with pa.ipc.new_stream(str(root / "data-00000-of-00001.arrow"), data.schema) as writer:
        writer.write_table(data, max_chunksize=25)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "1", "_split": "train"}
    described = {
        "embedding": {"feature": {"dtype": "float32", "_type": "Value"}, "_type": "Sequence"},
        "label": {"names": ["ant", "bee", "cat"], "_type": "ClassLabel"},
        "text": {"dtype": "string", "_type": "Value"},
    }
    (root / "state.json").write_text(json.dumps(state))
    (root / "dataset_info.json").write_text(json.dumps({"features": described}))
