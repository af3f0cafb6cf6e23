"""The evaluation against the truth: its numbers, its plot, and adding it to a report that is already written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import binomtest

from eigenclean import report
from eigenclean.arrays import Bools
from eigenclean.errors import InvalidData
from eigenclean.metrics import Reliability, reliability_curve
from eigenclean.report import add_evaluation, figures, render, summarize, write_report
from eigenclean.report.sections import ReportInput
from eigenclean.report.sections.evaluation import evaluation
from eigenclean.report.sections.run import verdict_hash
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]
QUALITY = {"noisy_precision": 0.875, "noisy_recall": 0.5, "ece": 0.1}


def _right(verdict: Verdict) -> Bools:
    return np.random.default_rng(3).random(len(verdict)) < verdict.p_clean**2


def _curve(verdict: Verdict) -> Reliability:
    return reliability_curve(verdict.p_clean, _right(verdict))


def test_quality_leaves_out_what_is_not_known(make: Make) -> None:
    quality = {"f": None, "auroc": 0.5, "ece": float("nan"), "other": 1}
    measures = summarize(make(), quality=quality)["evaluation"]["measures"]
    assert [(measure["name"], measure["text"]) for measure in measures] == [("AUROC", "0.500")]


def test_the_curve_has_wilson_intervals_and_empty_groups_have_none(make: Make) -> None:
    verdict = make(n=40)
    curve = _curve(verdict)
    shown = summarize(verdict, quality=QUALITY, reliability=curve)["evaluation"]["reliability"]
    assert shown["error"] == pytest.approx(curve.expected_error)
    assert 0 in curve.count
    for number, group in enumerate(shown["bins"]):
        assert group["count"] == curve.count[number]
        if not group["count"]:
            assert group["predicted"] is group["observed"] is group["low"] is group["high"] is None
            continue
        hits = round(curve.observed[number] * group["count"])
        expected = binomtest(hits, group["count"]).proportion_ci(0.9, method="wilson")
        assert (group["low"], group["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert (group["predicted"], group["observed"]) == (curve.mean_predicted[number], curve.observed[number])


def test_the_plot_puts_right_probabilities_on_the_diagonal() -> None:
    p = np.repeat([0.0, 0.25, 0.75, 1.0], 400)
    curve = reliability_curve(p, np.tile(np.arange(400), 4) < 400 * p)
    root = _plot(curve)
    diagonal = next(line.get("d", "") for line in root.iter("path") if line.get("class") == "ideal")
    (x0, y0), (x1, y1) = ([float(number) for number in end.split()] for end in diagonal[1:].split("L"))
    dots = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in root.iter("circle")]
    assert len(dots) == 4
    for (x, y), said in zip(dots, (0, 0.25, 0.75, 1), strict=True):
        assert (x, y) == pytest.approx((x0 + said * (x1 - x0), y0 + said * (y1 - y0)), abs=0.02)
    assert y1 < y0  # up is more


def test_the_plot_counts_its_labels_and_says_them() -> None:
    curve = reliability_curve([0.05] * 30 + [0.95] * 12_345, [True] * 30 + [False] * 12_345)
    root = _plot(curve)
    texts = [text.text for text in root.iter("text")]
    assert "30" in texts and "12k" in texts
    titles = [" ".join((title.text or "").split()) for title in root.iter("title")]
    assert "said 5 %, were right 100 % of 30 labels" in titles
    assert "0 labels" in titles
    bars = [float(bar.get("height", "")) for bar in root.iter("rect")]
    assert bars[0] / bars[-1] == pytest.approx(30 / 12_345, abs=1e-3)
    assert bars[1:-1] == [0.0] * 8
    assert "said 5" in root.get("aria-label", "")


def _plot(curve: Reliability) -> ElementTree.Element:
    nothing = np.zeros(0)
    verdict = Verdict(nothing, nothing, nothing, nothing, nothing.astype(bool), nothing, nothing)
    reliability = evaluation(ReportInput(verdict, quality=QUALITY, reliability=curve))["reliability"]
    root = ElementTree.fromstring(figures.reliability(reliability))
    for element in root.iter():
        assert element.tag in {"svg", "g", "rect", "line", "circle", "path", "text", "title"}
        assert "style" not in element.attrib
    return root


def test_a_report_that_learns_the_truth_later_is_the_one_that_knew_it(
    tmp_path: Path, hostile: tuple[Verdict, dict[str, Any]]
) -> None:
    verdict, arguments = hostile
    unaware = arguments | {"quality": None, "reliability": None}
    knew = arguments | {"quality": QUALITY, "reliability": _curve(verdict)}
    path = write_report(tmp_path / "later.html", verdict, **unaware, save_data=True)
    assert "nobody has checked them" in path.read_text()
    expected = write_report(tmp_path / "at once.html", verdict, **knew).read_text()
    for _ in range(2):  # again replaces
        add_evaluation(path, verdict, quality=QUALITY, reliability=_curve(verdict))
        assert path.read_text() == expected
    assert path.read_text().count("Can P(right) be taken at its word?") == 1
    assert "88\u202f% of the flags are right" in path.read_text()
    add_evaluation(path, verdict)  # and nothing known takes it away
    assert "nobody has checked them" in path.read_text()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["at once.html", "later.html", "later.json"]


def test_a_saved_verdict_knows_its_report(tmp_path: Path, make: Make) -> None:
    for dtype in (np.float64, np.float32):
        verdict = make(p_clean=make().p_clean.astype(dtype))
        verdict.save(tmp_path)
        assert verdict_hash(Verdict.load(tmp_path)) == verdict_hash(verdict)
    flipped = make(flagged=~make().flagged)
    assert len({verdict_hash(other) for other in (make(), flipped, make(seed=1))}) == 3


@pytest.mark.parametrize("data", ["another verdict", "another version", "damaged", "missing"])
def test_an_evaluation_is_not_added_to_the_report_of_another_run(tmp_path: Path, make: Make, data: str) -> None:
    path, saved = tmp_path / "report.html", tmp_path / "report.json"
    write_report(path, make(seed=1 if data == "another verdict" else 0), save_data=True)
    if data == "another version":
        summary = json.loads(saved.read_text())
        del summary["scores"]
        saved.write_text(json.dumps(summary))
    elif data == "damaged":
        saved.write_bytes(b"[{\xff")
    elif data == "missing":
        saved.unlink()
    before = path.read_bytes()
    with pytest.raises(InvalidData, match=r"cannot be updated: report\.json .* run `eigenclean detect` again"):
        add_evaluation(path, make(), quality=QUALITY)
    assert path.read_bytes() == before


def test_the_former_name_works_with_a_warning(tmp_path: Path, make: Make) -> None:
    path = write_report(tmp_path / "report.html", make(), save_data=True)
    with pytest.warns(DeprecationWarning, match="add_evaluation"):
        report.add_measured(path, make(), quality=QUALITY)
    assert "Measured against the known truth" in path.read_text()


def test_without_flags_nobody_says_how_many_of_them_are_right(make: Make) -> None:
    verdict = make(flagged=np.zeros(300, dtype=bool))
    page = render(summarize(verdict, quality={"noisy_precision": 0.0, "noise_rate": 0.2}))
    assert "of the flags are right" not in page
    assert "Measured against the known truth" in page


def test_the_plot_can_stand_alone(make: Make) -> None:
    page = render(summarize(make(), reliability=_curve(make())))
    assert 'class="figure reliability"' in page
    assert 'class="measures"' not in page
    assert "nobody has checked them" not in page
