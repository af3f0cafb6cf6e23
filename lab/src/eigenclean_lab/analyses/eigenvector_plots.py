"""Matplotlib plots of the measurements of class eigenvectors in `eigenclean.metrics` (figure 3)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from eigenclean.arrays import Array
from eigenclean.metrics import AlignmentHeatmap, EigenvectorShift, FractionCurve, Spectrum
from eigenclean.report import plain, short
from eigenclean_lab.plot_style import CYCLE, INK, LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_alignment_heatmap(measured: AlignmentHeatmap, axes: "Axes") -> "Axes":
    """One row per class, relative to the best direction there is; the eigenvector is at the dashed lines."""
    scale = np.where(measured.best > 0, measured.best, np.nan)[:, None]
    relative = np.ma.masked_invalid(measured.values / scale)
    extent = (0.0, 360.0, len(measured.classes) - 0.5, -0.5)
    image = axes.imshow(
        relative, vmin=-1, vmax=1, cmap="BrBG", aspect="auto", extent=extent, interpolation="nearest"
    )
    for at in (0, 180, 360):
        axes.axvline(at, color=INK, lw=1, ls="--")
    axes.set_yticks(*class_ticks(measured.classes))
    axes.set_xticks([0, 90, 180, 270, 360], ["0 (u)", "90", "180 (−u)", "270", "360"])
    axes.set(xlabel="φ in degrees", title="Right minus wrong labels")
    axes.figure.colorbar(image, ax=axes, label="share of the best direction")
    return axes


def plot_eigenvector_shift(measured: EigenvectorShift, axes: "Axes") -> "Axes":
    """A mark for each class and eigenvector."""
    places = np.arange(len(measured.classes))
    for i, (component, sines) in enumerate(zip(measured.components, measured.perturbation, strict=True)):
        mean = f"no. {component}: {measured.mean[i]:.3f} ± {measured.std[i]:.3f}"
        axes.plot(places, sines, "os^Dv"[i % 5], color=CYCLE[i % len(CYCLE)], label=mean)
    ticks, names = class_ticks(measured.classes)
    axes.set_xticks(ticks, names, rotation=45 if max(map(len, names)) > 3 else 0)
    axes.set(xlabel="class", ylabel="sine, all against right labels")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(2, len(measured.components)))
    return axes


def plot_shift_by_rate(measured: Mapping[float, EigenvectorShift], axes: "Axes") -> "Axes":
    """Mean and deviation over the classes against the noise rate, a line for each eigenvector."""
    rates = sorted(measured)
    for i, component in enumerate(measured[rates[0]].components):
        mean, std = ([getattr(measured[rate], name)[i] for rate in rates] for name in ("mean", "std"))
        color = CYCLE[i % len(CYCLE)]
        axes.errorbar(rates, mean, yerr=std, fmt="o-", color=color, capsize=3, label=f"eigenvector {component}")
    axes.set_xticks(rates, [f"{100 * rate:g} %" for rate in rates])
    axes.set(xlabel="noise rate", ylabel="sine, all against right labels")
    axes.legend()
    return axes


def plot_spectrum(measured: Spectrum, axes: "Axes") -> "Axes":
    """A thin line for each class, a thick one for their mean."""
    number = np.arange(1, measured.shares.shape[1] + 1)
    floor = 1e-6  # a logarithm of nothing cannot be drawn
    axes.plot(number, np.maximum(measured.shares, floor).T, color=INK, lw=0.7, alpha=0.6)
    mean = measured.shares.mean(axis=0)
    axes.plot(
        number, np.maximum(mean, floor), "o-", color=LINE, lw=2, label=f"mean of {len(measured.classes)} classes"
    )
    axes.set(yscale="log", xlabel="eigenvalue", ylabel="share of the sum of all")
    axes.set_xticks(number)
    axes.legend()
    return axes


def plot_fraction_curve(measured: FractionCurve, axes: "Axes") -> "Axes":
    """The mean over classes and draws, and between which values all of them are."""
    axes.fill_between(measured.fractions, measured.low, measured.high, color=LINE, alpha=0.2, lw=0, label="all")
    axes.plot(measured.fractions, measured.cosine, "o-", color=LINE, label="mean")
    axes.axhline(0.99, color=INK, lw=1, ls=":")
    axes.text(measured.fractions.max(), 0.99, "0.99", color=INK, ha="right", va="top")
    axes.set(xscale="log", xlabel="share of the class", ylabel="|cos| with the eigenvector of all")
    axes.set_xticks(measured.fractions, [f"{100 * share:g} %" for share in measured.fractions])
    axes.minorticks_off()
    axes.legend(loc="lower right")
    return axes


_MOST_NAMES = 20  # on an axis


def class_ticks(names: Array) -> tuple[list[int], list[str]]:
    """Positions and names of the class ticks of an axis: every class, or every k-th of many.

    >>> class_ticks(np.array(["cat", "dog"]))
    ([0, 1], ['cat', 'dog'])
    """
    step = -(-len(names) // _MOST_NAMES)
    places = np.arange(0, len(names), step).tolist()
    return places, [short(plain(names[place].item()), 18) for place in places]
