"""How well the first eigenvector of a class separates right labels from wrong ones (figures 3a, 3b)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Bools, Float64s
from eigenclean.errors import InvalidOption
from eigenclean.metrics.class_eigenvectors.class_features import ClassFeatures
from eigenclean.metrics.class_eigenvectors.eigenpairs import largest_eigenpairs
from eigenclean.metrics.record import Record
from eigenclean.moments import top_eigenpair
from eigenclean.seeds import tagged_generator


@dataclass(frozen=True, eq=False)
class AlignmentHeatmap(Record):
    """How far apart right and wrong labels are along a direction a: mean ⟨a, z⟩² of right minus that of wrong ones.

    A class without right or without wrong labels has NaN.

    Attributes:
        classes: K labels.
        angles: A angles φ from 0 to 2π; a(φ) = cos φ · u + sin φ · r, with the eigenvector u and a random r ⊥ u.
        values: K x A, means over several r.
        spread: K x A, their deviations.
        at_eigenvector: K, the value at u, φ = 0.
        best: K, the largest value that any direction has: the first eigenvalue of the difference of second moments.
        best_cosine: K, |cos| of the angle between that direction and u.
    """

    classes: Array
    angles: Float64s
    values: Float64s
    spread: Float64s
    at_eigenvector: Float64s
    best: Float64s
    best_cosine: Float64s


def alignment_heatmap(
    features: ArrayLike,
    labels: ArrayLike,
    is_clean: ArrayLike,
    *,
    n_angles: int = 72,
    n_planes: int = 8,
    random_state: int = 0,
) -> AlignmentHeatmap:
    """Measure the separation along directions in random planes through the eigenvector of every class.

    Args:
        features: n x d.
        labels: as given.
        is_clean: True where the given label is right.
        n_angles: directions in each plane.
        n_planes: random planes, over which values are averaged.
        random_state: seed of the planes.

    >>> z = np.array([[1.0, 0.1], [1.0, -0.1], [0.0, 0.5]])
    >>> heatmap = alignment_heatmap(z, ["a"] * 3, [True, True, False], n_angles=4)
    >>> heatmap.values.round(2) + 0  # at φ = 0, π/2, π, 3π/2
    array([[ 1. , -0.24,  1. , -0.24]])
    """
    by = "alignment_heatmap"
    if n_angles < 1 or n_planes < 1:
        raise InvalidOption(f"{by}: n_angles and n_planes must be at least 1, got {n_angles} and {n_planes}")
    data = ClassFeatures.of(features, labels, is_clean, by=by)
    rng = tagged_generator(random_state, "planes")
    angles = 2 * np.pi * np.arange(n_angles) / n_angles
    values, spread = np.full((2, len(data), n_angles), np.nan)
    summary = np.full((len(data), 3), np.nan)
    for k, (block, clean) in enumerate(data):
        # Drawn for every class, so that the planes of one do not depend on whether another was measured.
        across = rng.standard_normal((n_planes, block.shape[1]))
        if clean.any() and not clean.all():
            u = top_eigenpair(block)[1]
            difference = _second_moment(block, clean) - _second_moment(block, ~clean)
            on_planes = _on_planes(difference, u, _orthonormal(across, u), angles)
            values[k], spread[k] = on_planes.mean(axis=0), on_planes.std(axis=0)
            top, direction = largest_eigenpairs(difference, 1)
            summary[k] = u @ difference @ u, top[0], abs(direction[0] @ u)
    return AlignmentHeatmap(data.names, angles, values, spread, *summary.T)


def _second_moment(block: Array, mask: Bools) -> Float64s:
    rows = block[mask].astype(np.float64)
    return np.asarray(rows.T @ rows / len(rows))


def _orthonormal(across: Float64s, u: Float64s) -> Float64s:
    across = across - np.outer(across @ u, u)
    lengths = np.linalg.norm(across, axis=1, keepdims=True)
    return np.asarray(across / np.where(lengths > 1e-9, lengths, np.inf))  # with one feature there is no r ⊥ u


def _on_planes(difference: Float64s, u: Float64s, across: Float64s, angles: Float64s) -> Float64s:
    """aᵀDa for every plane and angle, expanded into uᵀDu, uᵀDr and rᵀDr."""
    image = across @ difference
    along_u, mixed, along_r = u @ difference @ u, image @ u, np.vecdot(image, across)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.asarray(along_u * cos**2 + 2 * mixed[:, None] * (sin * cos) + along_r[:, None] * sin**2)
