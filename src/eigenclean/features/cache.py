"""Features that were computed before, found by a hash of the content: a folder per encoder, append-only files.

Each run appends to a pair of files of its own, ``NAME.rows`` (numbers, one row after the other) and ``NAME.keys``
(16 bytes for each row), so runs never wait for each other. Rows are on the disk before their keys are: whatever
kills a run, a key that is there has its row, and a row without a key does not count. The folder may be deleted at
any time.
"""

import os
import re
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData
from eigenclean.files import explain_write_errors, make_folder, sweep, write_json
from eigenclean.sources.images.lazy import KEY_BYTES

VARIABLE = "EIGENCLEAN_CACHE"
KEY = np.dtype(f"S{KEY_BYTES}")
NO_KEY = b""
_ABOUT = "encoder.json"  # only for people to read
_NAME = re.compile(r"[0-9a-f]{32}\.([1-9]\d*)x(f[248])\.keys")  # columns and type of the rows


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Where features are stored: ``folder`` if given, else EIGENCLEAN_CACHE, else the user's cache folder."""
    if folder is not None:
        return Path(folder)
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "eigenclean" / "features"


class FeatureCache:
    """The features that one encoder has computed, found by the keys of the contents.

    Args:
        folder: of all encoders; each has a subfolder named by its key.
        key: the encoder's key.
        about: description of the encoder, for people who look into the folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = FeatureCache(folder, "k1", {"name": "mine"})
    ...     cache.add(np.array([b"cat", b"dog"], KEY), np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    ...     cache.flush()
    ...     again = FeatureCache(folder, "k1", {"name": "mine"})
    ...     again.find(np.array([b"dog", b"cow"], KEY)), again.take(np.array([1])).tolist()
    (array([ 1, -1]), [[3.0, 4.0]])
    """

    def __init__(self, folder: str | os.PathLike[str], key: str, about: Mapping[str, Any]) -> None:
        self._folder = make_folder(Path(folder) / key)
        sweep(self._folder, _ABOUT)  # what a killed process left
        self._about = dict(about)
        self._width: int | None = None
        self._dtype: np.dtype[Any] | None = None
        self._keys: list[Array] = []
        self._rows: list[Array] = []
        for path in sorted(self._folder.glob("*.keys")):
            self._open(path)
        self._index()
        self._appending: Path | None = None
        self._unflushed: list[Array] = []  # keys whose rows are written, but perhaps not on the disk yet

    def __len__(self) -> int:
        return len(self._order)

    def find(self, keys: Array) -> Ints:
        """The row of each key for `take`, -1 where the cache does not have it; may run in several threads."""
        if len(self._sorted) == 0:
            return np.full(len(keys), -1, dtype=np.intp)
        nearest = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        return np.where(self._sorted[nearest] == keys, self._order[nearest], -1)

    def take(self, rows: Ints) -> Array:
        """The features in those rows of the cache."""
        if self._width is None or self._dtype is None:
            raise InvalidData("cache: there are no features yet")
        features = np.empty((len(rows), self._width), dtype=self._dtype)
        ends = np.cumsum([len(stored) for stored in self._rows])
        file_of_row = np.searchsorted(ends, rows, side="right")
        for file in np.unique(file_of_row).tolist():
            in_file = file_of_row == file
            start = int(ends[file]) - len(self._rows[file])
            features[in_file] = self._rows[file][rows[in_file] - start]
        return features

    def add(self, keys: Array, features: Array) -> None:
        """Append rows; they are found after `refresh`."""
        if self._width is None or self._dtype is None:
            self._width, self._dtype = int(features.shape[1]), features.dtype.newbyteorder("<")
        if features.shape[1] != self._width:
            raise InvalidData(
                f"encoder {self._about.get('name')}: gave {features.shape[1]} features where it gave {self._width} "
                f"before; delete {self._folder}"
            )
        if self._appending is None:
            # The name says how the rows are stored, so that no other file is needed to read them.
            self._appending = self._folder / f"{uuid.uuid4().hex}.{self._width}x{self._dtype.str[1:]}.keys"
            write_json(self._folder / _ABOUT, {**self._about, "n_features": self._width})
        with self._explain_write_errors(), open(self._appending.with_suffix(".rows"), "ab") as rows:
            rows.write(np.ascontiguousarray(features, dtype=self._dtype).data)
        self._unflushed.append(keys)

    def flush(self) -> None:
        """Everything that was added is on the disk when this returns: rows first, then their keys."""
        if self._appending is None or not self._unflushed:
            return
        with self._explain_write_errors():
            _append(self._appending.with_suffix(".rows"), b"")
            _append(self._appending, np.concatenate(self._unflushed).astype(KEY).tobytes())
        self._unflushed = []

    def refresh(self) -> None:
        """Flush, and make what was added visible to `find`."""
        self.flush()  # keys that are not in the file of their rows would be written to that of others
        if self._appending is not None:
            self._open(self._appending)
            self._appending = None
            self._index()

    def _explain_write_errors(self) -> AbstractContextManager[None]:
        return explain_write_errors(self._folder, advice=f"choose another place with --cache or {VARIABLE}")

    def _open(self, path: Path) -> None:
        """Map the complete rows of one pair of files; what was cut off by a crash is passed over."""
        match = _NAME.fullmatch(path.name)
        if match is None:
            return
        width, dtype = int(match[1]), np.dtype(f"<{match[2]}")
        if (self._width or width, self._dtype or dtype) != (width, dtype):
            return
        rows = path.with_suffix(".rows")
        with suppress(OSError):
            n_rows = min(path.stat().st_size // KEY_BYTES, rows.stat().st_size // (width * dtype.itemsize))
            if n_rows:
                self._width, self._dtype = width, dtype
                self._keys.append(np.fromfile(path, dtype=KEY, count=n_rows))
                self._rows.append(np.memmap(rows, dtype, mode="r", shape=(n_rows, width)))

    def _index(self) -> None:
        keys = np.concatenate(self._keys) if self._keys else np.empty(0, KEY)
        self._order: Ints = np.argsort(keys, kind="stable")
        self._sorted: Array = keys[self._order]


def _append(path: Path, content: bytes) -> None:
    """Append and wait until the whole file is on the disk."""
    with open(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
