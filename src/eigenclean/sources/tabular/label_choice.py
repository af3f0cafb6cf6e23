"""Which columns can hold the labels when nobody said so and none has a usual name; a single one is taken."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.sources.tabular.columns import (
    ID_NAMES,
    IMAGE_NAMES,
    LABEL_NAMES,
    TEXT_NAMES,
    ColumnOptions,
    index_columns,
)
from eigenclean.sources.tabular.table import Table
from eigenclean.tables.names import is_row_name, names_identifier, numbered_columns
from eigenclean.tables.values import is_string

_SAMPLE_ROWS = 5000  # rows that are looked at
MAX_CLASSES, MAX_NUMBERS = 1000, 20  # different names, or whole numbers, that may be classes


def find_label_columns(table: Table, options: ColumnOptions) -> list[str]:
    """The columns that can hold labels; none if a column has a usual name.

    Names of classes repeat: a column of texts or whole numbers is a candidate if it has few different values.

    >>> from eigenclean.sources.tabular.frames import FrameTable
    >>> rows = {"width": [1.5, 2.5, 3.5, 4.5], "species": ["ant", "bee", "ant", "bee"]}
    >>> find_label_columns(FrameTable(pa.table(rows)), ColumnOptions())
    ['species']
    >>> find_label_columns(FrameTable(pa.table({**rows, "island": ["x", "x", "y", "y"]})), ColumnOptions())
    ['species', 'island']
    """
    names = table.schema.names
    if any(name in names for name in LABEL_NAMES):
        return []
    usual = [name for name in names if name.lower() in LABEL_NAMES]
    if usual:
        return usual
    taken = {options.id_column, options.text_column, options.image_column, *ID_NAMES, *TEXT_NAMES, *IMAGE_NAMES}
    taken |= index_columns(table.schema) | numbered_columns(names) | {n for n in names if names.count(n) > 1}
    for chosen in (options.feature_columns, options.category_columns, options.leave_out):
        taken |= {chosen} if isinstance(chosen, str) else set(chosen or ())
    limits = {
        field.name: limit
        for field in table.schema
        if field.name not in taken
        and not is_row_name(field.name)
        and not names_identifier(field.name)
        and (limit := _most_values(field.type))
    }
    return _with_few_values(table, limits)


def _most_values(kind: Any) -> int:
    """How many different values a column of labels of this type may have; 0 for types that are no labels."""
    if is_string(kind) or pa.types.is_dictionary(kind):
        return MAX_CLASSES
    return MAX_NUMBERS if pa.types.is_integer(kind) or pa.types.is_boolean(kind) else 0


def _with_few_values(table: Table, limits: dict[str, int]) -> list[str]:
    first = next(iter(table.stream(list(limits), _SAMPLE_ROWS)), None) if limits else None
    if first is None:
        return []
    sample = first.slice(0, _SAMPLE_ROWS)
    return [
        name
        for name, limit in limits.items()
        if 2
        <= pc.count_distinct(sample.column(name), mode="only_valid").as_py()
        <= min(limit, sample.num_rows // 2)
    ]
