"""Cells of the probe, which trains no network: it judges the labels of features once, then fits a classifier."""

from dataclasses import replace
from typing import Any

import numpy as np

from eigenclean.metrics import detection_quality
from eigenclean.train import RobustClassifier
from eigenclean_lab.bench.training.measure import TrainingClock
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.data import make_case
from eigenclean_lab.reproduce.recipes import PROBE
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import Measured, MissingData


def measure_probe(task: Task, seed: int, context: Context) -> Measured:
    """One fit; there is one epoch only, so that the best and the last are the same."""
    data = context.data(task)
    if data.vectors is None and ":" in data.source:
        raise MissingData("needs features of an encoder, which the profiles small and medium have for these data")
    case = make_case(
        replace(data, source=data.vectors or data.source),
        task.noise,
        seed,
        context.folder,
        validated=task.spec.validated,
    )
    inputs, test_inputs = (np.asarray(rows).reshape(len(rows), -1) for rows in (case.inputs, case.test[0]))
    clock = TrainingClock()
    clock.on_train_begin(None)
    model = RobustClassifier(PROBE, random_state=seed).fit(inputs, case.labels)
    clock.on_train_end(None)
    accuracy = float((model.predict(test_inputs) == case.test[1]).mean())
    figures: dict[str, Any] = dict.fromkeys(("best", "last", "highest", "last_ten"), accuracy)
    figures |= {"best_epoch": 1, "kept": float(1 - model.verdict_.flagged.mean()), "seconds": clock.seconds}
    if case.truth is not None:
        is_clean = case.truth.is_clean(case.labels)
        quality = detection_quality(model.verdict_.flagged, model.verdict_.p_clean, is_clean)
        figures |= {"f": quality.f, "f_first": quality.f, "precision": quality.precision, "recall": quality.recall}
        figures["noise_rate"] = float(1 - is_clean.mean())
    return Measured(figures, {}, {"noise_hash": case.noise_hash()})
