"""Cells of Arrow columns as NumPy arrays: numbers, texts that spell numbers, and dates."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.arrays import Array, Bools, Floats, Ints

# What people write where a value is missing; Arrow's CSV reader knows the first group, and only among numbers.
_ARROW = ("", "na", "n/a", "nan", "null", "#n/a", "#na", "<na>", "-nan", "1.#qnan", "-1.#ind", "1.#ind", "#n/a n/a")
_MARKS = ("?", "-", "--", "---", ".", "..", "none", "nil", "missing", "unknown", "not available")
MISSING_TEXTS = frozenset((*_ARROW, *_MARKS))
ISO_DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ")
OTHER_DATES = tuple(
    f"{day}{time}"
    for day in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d %b %Y", "%b %d, %Y")
    for time in ("", " %H:%M", " %H:%M:%S")
)
_POINT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_COMMA = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$"
_INFINITE = r"^[+-]?(inf|Inf|INF|infinity|Infinity)$"


def numbers(values: "pa.Array[Any]") -> Array:
    """The memory of an Arrow array without nulls; pyarrow's own `to_numpy` would import pandas if it is there."""
    kind: Any = values.type
    if pa.types.is_decimal(kind):
        return numbers(values.cast(pa.float64()))
    if pa.types.is_boolean(kind):  # Arrow packs eight of them into a byte
        return numbers(values.cast(pa.uint8())).view(np.bool_)
    dtype = np.dtype(kind.to_pandas_dtype())
    memory: Any = values.buffers()[1]
    if len(values) == 0 or memory is None:
        return np.empty(0, dtype)
    result: Array = np.frombuffer(memory, dtype, count=len(values), offset=values.offset * dtype.itemsize)
    return result


def to_arrow(values: Array) -> "pa.Array[Any]":
    """An Arrow array of integers, float64 or truth values; ``pa.array`` would import pandas if it is there."""
    if values.dtype == np.bool_:
        return to_arrow(values.view(np.uint8)).cast(pa.bool_())
    kinds = {"u": pa.uint8(), "i": pa.int64(), "f": pa.float64()}
    memory: Any = np.ascontiguousarray(values)
    return pa.Array.from_buffers(kinds[values.dtype.kind], len(values), [None, pa.py_buffer(memory)])


def is_string(kind: pa.DataType) -> bool:
    """Whether the cells are texts; by name, because older versions of pyarrow have no test for string views."""
    return str(kind) in ("string", "large_string", "string_view")


def is_date(kind: pa.DataType) -> bool:
    """Whether the cells are dates or points in time."""
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def is_quantity(kind: pa.DataType) -> bool:
    """Whether the cells are numbers, durations or times of day; a column without any value counts as one."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in (*tests, pa.types.is_duration, pa.types.is_time))


def as_floats(values: "pa.Array[Any]") -> Floats:
    """Numbers as float64, NaN where they are missing."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.uint8())
    elif pa.types.is_duration(kind) or pa.types.is_time64(kind):
        values = values.cast(pa.int64())
    elif pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    floats: Any = values.cast(pa.float64(), safe=False)
    return np.where(is_null(floats), np.nan, numbers(floats)) if floats.null_count else numbers(floats)


def is_null(values: "pa.Array[Any]") -> Bools:
    """Which cells are nulls."""
    return numbers(pc.is_null(values))


def as_texts(values: "pa.Array[Any]") -> "pa.Array[Any]":
    """Any cells as trimmed texts; nulls stay nulls."""
    if isinstance(values, pa.DictionaryArray):
        values = values.cast(values.type.value_type)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())  # 0 and 1, as in a file
    if pa.types.is_floating(values.type):
        known: Any = pc.if_else(pc.is_nan(values), pa.nulls(1, values.type)[0], values)
        floats = as_floats(known)
        is_whole = bool((np.isnan(floats) | ((np.abs(floats) < 1e15) & (floats == np.rint(floats)))).all())
        values = known.cast(pa.int64()) if is_whole else known  # 1.0 and 1 are the same category
    trimmed: pa.Array[Any] = pc.utf8_trim_whitespace(values.cast(pa.string()))
    return trimmed


