"""How far wrong labels rotate the eigenvectors of a class (figure 3c, table 4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.metrics.class_eigenvectors.class_features import ClassFeatures
from eigenclean.metrics.class_eigenvectors.eigenpairs import leading_eigenpairs, perturbation
from eigenclean.metrics.record import Record


@dataclass(frozen=True, eq=False)
class EigenvectorShift(Record):
    """Sine of the angle between an eigenvector of all samples of a class and that of its right labels alone.

    Attributes:
        classes: K labels.
        components: C, which eigenvectors: 1 is the first.
        perturbation: C x K; NaN for a class that has too few right labels.
        mean: C, over the classes.
        std: C, likewise.
    """

    classes: Array
    components: tuple[int, ...]
    perturbation: Float64s
    mean: Float64s
    std: Float64s


def eigenvector_shift(
    features: ArrayLike, labels: ArrayLike, is_clean: ArrayLike, *, components: Sequence[int] = (1, 2)
) -> EigenvectorShift:
    """Compare all samples of every given class with those of them whose label is right.

    >>> z = [[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    >>> eigenvector_shift(z, ["a"] * 3, [True, True, False]).perturbation
    array([[0.],
           [0.]])
    """
    by = "eigenvector_shift"
    if not components or min(components) < 1:
        raise InvalidOption(f"{by}: components must be 1 or more, got {list(components)}")
    data = ClassFeatures.of(features, labels, is_clean, by=by)
    highest = max(components)
    if highest > data.features.shape[1]:
        raise InvalidOption(f"{by}: component {highest} needs as many features, got {data.features.shape[1]}")
    sines = np.full((len(components), len(data)), np.nan)
    for k, (block, clean) in enumerate(data):
        if clean.sum() >= highest:
            all_pairs, right_pairs = (leading_eigenpairs(rows, highest) for rows in (block, block[clean]))
            for c, component in enumerate(components):
                if (
                    all_pairs[0][component - 1] > 0 and right_pairs[0][component - 1] > 0
                ):  # a zero eigenvalue has no direction
                    sines[c, k] = perturbation(all_pairs[1][component - 1], right_pairs[1][component - 1])
    measured = ~np.isnan(sines).any(axis=0)
    if not measured.any():
        raise InvalidData(f"{by}: no class has {highest} right labels; give more samples")
    of_measured = sines[:, measured]
    return EigenvectorShift(data.names, tuple(components), sines, of_measured.mean(axis=1), of_measured.std(axis=1))
