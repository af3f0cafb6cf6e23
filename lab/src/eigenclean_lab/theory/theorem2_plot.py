"""The pictures of theorem 2."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean_lab.plot_style import INK, LINE
from eigenclean_lab.theory.run import DELTA
from eigenclean_lab.theory.theorem1_plot import CORRECTED, PRINTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_theorem2(cells: Sequence[Any], figure: "Figure") -> None:
    """All pictures, side by side, into an empty figure."""
    precision, recall, reused = figure.subplots(1, 3)
    plot_selection_bound(cells, precision, "precision")
    plot_selection_bound(cells, recall, "recall")
    plot_reuse(cells, reused)


def plot_selection_bound(cells: Sequence[Any], axes: "Axes", what: str) -> "Axes":
    """How often a bound of "precision" or "recall" fails, setting by setting, worst first."""
    for form, ink, style in (("printed", PRINTED, "-"), ("corrected", CORRECTED, "-"), ("tight", CORRECTED, ":")):
        if (what, form) != ("recall", "tight"):
            fails = np.sort([getattr(cell, f"{what}_{form}_fails") for cell in cells])[::-1]
            axes.plot(np.arange(1, len(fails) + 1), fails, style, color=ink, lw=2, label=form)
    axes.axhline(DELTA, color=INK, lw=1, ls="--")
    axes.text(len(cells), DELTA, "δ", color=INK, ha="right", va="bottom")
    axes.set(ylim=(-0.03, 1.03), xlabel="settings, worst first", ylabel="share below the bound")
    axes.set_title(f"{what.capitalize()} bound")
    axes.legend()
    return axes


def plot_reuse(cells: Sequence[Any], axes: "Axes") -> "Axes":
    """What happens to the corrected bounds when u and the boundary come from the same samples."""
    strain = np.array([cell.sigma * cell.d / np.sqrt(cell.n_clean) for cell in cells])
    for what, ink, marker in (("precision", CORRECTED, "o"), ("recall", LINE, "x")):
        fails = np.array([getattr(cell, f"{what}_reused_fails") for cell in cells])
        axes.scatter(strain, fails, s=14, color=ink, marker=marker, lw=1, label=what)
    axes.axhline(DELTA, color=INK, lw=1, ls="--")
    axes.set(xscale="log", ylim=(-0.03, 1.03), xlabel="σd/√N₊", ylabel="share below the corrected bound")
    axes.set_title("Same samples for u")
    axes.legend()
    return axes
