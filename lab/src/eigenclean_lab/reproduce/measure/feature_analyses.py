"""Cells that analyse the features of a network that was trained on the noisy labels."""

from typing import Any

import numpy as np

from eigenclean.detect import build_detector
from eigenclean.metrics import alignment_heatmap, detection_quality, eigenvector_shift, fraction_curve
from eigenclean.train import FromDetector, make_selector
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.measure.trained_features import TrainedFeatures, trained_features
from eigenclean_lab.reproduce.values import MethodSpec, Task
from eigenclean_lab.store import Measured

FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_LARGE_CLASS = 1000  # samples; 1 % of such a class should be enough for its eigenvector


def measure_judge(task: Task, seed: int, context: Context) -> Measured:
    """A detector on the features (small losses: on the logits): precision, recall and F of the kept labels."""
    trained = trained_features(task, seed, context)
    return Measured(judged(task.spec, trained, seed), {}, {"noise_hash": trained.noise_hash})


def judged(spec: MethodSpec, trained: TrainedFeatures, seed: int) -> dict[str, Any]:
    """The figures of a detector on the outputs of a network."""
    options = dict(spec.options)
    if spec.method == "fine":  # as in the paper's own runs: labels are known to be noisy
        selector = make_selector("fine")
        assert isinstance(selector, FromDetector)
        options = {**selector.options, **options}
    detector = build_detector(spec.method, options, seed=seed)
    inputs = trained.logits if options.get("head", "linear") is None else trained.features
    verdict = detector.fit_judge(inputs, trained.labels)
    quality = detection_quality(verdict.flagged, verdict.p_clean, trained.is_clean, verdict.score)
    names = ("f", "precision", "recall", "auroc", "noise_rate", "flagged_share")
    return {name: value for name in names if (value := getattr(quality, name)) is not None}


def measure_shift(task: Task, seed: int, context: Context) -> Measured:
    """Angle between an eigenvector with and without wrong labels: mean and deviation over the classes."""
    trained = trained_features(task, seed, context)
    component = int(dict(task.spec.options)["component"])
    shift = eigenvector_shift(trained.features, trained.labels, trained.is_clean, components=(component,))
    figures = {"mean": float(shift.mean[0]), "deviation": float(shift.std[0])}
    return Measured(figures, {"by_class": _plain(shift.perturbation[0])}, {"noise_hash": trained.noise_hash})


def measure_fraction(task: Task, seed: int, context: Context) -> Measured:
    """Cosine of the eigenvector of a subset with that of the whole class, for growing subsets."""
    trained = trained_features(task, seed, context)
    curve = fraction_curve(trained.features, trained.labels, fractions=FRACTIONS, random_state=seed)
    sizes = np.unique(trained.labels, return_counts=True)[1]
    large = np.asarray(curve.by_class)[0, sizes >= _LARGE_CLASS]
    figures = {
        "one_percent": float(curve.cosine[0]),
        "ten_percent": float(curve.cosine[FRACTIONS.index(0.1)]),
        "smallest_class": int(sizes.min()),
        "large_classes": len(large),
        **(
            {"one_percent_large": float(large.mean()), "one_percent_worst": float(large.min())}
            if len(large)
            else {}
        ),
    }
    curves = {name: _plain(getattr(curve, name)) for name in ("fractions", "cosine", "low", "high")}
    return Measured(figures, curves, {"noise_hash": trained.noise_hash})


def measure_plane(task: Task, seed: int, context: Context) -> Measured:
    """Mean alignment of clean minus that of noisy samples, all around random planes through the eigenvector."""
    trained = trained_features(task, seed, context)
    heatmap = alignment_heatmap(trained.features, trained.labels, trained.is_clean, random_state=seed)
    values = np.asarray(heatmap.values)
    highest = values.max(axis=1)
    figures = {
        "at_eigenvector": float(np.nanmean(heatmap.at_eigenvector)),
        "best": float(np.nanmean(heatmap.best)),
        "best_cosine": float(np.nanmean(heatmap.best_cosine)),
        # Where a class has no wrong label there is nothing to subtract.
        "share_of_highest": float(np.nanmean(np.asarray(heatmap.at_eigenvector) / highest)),
    }
    curves = {
        "angles": _plain(heatmap.angles),
        "values": [_plain(row) for row in values],
        "classes": _names(heatmap.classes),
    }
    return Measured(figures, curves, {"noise_hash": trained.noise_hash})


def _plain(values: Any) -> list[float | None]:
    return [None if not np.isfinite(value) else round(float(value), 6) for value in np.asarray(values).ravel()]


def _names(classes: Any) -> list[str]:
    return [str(name) for name in np.asarray(classes).tolist()]
