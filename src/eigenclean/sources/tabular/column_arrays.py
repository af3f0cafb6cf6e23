"""Arrow columns as NumPy arrays: feature columns as n x d blocks, other columns as vectors."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidData
from eigenclean.sources.tabular.columns import is_list
from eigenclean.tables.values import is_string, numbers

MIN_BATCH_BYTES = 1 << 23  # of a batch that is encoded at once
MAX_BYTES = {"labels": 1000, "ids": 4096}  # a name of a class; the longest path of a file
Stream = Callable[[], Iterable[pa.RecordBatch]]


def blocks(stream: Stream, *, by: str, what: str = "features") -> Iterator[Array]:
    """The record batches as n x d arrays, all columns side by side; a single column is not copied.

    Lists of unequal length and missing values are `InvalidData`.

    >>> table = pa.table({"f": [[1, 2], [3, 4]]})
    >>> list(blocks(table.to_batches, by="table"))
    [array([[1, 2], [3, 4]])]
    """
    start, width = 0, None
    for batch in stream():
        if batch.num_rows == 0:
            continue
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if _has_nulls(column):
                raise _missing_values(stream, by=by, what=what)
            columns.append(_block(column, by=by, name=name, start=start))
        # Concatenation also finds the common type, the same one in every batch.
        block = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        width = width or block.shape[1]
        if block.shape[1] != width:
            raise _ragged(by, batch.schema.names[0], start, block.shape[1], width)
        yield block
        start += len(block)


def regroup(chunks: Iterable[Array], rows: int) -> Iterator[Array]:
    """The same rows, ``rows`` at a time; copied only where a group crosses the border of two chunks.

    >>> [len(group) for group in regroup([np.zeros((3, 1)), np.zeros((4, 1))], rows=2)]
    [2, 2, 2, 1]
    """
    held: list[Array] = []
    missing = rows
    for chunk in chunks:
        rest = chunk
        while len(rest) >= missing:
            yield _joined([*held, rest[:missing]])
            rest, held, missing = rest[missing:], [], rows
        if len(rest):
            held.append(rest)
            missing -= len(rest)
    if held:
        yield _joined(held)


def stack(chunks: Iterable[Array], n_rows: int) -> Array:
    """All chunks as one array of ``n_rows`` rows; the first chunk itself when there is no other."""
    out: Array | None = None
    start = 0
    for chunk in chunks:
        if out is None and len(chunk) == n_rows:
            out = chunk
            continue
        if out is None:  # filled as it is read, so the data are never in memory twice
            out = np.empty((n_rows, chunk.shape[1]), dtype=chunk.dtype)
        out[start : start + len(chunk)] = chunk
        start += len(chunk)
    return np.empty((0, 0)) if out is None else out


def vector(column: "pa.ChunkedArray[Any]", *, by: str, what: str, bounded: bool = True) -> Array:
    """One value per row: numbers, or strings. With missing values, an array of objects that has None there.

    ``bounded`` refuses texts that are too long for labels and ids.
    """
    kind: pa.DataType = column.type
    if is_list(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind):
        raise InvalidData(f"{by}: {what} must be one value per row, but the column holds {kind}")
    if len(column) == 0:
        return np.empty(0, dtype=np.int64)
    if bounded:
        _check_lengths(column, by=by, what=what)
    try:
        values = _plain(column)
        return np.array(column.to_pylist(), dtype=object) if values is None else values
    except (pa.ArrowException, ValueError) as error:  # for example, bytes that are not text
        raise InvalidData(f"{by}: {what} must be integers or strings, but the column holds {kind}") from error


def texts(column: "pa.ChunkedArray[Any]") -> list[str]:
    """Each value as text for people; missing ones are empty.

    >>> texts(pa.chunked_array([["a", None]]))
    ['a', '']
    """
    with suppress(pa.ArrowException):  # what Arrow cannot write, Python can
        column = column.cast(pa.string())
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _check_lengths(column: "pa.ChunkedArray[Any]", *, by: str, what: str) -> None:
    """Raise `InvalidData` for long texts: an array of NumPy has room for the longest one in every row."""
    most = MAX_BYTES[what]
    for chunk in column.chunks:
        values: Any = chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk
        if not is_string(values.type):
            return
        lengths: Any = pc.binary_length(values.cast(pa.large_string()))
        longest = pc.max(lengths).as_py() or 0
        if longest > most:
            begin = values[pc.index(lengths, longest).as_py()].as_py()[:20]
            raise InvalidData(
                f"{by}: {what} must have at most {most} bytes, but one has {longest} ({begin!r}…); "
                "is this a column of texts?"
            )


def _plain(column: "pa.ChunkedArray[Any]") -> Array | None:
    kind: pa.DataType = column.type
    if column.null_count:
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.concatenate([numbers(chunk) for chunk in column.chunks])
    if not pa.types.is_dictionary(kind):
        if not is_string(kind):
            column = column.cast(pa.string())  # dates and the like
        column = column.dictionary_encode()  # texts repeat: make each a Python string only once
    vectors = []
    chunk: Any
    for chunk in column.chunks:
        distinct = chunk.dictionary.to_pylist()
        if None in distinct or not len(chunk):
            vectors.append(np.array(chunk.to_pylist(), dtype=object))
        else:
            vectors.append(np.array(distinct)[numbers(chunk.indices)])
    return np.concatenate([values for values in vectors if len(values)])


def _block(column: "pa.Array[Any]", *, by: str, name: str, start: int) -> Array:
    values: Any = column
    width = 1
    while isinstance(values, pa.ExtensionArray) or is_list(values.type):
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
            continue
        size = _list_size(values, by=by, name=name, start=start, per_row=width)
        values, width = values.flatten(), width * size
    return numbers(values).reshape(len(column), width)


def _list_size(lists: Any, *, by: str, name: str, start: int, per_row: int) -> int:
    if pa.types.is_fixed_size_list(lists.type):
        size = int(lists.type.list_size)
    else:
        lengths = numbers(pc.list_value_length(lists))
        size = int(lengths[0])
        different = lengths != size
        if different.any():
            first = int(np.argmax(different))
            raise _ragged(by, name, start + first // per_row, int(lengths[first]), size)
    if size == 0:
        raise InvalidData(f"{by}: the lists of the column {name!r} are empty; every row needs its numbers")
    return size


def _ragged(by: str, name: str, row: int, got: int, expected: int) -> InvalidData:
    return InvalidData(
        f"{by}: the lists of the column {name!r} must have equal length, but row {row} has {got} values "
        f"where the rows before have {expected}; drop or repair it"
    )


def _has_nulls(column: Any) -> bool:
    if isinstance(column, pa.ExtensionArray):
        return _has_nulls(column.storage)
    return bool(column.null_count) or (is_list(column.type) and _has_nulls(column.flatten()))


def _null_rows(column: Any) -> Bools:
    if isinstance(column, pa.ExtensionArray):
        return _null_rows(column.storage)
    missing: Bools = numbers(column.is_null()).copy()
    if is_list(column.type):
        valid = column.drop_null()
        sizes = numbers(pc.list_value_length(valid))
        owner = np.repeat(np.flatnonzero(~missing), sizes)
        missing[owner[_null_rows(valid.flatten())]] = True
    return missing


def _missing_values(stream: Stream, *, by: str, what: str) -> InvalidData:
    """Only now that it is known to go wrong are the rows counted, in a second pass."""
    start, count, first, first_column = 0, 0, -1, ""
    for batch in stream():
        missing = [_null_rows(column) for column in batch.columns]
        rows = np.logical_or.reduce(missing)
        if first < 0 and rows.any():
            first = start + int(np.argmax(rows))
            first_column = next(
                name for name, mask in zip(batch.schema.names, missing, strict=True) if mask[first - start]
            )
        count += int(rows.sum())
        start += batch.num_rows
    return InvalidData(
        f"{by}: {what} must be complete, but {count} of {start} rows have missing values, "
        f"the first is row {first} (column {first_column!r}); drop or fill those rows"
    )


def _joined(chunks: list[Array]) -> Array:
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def joined_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are not small: every batch costs some work for each of its columns.

    >>> [batch.num_rows for batch in joined_batches(pa.table({"a": [1, 2, 3]}).to_batches(max_chunksize=1))]
    [3]
    """
    waiting: list[pa.RecordBatch] = []
    n_bytes = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        waiting.append(batch)
        n_bytes += batch.nbytes
        if n_bytes >= MIN_BATCH_BYTES or _is_encoded(batch):
            yield from _join(waiting)
            waiting, n_bytes = [], 0
    yield from _join(waiting)


def _join(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches if len(batches) < 2 else pa.Table.from_batches(batches).combine_chunks().to_batches()


def _is_encoded(batch: pa.RecordBatch) -> bool:
    """Whether columns have dictionaries, which may differ from batch to batch."""
    return any(pa.types.is_dictionary(kind) for kind in batch.schema.types)
