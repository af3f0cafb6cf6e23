"""Labels by several annotators: columns of a table, a table with one row per label, or a matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array, Ints, preview
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.evidence import Annotations
from eigenclean.sources.base import Source
from eigenclean.sources.relabel.removal import is_counted
from eigenclean.sources.tabular.columns import (
    ID_NAMES,
    LABEL_NAMES,
    ColumnOptions,
    check_name,
    index_columns,
    matching,
)
from eigenclean.sources.tabular.frames import FrameTable, as_vector, is_frame, to_table
from eigenclean.sources.tabular.source import open_table
from eigenclean.sources.tabular.table import Table


def has_annotators(options: ColumnOptions) -> bool:
    """Whether the options name annotators."""
    return options.annotator_columns is not None or options.annotator_column is not None


def open_annotated(table: Table, options: ColumnOptions) -> Source:
    """The rows of a table whose labels are the majority's, with all `Annotations` beside them.

    With ``annotator_columns`` a row is a sample, and each annotator has a column. With ``annotator_column`` a row
    is one label, and rows with the same id are one sample, whose other columns are those of its first row.
    """
    if options.annotator_columns is not None and options.annotator_column is not None:
        raise InvalidOption(
            "annotators have a column each or share one: give --annotator-columns or --annotator-column, not both"
        )
    rows = table.read(list(dict.fromkeys(table.schema.names))).replace_schema_metadata(table.schema.metadata)
    if options.annotator_column is not None:
        items, annotations, options = _long(table, rows, options)
    else:
        items, annotations, options = _wide(table, rows, options)
    return with_annotations(items, annotations, options, name=table.name)


def with_annotations(
    items: pa.Table, annotations: Annotations, options: ColumnOptions, *, name: str, compare: bool = True
) -> Source:
    """A source of these rows with the majority's labels; rows without any label are left out.

    Unless it is asked to ``compare`` annotators, labels that are all by one, or one for each row, are just labels.
    """
    labelled, n_rows = np.flatnonzero(annotations.per_row > 0), annotations.n_rows
    if len(labelled) < n_rows:
        items, annotations = items.take(labelled), annotations.take(labelled)
    compared = compare or (len(annotations.names) > 1 and int(annotations.per_row.max()) > 1)
    if compared:
        annotations.check(by=name)
    settings = replace(options, annotator_columns=None, annotator_column=None, label_column=None)
    source = open_table(FrameTable(items, name=name), settings, labels=annotations.majority)
    if len(labelled) < n_rows and is_counted(source.ids):
        source.ids = labelled  # the numbers of the rows where they come from
    source.annotations, source.n_unlabelled = annotations if compared else None, n_rows - len(labelled)
    return source


def annotation_matrix(labels: Any) -> Annotations | None:
    """Labels with one column for each annotator, from an array, nested lists or a frame; None if they are a vector.

    >>> annotation_matrix([[0, 1], [1, -1]])
    Annotations: 3 labels by 2 annotators for 2 rows
    >>> annotation_matrix([0, 1]) is None
    True
    """
    if isinstance(labels, Annotations):
        return labels
    if is_frame(labels):
        try:
            table = to_table(labels)
        except InvalidData:  # a series
            return None
        table = table.drop_columns(sorted(index_columns(table.schema)))  # of pandas; it is no annotator
        if table.num_columns < 2:
            return None
        columns = {name: table.column(name) for name in table.column_names}
        return _from_columns(columns, {}, by="labels")
    if isinstance(labels, np.ndarray):
        return Annotations.from_matrix(labels, by="labels") if labels.ndim == 2 else None
    if not isinstance(labels, list | tuple) or not labels or not isinstance(labels[0], list | tuple | np.ndarray):
        return None
    width = len(labels[0])
    if any(not isinstance(row, list | tuple | np.ndarray) or len(row) != width for row in labels):
        raise InvalidData("labels: rows differ in their number of annotators; write None where a label is missing")
    values = np.asarray(labels, dtype=object)
    if all(isinstance(value, int | np.integer) for value in values.ravel().tolist()):
        values = values.astype(np.int64)
    return Annotations.from_matrix(values, by="labels")


def split_annotations(labels: Any) -> tuple[Annotations | None, Array]:
    """Annotations and the majority's labels, or None and the labels themselves."""
    annotations = annotation_matrix(labels)
    if annotations is None:
        return None, as_vector(labels)
    annotations.check(by="labels")
    return annotations, annotations.majority


