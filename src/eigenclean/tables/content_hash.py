"""A hash of the cells of a table that depends neither on the format nor on how the rows come in batches."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.tables.values import as_floats, as_seconds, is_date, is_null, is_quantity, numbers


class ContentHash:
    """Hashes columns batch by batch; numbers count as float64, everything else as text, names do not count.

    >>> def hashed(*batches):
    ...     content = ContentHash()
    ...     for batch in batches:
    ...         content.add(pa.record_batch(batch))
    ...     return content.value()
    >>> nothing = pa.nulls(1, pa.string())
    >>> hashed({"a": [1, 2], "b": ["x", None]}) == hashed({"a": [1.0], "b": ["x"]}, {"a": [2.0], "b": nothing})
    True
    """

    def __init__(self) -> None:
        self._columns: list[tuple[hashlib.blake2b, hashlib.blake2b]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next rows."""
        while len(self._columns) < batch.num_columns:
            self._columns.append((hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)))
        for column, (lengths, content) in zip(batch.columns, self._columns, strict=True):
            _feed(column, lengths, content)

    def value(self) -> str:
        """The hash of all that was added."""
        whole = hashlib.blake2b(digest_size=16)
        for lengths, content in self._columns:
            whole.update(lengths.digest() + content.digest())
        return whole.hexdigest()


def _feed(column: "pa.Array[Any]", lengths: "hashlib.blake2b", content: "hashlib.blake2b") -> None:
    kind = column.type
    if is_quantity(kind) or pa.types.is_boolean(kind):
        return _feed_floats(as_floats(column), content)
    if is_date(kind):
        return _feed_floats(as_seconds(column), content)
    try:
        texts: Any = column.cast(pa.large_string())
    except pa.ArrowException:  # lists, structures: what Python writes for them
        content.update("".join(f"{cell!r}\0" for cell in column.to_pylist()).encode("utf-8", "surrogatepass"))
        return None
    sizes = numbers(pc.binary_length(texts))
    lengths.update(np.ascontiguousarray(np.where(is_null(texts), -1, sizes), dtype="<i8").data)
    known = texts.drop_null()  # what is under a null may be anything
    _, places, memory = known.buffers()
    if memory is not None and len(known):
        offsets = np.frombuffer(places, np.int64, count=len(known) + 1, offset=8 * known.offset)
        content.update(memoryview(memory)[int(offsets[0]) : int(offsets[-1])])
    return None


def _feed_floats(values: Any, content: "hashlib.blake2b") -> None:
    canonical = np.where(np.isnan(values), np.nan, values) + 0.0  # one NaN, one zero
    content.update(np.ascontiguousarray(canonical, dtype="<f8").data)
