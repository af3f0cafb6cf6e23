"""Cells of kind "filter": time of the selection alone, without the training and the forward pass."""

from collections.abc import Callable

import numpy as np

from eigenclean.arrays import encode_labels
from eigenclean.detect import FINE, detector
from eigenclean.detect.cuts import GaussianCut
from eigenclean_lab.bench.speed.published_fine import published_p_clean
from eigenclean_lab.bench.speed.timing import best_in_turns
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.measure.trained_features import TrainedFeatures, trained_features
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import Measured

_REPEATS = 3


def measure_filter(task: Task, seed: int, context: Context) -> Measured:
    """Best seconds of a few, in turns with those of DivideMix's mixture on the losses, both for one epoch."""
    trained = trained_features(task, seed, context)
    options = dict(task.spec.options)
    networks = int(options.pop("networks", 1))
    filtering = _filters(trained, options.get("subset"))[task.spec.method]
    baseline = _filters(trained, None)["small-loss"]
    ours, theirs = best_in_turns(lambda: [filtering() for _ in range(networks)], baseline, _REPEATS)
    figures = {
        "seconds": ours,
        "ratio": ours / theirs,
        "pass_seconds": networks * trained.pass_seconds,
        "samples": len(trained.labels),
        "features": int(trained.features.shape[1]),
    }
    return Measured(figures, {}, {"noise_hash": trained.noise_hash})


def _filters(trained: TrainedFeatures, subset: float | None) -> dict[str, Callable[[], object]]:
    codes = encode_labels(trained.labels)[1]
    logits = trained.logits.astype(np.float64)

    def filter_by_fine() -> object:
        fine = FINE(subset=subset, cut=GaussianCut(split="always"), keep_moments=False)
        return fine.fit(trained.features, trained.labels).p_clean(trained.features, trained.labels)

    def small_loss() -> object:
        small_losses = detector("small-loss", head=None)
        return small_losses.fit(logits, trained.labels).p_clean(logits, trained.labels)

    return {
        "fine": filter_by_fine,
        "small-loss": small_loss,
        "released": lambda: published_p_clean(trained.features, codes),
    }
