"""How far wrong labels turn the eigenvectors of a class (figure 3c, table 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean_lab.analyses.classes import Classes, leading_eigenpairs
from eigenclean_lab.analyses.record import Record
from eigenclean_lab.analyses.ticks import class_ticks
from eigenclean_lab.plot_style import CYCLE
from eigenclean_lab.theory.perturbation import perturbation

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    data = Classes.of(features, labels, is_clean, by=by)
    most = max(components)
    if most > data.features.shape[1]:
        raise InvalidOption(f"{by}: component {most} needs as many features, got {data.features.shape[1]}")
    sines = np.full((len(components), len(data)), np.nan)
    for k, (block, clean) in enumerate(data):
        if clean.sum() >= most:
            everyone, right = (leading_eigenpairs(rows, most) for rows in (block, block[clean]))
            for c, component in enumerate(components):
                if everyone[0][component - 1] > 0 and right[0][component - 1] > 0:  # else there is no direction
                    sines[c, k] = perturbation(everyone[1][component - 1], right[1][component - 1])
    measured = ~np.isnan(sines).any(axis=0)
    if not measured.any():
        raise InvalidData(f"{by}: no class has {most} right labels; give more samples")
    own = sines[:, measured]
    return EigenvectorShift(data.names, tuple(components), sines, own.mean(axis=1), own.std(axis=1))


def plot_eigenvector_shift(found: EigenvectorShift, axes: "Axes") -> "Axes":
    """A mark for each class and eigenvector."""
    places = np.arange(len(found.classes))
    for i, (component, sines) in enumerate(zip(found.components, found.perturbation, strict=True)):
        mean = f"no. {component}: {found.mean[i]:.3f} ± {found.std[i]:.3f}"
        axes.plot(places, sines, "os^Dv"[i % 5], color=CYCLE[i % len(CYCLE)], label=mean)
    where, names = class_ticks(found.classes)
    axes.set_xticks(where, names, rotation=45 if max(map(len, names)) > 3 else 0)
    axes.set(xlabel="class", ylabel="sine, all against right labels")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(2, len(found.components)))
    return axes


def plot_shift_by_rate(found: Mapping[float, EigenvectorShift], axes: "Axes") -> "Axes":
    """Mean and deviation over the classes against the noise rate, a line for each eigenvector."""
    rates = sorted(found)
    for i, component in enumerate(found[rates[0]].components):
        mean, std = ([getattr(found[rate], name)[i] for rate in rates] for name in ("mean", "std"))
        ink = CYCLE[i % len(CYCLE)]
        axes.errorbar(rates, mean, yerr=std, fmt="o-", color=ink, capsize=3, label=f"eigenvector {component}")
    axes.set_xticks(rates, [f"{100 * rate:g} %" for rate in rates])
    axes.set(xlabel="noise rate", ylabel="sine, all against right labels")
    axes.legend()
    return axes
