"""Cells about features: those of a network that was trained on the noisy labels, computed once and shared."""

import time
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.detect.options import build_detector
from eigenclean.errors import EigencleanWarning
from eigenclean.files import reading_arrays, replacing
from eigenclean.metrics import detection_quality
from eigenclean.train import Callback, RobustClassifier
from eigenclean.train.selectors import FromDetector, make_selector
from eigenclean_lab.analyses import alignment_heatmap, eigenvector_shift, fraction_curve
from eigenclean_lab.bench.code import code_hash
from eigenclean_lab.reproduce.context import Context, Measured
from eigenclean_lab.reproduce.data import make_case
from eigenclean_lab.reproduce.training import make_recipe
from eigenclean_lab.reproduce.values import Task, part

FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_CODE = ("train/**/*.py", "nets/*.py", "losses/*.py")  # beside samples and recipe, what features depend on
_ENOUGH = 1000  # samples of a class of which 1 % should do


@dataclass(frozen=True, eq=False)
class Look:
    """What a trained network sees in the samples it was trained on.

    Attributes:
        features: n x d.
        logits: n x K.
        labels: as given.
        is_clean: which of them are right.
        pass_seconds: how long the network took for the features.
        noise_hash: fingerprint of the labels.
    """

    features: Array
    logits: Array
    labels: Array
    is_clean: Bools
    pass_seconds: float
    noise_hash: str


def look(task: Task, seed: int, context: Context) -> Look:
    """The features for a setting and a seed: from memory, from the cache, or by training the network now."""
    return _look(task.data, task.noise, seed, context)


@lru_cache(maxsize=2)  # cells of the same setting follow each other
def _look(data_name: str, noise: str, seed: int, context: Context) -> Look:
    task = Task(part("features", "standard", validated=False), data_name, noise)
    data = context.data(task)
    case = make_case(data, noise, seed, context.folder, validated=False)
    assert case.truth is not None
    chosen = make_recipe(task, data)
    if data.epochs is None:  # the network that FINE first meets: as it is after the warm-up
        chosen = replace(chosen, stages=chosen.stages[:1])
    samples = [case.inputs_hash(), case.noise_hash()]
    known = [chosen.to_dict(), data.net, dict(data.net_options), seed, samples, code_hash(*_CODE)]
    key = blake2b(dumps(known, sort_keys=True).encode(), digest_size=12).hexdigest()
    file = None if context.cache is None else context.cache / f"features-{key}.npz"
    seen = _cached(file)
    if seen is None:
        watch = _LastLook()
        net: dict[str, Any] = {"net": data.net, "net_options": dict(data.net_options) or None}
        model = RobustClassifier(chosen, **net, random_state=seed, device=context.device, callbacks=[watch])
        model.fit(case.inputs, case.labels)
        seen = watch.features, watch.logits, watch.seconds
        _keep(file, seen)
    return Look(*seen[:2], case.labels, case.truth.is_clean(case.labels), seen[2], case.noise_hash())


class _LastLook(Callback):
    """Features and logits of all samples when the training is over."""

    features: Array
    logits: Array
    seconds: float

    def on_train_end(self, engine: Any) -> None:
        from eigenclean.train.loop.evaluation import network_outputs

        started = time.perf_counter()
        features, logits = network_outputs(engine.networks[0], engine.pool, features=True)
        self.seconds = time.perf_counter() - started
        assert features is not None
        self.features, self.logits = (np.asarray(one.float().cpu().numpy()) for one in (features, logits))


def _cached(file: Path | None) -> tuple[Array, Array, float] | None:
    if file is None or not file.is_file():
        return None
    with reading_arrays(file, "features") as content:
        return content["features"], content["logits"], float(content["seconds"])


def _keep(file: Path | None, seen: tuple[Array, Array, float]) -> None:
    if file is not None:
        with replacing(file) as temporary, open(temporary, "wb") as opened:
            np.savez(opened, features=seen[0], logits=seen[1], seconds=seen[2])


