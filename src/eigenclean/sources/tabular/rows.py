"""Labels, ids and texts of a table: few bytes per row, so they are always in memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.memory import refuse_empty
from eigenclean.sources.tabular.column_arrays import texts, vector
from eigenclean.sources.tabular.columns import Columns
from eigenclean.sources.tabular.table import Table


@dataclass(frozen=True, eq=False)
class RowValues:
    """Labels, ids and texts of all rows of a table."""

    labels: Array
    ids: Array | None
    texts: list[str] | None
    n_rows: int


def row_columns(columns: Columns) -> list[str]:
    """The columns that are read for `RowValues`."""
    names = (columns.label, columns.id, columns.text)
    return list(dict.fromkeys(name for name in names if name is not None))


def row_values(
    table: Table, small: pa.Table, columns: Columns, labels: Array | None, n_rows: int | None = None
) -> RowValues:
    """Labels (as names of classes where the table has them), ids and texts out of the columns in ``small``."""
    by = table.name
    if n_rows is None:
        n_rows = small.num_rows if small.num_columns else table.count()
    refuse_empty(n_rows, by=by)
    if columns.label is not None:
        labels = vector(small.column(columns.label), by=by, what="labels")
        class_names = table.class_names().get(columns.label)
        if class_names is not None:
            labels = _name_classes(labels, class_names, by=by)
    assert labels is not None  # choose_columns insists on a label column otherwise
    shown = None if columns.text is None else texts(small.column(columns.text))
    return RowValues(labels, _ids(small, columns.id, by=by), shown, n_rows)


def _name_classes(labels: Array, names: Sequence[str], *, by: str) -> Array:
    if labels.dtype.kind not in "iu":
        return labels
    unknown = (labels >= len(names)) | (labels < -1)
    if unknown.any():
        first = int(np.argmax(unknown))
        raise InvalidData(
            f"{by}: labels must be numbers of its {len(names)} classes, got {labels[first].item()} in row {first}"
        )
    # Hugging Face writes -1 for "no label"; as the empty string it is refused like any other missing label.
    result: Array = np.array([*names, ""])[labels.astype(np.int64)]
    return result


def _ids(table: pa.Table, column: str | None, *, by: str) -> Array | None:
    if column is None:
        return None
    ids = table.column(column)
    if ids.null_count:
        raise InvalidData(f"{by}: ids must be complete, but {ids.null_count} of the column {column!r} are missing")
    return vector(ids, by=by, what="ids")