def _wide(table: Table, rows: pa.Table, options: ColumnOptions) -> tuple[pa.Table, Annotations, ColumnOptions]:
    assert options.annotator_columns is not None
    if options.label_column is not None:
        raise InvalidOption("the labels are in the columns of the annotators: leave out --label-column")
    names = matching(table.schema, options.annotator_columns, set(), by=table.name)
    if len(names) < 2:
        columns = preview(np.array(table.schema.names, dtype=np.str_))
        raise InvalidData(
            f"{table.name}: --annotator-columns must name two columns at least, got "
            f"{repr(names[0]) if names else 'none'}; its columns are {columns}; for one use --label-column"
        )
    for option in ("id_column", "text_column", "image_column"):
        if getattr(options, option) in names:
            raise InvalidOption(
                f"{table.name}: the column {getattr(options, option)!r} cannot be an annotator and "
                f"--{option.replace('_', '-')} at once"
            )
    annotations = _from_columns({name: rows.column(name) for name in names}, table.class_names(), by=table.name)
    return rows.drop_columns(list(names)), annotations, options


def _long(table: Table, rows: pa.Table, options: ColumnOptions) -> tuple[pa.Table, Annotations, ColumnOptions]:
    annotator_column = options.annotator_column
    assert annotator_column is not None
    check_name(table.schema, annotator_column, by=table.name)
    known = table.schema.names
    label = options.label_column or next((name for name in LABEL_NAMES if name in known), None)
    id_column = options.id_column or next((name for name in ID_NAMES if name in known), None)
    for column, option in ((label, "--label-column"), (id_column, "--id-column")):
        if column is None:
            holds = (
                "the labels" if option == "--label-column" else "the samples, as each label has a row of its own"
            )
            raise InvalidData(
                f"{table.name}: choose {holds} with {option}; its columns are "
                f"{preview(np.array(known, dtype=np.str_))}"
            )
        check_name(table.schema, column, by=table.name)
    assert label is not None and id_column is not None
    if len({annotator_column, label, id_column}) < 3:
        raise InvalidOption(f"{table.name}: annotators, labels and ids must be three columns")
    for column in (annotator_column, id_column):
        n_missing = _cells(rows.column(column), None).count(None)
        if n_missing:
            raise InvalidData(
                f"{table.name}: the column {column!r} must be complete, but {n_missing} of its cells are missing"
            )
    samples, firsts = _in_order(rows.column(id_column).to_pylist())
    annotators, first_labels = _in_order([str(name) for name in rows.column(annotator_column).to_pylist()])
    names = np.array([str(rows.column(annotator_column)[int(row)].as_py()) for row in first_labels])
    cells = _cells(rows.column(label), table.class_names().get(label))
    given = np.array([cell is not None for cell in cells], dtype=bool)
    annotations = Annotations.from_labels(
        samples[given], annotators[given], _common([cells])[0][given], names, len(firsts), by=table.name
    )
    items = rows.drop_columns([annotator_column, label]).take(firsts)
    return items, annotations, replace(options, id_column=id_column)


def _from_columns(columns: Mapping[str, Any], names: Mapping[str, Sequence[str]], *, by: str) -> Annotations:
    """Annotations from one column of labels for each annotator."""
    values = _common([_cells(column, names.get(name)) for name, column in columns.items()])
    given = [np.array([cell is not None for cell in column], dtype=bool) for column in values]
    rows = np.concatenate([np.flatnonzero(mask) for mask in given])
    annotators = np.repeat(np.arange(len(values)), [int(mask.sum()) for mask in given])
    labels = np.concatenate([column[mask] for column, mask in zip(values, given, strict=True)])
    n_rows = len(values[0]) if values else 0
    return Annotations.from_labels(rows, annotators, labels, np.array(list(columns)), n_rows, by=by)


def _cells(column: Any, class_names: Sequence[str] | None) -> list[Any]:
    """The labels of a column as Python values, None where one is missing."""
    cells = [None if cell != cell or cell == "" else cell for cell in column.to_pylist()]
    if class_names is None:
        return cells
    return [class_names[cell] if isinstance(cell, int) and 0 <= cell < len(class_names) else None for cell in cells]


def _common(columns: Sequence[Sequence[Any]]) -> list[Array]:
    """The same cells in one type: whole numbers if all are, else texts."""
    cells = [cell for column in columns for cell in column if cell is not None]
    numeric = all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)
    are_integers = numeric and all(float(cell).is_integer() for cell in cells)

    def convert(cell: Any) -> Any:
        if cell is None:
            return None
        return int(cell) if are_integers else cell if numeric else str(cell)

    arrays = []
    for column in columns:
        array = np.empty(len(column), dtype=object)
        array[:] = [convert(cell) for cell in column]
        arrays.append(array)
    return arrays


def _in_order(values: Sequence[Any]) -> tuple[Ints, Ints]:
    """For each value its number in the order of first appearance, and the row where each of them appears first."""
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.intp)
    return codes, np.unique(codes, return_index=True)[1]
