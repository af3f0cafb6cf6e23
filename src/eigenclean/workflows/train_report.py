"""The page about a training run: how accuracy and selection developed, and the last verdict."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenclean.files import write_text
from eigenclean.report import render_page, summarize
from eigenclean.report.figures.histogram import histogram
from eigenclean.report.formatting import plain
from eigenclean.train import RobustClassifier
from eigenclean.workflows.train_callbacks import BINS, Rounds
from eigenclean.workflows.trained_eigenvectors import EigenvectorFigure, TrainedEigenvectors

REPORT = "report.html"
_ACCURACY = (
    ("train_accuracy", "given labels"),
    ("val_accuracy", "validation"),
    ("test_accuracy", "test"),
)
_SELECTION = (("kept_fraction", "kept"), ("precision", "precision"), ("recall", "recall"), ("f", "F"))
_MOST_CLASSES = 100
_MOST_ROUNDS = 4


def write_run_report(
    folder: Path,
    model: RobustClassifier,
    facts: Mapping[str, Any],
    watching: Sequence[Any],
    *,
    source: str,
    command: str | None = None,
) -> None:
    """Write ``report.html``: one self-contained page."""
    rounds = next((one.records for one in watching if isinstance(one, Rounds)), [])
    eigenvectors = next((one.figures for one in watching if isinstance(one, TrainedEigenvectors)), [])
    summary = summarize_run(model, facts, rounds, eigenvectors, source=source, command=command)
    write_text(folder / REPORT, render_run(summary))


def summarize_run(
    model: RobustClassifier,
    facts: Mapping[str, Any],
    rounds: Sequence[Mapping[str, Any]],
    eigenvectors: Sequence[EigenvectorFigure] = (),
    *,
    source: str,
    command: str | None = None,
) -> dict[str, Any]:
    """All that the page says, as plain values."""
    history = model.history_
    verdict = summarize(model.verdict_, quality=facts.get("quality"))
    return {
        "source": source,
        "command": command,
        "facts": {key: value for key, value in facts.items() if key != "quality"},
        "stages": [_stage(number, stage) for number, stage in enumerate(model.recipe_.stages, start=1)],
        "accuracy": _series(history, _ACCURACY),
        "loss": _series(history, (("loss", "loss"),)),
        "selection": _series(history, _SELECTION),
        "classes": _by_class(model, rounds),
        "panels": [_panel(one) for one in _chosen([one for one in rounds if "scores" in one])],
        "eigenvectors": list(eigenvectors),
        "verdict": {name: verdict[name] for name in ("headline", "classes", "suspects", "evaluation")},
    }


def render_run(summary: Mapping[str, Any]) -> str:
    """The page for what `summarize_run` gave."""
    return render_page("train.html", summary, package="eigenclean.workflows")


def _series(history: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "x": [record["epoch"] for record in history if key in record],
            "y": [record[key] for record in history if key in record],
        }
        for key, name in wanted
        if any(key in record for record in history)
    ]


def _stage(number: int, stage: Any) -> dict[str, Any]:
    detector = getattr(stage.select, "name", None)
    return {
        "number": number,
        "epochs": stage.epochs,
        "select": f"{stage.select.kind} {detector}" if detector else stage.select.kind,
        "loss": repr(stage.loss)[5:-1].replace("'", ""),
        "step": repr(stage.step)[5:-1].replace("'", ""),
        "refresh": stage.refresh,
        "warm_up": stage.warm_up,
    }


def _by_class(model: RobustClassifier, rounds: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Share of each class that was learned from in the last epoch, the smallest first."""
    if not rounds:
        return []
    shares = rounds[-1]["kept_by_class"]
    rows = [
        {"label": plain(label), "kept": share} for label, share in zip(model.classes_.tolist(), shares, strict=True)
    ]
    return sorted(rows, key=lambda row: float(row["kept"]))[:_MOST_CLASSES]


def _chosen(rounds: list[Any]) -> list[Any]:
    """A few of them, first and last among them."""
    if len(rounds) <= _MOST_ROUNDS:
        return rounds
    return [rounds[round(number * (len(rounds) - 1) / (_MOST_ROUNDS - 1))] for number in range(_MOST_ROUNDS)]


def _panel(one: Mapping[str, Any]) -> dict[str, Any]:
    """What the histogram of the label report draws, for a round: right labels where it has kept ones."""
    scores = one["scores"]
    known = "right" in scores
    kept, flagged = (scores["right"], scores["wrong"]) if known else (scores["kept"], scores["flagged"])
    drawn = {
        "label": f"epoch {one['epoch']}",
        "low": scores["low"],
        "high": scores["high"],
        "kept": kept,
        "flagged": flagged,
        "n_samples": sum(kept) + sum(flagged),
        "n_flagged": sum(flagged),
        "curves": [],
        "boundary": None,
    }
    assert len(kept) == BINS
    return {"epoch": one["epoch"], "known": known, "picture": histogram(drawn)}
