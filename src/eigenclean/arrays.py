"""Checks of features and labels, and the rows of each class as contiguous blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenclean.errors import InvalidData, TooFewSamples

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Float64s = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

_MIN_ROWS_OF_IDS, _MAX_SHARE_ALONE = 30, 0.9  # so many labels without another one of their class are ids
CHUNK_BYTES = 1 << 24  # 16 MiB at a time: large enough for BLAS, small next to the data


def row_chunks(n_rows: int, row_bytes: int, chunk_bytes: int = CHUNK_BYTES) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows, each holding about ``chunk_bytes``.

    >>> list(row_chunks(5, row_bytes=8, chunk_bytes=16))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, chunk_bytes // max(1, row_bytes))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def check_features(features: ArrayLike, *, by: str) -> Array:
    """Return ``features`` as an n x d numeric array with finite values, without copying what is fine already.

    float16, integers, booleans, memory maps and non-contiguous arrays are fine. Text, objects, complex numbers,
    other shapes, NaN and infinity are `InvalidData`.

    >>> check_features([[1.0, 2.0], [float("nan"), 1.0]], by="FINE")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: FINE: features must be finite, but 1 of 4 values is NaN or infinite,
    the first in row 1; drop or fill those rows
    """
    array = _as_array(features, by=by, what="features")
    check_table(array, by=by)
    _check_finite(array, by=by)
    return array


def check_table(array: Array, *, by: str) -> None:
    """Raise `InvalidData` for what cannot be features by shape or type alone, without reading a value."""
    if array.ndim != 2:
        raise InvalidData(
            f"{by}: features must be a table of n rows and d columns, got shape {array.shape}; "
            + ("reshape it to (n, -1)" if array.ndim > 2 else "one row per sample")
        )
    if array.dtype.kind == "c":
        raise InvalidData(f"{by}: features must be real, got type {array.dtype}: Complex data not supported")
    if array.dtype.kind not in "fiub":
        kind = "text" if array.dtype.kind in "US" else f"type {array.dtype}"
        raise InvalidData(f"{by}: features must be numbers, got {kind}; embed or encode them first")
    if array.shape[1] == 0:
        raise InvalidData(
            f"{by}: features must have at least one column, got 0 feature(s) (shape={array.shape}) while a minimum "
            "of 1 is required."
        )


def check_labels(labels: ArrayLike, *, by: str, n_rows: int | None = None) -> Array:
    """Return ``labels`` as a one-dimensional array of integers, booleans or strings.

    Missing labels (None, NaN, the empty string), fractions and other objects are `InvalidData`. Bytes become
    strings, whole floats integers.

    >>> check_labels(["cat", "dog"], by="FINE")
    array(['cat', 'dog'], dtype='<U3')
    """
    array = _as_array(labels, by=by, what="labels")
    if array.ndim != 1:
        raise InvalidData(f"{by}: labels must be one value per row, got shape {array.shape}")
    if n_rows is not None and len(array) != n_rows:
        raise InvalidData(
            f"{by}: features and labels must have equal length, got {n_rows} rows and {len(array)} labels"
        )
    if array.dtype.kind in "OT":
        array = _plain_labels(array.astype(object), by=by)
    if array.dtype.kind == "f":
        array = _whole_numbers(array, by=by)
    if array.dtype.kind == "S":
        array = _decoded(array, by=by, what="labels")
    if array.dtype.kind == "U":
        _refuse_missing(array == "", by=by)
        check_unicode(array, by=by, what="labels")
    elif array.dtype.kind not in "iub":
        raise InvalidData(f"{by}: labels must be integers or strings, got type {array.dtype}")
    return array


def encode_labels(labels: Array) -> tuple[Array, Ints]:
    """Sorted distinct labels, and for each label its position among them.

    >>> classes, codes = encode_labels(np.array([7, -1, 7]))
    >>> classes, codes
    (array([-1,  7]), array([1, 0, 1]))
    """
    if labels.dtype.kind in "iub" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        # A table beats a sort, and labels are usually 0..K-1.
        if high - low <= 4 * len(labels) and high <= np.iinfo(np.intp).max:
            offsets = labels.astype(np.intp) - low
            present = np.zeros(high - low + 1, dtype=bool)
            present[offsets] = True
            codes = (np.cumsum(present) - 1)[offsets]
            return (np.flatnonzero(present) + low).astype(labels.dtype), codes
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def locate_labels(labels: Array, classes: Array, *, by: str) -> Ints:
    """Position of each label among the sorted ``classes``; a label that is not there is `InvalidData`."""
    if labels.dtype.kind != classes.dtype.kind and {labels.dtype.kind, classes.dtype.kind} & set("US"):
        raise InvalidData(f"{by}: fitted on labels of type {classes.dtype}, got {labels.dtype}")
    codes = np.searchsorted(classes, labels)
    unknown = classes[np.minimum(codes, len(classes) - 1)] != labels
    if unknown.any():
        first = int(np.argmax(unknown))
        raise InvalidData(
            f"{by}: label {labels[first].item()!r} in row {first} was not seen in fit; known are {preview(classes)}"
        )
    return codes


def check_two_classes(classes: Array, *, by: str) -> None:
    """Raise `TooFewSamples` unless there are at least two classes to tell apart."""
    if len(classes) == 0:
        raise TooFewSamples(f"{by}: there are no samples; give at least two classes with a few samples each")
    if len(classes) == 1:
        raise TooFewSamples(
            f"{by}: at least two classes are needed to find wrong labels, got one class only, {classes[0].item()!r}"
        )


def check_class_sizes(counts: Array, *, by: str) -> None:
    """Raise `TooFewSamples` if nearly every label is the only one of its class, as in a column of ids.

    >>> check_class_sizes(np.ones(10_000), by="FINE")
    Traceback (most recent call last):
        ...
    eigenclean.errors.TooFewSamples: FINE: 10000 of 10000 labels are the only one of their class, so that there is
    nothing to compare them with; are the labels ids?
    """
    n, n_singletons = int(counts.sum()), int((counts == 1).sum())
    if n >= _MIN_ROWS_OF_IDS and n_singletons > _MAX_SHARE_ALONE * n:
        raise TooFewSamples(
            f"{by}: {n_singletons} of {n} labels are the only one of their class, so that there is nothing to "
            "compare them with; are the labels ids?"
        )


def check_ids(ids: ArrayLike | None, n_rows: int, *, by: str) -> Array:
    """Row ids: given ones must be unique integers or strings, one per row; by default 0, 1, 2, …"""
    if ids is None:
        return np.arange(n_rows)
    array = _as_array(ids, by=by, what="ids")
    if array.ndim != 1 or len(array) != n_rows:
        raise InvalidData(f"{by}: ids must be one value for each of the {n_rows} rows, got shape {array.shape}")
    if array.dtype.kind == "O":
        array = np.array([str(value) for value in array.tolist()])
    if array.dtype.kind not in "iuUS":
        raise InvalidData(f"{by}: ids must be integers or strings, got type {array.dtype}")
    if array.dtype.kind == "S":
        array = _decoded(array, by=by, what="ids")
    if array.dtype.kind == "U":
        check_unicode(array, by=by, what="ids")
    ordered = np.sort(array)
    repeated = ordered[1:] == ordered[:-1]
    if repeated.any():
        example = ordered[1:][repeated][0].item()
        raise InvalidData(f"{by}: ids must be unique, but {int(repeated.sum())} repeat, for example {example!r}")
    return array


def check_unicode(array: Array, *, by: str, what: str) -> None:
    """Refuse strings that no file of text can hold: with half of a surrogate pair, or beyond the last code point.

    They come from badly decoded or damaged files. Labels and ids have to be found again in the data, so they are
    not repaired here.
    """
    if array.dtype.itemsize == 0:
        return
    for chunk in row_chunks(len(array), array.dtype.itemsize):
        block = np.ascontiguousarray(array[chunk], dtype=array.dtype.newbyteorder("="))
        points = block.view(np.uint32).reshape(len(block), -1)
        if points.max() < 0xD800:  # nearly always
            continue
        wrong = ((points >= 0xD800) & (points < 0xE000) | (points > 0x10FFFF)).any(axis=1)
        if wrong.any():
            row = chunk.start + int(np.argmax(wrong))
            raise InvalidData(
                f"{by}: {what} must be valid Unicode text, but row {row} has half of a surrogate pair or a "
                "character that does not exist; decode the data again"
            )


def array_from_record(values: Any, type_name: str) -> Array:
    """Labels or ids from a JSON file: ``values`` as `tolist` gave them, of the type that ``dtype.str`` named.

    ValueError or TypeError for anything else. The file may be somebody else's, so the width of a text type, which
    decides about memory, is not taken from it.

    >>> array_from_record(["cat", "dog"], "<U400000000")
    array(['cat', 'dog'], dtype='<U3')
    """
    kind = np.dtype(type_name)
    if kind.kind not in "biuU":
        raise ValueError(f"labels cannot be of type {kind}")
    return np.array(values, dtype=np.str_ if kind.kind == "U" else kind)


def preview(values: Array, most: int = 8) -> str:
    """A short list for messages.

    >>> preview(np.arange(12))
    '0, 1, 2, 3, 4, 5, 6, 7, … (12 in all)'
    """
    listed = ", ".join(repr(value) for value in values[:most].tolist())
    return listed if len(values) <= most else f"{listed}, … ({len(values)} in all)"


@dataclass(frozen=True)
class ClassRows:
    """Which rows belong to which class, found by one sort: the basis of all per-class work.

    ``order`` lists row numbers class by class; those of class k are ``order[starts[k]:starts[k + 1]]``, ascending.

    >>> rows = ClassRows.of(np.array([1, 0, 1]), n_classes=2)
    >>> rows[1], rows.counts
    (array([0, 2]), array([1, 2]))
    """

    order: Ints
    starts: Ints

    @classmethod
    def of(cls, codes: Ints, n_classes: int) -> "ClassRows":
        """Group the rows by their class code."""
        # Small integers let NumPy use its linear-time radix sort.
        keys = codes.astype(np.uint16) if n_classes <= 1 << 16 else codes
        counts = np.bincount(codes, minlength=n_classes)
        starts = np.concatenate(([0], np.cumsum(counts)))
        return cls(np.argsort(keys, kind="stable"), starts)

    @cached_property
    def counts(self) -> Ints:
        """Rows per class."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, k: int) -> Ints:
        return self.order[self.starts[k] : self.starts[k + 1]]


