"""Which views are used, and how rows are prepared for them: chosen on a sample by the likelihood of its labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.discriminants import DiscriminantSolver
from eigenclean.detect.judge.em import trial_log_likelihood
from eigenclean.detect.judge.row_maps import (
    MAX_STANDARDISED,
    FourierFeatures,
    StandardizedColumns,
    typical_distance,
)
from eigenclean.detect.judge.unit_rows import RowMap, RowNormalizer, UnitRows
from eigenclean.detect.judge.views import AUTO, FIXED_VIEWS, VIEWS
from eigenclean.detect.judge.views.base import FoldedRows
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name

SAMPLE_ROWS = 4000  # enough to compare ways to prepare rows, and amounts of shrinkage
MAX_COMPARED_CLASSES = 1000  # with more, a sample has too few rows of each class for a comparison
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the kernel, in typical distances between rows
FOURIER_FEATURES, _TRIAL_FEATURES, _MIN_FEATURES = 512, 256, 64
_TRIAL_SHRINKAGES = (0.003, 0.03, 0.3)
_WIDE = 512  # with more columns, two folds are enough to compare
_COMPARED_ROWS = 1000  # or as many folds as have so many rows


@dataclass(frozen=True, eq=False)
class SampledRows(FoldedRows):
    """A sample of the rows, the same for every engine, on which choices are made."""

    def prepared(self, row_map: RowMap) -> UnitRows:
        """The rows, prepared for linear discriminants."""
        return UnitRows(self.features, self.folds, row_map)

    def log_likelihood(self, row_map: RowMap) -> float:
        """Of the given labels by cross-fitted discriminants of prepared rows, at the best amount of shrinkage."""
        rows = self.prepared(row_map)
        masses = np.bincount(self.folds, self.weight, self.n_folds).astype(np.float64)
        dimensions = row_map.n_dimensions if isinstance(row_map, RowNormalizer) else None
        solver = DiscriminantSolver(rows.second_moments(self.weight, self.n_folds), masses, dimensions)
        memberships = np.zeros((len(self.codes), self.n_classes), dtype=np.float32)
        memberships[np.arange(len(self.codes)), self.codes] = 1.0 if self.weight is None else self.weight
        sums = rows.class_sums(memberships, self.n_folds)
        tried = trial_folds(len(self.codes), row_map.n_columns, self.n_folds)
        index = np.flatnonzero(np.isin(self.folds, tried))
        subset, codes = rows.take(index), self.codes[index]
        return max(
            trial_log_likelihood(Candidates.of([(solver.solve(amount, *sums, tried), subset)], codes))
            for amount in _TRIAL_SHRINKAGES
        )


def trial_folds(n_rows: int, n_columns: int, n_folds: int) -> range:
    """Folds on which alternatives are compared: a factor per fold is costly, and two are enough with many rows.

    >>> trial_folds(500, 100, 5), trial_folds(1500, 100, 5), trial_folds(500, 1280, 5)
    (range(0, 5), range(0, 4), range(0, 2))
    """
    needed = 2 if n_columns > _WIDE else ceil(_COMPARED_ROWS * n_folds / max(n_rows, 1))
    return range(min(max(needed, 2), n_folds))


def check_views(views: str, *, by: str) -> tuple[str, ...] | None:
    """The names in the option ``views``, in the order of the table; None for "auto", with probabilities or not.

    >>> check_views("kernel, linear", by="Judge")
    ('linear', 'kernel')
    """
    if not isinstance(views, str):
        raise InvalidOption(f"{by}: views must be names with commas between, or {AUTO!r}, got {views!r}")
    names = [name.strip() for name in views.split(",")]
    if sorted(names) in ([AUTO], [AUTO, "probabilities"]):
        return None
    for name in names:
        check_name(name, VIEWS, by=by, what="view")
    return tuple(name for name in VIEWS if name in names)


def combines_probabilities(views: str) -> bool:
    """Whether there are predicted probabilities beside the features.

    >>> [combines_probabilities(views) for views in ("auto", "probabilities", "auto,probabilities")]
    [False, False, True]
    """
    names = {name.strip() for name in views.split(",")}
    return "probabilities" in names and len(names) > 1


def choose_row_map(sample: SampledRows, unit: RowNormalizer) -> RowMap:
    """Rows of unit length, or standardised columns: what makes the given labels more likely, out of sample."""
    if unit.basis is not None or sample.features.shape[1] > MAX_STANDARDISED:
        return unit
    standardized = StandardizedColumns.of(sample.features)
    alternatives: tuple[RowMap, ...] = unit, standardized
    return max(alternatives, key=sample.log_likelihood)


def choose_kernel(sample: SampledRows, base: RowMap) -> FourierFeatures:
    """The bandwidth under which the given labels are most likely, out of sample."""
    distance = typical_distance(base.apply(sample.features))
    # Features span no more dimensions than there are rows. Their number is even: a sine and a cosine of each angle.
    n_features = min(FOURIER_FEATURES, max(_MIN_FEATURES, len(sample.codes) // 2 * 2))
    n_trial = min(_TRIAL_FEATURES, n_features)

    def centred(bandwidth: float, n_features: int) -> FourierFeatures:
        plain = FourierFeatures(base, bandwidth * distance, n_features)
        centre = plain.apply(sample.features).mean(axis=0, dtype=np.float64)
        return FourierFeatures(base, bandwidth * distance, n_features, centre)

    best = max(BANDWIDTHS, key=lambda bandwidth: sample.log_likelihood(centred(bandwidth, n_trial)))
    return centred(best, n_features)


def fitting_views(n: int, n_columns: int) -> Iterator[str]:
    """Names of the fixed views that are tried by themselves on so many rows and columns."""
    for name, view in FIXED_VIEWS.items():
        if name != "probabilities" and n <= view.max_rows and n_columns <= view.max_columns:
            yield name
