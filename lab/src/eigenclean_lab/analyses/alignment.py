"""Which direction tells right labels from wrong ones: the eigenvector, and planes through it (figures 3a, 3b)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Bools, Float64s
from eigenclean.errors import InvalidOption
from eigenclean.moments import top_eigenpair
from eigenclean_lab.analyses.classes import Classes, leading_of
from eigenclean_lab.analyses.record import Record
from eigenclean_lab.analyses.ticks import class_ticks
from eigenclean_lab.plot_style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Measure the planes of every class.

    Args:
        features: n x d.
        labels: as given.
        is_clean: True where the given label is right.
        n_angles: directions in each plane.
        n_planes: random planes, over which values are averaged.
        random_state: seed of the planes.

    >>> z = np.array([[1.0, 0.1], [1.0, -0.1], [0.0, 0.5]])
    >>> found = alignment_heatmap(z, ["a"] * 3, [True, True, False], n_angles=4)
    >>> found.values.round(2) + 0  # at φ = 0, π/2, π, 3π/2
    array([[ 1. , -0.24,  1. , -0.24]])
    """
    by = "alignment_heatmap"
    if n_angles < 1 or n_planes < 1:
        raise InvalidOption(f"{by}: n_angles and n_planes must be at least 1, got {n_angles} and {n_planes}")
    data = Classes.of(features, labels, is_clean, by=by)
    rng = np.random.default_rng(random_state)
    angles = 2 * np.pi * np.arange(n_angles) / n_angles
    values, spread = np.full((2, len(data), n_angles), np.nan)
    summary = np.full((len(data), 3), np.nan)
    for k, (block, clean) in enumerate(data):
        across = rng.standard_normal(
            (n_planes, block.shape[1])
        )  # drawn for every class, so that none shifts others
        if clean.any() and not clean.all():
            u = top_eigenpair(block)[1]
            difference = _second_moment(block, clean) - _second_moment(block, ~clean)
            seen = _on_planes(difference, u, _orthonormal(across, u), angles)
            values[k], spread[k] = seen.mean(axis=0), seen.std(axis=0)
            top, direction = leading_of(difference, 1)
            summary[k] = u @ difference @ u, top[0], abs(direction[0] @ u)
    return AlignmentHeatmap(data.names, angles, values, spread, *summary.T)


def plot_alignment_heatmap(found: AlignmentHeatmap, axes: "Axes") -> "Axes":
    """One row per class, relative to the best direction there is; the eigenvector is at the dashed lines."""
    scale = np.where(found.best > 0, found.best, np.nan)[:, None]
    shown = np.ma.masked_invalid(found.values / scale)
    extent = (0.0, 360.0, len(found.classes) - 0.5, -0.5)
    image = axes.imshow(shown, vmin=-1, vmax=1, cmap="BrBG", aspect="auto", extent=extent, interpolation="nearest")
    for at in (0, 180, 360):
        axes.axvline(at, color=INK, lw=1, ls="--")
    axes.set_yticks(*class_ticks(found.classes))
    axes.set_xticks([0, 90, 180, 270, 360], ["0 (u)", "90", "180 (−u)", "270", "360"])
    axes.set(xlabel="φ in degrees", title="Right minus wrong labels")
    axes.figure.colorbar(image, ax=axes, label="share of the best direction")
    return axes


def _second_moment(block: Array, mask: Bools) -> Float64s:
    rows = block[mask].astype(np.float64)
    return np.asarray(rows.T @ rows / len(rows))


def _orthonormal(across: Float64s, u: Float64s) -> Float64s:
    across = across - np.outer(across @ u, u)
    lengths = np.linalg.norm(across, axis=1, keepdims=True)
    return np.asarray(across / np.where(lengths > 1e-9, lengths, np.inf))  # in one dimension nothing is left


def _on_planes(difference: Float64s, u: Float64s, across: Float64s, angles: Float64s) -> Float64s:
    """aᵀDa for every plane and angle, from the three products that it is made of."""
    image = across @ difference
    own, mixed, other = u @ difference @ u, image @ u, np.vecdot(image, across)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.asarray(own * cos**2 + 2 * mixed[:, None] * (sin * cos) + other[:, None] * sin**2)
