"""The role of a column, found from its type, its name and its values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.arrays import Floats, Ints
from eigenclean.tables.names import is_row_name, names_identifier
from eigenclean.tables.sample import ColumnSample
from eigenclean.tables.values import (
    as_floats,
    as_texts,
    codes,
    date_format,
    is_date,
    is_quantity,
    is_string,
    missing_texts,
    number_style,
    spelled_numbers,
    to_arrow,
)

MIN_ROWS = 20  # with fewer rows, numbers that are all different or repeat the labels may do so by chance
_UNIQUE = 0.95  # share of different values from which texts are said to be unique per row
_MAX_GAPS = 3  # an identifier leaves out at most two of three numbers
_TEXT_WORDS = 4  # words in the average cell of a free text
_TEXT_NAMES = ("text", "texts", "sentence", "comment", "comments", "description", "note", "notes", "review", "body")


class Role(StrEnum):
    """The role of a column; columns with one of the last five are left out."""

    NUMBER = "number"
    CATEGORY = "category"
    BOOLEAN = "boolean"
    DATE = "date"
    TEXT = "text"
    IDENTIFIER = "identifier"
    CONSTANT = "constant"
    LABEL_COPY = "repeats the label"
    UNSUPPORTED = "unsupported"


USED = (Role.NUMBER, Role.CATEGORY, Role.BOOLEAN, Role.DATE)


@dataclass(frozen=True)
class InferredRole:
    """The role of a column and how its cells are read.

    Attributes:
        role: the role.
        style: how numbers or dates are written, where the cells are texts.
    """

    role: Role
    style: str | None = None


def find_role(column: ColumnSample, labels: Ints | None = None, *, numbered: bool = False) -> InferredRole:
    """The role of a column.

    Args:
        column: what is known of it.
        labels: the classes of the sampled rows as numbers.
        numbered: its name differs only by a number from that of another column: then it names no rows.

    >>> column = ColumnSample("colour", pa.array(["red", "blue", "red", None]), 4, 1)
    >>> find_role(column).role.value
    'category'
    """
    kind = column.values.type
    if pa.types.is_boolean(kind):
        inferred = _truth_values(column)
    elif is_date(kind):
        inferred = InferredRole(_constant_or(column, Role.DATE))
    elif is_quantity(kind):
        inferred = _quantity(column, as_floats(column.values), numbered=numbered)
    elif pa.types.is_dictionary(kind) and _is_scalar(kind.value_type):
        inferred = InferredRole(_category_or_identifier(column, as_texts(column.values)))
    elif is_string(kind):
        inferred = _texts(column)
    else:
        return InferredRole(Role.UNSUPPORTED)
    if labels is not None and inferred.role in USED and repeats_label(column, labels):
        return InferredRole(Role.LABEL_COPY)
    return inferred


def named_role(column: ColumnSample, *, category: bool = False) -> InferredRole:
    """The role of a column that was named as a feature: it is never left out for what it looks like."""
    kind = column.values.type
    if category:
        return InferredRole(Role.CATEGORY if _is_scalar(kind) or pa.types.is_dictionary(kind) else Role.UNSUPPORTED)
    if is_quantity(kind):
        return InferredRole(Role.NUMBER)
    inferred = find_role(column)
    if inferred.role in (Role.IDENTIFIER, Role.CONSTANT) and not is_date(kind):
        return InferredRole(Role.BOOLEAN if pa.types.is_boolean(kind) else Role.CATEGORY)
    return InferredRole(Role.DATE) if is_date(kind) else inferred


def repeats_label(column: ColumnSample, labels: Ints) -> bool:
    """Whether the column is a copy of the label or a code of it: one value per class, and one class per value.

    >>> column = ColumnSample("code", pa.array(["n", "y"] * 10), 20)
    >>> repeats_label(column, np.array([0, 1] * 10)), repeats_label(column, np.array([0, 1] * 9 + [1, 1]))
    (True, False)
    """
    classes = np.unique(labels)
    if len(labels) < MIN_ROWS or len(classes) < 2 or 2 * len(classes) > len(labels):
        return False
    values: Any = column.values
    if len(pc.unique(values.slice(0, 4 * len(classes) + 1000))) > len(classes):  # most columns: not worth all rows
        return False
    distinct, positions = codes(as_texts(values))
    n_values = len(distinct) + bool((positions < 0).any())
    if n_values != len(classes):
        return False
    pairs = np.unique(np.stack([positions, labels.astype(np.int64)]), axis=1)
    return int(pairs.shape[1]) == n_values


def _truth_values(column: ColumnSample) -> InferredRole:
    return InferredRole(_constant_or(column, Role.BOOLEAN))


def _constant_or(column: ColumnSample, role: Role) -> Role:
    """Constant when there is no value, or one value and no gap: a gap is information."""
    values: Any = column.values
    n_distinct = len(pc.unique(values.drop_null()))
    return Role.CONSTANT if n_distinct + bool(column.n_missing) < 2 else role


def _quantity(
    column: ColumnSample, values: Floats, style: str | None = None, *, numbered: bool = False
) -> InferredRole:
    known = values[np.isfinite(values)]
    has_gaps = len(known) < len(values) or column.n_infinite + column.n_missing > 0
    if len(known) == 0 or (not has_gaps and known.min() == known.max()):
        return InferredRole(Role.CONSTANT)
    is_whole = not has_gaps and np.array_equal(known, np.rint(known))
    if is_whole and not numbered and _numbers_rows(column, known):
        return InferredRole(Role.IDENTIFIER)
    return InferredRole(Role.NUMBER, style)


def _numbers_rows(column: ColumnSample, values: Floats) -> bool:
    """Whether these integers name rows: by the name of the column, or as they are all different with few gaps."""
    name, n, n_distinct = column.name, len(values), len(np.unique(values))
    if is_row_name(name):
        return n_distinct == n
    if names_identifier(name) and n_distinct > max(MIN_ROWS, 0.05 * n):
        return True
    if names_identifier(name, weak=True) and n >= MIN_ROWS and n_distinct > 0.5 * n:
        return True
    dense = np.ptp(values) + 1 <= _MAX_GAPS * column.n_rows
    return n >= MIN_ROWS and n_distinct == n and bool(dense)


def _texts(column: ColumnSample) -> InferredRole:
    texts = as_texts(column.values)
    missing = missing_texts(texts)
    known: Any = texts.filter(to_arrow(~missing))
    if len(known) == 0:
        return InferredRole(_category_or_identifier(column, texts))
    distinct, positions = codes(known)
    counts = np.bincount(positions, minlength=len(distinct))
    written_out = [distinct[position] for position in np.flatnonzero(counts)]
    style = number_style(written_out if len(written_out) < len(known) / 2 else known.to_pylist())
    if style is not None:
        values = spelled_numbers(texts, style)
        if len(np.unique(values[np.isfinite(values)])) > 2:
            inferred = _quantity(column, values, style)
            return inferred if inferred.role != Role.CONSTANT else InferredRole(Role.NUMBER, style)
    style = date_format(known)
    if style is not None:
        return InferredRole(Role.DATE if len(distinct) > 1 or missing.any() else Role.CONSTANT, style)
    if _is_free_text(column.name, distinct, len(known)):
        return InferredRole(Role.TEXT)
    return InferredRole(_category_or_identifier(column, texts))


def _is_free_text(name: str, distinct: list[str], n: int) -> bool:
    if len(distinct) < 2:
        return False
    words = sum(len(text.split()) for text in distinct) / len(distinct)
    if name.strip().lower() in _TEXT_NAMES and len(distinct) > 0.5 * n:
        return True
    return words >= _TEXT_WORDS and len(distinct) > max(MIN_ROWS, 0.2 * n)


def _category_or_identifier(column: ColumnSample, texts: "pa.Array[Any]") -> Role:
    n = len(texts) - texts.null_count
    n_distinct = len(pc.unique(texts.drop_null()))
    if n_distinct == 0 or (n_distinct == 1 and not texts.null_count):
        return Role.CONSTANT
    unique = n_distinct > max(2, _UNIQUE * n) if n >= MIN_ROWS else n_distinct == n and n > 2
    by_name = is_row_name(column.name) or names_identifier(column.name)
    if unique or (by_name and n_distinct > max(MIN_ROWS, 0.05 * n)):
        return Role.IDENTIFIER
    return Role.CATEGORY


def _is_scalar(kind: pa.DataType) -> bool:
    return is_string(kind) or is_quantity(kind) or pa.types.is_boolean(kind) or is_date(kind)
