"""Histograms of the raw scores of each class, with the mixture that the detector's cut was fitted by."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from eigenclean.arrays import Bools, ClassRows, Float64s
from eigenclean.report.sections.base import ReportInput

MAX_CLASSES = 24
BINS = 32
_CURVE_POINTS = 65
_NARROW = 0.3  # classes narrower than this share of a common axis get axes of their own


def score_histograms(inputs: ReportInput) -> dict[str, Any]:
    """Panels of the classes with most flags: counts per bin of kept and flagged labels, fitted curves, boundary."""
    verdict, classes = inputs.verdict, inputs.classes
    mixture: Mapping[str, Any] | None = inputs.made_by.get("mixture")
    n_flagged = classes.count_given(classes.flagged)
    shown = np.lexsort((np.arange(classes.n_given), -classes.count_given(), -n_flagged))[:MAX_CLASSES]
    groups = ClassRows.of(classes.given, classes.n_given)
    score, flagged = np.asarray(verdict.score, dtype=np.float64), np.asarray(verdict.flagged)
    members = {k: rows[np.isfinite(score[rows])] for k in shown.tolist() if len(rows := groups[k])}
    members = {k: rows for k, rows in members.items() if len(rows)}
    ranges = _axis_ranges([score[rows] for rows in members.values()])
    panels = [
        {
            "label": classes.names[k],
            **_counts(score[rows], flagged[rows], axis),
            **_fitted(mixture, k, axis, len(rows)),
        }
        for (k, rows), axis in zip(members.items(), ranges, strict=True)
    ]
    return {
        "panels": panels,
        "n_hidden": classes.n_given - len(panels),
        "common_axis": len(set(ranges)) <= 1,
        "has_mixture": any(panel["curves"] for panel in panels),
        "has_boundary": any(panel["boundary"] is not None for panel in panels),
    }


def _axis_ranges(scores: list[Float64s]) -> list[tuple[float, float]]:
    """The range of each class's axis: a common one where every class stays readable on it."""
    if not scores:
        return []
    # Outliers would squeeze all other values into one bar; they are counted in the outermost bins.
    ranges = [tuple(np.quantile(values, (0.002, 0.998), method="nearest").tolist()) for values in scores]
    low, high = min(pair[0] for pair in ranges), max(pair[1] for pair in ranges)
    width = float(np.median([pair[1] - pair[0] for pair in ranges]))
    pairs = [(low, high)] * len(ranges) if width >= _NARROW * (high - low) else ranges
    return [_widened(low, high) for low, high in pairs]


def _widened(low: float, high: float) -> tuple[float, float]:
    """The range, widened where all scores are equal up to rounding."""
    size = max(abs(low), abs(high))
    room = max(0.5, 1e-3 * size)
    return (low, high) if high - low > 1e-12 * size else (low - room, high + room)


def _counts(scores: Float64s, flagged: Bools, axis: tuple[float, float]) -> dict[str, Any]:
    low, high = axis
    bins = np.clip((BINS * ((scores - low) / (high - low))).astype(np.intp), 0, BINS - 1)
    return {
        "low": low,
        "high": high,
        "n_samples": len(scores),
        "n_flagged": int(np.count_nonzero(flagged)),
        "kept": np.bincount(bins[~flagged], minlength=BINS).tolist(),
        "flagged": np.bincount(bins[flagged], minlength=BINS).tolist(),
    }


def _fitted(mixture: Mapping[str, Any] | None, k: int, axis: tuple[float, float], n: int) -> dict[str, Any]:
    return {
        "curves": _curves(mixture, k, axis, n),
        "boundary": _boundary(mixture, k),
        "split": bool(_entry(mixture, "split", k, default=True)),
    }


def _curves(
    mixture: Mapping[str, Any] | None, k: int, axis: tuple[float, float], n: int
) -> list[list[float] | None]:
    """Expected samples per bin along the axis, for the lower and the upper component; None where there is none."""
    weights = _entry(mixture, "weights", k)
    if mixture is None or weights is None:
        return []
    x = np.linspace(*axis, _CURVE_POINTS)
    heights = np.zeros((2, _CURVE_POINTS))
    for component, weight in enumerate(np.asarray(weights, dtype=np.float64)[:2]):
        if np.isfinite(weight) and weight >= 1e-3:
            with np.errstate(all="ignore"):  # a component that collapsed to a point has no curve
                heights[component] = _density(mixture, k, component, x) * weight * n * (axis[1] - axis[0]) / BINS
    heights = np.nan_to_num(heights, nan=0.0, posinf=1e9).round(3)
    if not _entry(mixture, "split", k, default=True):  # the cut rejected two components: draw their sum as one
        heights = np.stack([np.zeros(_CURVE_POINTS), heights.sum(axis=0)])
    return [curve.tolist() if curve.any() else None for curve in heights] if heights.any() else []


def _density(mixture: Mapping[str, Any], k: int, component: int, x: Float64s) -> Float64s:
    if mixture.get("kind") == "beta":
        a, b = (_entry(mixture, name, k) for name in ("alpha", "beta"))
        if a is None or b is None:
            return np.zeros_like(x)
        low, high = _beta_range(mixture, k)
        return np.asarray(
            stats.beta.pdf(x, a[component], b[component], loc=low, scale=high - low), dtype=np.float64
        )
    means, variances = (_entry(mixture, name, k) for name in ("means", "variances"))
    if means is None or variances is None or not variances[component] > 0:
        return np.zeros_like(x)
    return np.asarray(stats.norm.pdf(x, means[component], np.sqrt(variances[component])), dtype=np.float64)


def _beta_range(mixture: Mapping[str, Any], k: int) -> tuple[float, float]:
    """The support of a beta mixture: its ``range``, common or per class; [0, 1] by default."""
    support = np.asarray(mixture.get("range", (0.0, 1.0)), dtype=np.float64)
    low, high = (support[k] if support.ndim == 2 else support).tolist()
    return low, high if high > low else low + 1.0


def _boundary(mixture: Mapping[str, Any] | None, k: int) -> float | None:
    boundary = _entry(mixture, "boundary", k)
    return float(boundary) if boundary is not None and np.isfinite(boundary) else None


def _entry(mixture: Mapping[str, Any] | None, name: str, k: int, default: Any = None) -> Any:
    """A parameter of the mixture for class ``k``, or the default where it has none."""
    values = (mixture or {}).get(name)
    return default if values is None or k >= len(values) or values[k] is None else values[k]
