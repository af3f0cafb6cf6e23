"""Theorem 1: how far wrong labels and noise can turn the eigenvector of a class.

The model: N₊ features v + ε with right labels, N₋ = τN₊ features w + ε with wrong ones; v and w are unit vectors at
an angle θ, ε is Gaussian with variance σ² in each of d directions; u is the first eigenvector of Σ z zᵀ over all.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Bools, Float64s
from eigenclean.names import check_name
from eigenclean_lab.theory.checks import chance, number

Form = Literal["corrected", "printed"]
PROVEN = 4.5  # a constant with which the corrected form of E holds; see docs/explanation/theory.md for the proof
_BY = "perturbation_bound"


@dataclass(frozen=True)
class Bound:
    """A bound on a sine; where it excludes nothing it is ``vacuous``, and its value 1.

    >>> float(Bound(np.asarray(0.25), np.asarray(False)))
    0.25
    """

    value: Float64s
    vacuous: Bools

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True)
class Terms:
    """Terms of the bound (pull + E) / (gap − E): the effect of wrong labels, the eigengap, the sampling error E."""

    pull: Float64s
    gap: Float64s
    error: Float64s

    def bound(self) -> Bound:
        """The bound itself; it is vacuous where the error may close the gap, and at most 1."""
        below = self.gap - self.error
        open_ = below > 0
        value = np.minimum((self.pull + self.error) / np.where(open_, below, 1.0), 1.0)
        # A printed numerator may be negative, for θ beyond a right angle; a sine is not.
        value = np.where(open_, np.maximum(value, 0.0), 1.0)
        return Bound(np.asarray(value), np.asarray(value >= 1.0))


def perturbation_bound(
    tau: ArrayLike,
    theta: ArrayLike,
    sigma: ArrayLike,
    d: ArrayLike,
    n_clean: ArrayLike,
    *,
    delta: float = 0.05,
    form: Form = "corrected",
    constant: float | None = None,
    exact: bool = False,
) -> Bound:
    """A bound that ‖uuᵀ − vvᵀ‖₂ exceeds with probability at most ``delta``. Arrays give one bound per element.

    Args:
        tau: N₋/N₊, wrong labels for each right one.
        theta: angle between v and w.
        sigma: deviation of the noise in each direction.
        d: number of features.
        n_clean: N₊.
        delta: how often it may fail.
        form: "corrected", which holds; or "printed", as in the paper, which does not for small ``sigma``.
        constant: C in E. As printed, E = Cσ²√((d + log(4/δ))/N₊)·(1 + √τ) with an unknown C; None takes 1. The
            corrected E has σ² + σ for σ², and C = 4.5 is enough; None takes the sum of the Gaussian tails that it
            rounds up, which has no constant and is smaller.
        exact: take the norm of what wrong labels add, |cosθ|(|cosθ| + √(4 − 3cos²θ))/2, and the gap 1 − τsin²θ,
            where the paper has 3cosθ and 1 − τsinθ.

    >>> setting = dict(tau=0.2, theta=np.pi / 2, sigma=0.1, d=128, n_clean=2000)  # the sine is about 0.025
    >>> round(float(perturbation_bound(**setting, form="printed")), 4)
    0.0047
    >>> round(float(perturbation_bound(**setting)), 4)
    0.1505
    >>> perturbation_bound(tau=0.5, theta=0.3, sigma=0.1, d=128, n_clean=2000).vacuous
    array(True)
    """
    terms = bound_terms(tau, theta, sigma, d, n_clean, delta=delta, form=form, constant=constant, exact=exact)
    return terms.bound()


def bound_terms(
    tau: ArrayLike,
    theta: ArrayLike,
    sigma: ArrayLike,
    d: ArrayLike,
    n_clean: ArrayLike,
    *,
    delta: float = 0.05,
    form: Form = "corrected",
    constant: float | None = None,
    exact: bool = False,
) -> Terms:
    """The terms of `perturbation_bound`, which takes the same arguments."""
    check_name(form, ("corrected", "printed"), by=_BY, what="form")
    tau = number(tau, "tau", by=_BY, least=0)
    theta = number(theta, "theta", by=_BY, least=-np.inf)
    sigma = number(sigma, "sigma", by=_BY, least=0)
    d = number(d, "d", by=_BY, least=1)
    n_clean = number(n_clean, "n_clean", by=_BY, least=1)
    delta = chance(delta, by=_BY)
    if constant is not None:
        number(constant, "constant", by=_BY, least=0, strictly=True)
    cos, sin = np.cos(theta), np.sin(theta)
    if form == "corrected":  # w and −w are the same direction, and sin²θ ≤ |sinθ| at every angle
        cos, sin = np.abs(cos), np.abs(sin)
    pull = tau * (cos * (cos + np.sqrt(4 - 3 * cos**2)) / 2 if exact else 3 * cos)
    gap = 1 - tau * (sin**2 if exact else sin) - pull
    if form == "corrected" and constant is None:
        error = gaussian_error(tau, sigma, d, n_clean, delta)
    else:
        scale = sigma**2 if form == "printed" else sigma**2 + sigma
        error = (1.0 if constant is None else constant) * scale * chance_scale(tau, d, n_clean, delta)
    return Terms(*np.broadcast_arrays(pull, gap, error))


def chance_scale(tau: Float64s, d: Float64s, n_clean: Float64s, delta: float) -> Float64s:
    """√((d + log(4/δ))/N₊)·(1 + √τ), which E is a multiple of."""
    return np.asarray(np.sqrt((d + np.log(4 / delta)) / n_clean) * (1 + np.sqrt(tau)))


def gaussian_error(tau: Float64s, sigma: Float64s, d: Float64s, n_clean: Float64s, delta: float) -> Float64s:
    """Bound on the norm of Σ z zᵀ / N₊ minus its mean; exceeded with probability at most ``delta``.

    With t = (√d + √(2 log(6/δ)))/√N₊, the noise of N₊ features has a covariance within σ²(2t + t²) of σ²I and a
    mean of length at most σt, which the cross term vεᵀ + εvᵀ brings in twice. The same holds for the N₋ others,
    with t/√τ. A union bound over six events, each of probability δ/6.
    """
    t = (np.sqrt(d) + np.sqrt(2 * np.log(6 / delta))) / np.sqrt(n_clean)
    return np.asarray(2 * (sigma**2 + sigma) * (1 + np.sqrt(tau)) * t + 2 * sigma**2 * t**2)
