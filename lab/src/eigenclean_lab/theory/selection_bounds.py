"""Theorem 2: precision and recall of a boundary half-way between two estimated means.

The model: along a direction u that is fixed beforehand, the scores ⟨u, z⟩ of right labels are N(uᵀv, σ²) and those
of wrong ones N(uᵀw, σ²), Δ = uᵀv − uᵀw apart. The boundary is the midpoint of their sample means; what is above it
is kept.
(FINE squares or normalises its scores, and fits a mixture: this is the simplification of the paper's theorem.)
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean_lab.theory.checks import chance, number

Form = Literal["corrected", "printed", "tight"]
FORMS: tuple[Form, ...] = ("corrected", "printed", "tight")


def recall_bound(
    gap: ArrayLike,
    sigma: ArrayLike,
    n_clean: ArrayLike,
    n_noisy: ArrayLike,
    *,
    delta: float = 0.05,
    form: Form = "corrected",
    constant: float | None = None,
) -> Float64s:
    """Share of right labels that are kept, at least, with probability 1 − ``delta``: Φ((Δ − 2c)/2σ).

    Args:
        gap: Δ, above 0.
        sigma: deviation of the scores.
        n_clean: N₊, right labels.
        n_noisy: N₋, wrong ones.
        delta: how often it may fail.
        form: "printed" has 1/N₊ + 1/N₊ in c where 1/N₊ + 1/N₋ is right.
        constant: 𝒞 in c; None takes σ/√2, which follows from the Gaussian tail.

    >>> round(float(recall_bound(0.5, 0.3, 200, 200)), 3)
    0.757
    """
    gap, sigma, c = _checked(gap, sigma, n_clean, n_noisy, delta, form, constant, by="recall_bound")
    return np.asarray(ndtr((gap - 2 * c) / (2 * sigma)))


def precision_bound(
    gap: ArrayLike,
    sigma: ArrayLike,
    n_clean: ArrayLike,
    n_noisy: ArrayLike,
    *,
    delta: float = 0.05,
    form: Form = "corrected",
    constant: float | None = None,
    share_clean: ArrayLike | None = None,
) -> Float64s:
    """Share of kept labels that are right, at least, with probability 1 − ``delta``.

    Args:
        gap: Δ, above 0.
        sigma: deviation of the scores.
        n_clean: N₊, right labels.
        n_noisy: N₋, wrong ones.
        delta: how often it may fail.
        form: "printed" counts wrong labels as Φ((−Δ − 2c)/2σ), as if the boundary helped on both sides, and is too
            high; "corrected" has Φ((−Δ + 2c)/2σ); "tight" is the precision at the worst boundary that is allowed,
            midpoint − c, and the best bound there is.
        constant: 𝒞 in c; None takes σ/√2.
        share_clean: p₊, share of right labels; by default N₊/(N₊ + N₋).

    >>> [round(float(precision_bound(0.5, 0.3, 200, 200, form=form)), 3) for form in FORMS]
    [0.757, 0.82, 0.775]
    >>> round(float(precision_at(0.0, 0.5, 0.3, 0.5)), 3)  # at the midpoint itself, below what is printed
    0.798
    """
    by = "precision_bound"
    clean, noisy = np.asarray(n_clean, dtype=np.float64), np.asarray(n_noisy, dtype=np.float64)
    gap, sigma, c = _checked(gap, sigma, clean, noisy, delta, form, constant, by=by)
    share = clean / (clean + noisy) if share_clean is None else number(share_clean, "share_clean", by=by, least=0)
    if (share > 1).any():
        raise InvalidOption(f"{by}: share_clean must be at most 1, got {share.max():g}")
    if form == "tight":
        return precision_at(-c, gap, sigma, share)
    kept_clean = ndtr((gap - 2 * c) / (2 * sigma))
    kept_noisy = ndtr((-gap - 2 * c if form == "printed" else -gap + 2 * c) / (2 * sigma))
    return _precision(kept_clean, kept_noisy, share)


def recall_at(shift: ArrayLike, gap: ArrayLike, sigma: ArrayLike) -> Float64s:
    """Recall of a boundary ``shift`` above the midpoint of the true means.

    >>> float(recall_at(0.25, 0.5, 0.3))
    0.5
    """
    return np.asarray(ndtr((np.asarray(gap) / 2 - np.asarray(shift)) / np.asarray(sigma)))


def precision_at(shift: ArrayLike, gap: ArrayLike, sigma: ArrayLike, share_clean: ArrayLike) -> Float64s:
    """Precision of a boundary ``shift`` above the midpoint of the true means; it grows with ``shift``."""
    kept_noisy = ndtr((-np.asarray(gap) / 2 - np.asarray(shift)) / np.asarray(sigma))
    return _precision(recall_at(shift, gap, sigma), kept_noisy, np.asarray(share_clean))


def boundary_error(
    sigma: ArrayLike,
    n_clean: ArrayLike,
    n_noisy: ArrayLike,
    *,
    delta: float = 0.05,
    constant: float | None = None,
) -> Float64s:
    """c = 𝒞√((1/N₊ + 1/N₋) log(2/δ)): the boundary is farther off with probability at most ``delta``.

    >>> round(float(boundary_error(0.3, 200, 200)), 4)
    0.0407
    """
    scale = np.asarray(sigma) / np.sqrt(2) if constant is None else constant
    inverse = 1 / np.asarray(n_clean, dtype=np.float64) + 1 / np.asarray(n_noisy, dtype=np.float64)
    return np.asarray(scale * np.sqrt(inverse * np.log(2 / delta)))


def _checked(
    gap: ArrayLike,
    sigma: ArrayLike,
    n_clean: ArrayLike,
    n_noisy: ArrayLike,
    delta: float,
    form: str,
    constant: float | None,
    *,
    by: str,
) -> tuple[Float64s, Float64s, Float64s]:
    """Δ, σ and c as arrays, checked."""
    check_name(form, FORMS, by=by, what="form")
    gap = number(gap, "gap", by=by, least=0, strictly=True)
    sigma = number(sigma, "sigma", by=by, least=0, strictly=True)
    clean = number(n_clean, "n_clean", by=by, least=1)
    noisy = number(n_noisy, "n_noisy", by=by, least=1)
    delta = chance(delta, by=by)
    if constant is not None:
        number(constant, "constant", by=by, least=0, strictly=True)
    c = boundary_error(sigma, clean, clean if form == "printed" else noisy, delta=delta, constant=constant)
    return gap, sigma, c


def _precision(kept_clean: Float64s, kept_noisy: Float64s, share: Float64s) -> Float64s:
    good, bad = share * kept_clean, (1 - share) * kept_noisy
    # Where both shares underflow, the precision is undefined; 0 is returned.
    return np.asarray(good / np.maximum(good + bad, np.finfo(np.float64).tiny))
