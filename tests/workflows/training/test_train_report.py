"""The report of a training run: every number on it against a loop over the history."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eigenclean.train import recipe
from eigenclean.verdict import Verdict
from eigenclean.workflows.train_callbacks import BINS
from eigenclean.workflows.train_report import render_run, summarize_run

FACTS = {
    "recipe": "fine", "net": "mlp", "epochs": 3, "best_epoch": 2, "seconds": 1.0, "version": "1", "data_hash": "x",
}  # fmt: skip


def model(history: list[dict[str, Any]], name: str = "fine", **options: Any) -> Any:
    """What the report reads of a trained classifier."""
    flagged = np.arange(30) < 6
    verdict = Verdict(
        ids=np.arange(30), labels=np.arange(30) % 3, score=np.arange(30.0), p_clean=np.where(flagged, 0.1, 0.9),
        flagged=flagged, suggested=(np.arange(30) + flagged) % 3, suggested_confidence=np.full(30, 0.9),
    )  # fmt: skip
    return SimpleNamespace(
        history_=history, verdict_=verdict, recipe_=recipe(name, **options), classes_=np.array(["a", "b", "c"])
    )


def record(epoch: int, **values: float) -> dict[str, Any]:
    measured = {"loss": 1 / epoch, "train_accuracy": 0.5, "kept_fraction": 0.8}
    return {"epoch": epoch, "selected": True, **measured, **values}


def selection(epoch: int, *, known: bool = False, **fields: Any) -> dict[str, Any]:
    first, second = ("right", "wrong") if known else ("kept", "flagged")
    counts = {first: list(range(BINS)), second: [1] * BINS}
    return {
        "epoch": epoch,
        "kept_by_class": [1.0, 0.25, 0.5],
        "scores": {"low": 0.0, "high": 1.0, **counts},
    } | fields


def test_a_curve_has_a_point_for_every_epoch_that_was_measured() -> None:
    history = [record(1), record(2, test_accuracy=0.6), record(3, test_accuracy=0.7)]
    summary = summarize_run(model(history), FACTS, [], source="mine")
    curves = {curve["name"]: (curve["x"], curve["y"]) for curve in summary["accuracy"]}
    assert curves == {"given labels": ([1, 2, 3], [0.5] * 3), "test": ([2, 3], [0.6, 0.7])}
    assert summary["loss"] == [{"name": "loss", "x": [1, 2, 3], "y": [1, 1 / 2, 1 / 3]}]
    assert [curve["name"] for curve in summary["selection"]] == ["kept"]


def test_classes_are_those_of_the_last_epoch_the_least_kept_first() -> None:
    selections = [selection(1, kept_by_class=[0.0, 0.0, 0.0]), selection(2)]
    summary = summarize_run(model([record(1)]), FACTS, selections, source="mine")
    assert [(row["label"], row["kept"]) for row in summary["classes"]] == [("b", 0.25), ("c", 0.5), ("a", 1.0)]
    assert summarize_run(model([record(1)]), FACTS, [], source="mine")["classes"] == []


@pytest.mark.parametrize(
    ("n", "shown"),
    [(0, []), (1, [1]), (4, [1, 2, 3, 4]), (5, [1, 2, 4, 5]), (10, [1, 4, 7, 10]), (100, [1, 34, 67, 100])],
)
def test_at_most_four_selections_are_drawn_first_and_last_among_them(n: int, shown: list[int]) -> None:
    selections = [selection(epoch) for epoch in range(1, n + 1)]
    panels = summarize_run(model([record(1)]), FACTS, selections, source="mine")["panels"]
    assert [panel["epoch"] for panel in panels] == shown


@pytest.mark.parametrize("known", [True, False])
def test_a_panel_counts_every_sample(known: bool) -> None:
    summary = summarize_run(model([record(1)]), FACTS, [selection(1, known=known)], source="mine")
    (panel,) = summary["panels"]
    n_upper = sum(range(BINS))
    assert panel["known"] is known
    assert f"{BINS} of {n_upper + BINS} labels flagged" in panel["figure"].replace("\u202f", "")


def test_epochs_without_a_new_selection_have_no_panel() -> None:
    kept = {"epoch": 2, "kept_by_class": [1.0, 1.0, 1.0]}
    summary = summarize_run(model([record(1)]), FACTS, [selection(1), kept], source="mine")
    assert [panel["epoch"] for panel in summary["panels"]] == [1]


def test_stages_are_the_recipes() -> None:
    trained = model([record(1)], "gce", q=0.5)
    stages = summarize_run(trained, FACTS, [], source="mine")["stages"]
    assert [stage["number"] for stage in stages] == list(range(1, len(trained.recipe_.stages) + 1))
    assert sum(stage["epochs"] for stage in stages) == trained.recipe_.epochs
    assert stages[0]["loss"] == "gce, q=0.5"


def test_the_page_shows_quality_only_where_the_truth_is_known() -> None:
    quality = {"noisy_precision": 0.875, "auroc": 0.7654}
    trained, arguments = model([record(1), record(2)]), ([selection(1)],)
    without = render_run(summarize_run(trained, FACTS, *arguments, source="mine"))
    summary = summarize_run(trained, FACTS | {"quality": quality}, *arguments, source="mine")
    assert "quality" not in summary["facts"]
    assert {measure["key"]: measure["value"] for measure in summary["verdict"]["evaluation"]["measures"]} == quality
    page = render_run(summary)
    assert "0.765" in page and "0.765" not in without
