"""The judge's work on one block of rows; everything else in it is sums over blocks."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenclean.arrays import Array, Float64s, Floats, Ints
from eigenclean.detect.folds import content_hash, folds_by
from eigenclean.detect.judge.candidates import MANY, Candidates
from eigenclean.detect.judge.discriminants import Discriminants
from eigenclean.detect.judge.noise_model import NoisyLabels
from eigenclean.detect.judge.unit_rows import Look, RowForm, UnitRows

Sums = tuple[Float64s, Float64s]  # folds x K x d and folds x K


class Seen(NamedTuple):
    """A first look at a block."""

    lots: NDArray[np.uint64]
    look: Look


def seen(features: Array) -> Seen:
    """Lots and what else has to be known before rows become directions."""
    return Seen(content_hash(features), Look.at(features))


def lots(block: Seen) -> NDArray[np.uint64]:
    """The lots alone."""
    return block.lots


def look(block: Seen) -> Look:
    """All but the lots."""
    return block.look


def directions(features: Array, lots: NDArray[np.uint64], form: RowForm, n_folds: int) -> UnitRows:
    """The rows as directions, by fold."""
    return UnitRows(features, folds_by(lots, n_folds), form)


def no_sums(n_folds: int, k: int, d: int) -> Sums:
    """Class sums before the first block."""
    return np.zeros((n_folds, k, d)), np.zeros((n_folds, k))


def no_moments(n_folds: int, k: int, d: int) -> tuple[Float64s, Float64s, Sums]:
    """Second moments, masses and class sums before the first block."""
    return np.zeros((n_folds, d, d)), np.zeros(n_folds), no_sums(n_folds, k, d)


def add_moments(
    totals: tuple[Float64s, Float64s, Sums], rows: UnitRows, codes: Ints, weight: Float64s | None
) -> tuple[Float64s, Float64s, Sums]:
    """Second moments and masses of each fold, and class sums by the given labels."""
    seconds, masses, sums = totals
    rows.add_second_moments(seconds, weight)
    masses += np.bincount(rows.folds, weight, len(masses))
    return seconds, masses, _add_class_sums(sums, rows, _given(codes, sums[0].shape[1]), weight)


def add_moved(
    sums: Sums, rows: UnitRows, candidates: Candidates, weight: Float64s | None, model: NoisyLabels
) -> Sums:
    """Class sums where samples whose label is probably wrong are shared out."""
    members = candidates.members(_moved(model.posterior(candidates), candidates))
    return _add_class_sums(sums, rows, members, weight)


def _add_class_sums(sums: Sums, rows: UnitRows, members: Floats | csr_array, weight: Float64s | None) -> Sums:
    if weight is not None:
        column = weight.astype(np.float32)[:, None]
        members = members * column if isinstance(members, np.ndarray) else members.multiply(column).tocsr()
    rows.add_class_sums(*sums, members)
    return sums


def _given(codes: Ints, k: int) -> Floats | csr_array:
    """The given labels as memberships, n x K, sparse when there are very many classes."""
    n = len(codes)
    sparse = csr_array((np.ones(n, dtype=np.float32), codes, np.arange(n + 1)), shape=(n, k))
    return sparse if k > MANY else sparse.toarray()


def _moved(posterior: Floats, candidates: Candidates) -> Floats:
    """Memberships for the next round: a label that is probably right keeps its sample whole, others are shared out.

    Were all shared out, every round would draw overlapping classes further apart, and find more wrong labels.
    """
    right = np.flatnonzero(posterior[candidates.everyone] > 0.5)
    moved = posterior.copy()
    moved[:, right] = 0.0
    moved[candidates.own[right], right] = 1.0
    return moved


def candidates(rows: UnitRows, codes: Ints, discriminants: Discriminants, is_partial: bool) -> Candidates:
    """The candidates of all rows."""
    found = Candidates.of(discriminants, rows, codes)
    return found.in_block() if is_partial else found


def trials(
    rows: UnitRows,
    codes: Ints,
    folds: list[int],
    expected: Discriminants | None,
    others: list[Discriminants],
    is_partial: bool,
) -> tuple[Candidates | None, list[Candidates]]:
    """Candidates of all rows by the discriminants that are ``expected`` to be best, and of some folds by all."""
    inside, chosen = rows.only(folds), np.flatnonzero(np.isin(rows.folds, folds))
    tried = [candidates(inside, codes[chosen], other, is_partial) for other in others]
    if expected is None:
        return None, tried
    every = candidates(rows, codes, expected, is_partial)
    own = every.taken(chosen)
    own = replace(own, values=np.ascontiguousarray(own.values), is_partial=is_partial)
    return every, [*tried, own]


def every(block: tuple[Candidates, Any]) -> Candidates:
    """The candidates of all rows."""
    return block[0]


def tried(block: tuple[Any, list[Candidates]]) -> list[Candidates]:
    """Those of the trials."""
    return block[1]


def p_right(candidates: Candidates, model: NoisyLabels) -> float:
    """Sum of P(label right)."""
    return float(model.posterior(candidates)[candidates.everyone].sum(dtype=np.float64))


def log_odds(candidates: Candidates, model: NoisyLabels) -> Float64s:
    """The scores."""
    return model.log_odds(candidates)


def suggested(candidates: Candidates, rows: Ints, model: NoisyLabels) -> tuple[Ints, Float64s]:
    """The likeliest other class of these rows, and its probability among the others."""
    chosen = candidates.taken(rows)
    posterior = model.posterior(chosen).astype(np.float64)
    posterior[chosen.everyone] = 0.0
    posterior /= np.maximum(posterior.sum(axis=0), 1e-300)
    best = posterior.argmax(axis=0), np.arange(len(rows))
    return chosen.classes[best].astype(np.intp), posterior[best]