def gather(features: Array, rows: Ints, dtype: np.dtype[Any], buffer: Array | None = None) -> Array:
    """The given ascending rows as one C-contiguous block of ``dtype``; a view when they already are one.

    ``buffer`` (at least ``len(rows)`` rows of that dtype) saves the allocation, which costs more than the copy.
    """
    contiguous = len(rows) == 0 or rows[-1] - rows[0] + 1 == len(rows)
    if contiguous:
        block = features[rows[0] : rows[-1] + 1] if len(rows) else features[:0]
        if block.dtype == dtype and block.flags.c_contiguous:
            return block
        return np.ascontiguousarray(block, dtype=dtype)
    if buffer is None or features.dtype != dtype:
        return np.ascontiguousarray(features[rows], dtype=dtype)
    out = buffer[: len(rows)]
    # The rows are known to be in range; "clip" spares NumPy a buffered bounds check.
    np.take(features, rows, axis=0, out=out, mode="clip")
    return out


def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The precision to compute in: float32 and float64 as they are, float16 in float32, the rest in float64."""
    if dtype in (np.float32, np.float64):
        return dtype
    return np.dtype(np.float32 if dtype == np.float16 else np.float64)


def _as_array(values: ArrayLike, *, by: str, what: str) -> Array:
    try:
        array = np.asanyarray(values) if isinstance(values, np.memmap) else np.asarray(values)
    except ValueError:  # a ragged list
        raise InvalidData(f"{by}: {what} must form one array, but the rows differ in length") from None
    if what == "features" or array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))  # Arrow, which writes labels and ids, knows no other order


def _check_finite(array: Array, *, by: str) -> None:
    wrong, first = not_finite(array)
    if wrong:
        verb = "is" if wrong == 1 else "are"
        raise InvalidData(
            f"{by}: features must be finite, but {wrong} of {array.size} values {verb} NaN or infinite, "
            f"the first in row {first}; drop or fill those rows"
        )


def not_finite(array: Array) -> tuple[int, int]:
    """How many values are NaN or infinite, and the first row that has one (-1 if there is none).

    >>> not_finite(np.array([[1.0, 2.0], [np.inf, np.nan]]))
    (2, 1)
    """
    wrong, first = 0, -1
    if array.dtype.kind != "f":
        return wrong, first
    for chunk in row_chunks(len(array), array.itemsize * array.shape[1]):
        block = array[chunk]
        # A finite sum proves finite terms, in a third of the time of isfinite and without its copy.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum(dtype=np.float32 if block.dtype == np.float16 else None)):
                continue
        bad = ~np.isfinite(block)
        if bad.any():
            wrong += int(bad.sum())
            first = chunk.start + int(np.argmax(bad.any(axis=1))) if first < 0 else first
    return wrong, first


def _plain_labels(array: Array, *, by: str) -> Array:
    values = [value.item() if isinstance(value, np.generic) else value for value in array.tolist()]
    _refuse_missing(np.array([_is_missing(value) for value in values], dtype=bool), by=by)
    kinds = {type(value) for value in values}
    if kinds <= {str}:
        return np.array(values, dtype=np.str_)
    if kinds <= {int, bool}:
        return np.array(values)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidData(f"{by}: labels must be all integers or all strings, got objects of type {names}")


def _is_missing(value: Any) -> bool:
    """None, a value that does not equal itself (NaN, NaT), or pandas' NA, whose comparison has no truth value."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _decoded(array: Array, *, by: str, what: str) -> Array:
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError:
        raise InvalidData(f"{by}: {what} of bytes must be UTF-8 text; decode them first") from None


def _whole_numbers(array: Array, *, by: str) -> Array:
    _refuse_missing(np.isnan(array), by=by)
    with np.errstate(invalid="ignore"):  # infinity has no integer: the comparison below finds it
        whole = array.astype(np.int64)
    if (whole != array).any():
        first = int(np.argmax(whole != array))
        raise InvalidData(
            f"{by}: labels must be classes (integers or strings), got the continuous value {array[first].item()} "
            f"in row {first}"
        )
    return whole


def _refuse_missing(missing: Bools, *, by: str) -> None:
    if missing.any():
        raise InvalidData(
            f"{by}: {int(missing.sum())} of {len(missing)} labels are missing, the first in row "
            f"{int(np.argmax(missing))}; drop those rows or label them"
        )
