"""One column as numbers: quantities, categories and dates. Each encoder is a record that JSON can hold."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Bools, Floats, Ints
from eigenclean.tables.roles import InferredRole, Role
from eigenclean.tables.sample import ColumnSample
from eigenclean.tables.values import (
    as_floats,
    as_seconds,
    as_texts,
    category_codes,
    is_quantity,
    is_string,
    spelled_numbers,
    spelled_seconds,
)

MAX_VALUES = 20  # a category with more values has columns for the most frequent ones only
MIN_COUNT = 3  # a value that is rarer shares the column of the other values
_LINEAR = 5.0  # standardised values beyond grow with their logarithm: one typing error must not rule a column
_FAR = 3.0  # times the range of the middle 80 %: values farther out are typing errors
_ROWS_FOR_PARTS = 500  # with fewer rows a date is its time alone: useless columns cost more than parts are worth
_DAY = 86_400.0
_YEAR = 365.2425 * _DAY
_PERIODS = {"year": _YEAR, "week": 7 * _DAY, "day": _DAY}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# How values of each annotation look in JSON.
_TYPES: dict[str, Callable[[Any], bool]] = {
    str(str): _is_text,
    str(float): _is_number,
    str(bool): lambda value: isinstance(value, bool),
    str(str | None): lambda value: value is None or _is_text(value),
    str(float | None): lambda value: value is None or _is_number(value),
    str(tuple[str, ...]): lambda value: isinstance(value, list) and all(map(_is_text, value)),
    str(tuple[float, ...]): lambda value: isinstance(value, list) and all(map(_is_number, value)),
}


@dataclass(frozen=True)
class ColumnEncoder(ABC):
    """Turns the cells of one column into columns of numbers.

    Attributes:
        name: name of the column.
    """

    name: str
    role: ClassVar[Role]

    @abstractmethod
    def transform(self, values: "pa.Array[Any]") -> Floats:
        """One row for each cell, `width` columns, all finite."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str]:
        """A name for each column of numbers."""

    def to_dict(self) -> dict[str, Any]:
        """All that `transform` depends on."""
        return {"role": self.role.value, **asdict(self)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """The encoder that `to_dict` described; ValueError for values of other types than it has."""
        values: dict[str, Any] = {key: value for key, value in record.items() if key != "role"}
        for option in fields(cls):
            value = values.get(option.name)
            if not _TYPES[str(option.type)](value):
                raise ValueError(f"{option.name} of the column {record.get('name')!r} is {value!r}")
            values[option.name] = tuple(value) if isinstance(value, list) else value
        return cls(**values)


@dataclass(frozen=True)
class NumberEncoder(ColumnEncoder):
    """Gaps filled with the median, then standardised so that outliers hardly count; a flag where gaps were filled.

    Attributes:
        centre: the mean, see `centre_and_scale`.
        scale: the standard deviation.
        fill: the median, which stands for missing and infinite values.
        missing_share: share of the rows without a value, when a column says where it was missing.
        style: how numbers are written, where the cells are texts.
        as_is: the values are not standardised.
    """

    centre: float = 0.0
    scale: float = 1.0
    fill: float = 0.0
    missing_share: float | None = None
    style: str | None = None
    as_is: bool = False
    role = Role.NUMBER

    @classmethod
    def fit(cls, column: ColumnSample, inferred: InferredRole) -> Self:
        """Centre and scale of the sample."""
        values = _floats(column.values, inferred.style)
        known = values[np.isfinite(values)]
        centre, scale = centre_and_scale(values)
        fill = float(np.median(known)) if len(known) else 0.0
        return cls(column.name, centre, scale, fill, _missing_share(column, values), inferred.style)

    @property
    def feature_names(self) -> list[str]:
        """The column, and its flag."""
        return [self.name] + [f"{self.name} is missing"] * (self.missing_share is not None)

    def transform(self, values: "pa.Array[Any]") -> Floats:
        """Standardised values, with the median where they are missing or infinite."""
        floats = _floats(values, self.style)
        known = np.isfinite(floats)
        if self.as_is:
            return np.where(known, floats, self.fill)[:, None]
        if not known.all():
            floats = np.where(known, floats, self.fill)
        with np.errstate(over="ignore"):  # the difference of very large numbers
            standard = floats / self.scale - self.centre / self.scale
        columns = [_compress(np.nan_to_num(standard, copy=False))]
        if self.missing_share is not None:
            columns.append(~known - self.missing_share)
        return np.stack(columns, axis=1)

    def decode(self, block: Floats) -> tuple[Floats, Bools]:
        """The numbers that `transform` encoded, and where they were missing."""
        if self.as_is:
            return block[:, 0], np.zeros(len(block), dtype=bool)
        return _expand(block[:, 0]) * self.scale + self.centre, _decode_missing(block, self.missing_share)


@dataclass(frozen=True)
class CategoryEncoder(ColumnEncoder):
    """One column for each frequent value, centred; two values and no gaps need only one column.

    Attributes:
        values: the values that have a column.
        shares: share of the rows with each value.
        other_share: share of the rows with another value; None when there is no column for them.
        missing_share: share of the rows without a value; None when there is no column for them.
    """

    values: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    other_share: float | None = None
    missing_share: float | None = None
    role = Role.CATEGORY

    @classmethod
    def fit(cls, column: ColumnSample, inferred: InferredRole) -> Self:
        """The frequent values of the sample."""
        distinct, positions = category_codes(column.values)
        n = max(len(positions), 1)
        counts = np.bincount(positions[positions >= 0], minlength=len(distinct))
        # By frequency, then by name: the order of the rows must not matter.
        order = sorted(range(len(distinct)), key=lambda value: (-counts[value], distinct[value]))
        rare = 1 if n < 10 * MIN_COUNT else MIN_COUNT
        categories = [value for value in order if counts[value] >= rare][:MAX_VALUES]
        n_missing = int((positions < 0).sum())
        n_other = n - n_missing - int(counts[categories].sum())
        return cls(
            column.name,
            tuple(distinct[value] for value in categories),
            tuple(float(counts[value] / n) for value in categories),
            n_other / n if n_other else None,
            n_missing / n if n_missing else None,
        )

    @property
    def feature_names(self) -> list[str]:
        """The values, then those of the other and the missing ones."""
        names = [f"{self.name} = {value}" for value in self.values]
        if self._is_pair:
            return names[:1]
        names += [f"{self.name} = another value"] * (self.other_share is not None)
        return names + [f"{self.name} is missing"] * (self.missing_share is not None)

    def transform(self, values: "pa.Array[Any]") -> Floats:
        """1 in the column of the value and 0 elsewhere, minus the share of the rows that have it."""
        distinct, positions = category_codes(values)
        columns = {value: number for number, value in enumerate(self.values)}
        width = len(self.values) + (self.other_share is not None) + (self.missing_share is not None)
        other = len(self.values) if self.other_share is not None else width
        missing = width - 1 if self.missing_share is not None else width
        table = np.array([columns.get(value, other) for value in distinct] + [missing], dtype=np.int64)
        encoded = np.zeros((len(positions), width + 1))  # the last column takes what has none
        encoded[np.arange(len(positions)), table[positions]] = 1
        shares = [share for share in (*self.shares, self.other_share, self.missing_share) if share is not None]
        centred: Floats = encoded[:, :width] - np.array(shares)
        if self._is_pair:
            pair: Floats = centred[:, :1] * np.sqrt(2)  # two rows are as far apart as in two columns
            return pair
        return centred

    def decode(self, block: Floats) -> Ints:
        """Positions of the encoded values; other values have the position after them, missing ones the next."""
        other, missing = len(self.values), len(self.values) + 1
        if self._is_pair:
            return np.where(block[:, 0] > 0, 0, 1)  # the shares of both values are below 1
        shares = [share for share in (*self.shares, self.other_share, self.missing_share) if share is not None]
        codes = [*range(len(self.values))]
        codes += [other] * (self.other_share is not None) + [missing] * (self.missing_share is not None)
        indicators = block + np.array(shares)
        best = indicators.argmax(axis=1)
        is_known = indicators[np.arange(len(block)), best] > 0.5  # a value that was never seen has no column
        decoded: Ints = np.where(is_known, np.array(codes)[best], other)
        return decoded

    @property
    def _is_pair(self) -> bool:
        return len(self.values) == 2 and self.other_share is None and self.missing_share is None


@dataclass(frozen=True)
class BooleanEncoder(CategoryEncoder):
    """A category of true and false."""

    role = Role.BOOLEAN


@dataclass(frozen=True)
class DateEncoder(ColumnEncoder):
    """A date as its parts: the time that has passed, and where it lies in the year, the week and the day.

    All parts together vary as much as one number. With few rows there is only the time.

    Attributes:
        centre: mean, in seconds since 1970.
        scale: as of a number, in seconds.
        parts: those of "year", "week" and "day" in which the dates differ.
        missing_share: as of a number.
        style: how dates are written, where the cells are texts.
    """

    centre: float = 0.0
    scale: float = 1.0
    parts: tuple[str, ...] = ()
    missing_share: float | None = None
    style: str | None = None
    role = Role.DATE

    @classmethod
    def fit(cls, column: ColumnSample, inferred: InferredRole) -> Self:
        """The parts that differ in the sample, if it has enough rows for them."""
        seconds = _seconds(column.values, inferred.style)
        centre, scale = centre_and_scale(seconds)
        known = seconds[np.isfinite(seconds)]
        days = np.unique(np.floor(known / _DAY))
        parts = [
            cycle
            for cycle, differs in (
                ("year", len(days) > 1 and np.ptp(days) >= 60),
                ("week", len(days) > 1 and len(np.unique(days % 7)) > 1),
                ("day", len(np.unique(known % _DAY)) > 1),
            )
            if differs and len(seconds) >= _ROWS_FOR_PARTS
        ]
        return cls(column.name, centre, scale, tuple(parts), _missing_share(column, seconds), inferred.style)

    @property
    def feature_names(self) -> list[str]:
        """Time, two columns for each part, and the flag."""
        names = [self.name]
        for cycle in self.parts:
            names += [f"{self.name}: sine of the {cycle}", f"{self.name}: cosine of the {cycle}"]
        return names + [f"{self.name} is missing"] * (self.missing_share is not None)

    def transform(self, values: "pa.Array[Any]") -> Floats:
        """Standardised time, sine and cosine of each part, and the flag; 0 where the date is missing."""
        seconds = _seconds(values, self.style)
        known: Bools = np.isfinite(seconds)
        columns = [_compress(np.where(known, (seconds - self.centre) / self.scale, 0))]
        for cycle in self.parts:
            angle = 2 * np.pi / _PERIODS[cycle] * np.where(known, seconds, 0)
            columns += [np.where(known, np.sin(angle), 0), np.where(known, np.cos(angle), 0)]
        weighted: Floats = np.stack(columns, axis=1) / np.sqrt(1 + len(self.parts))
        if self.missing_share is None:
            return weighted
        return np.concatenate([weighted, (~known - self.missing_share)[:, None]], axis=1)

    def decode(self, block: Floats) -> tuple[Floats, Bools]:
        """Seconds since 1970 that `transform` encoded, and where the date was missing."""
        standard = _expand(block[:, 0] * np.sqrt(1 + len(self.parts)))
        return np.rint(standard * self.scale + self.centre), _decode_missing(block, self.missing_share)


ENCODERS: dict[Role, type[NumberEncoder] | type[CategoryEncoder] | type[DateEncoder]] = {
    Role.NUMBER: NumberEncoder,
    Role.CATEGORY: CategoryEncoder,
    Role.BOOLEAN: BooleanEncoder,
    Role.DATE: DateEncoder,
}


def centre_and_scale(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the values, those far outside brought to the edge first.

    >>> centre_and_scale(np.array([1.0, 2.0, 3.0, np.nan]))
    (2.0, 0.816496580927726)
    >>> centre_and_scale(np.array([*np.arange(100.0), 1e9])) < (200.0, 500.0)
    True
    """
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return 0.0, 1.0
    magnitude = float(np.abs(known).max()) or 1.0  # the squares of very large numbers are not finite
    known = known / magnitude
    for share in (10, 1):
        low, high = np.percentile(known, [share, 100 - share])
        if high > low:
            known = np.clip(known, low - _FAR * (high - low), high + _FAR * (high - low))
            break
    scale = float(np.std(known))
    return magnitude * float(np.mean(known)), magnitude * scale if scale > 1e-12 else 1.0


def _missing_share(column: ColumnSample, values: Floats) -> float | None:
    share = float(np.mean(~np.isfinite(values))) if len(values) else 0.0
    return share if share or column.n_missing or column.n_infinite else None


def _compress(standard: Floats) -> Floats:
    """The values as they are up to a limit, and their logarithm beyond it."""
    outliers = np.flatnonzero(np.abs(standard) > _LINEAR)
    if len(outliers):
        values = standard[outliers]
        standard[outliers] = np.sign(values) * (_LINEAR + np.log1p(np.abs(values) - _LINEAR))
    return standard


def _expand(compressed: Floats) -> Floats:
    """The inverse of `_compress`."""
    excess = np.maximum(np.abs(compressed) - _LINEAR, 0)
    expanded: Floats = np.where(excess > 0, np.sign(compressed) * (_LINEAR + np.expm1(excess)), compressed)
    return expanded


def _decode_missing(block: Floats, missing_share: float | None) -> Bools:
    if missing_share is None:
        return np.zeros(len(block), dtype=bool)
    return np.asarray(block[:, -1] + missing_share > 0.5)


def _floats(values: "pa.Array[Any]", style: str | None) -> Floats:
    if is_quantity(values.type) or pa.types.is_boolean(values.type):  # new rows may be numbers where texts were
        return as_floats(values)
    return spelled_numbers(as_texts(values), style or "point")


def _seconds(values: "pa.Array[Any]", style: str | None) -> Floats:
    if is_string(values.type) or pa.types.is_dictionary(values.type):
        return spelled_seconds(as_texts(values), style or "%Y-%m-%d")
    return as_floats(values) if is_quantity(values.type) else as_seconds(values)
