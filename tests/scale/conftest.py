"""Noisy data in every shape that comes in pieces."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

from eigenclean.arrays import Array
from eigenclean.detect import blocks


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 300 rows, for memory and stream alike, so that small data have several."""
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 300)


@pytest.fixture(scope="session")
def noisy() -> tuple[Array, Array]:
    """Digits with 96 columns in float32, and labels of which 30 % were drawn anew."""
    X, y = (np.asarray(array) for array in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    wide = np.hstack([X, np.sqrt(X)[:, ::2]]).astype(np.float32)
    return wide + 0.1 * rng.random(wide.shape, dtype=np.float32), np.where(
        rng.random(len(y)) < 0.3, rng.integers(0, 10, len(y)), y
    )


def cut_up(X: Array, y: Array) -> Iterator[tuple[int, Array, Array]]:
    bounds = [0, 700, 701, 1300, len(X)]
    for number, (start, stop) in enumerate(pairwise(bounds)):
        yield number + 8, X[start:stop], y[start:stop]  # so that 10 comes after 9


Write = Callable[[Path, Array, Array, str], Path]


@pytest.fixture(scope="session")
def write_shards() -> Write:
    """Writes a folder of .npz or .parquet shards."""
    return _write_shards


def _write_shards(folder: Path, X: Array, y: Array, kind: str) -> Path:
    folder.mkdir()
    for number, rows, labels in cut_up(X, y):
        path = folder / f"part-{number}.{kind}"
        if kind == "npz":
            np.savez(path, features=rows, labels=labels)
        else:
            lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
            pq.write_table(pa.table({"f": lists, "label": labels}), path, row_group_size=250)
    return folder
