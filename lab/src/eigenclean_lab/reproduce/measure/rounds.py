"""Cells of kind "rounds": how good a selection would be after each epoch of a network that learns the wrong labels.

The network is trained once, on all samples as given; its outputs after each epoch are in the cache, where all
methods find them, and where a stopped training continues.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, encode_labels
from eigenclean.files import make_folder, reading_arrays, replacing
from eigenclean.train import Callback, network_outputs
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.data import make_case
from eigenclean_lab.reproduce.measure.feature_analyses import judged
from eigenclean_lab.reproduce.measure.trained_features import TrainedFeatures, feature_classifier, training_key
from eigenclean_lab.reproduce.recipes import FEATURES, make_recipe
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import Measured, MissingData

# Rows that no detector makes.
TRAIN_ACCURACY, TEST_ACCURACY, KEEP_ALL = "train-accuracy", "test-accuracy", "keep-all"


def measure_rounds(task: Task, seed: int, context: Context) -> Measured:
    """F of the kept labels after each epoch; or an accuracy after each epoch, to read the others by."""
    rounds = trained_rounds(task, seed, context)
    values = [_value(task, each, seed) for each in rounds]
    figures = {f"epoch_{number}": value for number, value in enumerate(values, start=1)}
    figures["last"] = values[-1]
    return Measured(figures, {"f": values}, {"noise_hash": rounds[0].outputs.noise_hash})


@dataclass(frozen=True, eq=False)
class Round:
    """A network after an epoch.

    Attributes:
        outputs: features and logits of the samples that it was trained on.
        test_accuracy: on right labels.
    """

    outputs: TrainedFeatures
    test_accuracy: float

    @property
    def train_accuracy(self) -> float:
        """Share of the given labels that it predicts, wrong ones included."""
        codes = encode_labels(self.outputs.labels)[1]
        return float((self.outputs.logits.argmax(axis=1) == codes).mean())


def trained_rounds(task: Task, seed: int, context: Context) -> list[Round]:
    """The network of a setting and a seed after each epoch, from the cache or trained now."""
    if context.cache is None:
        raise MissingData("needs a folder for the outputs of a network after each epoch: --cache")
    task = Task(FEATURES, task.data, task.noise)
    data = context.data(task)
    case = make_case(data, task.noise, seed, context.folder, validated=False)
    assert case.truth is not None
    recipe = make_recipe(task, data)
    folder = context.cache / f"rounds-{training_key(recipe, data, case, seed)}"
    files = [folder / f"epoch-{number}.npz" for number in range(1, recipe.epochs + 1)]
    if not all(file.is_file() for file in files):
        model = feature_classifier(recipe, data, seed, context, OutputsAfterEpochs(make_folder(folder)))
        training = folder / "training" if context.profile.checkpoints else None
        model.fit(case.inputs, case.labels, test=case.test, folder=training, resume=training is not None)
    empty = np.empty((0, 0))
    shared = TrainedFeatures(empty, empty, case.labels, case.truth.is_clean(case.labels), 0.0, case.noise_hash())
    return [_read(file, shared) for file in files]


class OutputsAfterEpochs(Callback):
    """Writes features, logits and test accuracy after each epoch to a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_epoch_end(self, engine: Any, record: dict[str, Any]) -> None:
        """Write those of this epoch."""
        outputs = network_outputs(engine.networks[0], engine.pool, features=True)
        features, logits = map(_plain, outputs)
        with (
            replacing(self._folder / f"epoch-{record['epoch']}.npz") as temporary,
            open(temporary, "wb") as opened,
        ):
            np.savez(opened, features=features, logits=logits, test_accuracy=record["test_accuracy"])


def _value(task: Task, trained: Round, seed: int) -> float:
    method = task.spec.method
    if method == TRAIN_ACCURACY:
        return trained.train_accuracy
    if method == TEST_ACCURACY:
        return trained.test_accuracy
    if method == KEEP_ALL:
        clean = float(trained.outputs.is_clean.mean())
        return 2 * clean / (1 + clean)
    return float(judged(task.spec, trained.outputs, seed)["f"])


def _read(file: Path, shared: TrainedFeatures) -> Round:
    with reading_arrays(file, "features") as content:
        outputs = replace(shared, features=content["features"], logits=content["logits"])
        return Round(outputs, float(content["test_accuracy"]))


def _plain(output: Any) -> Array:
    return np.asarray(output.float().cpu().numpy())
