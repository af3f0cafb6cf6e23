"""Data frames, series and Arrow objects from Python, through their protocols: no data-frame library is imported."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import interchange

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.column_arrays import blocks, stack, vector
from eigenclean.sources.tabular.columns import are_features, index_columns
from eigenclean.sources.tabular.plain_types import plain_types
from eigenclean.sources.tabular.table import Table

_from_dataframe: Callable[[Any], pa.Table] = vars(interchange)["from_dataframe"]  # unknown to the type stubs


class FrameTable(Table):
    """The columns of a data frame, where they are."""

    def __init__(self, frame: Any, *, name: str | None = None) -> None:
        self.name = name or type(frame).__name__
        self._table = to_table(frame)
        self._schema = self._table.schema

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Slices of the frame."""
        yield from self._table.select(list(columns)).to_batches()


def is_frame(value: Any) -> bool:
    """Whether the object is a table or column that can be taken over by protocol.

    >>> is_frame(pa.table({"f": [1, 2]})), is_frame([1, 2])
    (True, False)
    """
    # NumPy-like objects that also speak the protocols (none today) are better taken as arrays.
    return not isinstance(value, np.ndarray) and any(
        hasattr(value, protocol) for protocol in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
    )


def is_mixed_frame(values: Any) -> bool:
    """Whether it is a frame in which not all columns are numbers, or some are missing: it has to be encoded.

    >>> is_mixed_frame(pa.table({"a": [1, 2], "b": ["x", "y"]})), is_mixed_frame(pa.table({"a": [1, 2]}))
    (True, False)
    """
    if not is_frame(values):
        return False
    table = _columns(values)
    return any(not are_features(column.type) or column.null_count for column in table.columns)


def to_table(frame: Any) -> pa.Table:
    """A data frame of any library as an Arrow table, without a copy where its memory layout allows."""
    with explain_read_errors(type(frame).__name__, "table"):
        if hasattr(frame, "__arrow_c_stream__"):
            # Not pa.table(frame): that imports pandas, if it is there, to ask whether this is one of its frames.
            return plain_types(pa.RecordBatchReader.from_stream(frame).read_all())
        if hasattr(frame, "__arrow_c_array__"):
            return plain_types(pa.Table.from_batches([pa.record_batch(frame)]))
        return _from_dataframe(frame)


def as_matrix(values: Any) -> Array:
    """Features from anything that holds them: an array, nested lists, a data frame, a column of lists.

    Arrays are returned as they are (memory maps too); shape and values are for the detector to check.

    >>> as_matrix(pa.table({"a": [1, 2], "b": [0.5, 1.5]}))
    array([[1. , 0.5], [2. , 1.5]])
    >>> as_matrix(pa.array([[1, 2], [3, 4]]))
    array([[1, 2], [3, 4]])
    """
    if not is_frame(values):
        return _array(values, what="features")
    table = _columns(values)
    table = table.drop_columns(sorted(index_columns(table.schema)))
    by = type(values).__name__
    for field in table.schema:
        if not are_features(field.type):
            raise InvalidData(
                f"{by}: features must be numbers, but the column {field.name!r} holds {field.type}; "
                "leave it out or encode it"
            )
    if table.num_rows == 0:
        return np.empty((0, table.num_columns))
    return stack(blocks(table.to_batches, by=by), table.num_rows)


def as_vector(values: Any) -> Array:
    """One value per row from anything that holds them: an array, a list, a series, an Arrow array.

    >>> as_vector(pa.array(["cat", "dog"]))
    array(['cat', 'dog'], dtype='<U3')
    """
    if not is_frame(values):
        return _array(values, what="labels")
    try:
        table = _columns(values)
    except InvalidData:
        if hasattr(values, "__array__"):  # a series of mixed objects: let the check of the labels say what is wrong
            return _array(values, what="labels")
        raise
    by = type(values).__name__
    if table.num_columns != 1:
        raise InvalidData(f"{by}: labels must be one value per row, got {table.num_columns} columns; choose one")
    return vector(table.column(0), by=by, what="labels", bounded=False)  # or texts


def _columns(values: Any) -> pa.Table:
    """A frame as it is, a single series or Arrow array as a table of one column."""
    try:
        return to_table(values)
    except InvalidData:  # not a table then, but perhaps a column; there is no cheaper way to ask
        with explain_read_errors(type(values).__name__, "table or column"):
            column: Any = values if hasattr(values, "__arrow_c_stream__") else [_arrow_array(values)]
            return pa.Table.from_arrays([pa.chunked_array(column)], names=["values"])


def _arrow_array(values: Any) -> "pa.Array[Any]":
    return values if isinstance(values, pa.Array) else pa.array(values)


def _array(values: Any, *, what: str) -> Array:
    if isinstance(values, np.ndarray):
        return values
    try:
        array = np.asarray(values)
        if array.dtype.kind == "U" and isinstance(values, list | tuple):
            # NumPy spells out what is not text: None and NaN would become classes of that name.
            mixed = any(not isinstance(value, str) for value in values)
            return np.asarray(values, dtype=object) if mixed else array
        return array
    except ValueError:  # a ragged list
        raise InvalidData(f"{what} must form one array, but the rows differ in length") from None
