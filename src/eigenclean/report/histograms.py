"""Raw scores of each class as a histogram, with the mixture the detector cut them by."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from eigenclean.arrays import Bools, ClassRows, Float64s
from eigenclean.report.names import Names
from eigenclean.verdict import Verdict

MOST_CLASSES = 24
BINS = 32
_CURVE_POINTS = 65
_NARROW = 0.3  # with classes narrower than this share of the common axis, each gets its own


def histograms(verdict: Verdict, names: Names, mixture: Mapping[str, Any] | None) -> dict[str, Any]:
    """Panels of the most suspicious classes: counts per bin of kept and flagged labels, curves, boundary."""
    n_flagged = names.sizes(names.flagged)
    shown = np.lexsort((np.arange(names.n_given), -names.sizes(), -n_flagged))[:MOST_CLASSES]
    groups = ClassRows.of(names.given, names.n_given)
    score, flagged = np.asarray(verdict.score, dtype=np.float64), np.asarray(verdict.flagged)
    members = {k: rows[np.isfinite(score[rows])] for k in shown.tolist() if len(rows := groups[k])}
    members = {k: rows for k, rows in members.items() if len(rows)}
    ranges = _ranges([score[rows] for rows in members.values()])
    panels = [
        {"label": names.text[k], **_panel(score[rows], flagged[rows], axis), **_fitted(mixture, k, axis, len(rows))}
        for (k, rows), axis in zip(members.items(), ranges, strict=True)
    ]
    return {
        "panels": panels,
        "n_hidden": names.n_given - len(panels),
        "common_axis": len(set(ranges)) <= 1,
        "has_mixture": any(panel["curves"] for panel in panels),
        "has_boundary": any(panel["boundary"] is not None for panel in panels),
    }


def _ranges(scores: list[Float64s]) -> list[tuple[float, float]]:
    """The axis of each class: the same for all when that leaves every class readable."""
    if not scores:
        return []
    # A few stray values would squeeze the rest into one bar; they are counted in the outermost bins.
    own = [tuple(np.quantile(values, (0.002, 0.998), method="nearest").tolist()) for values in scores]
    low, high = min(pair[0] for pair in own), max(pair[1] for pair in own)
    width = float(np.median([pair[1] - pair[0] for pair in own]))
    pairs = [(low, high)] * len(own) if width >= _NARROW * (high - low) else own
    return [_widened(low, high) for low, high in pairs]


def _widened(low: float, high: float) -> tuple[float, float]:
    """Room around scores that are all the same, however large they are."""
    size = max(abs(low), abs(high))
    room = max(0.5, 1e-3 * size)
    return (low, high) if high - low > 1e-12 * size else (low - room, high + room)


def _panel(scores: Float64s, flagged: Bools, axis: tuple[float, float]) -> dict[str, Any]:
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
            with np.errstate(all="ignore"):  # a component that collapsed to a point has no curve, and that is all
                heights[component] = _density(mixture, k, component, x) * weight * n * (axis[1] - axis[0]) / BINS
    heights = np.nan_to_num(heights, nan=0.0, posinf=1e9).round(3)
    if not _entry(mixture, "split", k, default=True):  # two components that did not pay are one group
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
    """Where a beta mixture lives: ``range`` for all classes or for each; the unit interval if it is not said."""
    given = np.asarray(mixture.get("range", (0.0, 1.0)), dtype=np.float64)
    low, high = (given[k] if given.ndim == 2 else given).tolist()
    return low, high if high > low else low + 1.0


def _boundary(mixture: Mapping[str, Any] | None, k: int) -> float | None:
    boundary = _entry(mixture, "boundary", k)
    return float(boundary) if boundary is not None and np.isfinite(boundary) else None


def _entry(mixture: Mapping[str, Any] | None, name: str, k: int, default: Any = None) -> Any:
    """What the mixture says about class ``k``, if it says anything."""
    values = (mixture or {}).get(name)
    return default if values is None or k >= len(values) or values[k] is None else values[k]
