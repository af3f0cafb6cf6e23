"""The rows of an encoded table in groups by the values of a column: categories, ranges of numbers, periods.

Groups are read back from the encoded numbers, so that they cost no other pass over the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eigenclean.arrays import Array, Bools, Floats, Ints
from eigenclean.tables.encoders import CategoryEncoder, ColumnEncoder, DateEncoder, NumberEncoder
from eigenclean.tables.encoding import TableEncoding

MAX_SINGLE_VALUES = 12  # a number with more distinct values, or a date with more years, is split into ranges
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
MISSING, OTHER = "is missing", "is another value"
_LIMIT = 1e17  # seconds that NumPy's dates can hold


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """Which group each row belongs to.

    Attributes:
        column: name of the column.
        groups: what the rows of each group have in common, to be read after the name of the column.
        codes: number of the group of each row.
    """

    column: str
    groups: tuple[str, ...]
    codes: Ints


def column_blocks(encoding: TableEncoding, n_features: int) -> list[tuple[ColumnEncoder, slice]]:
    """Which of ``n_features`` features each column became; embedded texts stand before the columns."""
    blocks, start = [], n_features - len(encoding.feature_names)
    for encoder in encoding.encoders:
        width = len(encoder.feature_names)
        blocks.append((encoder, slice(start, start + width)))
        start += width
    return blocks


def column_groups(encoding: TableEncoding, features: Array) -> Iterator[ColumnGroups]:
    """The groups of these rows, column by column.

    >>> import pyarrow as pa
    >>> from eigenclean.tables import fit_encoding
    >>> table = pa.table({"city": ["Oslo", "Bergen", "Oslo", "N/A"], "rooms": [1.0, 2.0, None, 2.0]})
    >>> encoding = fit_encoding(table.to_batches, table.schema)
    >>> for entry in column_groups(encoding, encoding.transform(table)):
    ...     print(entry.column, entry.groups, entry.codes.tolist())
    city ("= 'Oslo'", "= 'Bergen'", 'is missing') [0, 1, 0, 2]
    rooms ('= 1', '= 2', 'is missing') [0, 1, 2, 1]
    """
    for encoder, columns in column_blocks(encoding, features.shape[1]):
        block = np.asarray(features[:, columns], dtype=np.float64)
        if isinstance(encoder, CategoryEncoder):
            names, codes = _categories(encoder, block)
        elif isinstance(encoder, DateEncoder):
            names, codes = _dates(*encoder.decode(block))
        elif isinstance(encoder, NumberEncoder):
            names, codes = _numbers(*encoder.decode(block))
        else:
            continue
        yield _without_empty(encoder.name, names, codes)


def _categories(encoder: CategoryEncoder, block: Floats) -> tuple[list[str], Ints]:
    names = [f"= '{value}'" for value in encoder.values]
    return [*names, OTHER, MISSING], encoder.decode(block)


def _numbers(values: Floats, missing: Bools) -> tuple[list[str], Ints]:
    known = values[~missing]
    distinct = np.unique(known[: 10 * MAX_SINGLE_VALUES])
    if len(distinct) <= MAX_SINGLE_VALUES:
        distinct = np.unique(known)
    if len(distinct) <= MAX_SINGLE_VALUES:
        names = [f"= {value:.6g}" for value in distinct]
        codes = np.searchsorted(distinct, values)
    else:
        edges = np.unique(np.quantile(known, QUANTILES, method="inverted_cdf"))
        names = _ranges([f"{edge:.4g}" for edge in edges])
        codes = np.searchsorted(edges, values)  # a value that equals an edge belongs below it
    return [*names, MISSING], np.where(missing, len(names), codes)


def _dates(seconds: Floats, missing: Bools) -> tuple[list[str], Ints]:
    known = seconds[~missing]
    years = _instants(seconds).astype("datetime64[Y]")
    distinct = np.unique(years[~missing])
    if 3 <= len(distinct) <= MAX_SINGLE_VALUES or len(known) == 0:
        names = [f"is in {year}" for year in distinct]
        codes = np.searchsorted(distinct, years)
    else:
        edges = np.unique(np.quantile(known, QUANTILES, method="inverted_cdf"))
        names = _ranges([str(day) for day in _instants(edges).astype("datetime64[D]")])
        codes = np.searchsorted(edges, seconds)
    return [*names, MISSING], np.where(missing, len(names), codes)


def _instants(seconds: Floats) -> Array:
    return np.clip(seconds, -_LIMIT, _LIMIT).astype(np.int64).astype("datetime64[s]")


def _ranges(edges: list[str]) -> list[str]:
    between = [f"is above {low}, up to {high}" for low, high in pairwise(edges)]
    return [f"is up to {edges[0]}", *between, f"is above {edges[-1]}"]


def _without_empty(column: str, names: list[str], codes: Ints) -> ColumnGroups:
    """Groups without a row are left out; equal names (of values that differ after six digits) become one."""
    used = [code for code, size in enumerate(np.bincount(codes, minlength=len(names)).tolist()) if size]
    places: dict[str, int] = {}
    table = np.zeros(len(names), dtype=np.int64)
    for code in used:
        table[code] = places.setdefault(names[code], len(places))
    return ColumnGroups(column, tuple(places), table[codes])
