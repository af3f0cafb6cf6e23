"""Figures of what trains without a network in `eigenclean bench train`: the probe, and classifiers."""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from eigenclean.arrays import Array, Bools, encode_labels
from eigenclean.extras import require
from eigenclean.metrics import detection_quality
from eigenclean.train import RobustClassifier
from eigenclean_lab.bench.training.contenders import CLASSIFIERS, CLEANLEARNING, MODELS, PROBE
from eigenclean_lab.bench.training.measure import FIGURES
from eigenclean_lab.bench.training.settings import TrainingCase


class Trained(NamedTuple):
    """Predictions for the test rows, and which rows were learned from with their own labels."""

    predicted: Array
    kept: Bools
    seconds: float  # of the fit alone


def measure_classifier(name: str, case: TrainingCase, seed: int = 0) -> dict[str, float]:
    """Train once. There are no epochs, so that the best accuracy is the last; the truth scores the selection."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # early stopping is deliberate
        trained = _train_judged(name, case, seed) if _is_judged(name) else _train_alone(name, case, seed)
    accuracy = float((trained.predicted == case.test[1]).mean())
    quality = detection_quality(~trained.kept, trained.kept.astype(np.float64), case.truth.is_clean(case.labels))
    figures = {
        "last": accuracy,
        "best": accuracy,
        "f": quality.f,
        "kept": trained.kept.mean(),
        "noise_rate": case.truth.noise_rate(case.labels),
        "seconds": trained.seconds,
    }
    return {figure: float(figures[figure]) for figure in FIGURES}


def _is_judged(name: str) -> bool:
    return name == PROBE or CLASSIFIERS[name][1] == "judge"


def _train_judged(name: str, case: TrainingCase, seed: int) -> Trained:
    estimator = None if name == PROBE else MODELS[CLASSIFIERS[name][0]](seed)
    started = time.perf_counter()
    model = RobustClassifier(PROBE, estimator=estimator, random_state=seed).fit(case.inputs, case.labels)
    seconds = time.perf_counter() - started
    return Trained(model.predict(case.test[0]), ~model.verdict_.flagged, seconds)


def _train_alone(name: str, case: TrainingCase, seed: int) -> Trained:
    """The classifier as it is, or inside cleanlab's wrapper with its default options."""
    model, treatment = CLASSIFIERS[name]
    classes, codes = encode_labels(case.labels)
    classifier: Any = MODELS[model](seed)
    if treatment == CLEANLEARNING:
        cleanlab = require("cleanlab.classification", extra="cleanlab", caller=f"bench train, {name}")
        classifier = cleanlab.CleanLearning(
            classifier, seed=seed, verbose=False, find_label_issues_kwargs={"n_jobs": 1}
        )
    started = time.perf_counter()
    classifier.fit(case.inputs, codes)
    seconds = time.perf_counter() - started
    if treatment == CLEANLEARNING:
        kept = ~classifier.get_label_issues()["is_label_issue"].to_numpy(dtype=bool)
    else:
        kept = np.ones(len(codes), dtype=bool)
    return Trained(classes[classifier.predict(case.test[0])], kept, seconds)
