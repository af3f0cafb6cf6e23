"""The report of a training run: accuracy and selection by epoch, class eigenvectors, and the last verdict."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenclean.files import write_text
from eigenclean.report import render_page, summarize
from eigenclean.report.figures.histogram import histogram
from eigenclean.report.formatting import plain
from eigenclean.train import Callback, ComponentSpec, Probe, RobustClassifier
from eigenclean.train.probe.model import ProbeModel
from eigenclean.workflows.train_callbacks import BINS, SelectionHistory
from eigenclean.workflows.trained_eigenvectors import EigenvectorFigure, TrainedEigenvectors

REPORT = "report.html"
_ACCURACY = (
    ("train_accuracy", "given labels"),
    ("val_accuracy", "validation"),
    ("test_accuracy", "test"),
)
_SELECTION = (("kept_fraction", "kept"), ("precision", "precision"), ("recall", "recall"), ("f", "F"))
_MAX_CLASSES = 100
_MAX_PANELS = 4


def write_run_report(
    folder: Path,
    model: RobustClassifier,
    facts: Mapping[str, Any],
    callbacks: Sequence[Callback],
    *,
    source: str,
    command: str | None = None,
) -> None:
    """Write ``report.html``, one self-contained page, into the empty folder of a `publication`."""
    selections = next((each.records for each in callbacks if isinstance(each, SelectionHistory)), [])
    eigenvectors = next((each.figures for each in callbacks if isinstance(each, TrainedEigenvectors)), [])
    summary = summarize_run(model, facts, selections, eigenvectors, source=source, command=command)
    write_text(folder / REPORT, render_run(summary))


def summarize_run(
    model: RobustClassifier,
    facts: Mapping[str, Any],
    selections: Sequence[Mapping[str, Any]],
    eigenvectors: Sequence[EigenvectorFigure] = (),
    *,
    source: str,
    command: str | None = None,
) -> dict[str, Any]:
    """Everything that the page shows: plain values, and figures as SVG."""
    history = model.history_
    verdict = summarize(model.verdict_, quality=facts.get("quality"))
    return {
        "source": source,
        "command": command,
        "facts": {key: value for key, value in facts.items() if key != "quality"},
        "stages": _stages(model),
        "accuracy": _series(history, _ACCURACY),
        "loss": _series(history, (("loss", "loss"),)),
        "selection": _series(history, _SELECTION),
        "classes": _kept_by_class(model, selections),
        "panels": [_panel(entry) for entry in _evenly_spaced([entry for entry in selections if "scores" in entry])],
        "eigenvectors": list(eigenvectors),
        "verdict": {name: verdict[name] for name in ("headline", "classes", "suspects", "evaluation")},
    }


def render_run(summary: Mapping[str, Any]) -> str:
    """The page for a summary from `summarize_run`."""
    return render_page("train.html", summary, package="eigenclean.workflows")


def _series(history: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "x": [record["epoch"] for record in history if key in record],
            "y": [record[key] for record in history if key in record],
        }
        for key, name in columns
        if any(key in record for record in history)
    ]


def _stages(model: RobustClassifier) -> list[dict[str, Any]]:
    if not isinstance(model.recipe_, Probe):
        return [_stage(number, stage) for number, stage in enumerate(model.recipe_.stages, start=1)]
    heads = model.model_.heads if isinstance(model.model_, ProbeModel) else [type(model.estimator).__name__]
    return [
        {
            "number": 1,
            "epochs": 1,
            "select": f"judged by {model.recipe_.detector}",
            "loss": "least squares",
            "step": ", ".join(heads),
            "refresh": 1,
            "warm_up": False,
        }
    ]


def _stage(number: int, stage: Any) -> dict[str, Any]:
    detector = getattr(stage.select, "name", None)
    return {
        "number": number,
        "epochs": stage.epochs,
        "select": f"{stage.select.kind} {detector}" if detector else stage.select.kind,
        "loss": _component(stage.loss),
        "step": _component(stage.step),
        "refresh": stage.refresh,
        "warm_up": stage.warm_up,
    }


def _component(spec: ComponentSpec) -> str:
    """A loss or step with its options, as one reads it: ``gce, q=0.7``."""
    return ", ".join([spec.name, *(f"{key}={value}" for key, value in spec.options.items())])


def _kept_by_class(model: RobustClassifier, selections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Share of each class that the last epoch was trained on, the smallest first."""
    if not selections:
        return []
    shares = selections[-1]["kept_by_class"]
    rows = [
        {"label": plain(label), "kept": share} for label, share in zip(model.classes_.tolist(), shares, strict=True)
    ]
    return sorted(rows, key=lambda row: float(row["kept"]))[:_MAX_CLASSES]


def _evenly_spaced(entries: list[Any]) -> list[Any]:
    """At most ``_MAX_PANELS`` entries, the first and the last among them."""
    if len(entries) <= _MAX_PANELS:
        return entries
    return [entries[round(number * (len(entries) - 1) / (_MAX_PANELS - 1))] for number in range(_MAX_PANELS)]


def _panel(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of one selection as a histogram: right and wrong labels, or kept and flagged ones."""
    scores = entry["scores"]
    known = "right" in scores
    kept, flagged = (scores["right"], scores["wrong"]) if known else (scores["kept"], scores["flagged"])
    histogram_values = {
        "label": f"epoch {entry['epoch']}",
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
    return {"epoch": entry["epoch"], "known": known, "figure": histogram(histogram_values)}
