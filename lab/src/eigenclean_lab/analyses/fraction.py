"""How few samples give the eigenvector of a class (figure 3d)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.errors import InvalidOption
from eigenclean.moments import top_eigenpair
from eigenclean_lab.analyses.classes import Classes
from eigenclean_lab.analyses.record import Record
from eigenclean_lab.plot_style import INK, LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class FractionCurve(Record):
    """|⟨u, û⟩|, where û comes from a random share of the class.

    Attributes:
        classes: K labels.
        fractions: F shares.
        cosine: F, means over classes and draws.
        low, high: F, the smallest and the largest.
        sizes: F, samples that were taken, on average over the classes.
        by_class: F x K, means over draws.
    """

    classes: Array
    fractions: Float64s
    cosine: Float64s
    low: Float64s
    high: Float64s
    sizes: Float64s
    by_class: Float64s


def fraction_curve(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    fractions: Sequence[float] = FRACTIONS,
    draws: int = 5,
    random_state: int = 0,
) -> FractionCurve:
    """Draw samples of each class without replacement, max(⌈share · n⌉, 2) of them, as ``FINE(subset=...)`` does.

    >>> rng = np.random.default_rng(0)
    >>> found = fraction_curve(1 + 0.1 * rng.standard_normal((300, 8)), [0] * 300, fractions=[0.01, 1.0])
    >>> found.cosine.round(3)
    array([0.999, 1.   ])
    """
    by = "fraction_curve"
    if not fractions or not all(0 < share <= 1 for share in fractions):
        raise InvalidOption(f"{by}: fractions must be above 0 and at most 1, got {list(fractions)}")
    if draws < 1:
        raise InvalidOption(f"{by}: draws must be at least 1, got {draws}")
    data = Classes.of(features, labels, by=by)
    rng = np.random.default_rng(random_state)
    cosines = np.empty((len(fractions), draws, len(data)))
    sizes: Ints = np.empty((len(fractions), len(data)), dtype=np.intp)
    for k, (block, _) in enumerate(data):
        n, u = len(block), top_eigenpair(block)[1]
        sizes[:, k] = [min(n, max(2, int(np.ceil(share * n)))) for share in fractions]
        for f, size in enumerate(sizes[:, k].tolist()):
            for draw in range(draws):
                some = np.sort(rng.choice(n, size, replace=False))
                cosines[f, draw, k] = abs(u @ top_eigenpair(block[some])[1])
    ends = cosines.min(axis=(1, 2)), cosines.max(axis=(1, 2))
    shares, mean = np.array(fractions, dtype=np.float64), cosines.mean(axis=(1, 2))
    return FractionCurve(data.names, shares, mean, *ends, sizes.mean(axis=1), cosines.mean(axis=1))


def plot_fraction_curve(found: FractionCurve, axes: "Axes") -> "Axes":
    """The mean over classes and draws, and between which values all of them are."""
    axes.fill_between(found.fractions, found.low, found.high, color=LINE, alpha=0.2, lw=0, label="all")
    axes.plot(found.fractions, found.cosine, "o-", color=LINE, label="mean")
    axes.axhline(0.99, color=INK, lw=1, ls=":")
    axes.text(found.fractions.max(), 0.99, "0.99", color=INK, ha="right", va="top")
    axes.set(xscale="log", xlabel="share of the class", ylabel="|cos| with the eigenvector of all")
    axes.set_xticks(found.fractions, [f"{100 * share:g} %" for share in found.fractions])
    axes.minorticks_off()
    axes.legend(loc="lower right")
    return axes
