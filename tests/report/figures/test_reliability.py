"""The reliability plot: dots at predicted and observed shares, bars as long as the counts."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from eigenclean.metrics import reliability_curve
from eigenclean.report import figures, summarize
from eigenclean.verdict import Verdict


def drawn(curve: dict[str, Any]) -> ElementTree.Element:
    return ElementTree.fromstring(figures.reliability(curve))


def test_dots_lie_where_the_groups_are() -> None:
    bins = [
        {"count": 0, "predicted": None, "observed": None, "low": None, "high": None},
        {"count": 10, "predicted": 0.25, "observed": 0.5, "low": 0.3, "high": 0.7},
        {"count": 30, "predicted": 1.0, "observed": 0.0, "low": 0.0, "high": 0.1},
    ]
    root = drawn({"error": 0.1, "bins": bins})
    dots = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in root.iter("circle")]
    ideal = next(path for path in root.iter("path") if path.get("class") == "ideal")
    (left, bottom), (right, top) = (map(float, end.split()) for end in ideal.get("d", "")[1:].split("L"))
    assert left < right and top < bottom
    expected = [(left + (right - left) / 4, (top + bottom) / 2), (right, bottom)]
    np.testing.assert_allclose(dots, expected, atol=0.01)
    spreads = [line for line in root.iter("line") if line.get("class") == "spread"]
    assert [float(spreads[0].get(name, "")) for name in ("y1", "y2")] == pytest.approx(
        [bottom + (top - bottom) * share for share in (0.3, 0.7)], abs=0.01
    )
    heights = [float(bar.get("height", "")) for bar in root.iter("rect")]
    assert heights[0] == 0 and heights[2] == pytest.approx(3 * heights[1], abs=0.02)
    label = root.get("aria-label", "").replace("\u202f", " ")
    assert label == (
        "Reliability plot. said 25 %, were right 50 % of 10 labels; said 100 %, were right 0 % of 30 labels"
    )


def test_no_labels_at_all_are_an_empty_plot() -> None:
    root = drawn({"error": 0.0, "bins": []})
    assert not list(root.iter("circle")) and not list(root.iter("rect"))
    (diagonal,) = root.iter("path")
    assert diagonal.get("class") == "ideal"


def test_the_summary_counts_every_label_in_one_group() -> None:
    rng = np.random.default_rng(0)
    n = 500
    p_clean = rng.random(n)
    clean = rng.random(n) < p_clean
    verdict = Verdict(
        ids=np.arange(n), labels=np.arange(n) % 2, score=p_clean, p_clean=p_clean, flagged=p_clean < 0.5,
        suggested=np.arange(n) % 2, suggested_confidence=p_clean,
    )  # fmt: skip
    evaluation = summarize(verdict, reliability=reliability_curve(p_clean, clean))["evaluation"]
    bins = evaluation["reliability"]["bins"]
    assert sum(group["count"] for group in bins) == n
    edges = np.linspace(0, 1, len(bins) + 1)
    for group, low, high in zip(bins, edges, edges[1:], strict=False):
        inside = (p_clean >= low) & (p_clean < high)
        assert group["count"] == inside.sum()
        assert group["predicted"] == pytest.approx(p_clean[inside].mean())
        assert group["observed"] == pytest.approx(clean[inside].mean())
        assert group["low"] <= group["observed"] <= group["high"]
    error = sum(group["count"] * abs(group["predicted"] - group["observed"]) for group in bins) / n
    assert evaluation["reliability"]["error"] == pytest.approx(error)
