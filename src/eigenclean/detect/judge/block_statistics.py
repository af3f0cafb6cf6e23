"""What the judge computes on one block of rows: functions for `Blocks.map` and `Blocks.total`."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenclean.arrays import Array, Float64s, Floats, Ints
from eigenclean.detect.folds import folds_of_hashes
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES, Candidates
from eigenclean.detect.judge.discriminants import Discriminants
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.unit_rows import RowNormalizer, UnitRows

ClassSums = tuple[Float64s, Float64s]  # sums, folds x K x d, and counts, folds x K


def normalise(features: Array, row_hashes: NDArray[np.uint64], normalizer: RowNormalizer, n_folds: int) -> UnitRows:
    """Normalised rows, assigned to folds by their content hashes."""
    return UnitRows(features, folds_of_hashes(row_hashes, n_folds), normalizer)


def zero_class_sums(n_folds: int, k: int, d: int) -> ClassSums:
    """Class sums of no rows."""
    return np.zeros((n_folds, k, d)), np.zeros((n_folds, k))


def zero_moments(n_folds: int, k: int, d: int) -> tuple[Float64s, Float64s, ClassSums]:
    """Second moments, weights and class sums of no rows."""
    return np.zeros((n_folds, d, d)), np.zeros(n_folds), zero_class_sums(n_folds, k, d)


def add_moments(
    totals: tuple[Float64s, Float64s, ClassSums], rows: UnitRows, codes: Ints, weight: Float64s | None
) -> tuple[Float64s, Float64s, ClassSums]:
    """Add second moments and weights of each fold, and class sums by the given labels."""
    second_moments, fold_weights, sums = totals
    rows.add_second_moments(second_moments, weight)
    fold_weights += np.bincount(rows.folds, weight, len(fold_weights))
    memberships = _given_memberships(codes, sums[0].shape[1])
    return second_moments, fold_weights, _add_class_sums(sums, rows, memberships, weight)


def add_reassigned(
    sums: ClassSums, rows: UnitRows, candidates: Candidates, weight: Float64s | None, model: NoiseModel
) -> ClassSums:
    """Add class sums in which rows with a probably wrong label are distributed by their posterior."""
    memberships = candidates.memberships(_reassigned(model.posterior(candidates), candidates))
    return _add_class_sums(sums, rows, memberships, weight)


def _add_class_sums(
    sums: ClassSums, rows: UnitRows, memberships: Floats | csr_array, weight: Float64s | None
) -> ClassSums:
    if weight is not None:
        column = weight.astype(np.float32)[:, None]
        if isinstance(memberships, np.ndarray):
            memberships = memberships * column
        else:
            memberships = memberships.multiply(column).tocsr()
    rows.add_class_sums(*sums, memberships)
    return sums


def _given_memberships(codes: Ints, k: int) -> Floats | csr_array:
    """The given labels as one-hot memberships, n x K, sparse if there are very many classes."""
    n = len(codes)
    sparse = csr_array((np.ones(n, dtype=np.float32), codes, np.arange(n + 1)), shape=(n, k))
    return sparse if k > MAX_DENSE_CLASSES else sparse.toarray()


def _reassigned(posterior: Floats, candidates: Candidates) -> Floats:
    """Memberships for the next round: the given label where it is probably right, elsewhere the posterior.

    If all rows had their posterior as memberships, every round would draw overlapping classes further apart and
    find more wrong labels.
    """
    right = np.flatnonzero(posterior[candidates.given_entries] > 0.5)
    memberships = posterior.copy()
    memberships[:, right] = 0.0
    memberships[candidates.given_index[right], right] = 1.0
    return memberships


def find_candidates(rows: UnitRows, codes: Ints, discriminants: Discriminants, is_partial: bool) -> Candidates:
    """The candidates of all rows."""
    return Candidates.of(discriminants, rows, codes, is_partial=is_partial)


@dataclass(frozen=True, eq=False)
class TrialCandidates:
    """Candidates of the rows of the trial folds by each of several discriminants.

    Attributes:
        trials: the candidates of the trial folds, one for each amount of shrinkage.
        full: the candidates of all rows by the discriminants that are expected to be best, if there are any; those
            of the trial folds are then the last of the ``trials``.
    """

    trials: list[Candidates]
    full: Candidates | None


def try_discriminants(
    rows: UnitRows,
    codes: Ints,
    trial_folds: list[int],
    alternatives: list[Discriminants],
    expected: Discriminants | None,
    is_partial: bool,
) -> TrialCandidates:
    """Candidates of the trial folds by all discriminants, and of all rows by the ``expected`` ones."""
    trial_rows, index = rows.only(trial_folds), np.flatnonzero(np.isin(rows.folds, trial_folds))
    trials = [find_candidates(trial_rows, codes[index], each, is_partial) for each in alternatives]
    if expected is None:
        return TrialCandidates(trials, None)
    full = find_candidates(rows, codes, expected, is_partial)
    subset = full.take(index)
    subset = replace(subset, values=np.ascontiguousarray(subset.values), is_partial=is_partial)
    return TrialCandidates([*trials, subset], full)


def sum_p_right(candidates: Candidates, model: NoiseModel) -> float:
    """Sum of P(label right) over the rows."""
    return float(model.posterior(candidates)[candidates.given_entries].sum(dtype=np.float64))


def log_odds(candidates: Candidates, model: NoiseModel) -> Float64s:
    """Log-odds that the given label is right: the scores of the rows."""
    return model.log_odds(candidates)


def suggest(candidates: Candidates, rows: Ints, model: NoiseModel) -> tuple[Ints, Float64s]:
    """The most likely other class of these rows, and its probability among the other classes."""
    chosen = candidates.take(rows)
    posterior = model.posterior(chosen).astype(np.float64)
    posterior[chosen.given_entries] = 0.0
    posterior /= np.maximum(posterior.sum(axis=0), 1e-300)
    best = posterior.argmax(axis=0), np.arange(len(rows))
    return chosen.classes[best].astype(np.intp), posterior[best]
