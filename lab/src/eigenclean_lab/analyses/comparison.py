"""Detectors side by side on the same features: mean against eigenvector (table 5), FINE against MCD (figure 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s
from eigenclean.detect import FINE, Detector, detector
from eigenclean.detect.cuts import Cut, GaussianCut
from eigenclean.errors import InvalidOption
from eigenclean.metrics import Record, detection_quality
from eigenclean.verdict import Verdict
from eigenclean_lab.plot_style import LINE, RIGHT, WRONG

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class DetectorComparison(Record):
    """Figures of each detector's verdict; right labels are positive. AUROC is NaN unless there are wrong labels."""

    names: tuple[str, ...]
    precision: Float64s
    recall: Float64s
    f: Float64s
    auroc: Float64s


def compare_detectors(
    features: ArrayLike, labels: ArrayLike, is_clean: ArrayLike, detectors: Mapping[str, Detector]
) -> DetectorComparison:
    """The figures of each detector's verdict on the given labels."""
    return compare_verdicts({name: judge.judge(features, labels) for name, judge in detectors.items()}, is_clean)


def compare_verdicts(verdicts: Mapping[str, Verdict], is_clean: ArrayLike) -> DetectorComparison:
    """The figures of verdicts on the same labels."""
    if not verdicts:
        raise InvalidOption("compare_verdicts: there are no verdicts; give at least one")
    qualities = [
        detection_quality(verdict.flagged, verdict.p_clean, is_clean, score=verdict.score)
        for verdict in verdicts.values()
    ]
    names = ("precision", "recall", "f")
    figures = {name: np.array([getattr(quality, name) for quality in qualities]) for name in names}
    auroc = np.array([np.nan if quality.auroc is None else quality.auroc for quality in qualities])
    return DetectorComparison(tuple(verdicts), auroc=auroc, **figures)


def mean_against_eigenvector(
    features: ArrayLike, labels: ArrayLike, is_clean: ArrayLike, *, cut: str | Cut | None = None
) -> DetectorComparison:
    """FINE with the first eigenvector of each class, and with its mean; ``cut`` as in the released code by default.

    >>> from sklearn.datasets import load_digits
    >>> from eigenclean import add_noise
    >>> X, truth = load_digits(return_X_y=True)
    >>> noisy = add_noise(truth, "symmetric", 0.5)
    >>> mean_against_eigenvector(X, noisy, noisy == truth).names
    ('eigenvector', 'mean')
    """
    decide = as_released() if cut is None else cut
    return compare_detectors(
        features,
        labels,
        is_clean,
        {"eigenvector": FINE(cut=decide), "mean": FINE(vector="mean", cut=decide)},
    )


def compare_with_mcd(
    features: ArrayLike,
    labels: ArrayLike,
    is_clean: ArrayLike,
    *,
    logits: ArrayLike | None = None,
    random_state: int = 0,
) -> DetectorComparison:
    """FINE as released, MCD as published (the best 70 % of each class) and with a mixture, and small losses.

    Args:
        features: n x d.
        labels: as given.
        is_clean: True where the given label is right.
        logits: n x K, of the network that the features come from: then "small loss" has its losses, as DivideMix
            does. Without them, it has those of a cross-fitted linear head on the features, which rank better.
        random_state: seed of MCD.
    """
    judges = {
        "fine": FINE(cut=as_released()),
        "mcd": detector("mcd", shrinkage=0.0, random_state=random_state),
        "mcd, mixture": detector("mcd", shrinkage=0.0, cut=as_released(), random_state=random_state),
    }
    verdicts = {name: judge.judge(features, labels) for name, judge in judges.items()}
    by_loss = detector("small-loss") if logits is None else detector("small-loss", head=None)
    verdicts["small loss"] = by_loss.judge(features if logits is None else logits, labels)
    return compare_verdicts(verdicts, is_clean)


def as_released() -> GaussianCut:
    """The decision of the released code: always two components, the posterior as the formula gives it."""
    return GaussianCut(monotone=False, split="always")


def plot_comparison(comparison: DetectorComparison, axes: "Axes") -> "Axes":
    """Bars of F, precision and recall for each detector."""
    places = np.arange(len(comparison.names))
    for i, (name, color) in enumerate((("f", LINE), ("precision", RIGHT), ("recall", WRONG))):
        values = getattr(comparison, name)
        bars = axes.bar(places + 0.27 * (i - 1), values, 0.25, color=color, label="F" if name == "f" else name)
        if name == "f":
            axes.bar_label(bars, [f"{value:.2f}" for value in values], fontsize=8)
    axes.set_xticks(places, comparison.names)
    axes.set(ylim=(0, 1.1), ylabel="right labels are positive")
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return axes
