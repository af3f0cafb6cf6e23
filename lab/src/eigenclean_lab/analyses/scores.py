"""Scores and probabilities against the truth: a histogram of both groups, and the threshold ζ (table 7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s, Ints
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.metrics import Record, check_mask, detection_quality
from eigenclean_lab.plot_style import INK, LINE, RIGHT, WRONG

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Record):
    """Counts between ``edges`` (bins + 1), of right and of wrong labels."""

    edges: Float64s
    clean: Ints
    noisy: Ints


def clean_noisy_histogram(scores: ArrayLike, is_clean: ArrayLike, *, bins: int = 40) -> ScoreHistogram:
    """Count scores in equal bins over their range.

    >>> clean_noisy_histogram([0.0, 1.0, 1.0], [False, True, True], bins=2).clean
    array([0, 2])
    """
    by = "clean_noisy_histogram"
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise InvalidData(f"{by}: scores must be one finite number for each sample, got shape {values.shape}")
    if bins < 1:
        raise InvalidOption(f"{by}: bins must be at least 1, got {bins}")
    clean = check_mask(is_clean, len(values), by=by, what="is_clean")
    edges = np.histogram_bin_edges(values, bins)
    counts = (np.histogram(values[mask], edges)[0] for mask in (clean, ~clean))
    return ScoreHistogram(edges, *counts)


def plot_score_histogram(histogram: ScoreHistogram, axes: "Axes", *, score: str = "score") -> "Axes":
    """Scores of wrong labels, and of right ones stacked on top."""
    wrong = f"label wrong ({histogram.noisy.sum()})"
    axes.stairs(histogram.noisy, histogram.edges, fill=True, color=WRONG, alpha=0.75, label=wrong)
    axes.stairs(
        histogram.clean + histogram.noisy,
        histogram.edges,
        baseline=histogram.noisy,
        fill=True,
        color=RIGHT,
        alpha=0.75,
        label=f"label right ({histogram.clean.sum()})",
    )
    axes.set(xlabel=score, ylabel="samples")
    axes.legend()
    return axes


ZETAS = (0.4, 0.45, 0.5, 0.55, 0.6)


@dataclass(frozen=True, eq=False)
class ZetaCurve(Record):
    """Figures of keeping what is strictly above each ζ; right labels are positive, ``kept`` is the share kept."""

    zetas: Float64s
    precision: Float64s
    recall: Float64s
    f: Float64s
    kept: Float64s

    @property
    def f_range(self) -> float:
        """How much F changes over these ζ."""
        return float(np.ptp(self.f))


def zeta_sensitivity(p_clean: ArrayLike, is_clean: ArrayLike, *, zetas: Sequence[float] = ZETAS) -> ZetaCurve:
    """Measure every threshold on the same probabilities.

    >>> zeta_sensitivity([0.9, 0.45, 0.1], [True, True, False], zetas=[0.4, 0.5]).recall
    array([1. , 0.5])
    """
    if not zetas or not all(0 <= zeta <= 1 for zeta in zetas):
        raise InvalidOption(f"zeta_sensitivity: zetas must be between 0 and 1, got {list(zetas)}")
    p = np.asarray(p_clean, dtype=np.float64)
    qualities = [detection_quality(p <= zeta, p, is_clean) for zeta in zetas]
    names = ("precision", "recall", "f")
    figures = {name: np.array([getattr(quality, name) for quality in qualities]) for name in names}
    kept = np.array([1 - quality.flagged_share for quality in qualities])
    return ZetaCurve(np.array(zetas, dtype=np.float64), kept=kept, **figures)


def plot_zeta_sensitivity(curve: ZetaCurve, axes: "Axes") -> "Axes":
    """F, precision, recall and the kept share over ζ."""
    for name, color, style in (
        ("f", LINE, "o-"),
        ("precision", RIGHT, "--"),
        ("recall", WRONG, "--"),
        ("kept", INK, ":"),
    ):
        axes.plot(curve.zetas, getattr(curve, name), style, color=color, label="F" if name == "f" else name)
    axes.set(xlabel="ζ", ylim=(0, 1.02))
    axes.set_xticks(curve.zetas, [f"{zeta:g}" for zeta in curve.zetas])
    axes.legend()
    return axes
