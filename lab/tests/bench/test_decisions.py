"""The benchmark of decisions: its settings and measures, a simulated review, and the page."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eigenclean.errors import InvalidOption
from eigenclean.review import ORDERS
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.decisions import run
from eigenclean_lab.bench.decisions.page import NAME, tables, write_tables
from eigenclean_lab.bench.decisions.review import (
    OrderStep,
    Step,
    compare_orders,
    f_score,
    judge,
    simulate,
)
from eigenclean_lab.bench.decisions.settings import ReviewedData, settings

STEP = Step("a", 200, 0.2, 0.19, 0.02, 0.8, 0.7, 0.1, None)
ORDER = OrderStep("a", "worst", 100, 0.9, 1.0, 0.01, 0.05, 0.8, 0.7, 0.02)


def test_measures() -> None:
    flagged, wrong = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert f_score(flagged, wrong) == 0.5
    assert f_score(flagged, np.zeros(4, dtype=bool)) is None


def test_settings_have_other_errors_for_each_seed() -> None:
    first, second = (list(settings(None, 0, seed)) for seed in (0, 1))
    assert [round(float(np.mean(each.labels != each.truth)), 2) for each in first] == [0.21, 0.15, 0.0]
    assert [each.name for each in first] == [each.name for each in second]
    assert (first[0].labels != second[0].labels).any()


def test_what_was_measured_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.zeros((4, 1))
    right = np.arange(4)
    cases = [ReviewedData("a", rows, right, right), ReviewedData("b", rows, right[::-1], right)]
    monkeypatch.setattr(run, "settings", lambda folder, n, seed: (case._replace(seed=seed) for case in cases))
    monkeypatch.setattr(run, "judge", lambda setting: None)
    monkeypatch.setattr(
        run, "simulate", lambda setting, _: [replace(STEP, setting=setting.name, seed=setting.seed)]
    )
    monkeypatch.setattr(
        run,
        "compare_orders",
        lambda setting, _, orders: [
            replace(ORDER, setting=setting.name, seed=setting.seed, order=order) for order in orders
        ],
    )
    *_, first = run.run(None, seeds=1)
    assert [step.setting for step in first.steps] == ["a", "b"]
    assert [step.setting for step in first.orders] == ["b"] * len(ORDERS)  # without wrong labels there is no order
    (tmp_path / run.FILE).write_text(json.dumps(run.facts(first)))
    again = list(run.run(None, seeds=2, measured=run.load(tmp_path / run.FILE)))
    assert [(step.setting, step.seed) for step in again[-1].steps] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert len(again) == 2 and run.load(tmp_path / "none").steps == []
    fewer = first._replace(orders=[step for step in first.orders if step.order != "mixed"])
    (filled,) = run.run(None, seeds=1, measured=fewer)
    assert filled.steps == first.steps and filled.orders[-1].order == "mixed" and len(filled.orders) == len(ORDERS)


def test_the_page_says_which_bars_are_met(tmp_path: Path) -> None:
    steps = [STEP, replace(STEP, seed=1, estimated=0.25), replace(STEP, n_decisions=0, estimated=0.3)]
    steps += [replace(STEP, setting="b", false_flags=None, f=None, f_before=None)]
    text = tables(run.facts(run.MeasuredDecisions(steps, [ORDER, replace(ORDER, seed=1, errors_found=1.0)])))
    assert "| a | 20.0 % | 200 | .030 ± .028 | .020 ± .000 | .700 → .800 | 10.0 % | – |" in text
    assert "* a, 200 decisions: noise rate within 1.5 points: **missed** (.030); ECE at most 0.03: met" in text
    assert "* b, 200 decisions: noise rate within 1.5 points: met (.010)" in text
    assert "error of the noise rate over all settings (after so many decisions): .100 (0), .023 (200)" in text
    assert "| a | `worst` | .950 ± .071 | .050 → .010 ± .000 |" in text
    empty = tables(run.facts(run.MeasuredDecisions(steps, [replace(ORDER, n_decisions=0, errors_found=0.0)])))
    assert "| a | `worst` | nothing is listed | – |" in empty
    page = tmp_path / "page.md"
    page.write_text(f"before\n<!-- {NAME} -->\nold\n<!-- end of {NAME} -->\nafter\n")
    write_tables(page, run.facts(run.MeasuredDecisions(steps, [])))
    assert "old" not in page.read_text() and page.read_text().endswith("after\n")
    page.write_text("nothing")
    with pytest.raises(InvalidOption, match="no place for the tables"):
        write_tables(page, run.facts(run.MeasuredDecisions(steps, [])))


def test_the_page_shows_the_results() -> None:
    root = Path(__file__).resolve().parents[3]
    results = json.loads((root / "results" / run.FILE).read_text(encoding="utf-8"))
    assert tables(results) in (root / "docs" / "howto" / "judge-again.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def judged() -> tuple[ReviewedData, Verdict]:
    """Some digits with instance-dependent errors."""
    name, features, labels, truth, _ = next(settings(None, 0))
    setting = ReviewedData(name, features[:600], labels[:600], truth[:600])
    return setting, judge(setting)


@pytest.mark.slow
def test_a_simulated_review(judged: tuple[ReviewedData, Verdict]) -> None:
    steps = simulate(*judged, counts=(40,))
    assert [step.n_decisions for step in steps] == [0, 40]
    assert steps[0].f == steps[0].f_before


@pytest.mark.slow
def test_orders_are_compared(judged: tuple[ReviewedData, Verdict]) -> None:
    steps = compare_orders(*judged, count=30)
    shares = {step.order: step.errors_found for step in steps}
    assert shares["worst"] >= shares["mixed"] >= shares["random"]
    assert all(step.n_decisions == 30 for step in steps)
