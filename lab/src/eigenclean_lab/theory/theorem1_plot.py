"""The pictures of theorem 1."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean_lab.plot_style import INK, RIGHT, WRONG

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRINTED, CORRECTED = WRONG, RIGHT


def draw_theorem1(cells: Sequence[Any], figure: "Figure") -> None:
    """Both pictures, side by side, into an empty figure."""
    left, right = figure.subplots(1, 2)
    plot_perturbation_bound(cells, left)
    plot_constant_needed(cells, right)


def plot_perturbation_bound(cells: Sequence[Any], axes: "Axes") -> "Axes":
    """Bounds over what was simulated; below the diagonal, a bound is broken."""
    sine = np.array([cell.high for cell in cells])
    for name, ink, marker in (("printed", PRINTED, "x"), ("corrected", CORRECTED, "o")):
        bound = np.array([getattr(cell, name) for cell in cells])
        axes.scatter(sine[bound < 1], bound[bound < 1], s=14, color=ink, marker=marker, lw=1, label=name)
    exact = np.array([cell.exact for cell in cells])
    keep = exact < 1
    axes.scatter(sine[keep], exact[keep], s=16, facecolors="none", edgecolors=CORRECTED, label="exact norms")
    low = 0.5 * float(sine.min())
    axes.plot([low, 1], [low, 1], color=INK, lw=1)
    axes.set(xscale="log", yscale="log", xlim=(low, 1.1), xlabel="sine of the angle (95 % of draws are below)")
    axes.set(ylabel="bound", title="Bounds; broken below the line")
    axes.legend()
    return axes


def plot_constant_needed(cells: Sequence[Any], axes: "Axes") -> "Axes":
    """The C that each form would need, over σ: one for all, or ever more."""
    sigma = np.array([cell.sigma for cell in cells])
    levels = np.unique(sigma)
    for name, ink, marker in (("printed", PRINTED, "x-"), ("corrected", CORRECTED, "o-")):
        needs = np.array([getattr(cell, f"{name}_needs") for cell in cells])
        most = [needs[sigma == level].max() for level in levels]
        axes.plot(levels, most, marker, color=ink, label=f"E as {name}")
    axes.set(xscale="log", yscale="log", xlabel="σ", ylabel="least C that holds", title="The constant they need")
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.minorticks_off()
    axes.set_ylim(bottom=0.1)
    axes.legend()
    return axes
