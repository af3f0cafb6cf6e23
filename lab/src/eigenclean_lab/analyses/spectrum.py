"""How much of a class its first eigenvector holds, and how much the next ones."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidOption
from eigenclean_lab.analyses.classes import Classes, leading_eigenpairs
from eigenclean_lab.analyses.record import Record
from eigenclean_lab.plot_style import INK, LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Spectrum(Record):
    """The largest eigenvalues of Σ z zᵀ.

    Attributes:
        classes: K labels.
        values: K x k, largest first; 0 beyond the number of samples.
        shares: K x k, of the sum of all eigenvalues, which is Σ |z|².
    """

    classes: Array
    values: Float64s
    shares: Float64s


def eigenvalue_spectrum(features: ArrayLike, labels: ArrayLike, *, k: int = 10) -> Spectrum:
    """The ``k`` largest eigenvalues of every class, or as many as there are features.

    >>> eigenvalue_spectrum([[3.0, 0.0], [0.0, 1.0]], [0, 0]).shares
    array([[0.9, 0.1]])
    """
    if k < 1:
        raise InvalidOption(f"eigenvalue_spectrum: k must be at least 1, got {k}")
    data = Classes.of(features, labels, by="eigenvalue_spectrum")
    values, total = np.zeros((len(data), min(k, data.features.shape[1]))), np.zeros(len(data))
    for j, (block, _) in enumerate(data):
        found = leading_eigenpairs(block, values.shape[1])[0]
        values[j, : len(found)] = found
        total[j] = np.sum(block.astype(np.float64) ** 2)
    return Spectrum(data.names, values, values / np.where(total > 0, total, 1.0)[:, None])


def plot_spectrum(found: Spectrum, axes: "Axes") -> "Axes":
    """A thin line for each class, a thick one for their mean."""
    number = np.arange(1, found.shares.shape[1] + 1)
    floor = 1e-6  # a logarithm of nothing cannot be drawn
    axes.plot(number, np.maximum(found.shares, floor).T, color=INK, lw=0.7, alpha=0.6)
    mean = found.shares.mean(axis=0)
    axes.plot(
        number, np.maximum(mean, floor), "o-", color=LINE, lw=2, label=f"mean of {len(found.classes)} classes"
    )
    axes.set(yscale="log", xlabel="eigenvalue", ylabel="share of the sum of all")
    axes.set_xticks(number)
    axes.legend()
    return axes
