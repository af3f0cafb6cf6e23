"""Cells of kind "filter": how long it takes to tell clean from noisy, without training and without the features."""

from collections.abc import Callable

import numpy as np

from eigenclean.arrays import encode_labels
from eigenclean.detect import FINE
from eigenclean.detect.baselines.small_loss import SmallLoss
from eigenclean.detect.cuts import GaussianCut
from eigenclean_lab.bench.published_way import published_p_clean
from eigenclean_lab.bench.timing import best_in_turns
from eigenclean_lab.reproduce.context import Context, Measured
from eigenclean_lab.reproduce.trained_features import Look, look
from eigenclean_lab.reproduce.values import Task

_REPEATS = 3


def measure_filter(task: Task, seed: int, context: Context) -> Measured:
    """Best seconds of a few, in turns with those of DivideMix's mixture on the losses, both for one epoch."""
    seen = look(task, seed, context)
    options = dict(task.part.options)
    networks = int(options.pop("networks", 1))
    work = _ways(seen, options.get("subset"))[task.part.method]
    yardstick = _ways(seen, None)["small-loss"]
    ours, theirs = best_in_turns(lambda: [work() for _ in range(networks)], yardstick, _REPEATS)
    figures = {
        "seconds": ours,
        "ratio": ours / theirs,
        "pass_seconds": networks * seen.pass_seconds,
        "samples": len(seen.labels),
        "features": int(seen.features.shape[1]),
    }
    return Measured(figures, {}, seen.noise_hash)


def _ways(seen: Look, subset: float | None) -> dict[str, Callable[[], object]]:
    codes = encode_labels(seen.labels)[1]
    logits = seen.logits.astype(np.float64)

    def fine() -> object:
        judge = FINE(subset=subset, cut=GaussianCut(split="always"), keep_moments=False)
        return judge.fit(seen.features, seen.labels).p_clean(seen.features, seen.labels)

    def small_loss() -> object:
        judge = SmallLoss(head=None)
        return judge.fit(logits, seen.labels).p_clean(logits, seen.labels)

    return {
        "fine": fine,
        "small-loss": small_loss,
        "released": lambda: published_p_clean(seen.features, codes),
    }