def codes(texts: "pa.Array[Any]") -> tuple[list[str], Ints]:
    """The distinct texts, and for each cell the position of its text; -1 where it is missing."""
    encoded: Any = texts.dictionary_encode()
    positions = encoded.indices.cast(pa.int64())
    return encoded.dictionary.to_pylist(), np.where(is_null(positions), -1, numbers(positions))


def category_codes(values: "pa.Array[Any]") -> tuple[list[str], Ints]:
    """The distinct categories and the position of each cell's; -1 where it is missing, or "NA" and the like."""
    distinct, positions = codes(as_texts(values))
    known = np.array([text.lower() not in _ARROW for text in distinct] + [False])
    places = np.where(known, np.cumsum(known) - 1, -1)
    return [text for text, is_known in zip(distinct, known, strict=False) if is_known], places[positions]


def missing_texts(texts: "pa.Array[Any]") -> Bools:
    """Which cells are null or say so."""
    distinct, positions = codes(texts)
    table = np.array([text.lower() in MISSING_TEXTS for text in distinct] + [True])
    result: Bools = table[positions]
    return result


def number_style(texts: Sequence[str]) -> str | None:
    """How numbers are written in these texts: "point", "comma" or "thousands"; None when most are no numbers.

    >>> number_style(["1,5", "2", "0,25"]), number_style(["1,500", "12,250.5"]), number_style(["1.5", "x"])
    ('comma', 'thousands', None)
    """
    if not texts:
        return None
    fits = {
        style: sum(bool(re.match(pattern, text) or re.match(_INFINITE, text)) for text in texts)
        for style, pattern in (("point", _POINT), ("thousands", rf"({_THOUSANDS})|({_POINT})"), ("comma", _COMMA))
    }
    best = max(fits, key=lambda style: fits[style])  # the first of equals: a point, then thousands
    return best if fits[best] >= 0.95 * len(texts) else None


def spelled_numbers(texts: "pa.Array[Any]", style: str) -> Floats:
    """The numbers that the texts spell; NaN for everything else."""
    spelled: Any = texts
    if style == "comma":
        is_number = pc.match_substring_regex(spelled, _COMMA)
        spelled = pc.replace_substring(spelled, ",", ".")
    elif style == "thousands":
        is_number = pc.match_substring_regex(spelled, rf"({_THOUSANDS})|({_POINT})")
        spelled = pc.replace_substring(spelled, ",", "")
    else:
        is_number = pc.match_substring_regex(spelled, _POINT)
    valid: Any = pc.or_(is_number, pc.match_substring_regex(spelled, _INFINITE))
    cells: Any = pc.if_else(valid, spelled, pa.nulls(1, pa.string())[0])
    return as_floats(pc.replace_substring_regex(cells, r"^\+", "").cast(pa.float64()))


def date_format(texts: "pa.Array[Any]") -> str | None:
    """The format in which at least 95 % of these texts are dates; None when there is none."""
    n_texts = len(texts) - texts.null_count
    if not n_texts:
        return None
    first: Any = texts.drop_null()[:50]
    best, most = None, 0
    for style in (*ISO_DATES, *OTHER_DATES):
        if _count_dates(first, style) == 0:
            continue
        n_dates = _count_dates(texts, style)
        if n_dates > most:
            best, most = style, n_dates
    return best if most >= 0.95 * n_texts else None


def spelled_seconds(texts: "pa.Array[Any]", style: str) -> Floats:
    """Seconds since 1970 of dates that were written in that format; NaN for everything else."""
    return as_seconds(pc.strptime(texts, format=style, unit="s", error_is_null=True))


def as_seconds(values: "pa.Array[Any]") -> Floats:
    """Seconds since 1970; NaN where they are missing."""
    stamps: Any = values.cast(pa.timestamp("us", tz=getattr(values.type, "tz", None)), safe=False)
    return as_floats(stamps.cast(pa.int64())) / 1e6


def _count_dates(texts: "pa.Array[Any]", style: str) -> int:
    parsed: Any = pc.strptime(texts, format=style, unit="s", error_is_null=True)
    return len(parsed) - int(parsed.null_count)
