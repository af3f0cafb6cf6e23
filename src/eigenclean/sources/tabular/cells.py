"""Cells as Python objects, for formats in which every cell has a type of its own."""

from typing import Any

import pyarrow as pa


def column_of(cells: list[Any]) -> Any:
    """The cells as an Arrow column; cells of several types become texts.

    >>> column_of([1, 2.5, None]).type, column_of([1, "x"]).to_pylist()
    (DataType(double), ['1', 'x'])
    """
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return _texts(cells)
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return _texts(cells)


def _texts(cells: list[Any]) -> Any:
    return pa.array([cell if cell is None else _text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str:
    return ("true" if cell else "false") if isinstance(cell, bool) else str(cell)
