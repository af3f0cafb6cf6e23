"""Scores of right and of wrong labels: two hills, or one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s, Ints
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.metrics import Record, check_mask
from eigenclean_lab.plot_style import RIGHT, WRONG

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


def plot_score_histogram(found: ScoreHistogram, axes: "Axes", *, score: str = "score") -> "Axes":
    """Both groups, stacked."""
    wrong = f"label wrong ({found.noisy.sum()})"
    axes.stairs(found.noisy, found.edges, fill=True, color=WRONG, alpha=0.75, label=wrong)
    axes.stairs(
        found.clean + found.noisy,
        found.edges,
        baseline=found.noisy,
        fill=True,
        color=RIGHT,
        alpha=0.75,
        label=f"label right ({found.clean.sum()})",
    )
    axes.set(xlabel=score, ylabel="samples")
    axes.legend()
    return axes
