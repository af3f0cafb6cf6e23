"""``.npy`` features with their labels in a second file."""

import csv
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.mapped import map_array
from eigenclean.sources.arrays.memory import MemorySource
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.columns import LABEL_NAMES


def open_npy(path: Path, *, name: str, labels: Array | None = None) -> MemorySource:
    """Memory-mapped features; their ``labels`` have to come from elsewhere."""
    if labels is None:
        raise InvalidData(f"{name} holds features only; give their labels with --labels, for example y.npy")
    with explain_read_errors(name, ".npy file"):
        features = map_array(path, name=name)
    return MemorySource(name, features, labels)


def read_labels(path: Path) -> Array:
    """Labels from a ``.npy`` file, or from a ``.txt`` or ``.csv`` file with one label per line."""
    name, suffix = str(path), path.suffix.lower()
    if not path.is_file():
        raise InvalidData(f"there is no label file {name}; check the path")
    if suffix == ".npy":
        with explain_read_errors(name, ".npy file"):
            return np.array(map_array(path, name=name))
    if suffix not in (".txt", ".csv"):
        raise InvalidData(f"{name}: labels are read from .npy, .txt or .csv files, got {suffix or 'no suffix'!r}")
    with explain_read_errors(name, "text file"):
        lines = _csv_cells(path) if suffix == ".csv" else path.read_text(encoding="utf-8-sig").splitlines()
    values = [line.strip() for line in lines]
    while values and not values[-1]:
        values.pop()
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(values, dtype=np.str_)


def _csv_cells(path: Path) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    for number, row in enumerate(rows, start=1):
        if len(row) > 1:
            raise InvalidData(f"{path} must have one label per line, but line {number} has {len(row)} columns")
    cells = [row[0] if row else "" for row in rows]
    return cells[1:] if cells and cells[0].strip().lower() in LABEL_NAMES else cells
