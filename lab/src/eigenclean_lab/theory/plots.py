"""Plots of the simulated theorems: bounds against what was drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eigenclean_lab.plot_style import INK, LINE, RIGHT, WRONG
from eigenclean_lab.theory.run import DELTA

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from eigenclean_lab.theory.theorem1 import PerturbationResult
    from eigenclean_lab.theory.theorem2 import SelectionResult


PRINTED, CORRECTED = WRONG, RIGHT


def draw_theorem1(cells: Sequence["PerturbationResult"], figure: "Figure") -> None:
    """Draw the plots of theorem 1 side by side into an empty figure."""
    left, right = figure.subplots(1, 2)
    plot_perturbation_bound(cells, left)
    plot_constant_needed(cells, right)


def plot_perturbation_bound(cells: Sequence["PerturbationResult"], axes: "Axes") -> "Axes":
    """Bounds over simulated sines; a bound below the diagonal does not hold."""
    sine = np.array([cell.high for cell in cells])
    for name, color, marker in (("printed", PRINTED, "x"), ("corrected", CORRECTED, "o")):
        bound = np.array([getattr(cell, name) for cell in cells])
        axes.scatter(sine[bound < 1], bound[bound < 1], s=14, color=color, marker=marker, lw=1, label=name)
    exact = np.array([cell.exact for cell in cells])
    keep = exact < 1
    axes.scatter(sine[keep], exact[keep], s=16, facecolors="none", edgecolors=CORRECTED, label="exact norms")
    low = 0.5 * float(sine.min())
    axes.plot([low, 1], [low, 1], color=INK, lw=1)
    axes.set(xscale="log", yscale="log", xlim=(low, 1.1), xlabel="sine of the angle (95 % of draws are below)")
    axes.set(ylabel="bound", title="Bounds; broken below the line")
    axes.legend()
    return axes


def plot_constant_needed(cells: Sequence["PerturbationResult"], axes: "Axes") -> "Axes":
    """The least C with which each form of the bound holds, over σ."""
    sigma = np.array([cell.sigma for cell in cells])
    levels = np.unique(sigma)
    for name, color, marker in (("printed", PRINTED, "x-"), ("corrected", CORRECTED, "o-")):
        needs = np.array([getattr(cell, f"{name}_needs") for cell in cells])
        most = [needs[sigma == level].max() for level in levels]
        axes.plot(levels, most, marker, color=color, label=f"E as {name}")
    axes.set(xscale="log", yscale="log", xlabel="σ", ylabel="least C that holds", title="The constant they need")
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.minorticks_off()
    axes.set_ylim(bottom=0.1)
    axes.legend()
    return axes


def draw_theorem2(cells: Sequence["SelectionResult"], figure: "Figure") -> None:
    """Draw the plots of theorem 2 side by side into an empty figure."""
    precision, recall, reused = figure.subplots(1, 3)
    plot_selection_bound(cells, precision, "precision")
    plot_selection_bound(cells, recall, "recall")
    plot_reuse(cells, reused)


def plot_selection_bound(cells: Sequence["SelectionResult"], axes: "Axes", what: str) -> "Axes":
    """How often a bound on "precision" or "recall" fails, in each setting, in descending order."""
    for form, color, style in (("printed", PRINTED, "-"), ("corrected", CORRECTED, "-"), ("tight", CORRECTED, ":")):
        if (what, form) != ("recall", "tight"):
            fails = np.sort([getattr(cell, f"{what}_{form}_fails") for cell in cells])[::-1]
            axes.plot(np.arange(1, len(fails) + 1), fails, style, color=color, lw=2, label=form)
    axes.axhline(DELTA, color=INK, lw=1, ls="--")
    axes.text(len(cells), DELTA, "δ", color=INK, ha="right", va="bottom")
    axes.set(ylim=(-0.03, 1.03), xlabel="settings, worst first", ylabel="share below the bound")
    axes.set_title(f"{what.capitalize()} bound")
    axes.legend()
    return axes


def plot_reuse(cells: Sequence["SelectionResult"], axes: "Axes") -> "Axes":
    """How often the corrected bounds fail when u and the boundary come from the same samples."""
    strain = np.array([cell.sigma * cell.d / np.sqrt(cell.n_clean) for cell in cells])
    for what, color, marker in (("precision", CORRECTED, "o"), ("recall", LINE, "x")):
        fails = np.array([getattr(cell, f"{what}_reused_fails") for cell in cells])
        axes.scatter(strain, fails, s=14, color=color, marker=marker, lw=1, label=what)
    axes.axhline(DELTA, color=INK, lw=1, ls="--")
    axes.set(xscale="log", ylim=(-0.03, 1.03), xlabel="σd/√N₊", ylabel="share below the corrected bound")
    axes.set_title("Same samples for u")
    axes.legend()
    return axes
