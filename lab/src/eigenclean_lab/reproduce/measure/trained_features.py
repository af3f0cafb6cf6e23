"""Features of a network that was trained on the noisy labels, computed once and shared by several analyses."""

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.files import reading_arrays, replacing
from eigenclean.train import Callback, Recipe, RobustClassifier, network_outputs
from eigenclean_lab.components import component_modules
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.data import PaperCase, make_case
from eigenclean_lab.reproduce.profile import ProfileData
from eigenclean_lab.reproduce.recipes import FEATURES, make_recipe
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import code_key, short_hash


@dataclass(frozen=True, eq=False)
class TrainedFeatures:
    """Outputs of a network for the samples that it was trained on.

    Attributes:
        features: n x d.
        logits: n x K.
        labels: as given.
        is_clean: whether each of them is right.
        pass_seconds: duration of the forward pass over all samples.
        noise_hash: fingerprint of the noisy labels.
    """

    features: Array
    logits: Array
    labels: Array
    is_clean: Bools
    pass_seconds: float
    noise_hash: str


def trained_features(task: Task, seed: int, context: Context) -> TrainedFeatures:
    """The features for a setting and a seed: from memory, from the cache, or by training the network now."""
    return _train(task.data, task.noise, seed, context)


def training_key(recipe: Recipe, data: ProfileData, case: PaperCase, seed: int) -> str:
    """What the outputs of a trained network depend on, as a name for files in the cache."""
    code = code_key(RobustClassifier, *component_modules([recipe.to_dict(), data.net]))
    samples = [case.inputs_hash(), case.noise_hash()]
    facts = [recipe.to_dict(), data.net, dict(data.net_options), seed, samples, code]
    return short_hash(dumps(facts, sort_keys=True))


@lru_cache(maxsize=2)  # cells of the same setting follow each other
def _train(data_name: str, noise: str, seed: int, context: Context) -> TrainedFeatures:
    task = Task(FEATURES, data_name, noise)
    data = context.data(task)
    case = make_case(data, noise, seed, context.folder, validated=False)
    assert case.truth is not None
    recipe = make_recipe(task, data)
    if data.epochs is None:  # the network as it is after the warm-up, when FINE selects for the first time
        recipe = replace(recipe, stages=recipe.stages[:1])
    file = None
    if context.cache is not None:
        file = context.cache / f"features-{training_key(recipe, data, case, seed)}.npz"
    outputs = _read(file)
    if outputs is None:
        callback = _OutputsAtEnd()
        feature_classifier(recipe, data, seed, context, callback).fit(case.inputs, case.labels)
        outputs = callback.features, callback.logits, callback.seconds
        _write(file, outputs)
    features, logits, seconds = outputs
    is_clean = case.truth.is_clean(case.labels)
    return TrainedFeatures(features, logits, case.labels, is_clean, seconds, case.noise_hash())


def feature_classifier(
    recipe: Recipe, data: ProfileData, seed: int, context: Context, callback: Callback
) -> RobustClassifier:
    """The classifier whose network makes the features, not fitted; the callback gets them."""
    return RobustClassifier(
        recipe,
        net=data.net,
        net_options=dict(data.net_options) or None,
        random_state=seed,
        device=context.device,
        callbacks=[callback],
    )


class _OutputsAtEnd(Callback):
    """Features and logits of all samples at the end of the training."""

    features: Array
    logits: Array
    seconds: float

    def on_train_end(self, engine: Any) -> None:
        started = time.perf_counter()
        features, logits = network_outputs(engine.networks[0], engine.pool, features=True)
        self.seconds = time.perf_counter() - started
        assert features is not None
        self.features, self.logits = (np.asarray(output.float().cpu().numpy()) for output in (features, logits))


def _read(file: Path | None) -> tuple[Array, Array, float] | None:
    if file is None or not file.is_file():
        return None
    with reading_arrays(file, "features") as content:
        return content["features"], content["logits"], float(content["seconds"])


def _write(file: Path | None, outputs: tuple[Array, Array, float]) -> None:
    if file is not None:
        with replacing(file) as temporary, open(temporary, "wb") as opened:
            np.savez(opened, features=outputs[0], logits=outputs[1], seconds=outputs[2])