# What is measured on them.


def measure_judge(task: Task, seed: int, context: Context) -> Measured:
    """A detector on the features (on the logits, if it wants those): precision, recall and F of keeping."""
    seen = look(task, seed, context)
    options = dict(task.part.options)
    if task.part.method == "fine":  # as in the paper's own runs: labels are known to be noisy
        usual = make_selector("fine")
        assert isinstance(usual, FromDetector)
        options = {**usual.options, **options}
    judge = build_detector(task.part.method, options, seed=seed)
    table = seen.logits if options.get("head", "linear") is None else seen.features
    with warnings.catch_warnings():  # classes kept whole are no news here
        warnings.simplefilter("ignore", EigencleanWarning)
        verdict = judge.fit_judge(table, seen.labels)
    quality = detection_quality(verdict.flagged, verdict.p_clean, seen.is_clean, verdict.score)
    names = ("f", "precision", "recall", "auroc", "noise_rate", "flagged_share")
    figures = {name: value for name in names if (value := getattr(quality, name)) is not None}
    return Measured(figures, {}, seen.noise_hash)


def measure_shift(task: Task, seed: int, context: Context) -> Measured:
    """How far wrong labels turn an eigenvector: mean and deviation over the classes."""
    seen = look(task, seed, context)
    component = int(dict(task.part.options)["component"])
    found = eigenvector_shift(seen.features, seen.labels, seen.is_clean, components=(component,))
    figures = {"mean": float(found.mean[0]), "deviation": float(found.std[0])}
    return Measured(figures, {"by_class": _plain(found.perturbation[0])}, seen.noise_hash)


def measure_fraction(task: Task, seed: int, context: Context) -> Measured:
    """Cosine of a part's eigenvector with that of the whole class, for growing parts."""
    seen = look(task, seed, context)
    found = fraction_curve(seen.features, seen.labels, fractions=FRACTIONS, random_state=seed)
    sizes = np.unique(seen.labels, return_counts=True)[1]
    large = np.asarray(found.by_class)[0, sizes >= _ENOUGH]
    figures = {
        "one_percent": float(found.cosine[0]),
        "ten_percent": float(found.cosine[FRACTIONS.index(0.1)]),
        "smallest_class": int(sizes.min()),
        "large_classes": len(large),
        **(
            {"one_percent_large": float(large.mean()), "one_percent_worst": float(large.min())}
            if len(large)
            else {}
        ),
    }
    curves = {name: _plain(getattr(found, name)) for name in ("fractions", "cosine", "low", "high")}
    return Measured(figures, curves, seen.noise_hash)


def measure_plane(task: Task, seed: int, context: Context) -> Measured:
    """Mean alignment of clean minus that of noisy samples, all around random planes through the eigenvector."""
    seen = look(task, seed, context)
    found = alignment_heatmap(seen.features, seen.labels, seen.is_clean, random_state=seed)
    values = np.asarray(found.values)
    highest = values.max(axis=1)
    figures = {
        "at_eigenvector": float(np.nanmean(found.at_eigenvector)),
        "best": float(np.nanmean(found.best)),
        "best_cosine": float(np.nanmean(found.best_cosine)),
        # Where a class has no wrong label there is nothing to subtract.
        "share_of_highest": float(np.nanmean(np.asarray(found.at_eigenvector) / highest)),
    }
    curves = {
        "angles": _plain(found.angles),
        "values": [_plain(row) for row in values],
        "classes": _names(found.classes),
    }
    return Measured(figures, curves, seen.noise_hash)


def _plain(values: Any) -> list[float | None]:
    return [None if not np.isfinite(value) else round(float(value), 6) for value in np.asarray(values).ravel()]


def _names(classes: Any) -> list[str]:
    return [str(one) for one in np.asarray(classes).tolist()]
