"""Callbacks of a training run that record its selections: their quality, and how they develop over the epochs."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s
from eigenclean.errors import InvalidData
from eigenclean.files import parse_json, write_text
from eigenclean.metrics.detection import detection_quality
from eigenclean.train.callbacks import Callback
from eigenclean.train.storage.run_files import clear_leftovers
from eigenclean.truth import Truth

ROUNDS = "rounds.jsonl"
BINS = 40


class SelectionQuality(Callback):
    """Adds precision, recall and F of the selected samples to every epoch's record; right labels are positive.

    The truth reaches the record only, and nothing that learns. With two networks the record has their means.

    Args:
        truth: the right labels of the training samples, in their order.
        labels: the labels as given.
    """

    def __init__(self, truth: Truth, labels: Array) -> None:
        self._is_clean = truth.is_clean(labels)

    def on_epoch_end(self, engine: Any, record: dict[str, Any]) -> None:
        """Measure what this epoch was trained on."""
        qualities = [self._quality(state.trained_on) for state in engine.network_states]
        for name in ("precision", "recall", "f"):
            record[name] = float(np.mean([getattr(quality, name) for quality in qualities]))

    def _quality(self, kept: Bools) -> Any:
        return detection_quality(~kept, kept.astype(np.float64), self._is_clean)


class SelectionHistory(Callback):
    """Records, for every epoch, the share of each class that was trained on, and the scores of each selection.

    The records are kept in ``rounds.jsonl``, from which a resumed run continues.

    Args:
        folder: of the run.
        truth: the right labels, if they are known: then the histograms count right and wrong labels.
    """

    def __init__(self, folder: Path, truth: Truth | None = None) -> None:
        self.path = folder / ROUNDS
        self.truth = truth
        self.records: list[dict[str, Any]] = []

    def on_train_begin(self, engine: Any) -> None:
        """Continue the records of an interrupted run."""
        if engine.is_main:
            clear_leftovers(self.path)
        if engine.epochs_done and self.path.exists():
            self.records = [record for record in self._read(engine) if record["epoch"] <= engine.epochs_done]

    def _read(self, engine: Any) -> list[dict[str, Any]]:
        try:
            records = [parse_json(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError):
            records = [None]
        names = ("kept", "flagged") if self.truth is None else ("right", "wrong")
        if not all(_is_entry(record, engine.pool.n_classes, names) for record in records):
            raise InvalidData(f"{self.path} is damaged, so the run cannot be resumed; start a new run")
        return records

    def on_epoch_end(self, engine: Any, record: dict[str, Any]) -> None:
        """Add a record of this epoch."""
        state, codes, k = engine.network_states[0], engine.pool.codes.cpu().numpy(), engine.pool.n_classes
        kept_shares = np.bincount(codes[state.trained_on], minlength=k) / np.maximum(
            np.bincount(codes, minlength=k), 1
        )
        entry: dict[str, Any] = {
            "epoch": record["epoch"],
            "kept_by_class": [round(float(x), 4) for x in kept_shares],
        }
        verdict = engine.verdicts[0]
        if record["selected"] and verdict is not None:
            entry["scores"] = score_histogram(verdict.score, self._groups(verdict))
        self.records.append(entry)
        if engine.is_main:
            write_text(self.path, "".join(json.dumps(entry) + "\n" for entry in self.records))

    def _groups(self, verdict: Any) -> dict[str, Bools]:
        if self.truth is None:
            return {"kept": ~verdict.flagged, "flagged": verdict.flagged}
        clean = self.truth.is_clean(verdict.labels)
        return {"right": clean, "wrong": ~clean}


def _is_entry(record: Any, n_classes: int, names: tuple[str, str]) -> bool:
    """Whether `SelectionHistory` may have written the record, so that the report can show it."""
    try:
        scores = record.get("scores", {"low": 0, "high": 1, **dict.fromkeys(names, [0] * BINS)})
        counts = [scores[name] for name in names]
        numbers = [*record["kept_by_class"], scores["low"], scores["high"], *(n for row in counts for n in row)]
        lengths = [len(record["kept_by_class"]), *map(len, counts)]
    except (AttributeError, KeyError, TypeError):
        return False
    is_number = all(type(number) in (int, float) and np.isfinite(number) for number in numbers)
    return type(record.get("epoch")) is int and is_number and lengths == [n_classes, BINS, BINS]


def score_histogram(scores: Array, groups: dict[str, Bools]) -> dict[str, Any]:
    """Counts of each group in equal bins between the 0.2 and 99.8 % quantiles; outliers are in the outer bins.

    >>> score_histogram(np.array([0.0, 1.0]), {"kept": np.array([True, False])})["kept"][0]
    1
    """
    values: Float64s = np.asarray(scores, dtype=np.float64)
    low, high = np.quantile(values, (0.002, 0.998)) if len(values) else (0.0, 1.0)
    high = high if high > low else low + 1.0
    bins = np.clip((BINS * (values - low) / (high - low)).astype(np.intp), 0, BINS - 1)
    counts = {name: np.bincount(bins[mask], minlength=BINS).tolist() for name, mask in groups.items()}
    return {"low": float(low), "high": float(high), **counts}
