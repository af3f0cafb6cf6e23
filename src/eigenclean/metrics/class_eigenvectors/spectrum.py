"""The eigenvalue spectrum of each class: the share of Σ |z|² along its leading eigenvectors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidOption
from eigenclean.metrics.class_eigenvectors.class_features import ClassFeatures
from eigenclean.metrics.class_eigenvectors.eigenpairs import leading_eigenpairs
from eigenclean.metrics.record import Record


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
    data = ClassFeatures.of(features, labels, by="eigenvalue_spectrum")
    values, total = np.zeros((len(data), min(k, data.features.shape[1]))), np.zeros(len(data))
    for j, (block, _) in enumerate(data):
        leading = leading_eigenpairs(block, values.shape[1])[0]
        values[j, : len(leading)] = leading
        total[j] = np.sum(block.astype(np.float64) ** 2)
    return Spectrum(data.names, values, values / np.where(total > 0, total, 1.0)[:, None])
