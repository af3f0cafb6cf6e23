"""What the judge computes on one block of rows: functions for `Blocks.map` and `Blocks.total`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenclean.arrays import Array, Float64s, Floats, Ints
from eigenclean.detect.folds import folds_of_hashes
from eigenclean.detect.group_folds import GroupFolds
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES, Candidates
from eigenclean.detect.judge.discriminants import Discriminants
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.unit_rows import RowMap, UnitRows
from eigenclean.detect.judge.views.base import FixedScores

ClassSums = tuple[Float64s, Float64s]  # sums and counts of classes by fold; an axis in front: for which fold

SUSPECT = 0.9  # labels with a lower P(right) are judged again without the labels of each other fold


def prepare(
    features: Array,
    row_hashes: NDArray[np.uint64],
    row_maps: Sequence[RowMap],
    n_folds: int,
    repeat: int = 0,
    groups: GroupFolds | None = None,
    kept: Sequence[bool] | None = None,
) -> tuple[UnitRows, ...]:
    """Rows prepared for each view of moments, assigned to folds by their content hashes, or by their groups.

    ``kept`` says for each view whether prepared rows are kept from one use to the next; None keeps all.
    """
    folds = (folds_of_hashes if groups is None else groups.folds)(row_hashes, n_folds, repeat)
    keeps = [True] * len(row_maps) if kept is None else kept
    return tuple(UnitRows(features, folds, row_map, keep) for row_map, keep in zip(row_maps, keeps, strict=True))


class Moments(NamedTuple):
    """Sums over the rows of each fold, as a view of moments needs them.

    Attributes:
        second: Σ w z zᵀ, folds x d x d.
        weights: Σ w of each fold.
        sums: of each class by the given labels, folds x K x d.
        counts: of each class, folds x K.
    """

    second: Float64s
    weights: Float64s
    sums: Float64s
    counts: Float64s


def zero_moments(n_folds: int, k: int, widths: Sequence[int]) -> tuple[Moments, ...]:
    """Moments of no rows, for views with so many columns."""
    return tuple(
        Moments(np.zeros((n_folds, d, d)), np.zeros(n_folds), np.zeros((n_folds, k, d)), np.zeros((n_folds, k)))
        for d in widths
    )


def add_moments(
    totals: tuple[Moments, ...], rows: tuple[UnitRows, ...], codes: Ints, weight: Float64s | None
) -> tuple[Moments, ...]:
    """Add the moments of a block, for each view."""
    for moments, view_rows in zip(totals, rows, strict=True):
        np.add(moments.weights, np.bincount(view_rows.folds, weight, len(moments.weights)), out=moments.weights)
        memberships = _given_memberships(codes, moments.sums.shape[1], weight)
        view_rows.add_moments(moments.second, moments.sums, moments.counts, memberships, weight)
    return totals


def _given_memberships(codes: Ints, k: int, weight: Float64s | None) -> Floats | csr_array:
    """The given labels as one-hot memberships, n x K, times the weights; sparse if there are very many classes."""
    n = len(codes)
    values = np.ones(n, dtype=np.float32) if weight is None else weight.astype(np.float32)
    sparse = csr_array((values, codes, np.arange(n + 1)), shape=(n, k))
    return sparse if k > MAX_DENSE_CLASSES else sparse.toarray()


def find_candidates(
    rows: tuple[UnitRows, ...],
    codes: Ints,
    fixed: FixedScores,
    discriminants: Sequence[Discriminants],
    is_partial: bool,
) -> Candidates:
    """The candidates of all rows: by the discriminants of each view of moments, and by the fixed views."""
    views = list(zip(discriminants, rows, strict=True))
    return Candidates.of(views, codes, fixed.tables, is_partial=is_partial)


def zero_corrections(n_folds: int, k: int, widths: Sequence[int]) -> tuple[ClassSums, ...]:
    """Corrections of class sums by no rows, for views with so many columns."""
    return tuple((np.zeros((n_folds, n_folds, k, d)), np.zeros((n_folds, n_folds, k))) for d in widths)


def add_corrections(
    totals: tuple[ClassSums, ...],
    rows: tuple[UnitRows, ...],
    candidates: Candidates,
    fixed: FixedScores,
    weight: Float64s | None,
    nested: Sequence[Sequence[Discriminants]],
    model: NoiseModel,
) -> tuple[ClassSums, ...]:
    """Add what correcting the labels changes in the class sums, separately for each fold that they are to judge.

    The sums that judge fold f must not depend on the labels of fold f, not even through labels of other rows that
    were corrected by them. So the labels of all other folds are corrected without fold f, by the ``nested``
    discriminants: for each view, those without f, for each f.
    """
    suspects = np.flatnonzero(model.p_right(candidates) < SUSPECT)
    if not len(suspects):
        return totals
    chosen = [view_rows.take(suspects) for view_rows in rows]
    folds, given = chosen[0].folds, candidates.given[suspects]
    for outer in range(len(nested[0])):
        index = np.flatnonzero(folds != outer)
        tables = [view[outer].of(each)[index] for view, each in zip(nested, chosen, strict=True)]
        tables += [table[outer][suspects[index]] for table in fixed.nested]
        subset = Candidates.from_tables(tables, given[index])
        if candidates.known is not None:
            subset = subset.knowing(candidates.known[suspects[index]])
        change = np.zeros((len(suspects), candidates.n_classes), dtype=np.float32)
        change[index] = corrected(model.posterior(subset), subset).T
        change[index, given[index]] -= 1.0
        if weight is not None:
            change *= weight[suspects].astype(np.float32)[:, None]
        for (sums, counts), each in zip(totals, chosen, strict=True):
            each.add_class_sums(sums[outer], counts[outer], change)
    return totals


def corrected(posterior: Floats, candidates: Candidates) -> Floats:
    """Memberships for the next round: the given label where it is probably right, elsewhere the posterior.

    If all rows had their posterior as memberships, every round would draw overlapping classes further apart and
    find more wrong labels.
    """
    right = np.flatnonzero(posterior[candidates.given_entries] > 0.5)
    memberships = posterior.copy()
    memberships[:, right] = 0.0
    memberships[candidates.given_index[right], right] = 1.0
    return memberships


def sum_p_right(candidates: Candidates, model: NoiseModel) -> float:
    """Sum of P(label right) over the rows."""
    return float(model.p_right(candidates).sum(dtype=np.float64))
