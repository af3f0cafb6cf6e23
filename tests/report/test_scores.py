"""Bins, curves and axes of the score histograms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eigenclean.report import summarize
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]


def _panels(verdict: Verdict) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = summarize(verdict)["scores"]["panels"]
    return panels


def test_bins_agree_with_a_loop(make: Make) -> None:
    verdict = make(n=900)
    for panel in _panels(verdict):
        kept, flagged = [0] * 32, [0] * 32
        for label, score, is_flagged in zip(verdict.labels, verdict.score, verdict.flagged, strict=True):
            if str(label) == panel["label"]:
                place = int((score - panel["low"]) / (panel["high"] - panel["low"]) * 32)
                (flagged if is_flagged else kept)[min(max(place, 0), 31)] += 1
        assert (panel["kept"], panel["flagged"]) == (kept, flagged)


def test_most_suspicious_classes_first_and_the_rest_counted(make: Make) -> None:
    histograms = summarize(make(n=5000, n_classes=40))["scores"]
    flagged = [panel["n_flagged"] for panel in histograms["panels"]]
    assert len(flagged) == 24
    assert flagged == sorted(flagged, reverse=True)
    assert histograms["n_hidden"] == 16


@pytest.mark.parametrize("kind", ["gaussian", "beta"])
def test_curves_hold_as_many_samples_as_the_class(make: Make, kind: str) -> None:
    score = np.concatenate([np.linspace(0.0, 1.0, 299), [1.0]])
    mixture = {
        "kind": kind,
        "weights": [[0.25, 0.75]] * 5,
        "means": [[0.3, 0.7]] * 5,
        "variances": [[0.004, 0.002]] * 5,
        "alpha": [[4, 9]] * 5,
        "beta": [[9, 4]] * 5,
    }
    for panel in _panels(make(score=score, made_by={"method": "x", "mixture": mixture})):
        for weight, curve in zip((0.25, 0.75), panel["curves"], strict=True):
            per_bin = (np.sum(curve) - (curve[0] + curve[-1]) / 2) * 32 / 64  # trapezoids, two to a bin
            assert per_bin == pytest.approx(weight * panel["n_samples"], rel=0.01)


def test_a_beta_mixture_may_live_on_another_range(make: Make) -> None:
    base = {"kind": "beta", "weights": [[0.5, 0.5]] * 5, "alpha": [[2, 5]] * 5, "beta": [[5, 2]] * 5}
    panels = _panels(make(made_by={"method": "x", "mixture": base | {"range": [-1, 3]}}))
    each = _panels(make(made_by={"method": "x", "mixture": base | {"range": [[-1, 3]] * 5}}))
    unit = _panels(make(made_by={"method": "x", "mixture": base}))
    assert panels[0]["curves"] == each[0]["curves"] != unit[0]["curves"]


@pytest.mark.parametrize("weights", [[0.0, 1.0], [0.3, 0.7]])
def test_a_class_that_was_not_split_has_one_curve_and_no_boundary(make: Make, weights: list[float]) -> None:
    mixture = {
        "kind": "gaussian",
        "weights": [weights] * 5,
        "means": [[0.6, 0.8]] * 5,
        "variances": [[0.0 if weights[0] == 0 else 0.01, 0.01]] * 5,
        "split": [False] * 5,
        "boundary": [None] * 5,
    }
    for panel in _panels(make(made_by={"method": "x", "mixture": mixture})):
        assert panel["curves"][0] is None
        assert len(panel["curves"][1]) == 65
        assert (panel["boundary"], panel["split"]) == (None, False)


@pytest.mark.parametrize(
    "mixture",
    [
        {},
        {"kind": "gaussian"},
        {"kind": "gaussian", "weights": [[0.5, 0.5]]},
        {"kind": "beta", "weights": [[0.5, 0.5]] * 5},
        {"kind": "gaussian", "weights": [[np.nan, 1]] * 5, "means": [[0, 0]] * 5, "variances": [[1, 0]] * 5},
        {"boundary": [float("nan")] * 5},
    ],
)
def test_a_mixture_that_says_little_draws_no_curve(make: Make, mixture: dict[str, Any]) -> None:
    for panel in _panels(make(made_by={"method": "x", "mixture": mixture})):
        assert panel["curves"] == []
        assert panel["boundary"] is None


def test_classes_on_very_different_scales_get_their_own_axes(make: Make) -> None:
    verdict = make()
    assert summarize(verdict)["scores"]["common_axis"]
    spread = make(score=verdict.score + 100 * verdict.labels)
    histograms = summarize(spread)["scores"]
    assert not histograms["common_axis"]
    assert all(panel["high"] - panel["low"] < 2 for panel in histograms["panels"])


def test_a_stray_score_does_not_squeeze_the_rest(make: Make) -> None:
    score = make(n=5000).score.copy()
    score[0] = 1e6
    panels = _panels(make(n=5000, score=score))
    assert all(panel["high"] < 2 for panel in panels)
    assert sum(sum(panel["kept"]) + sum(panel["flagged"]) for panel in panels) == 5000
