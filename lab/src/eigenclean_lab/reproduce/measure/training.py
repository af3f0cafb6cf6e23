"""Cells of kind "train": train a recipe, and record its accuracy and its selections."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.train import Callback, Recipe, RobustClassifier, augmentation_by_name
from eigenclean.workflows import SelectionQuality
from eigenclean_lab.bench.training.measure import TrainingClock
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.data import PaperCase, make_case
from eigenclean_lab.reproduce.measure.probing import measure_probe
from eigenclean_lab.reproduce.profile import ProfileData
from eigenclean_lab.reproduce.recipes import PROBE, make_recipe
from eigenclean_lab.reproduce.released_code import AUGMENTED, CHAINED, REDRAWN, TEST_SELECTION
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import Measured

_ANOTHER_DRAW = 1000  # added to the seed where noise is drawn anew
_CURVES = ("f", "precision", "recall", "kept_fraction", "test_accuracy", "val_accuracy")


def measure_training(task: Task, seed: int, context: Context) -> Measured:
    """Train once; figures of the best and the last epoch, and curves over all epochs."""
    if task.spec.method == PROBE:
        return measure_probe(task, seed, context)
    data = context.data(task)
    chained = CHAINED in task.spec.emulate
    case = make_case(data, task.noise, seed, context.folder, validated=task.spec.validated, chained=chained)
    chosen = make_recipe(task, data, case.noise_rate)
    clock = TrainingClock()
    callbacks: list[Callback] = [clock, *_selection_callbacks(case)]
    if REDRAWN in task.spec.emulate:
        callbacks.append(_warm_up_on_other_noise(task, chosen, data, seed, context))
    if AUGMENTED in task.spec.emulate:
        callbacks.append(AugmentedSelection(chosen.augment, seed))
    # Only long trainings have checkpoints to resume from.
    runs = None if context.runs is None or REDRAWN in task.spec.emulate else context.runs
    model = _fitted(chosen, data, case, seed, context, callbacks, runs)
    by_test = TEST_SELECTION in task.spec.emulate
    figures = training_figures(model.history_, model.best_epoch_, restart_epoch(chosen), by_test=by_test)
    if case.noise_rate is not None:
        figures["noise_rate"] = case.noise_rate
    if case.imagenet is not None:
        figures |= _imagenet_accuracy(model, *case.imagenet)
    curves = {
        name: [record.get(name) for record in model.history_] for name in _CURVES if name in model.history_[-1]
    }
    return Measured({**figures, "seconds": clock.seconds}, curves, {"noise_hash": case.noise_hash()})


def _selection_callbacks(case: PaperCase) -> list[Callback]:
    return [] if case.truth is None else [SelectionQuality(case.truth, case.labels)]


def _fitted(
    chosen: Recipe,
    data: ProfileData,
    case: PaperCase,
    seed: int,
    context: Context,
    callbacks: Sequence[Callback],
    folder: Path | None = None,
) -> RobustClassifier:
    model = RobustClassifier(
        chosen,
        net=data.net,
        net_options=dict(data.net_options) or None,
        random_state=seed,
        device=context.device,
        callbacks=list(callbacks),
    )
    return model.fit(
        case.inputs,
        case.labels,
        validation=case.validation,
        test=case.test,
        folder=folder,
        resume=folder is not None,
    )


def restart_epoch(chosen: Recipe) -> int:
    """The epoch in which fresh networks begin for the last time: those before it are a means, and not the result.

    >>> from eigenclean.train import recipe
    >>> restart_epoch(recipe("fine")), restart_epoch(recipe("forward", epochs=30))
    (1, 31)
    """
    begins = np.cumsum([1, *(stage.epochs for stage in chosen.stages[:-1])])
    return int(
        max(begin for begin, stage in zip(begins, chosen.stages, strict=True) if begin == 1 or stage.restart)
    )


def training_figures(
    history: Sequence[Mapping[str, Any]], best_epoch: int, restart: int, *, by_test: bool = False
) -> dict[str, float]:
    """Figures of a training from the records of its epochs.

    Args:
        history: a record for each epoch.
        best_epoch: the one chosen on validation samples.
        restart: the epoch from which on networks are the result of the method.
        by_test: whether the best epoch is chosen on the test samples instead.
    """
    result = history[restart - 1 :]
    highest = max(result, key=lambda record: float(record["test_accuracy"]))
    best, last = highest if by_test else history[best_epoch - 1], history[-1]
    figures = {
        "best": best["test_accuracy"],
        "best_epoch": best["epoch"],
        "last": last["test_accuracy"],
        "highest": highest["test_accuracy"],
        "last_ten": float(np.mean([record["test_accuracy"] for record in result[-10:]])),
        "kept": last["kept_fraction"],
    }
    if "test_accuracy_top5" in best:
        figures["best_top5"] = best["test_accuracy_top5"]
    if "f" in last:
        # A selector that only watches in the warm-up keeps all.
        selections = (record for record in history if record["selected"] and record["kept_fraction"] < 1)
        first = next(selections, last)
        figures |= {"f": last["f"], "precision": last["precision"], "recall": last["recall"], "f_first": first["f"]}
    return {name: float(value) for name, value in figures.items()}


def _imagenet_accuracy(model: RobustClassifier, inputs: Any, labels: Array) -> dict[str, float]:
    """Accuracy on a second test set, by the networks of the best epoch."""
    order = np.argsort(-model.predict_proba(inputs), axis=1)[:, :5]
    hits = model.classes_[order] == labels[:, None]
    return {"imagenet": float(hits[:, 0].mean()), "imagenet_top5": float(hits.any(axis=1).mean())}


# Deviations of the released code that concern the run, not the recipe.


class RememberEngine(Callback):
    """Keeps the engine, with its networks and optimisers, after the training."""

    engine: Any

    def on_train_end(self, engine: Any) -> None:
        """Keep the engine."""
        self.engine = engine


class ContinueTraining(Callback):
    """Continues the training of another engine on other data, with its networks and optimisers."""

    def __init__(self, earlier: Any) -> None:
        self._earlier = earlier

    def on_train_begin(self, engine: Any) -> None:
        """Load the state of the earlier engine."""
        if engine.epochs_done:
            return
        for state, old in zip(engine.network_states, self._earlier.network_states, strict=True):
            state.net.load_state_dict(old.net.state_dict())
            state.optimiser.load_state_dict(old.optimiser.state_dict())
        engine.history[:] = self._earlier.history


class AugmentedSelection(Callback):
    """The selector sees augmented images, as the network is trained on, instead of the images themselves."""

    def __init__(self, augment: str, seed: int) -> None:
        self._augment, self._seed = augment, seed

    def on_train_begin(self, engine: Any) -> None:
        """Augment also the images that are only evaluated."""
        import torch

        augment = augmentation_by_name(self._augment, images=engine.pool.inputs.ndim > 2)
        if augment is not None:
            generator = torch.Generator(engine.pool.codes.device).manual_seed(self._seed)
            engine.pool = replace(engine.pool, eval_transform=lambda images: augment(images, generator))


def _warm_up_on_other_noise(
    task: Task, chosen: Recipe, data: ProfileData, seed: int, context: Context
) -> ContinueTraining:
    """The warm-up, on another split with other noise."""
    case = make_case(
        data,
        task.noise,
        seed,
        context.folder,
        validated=task.spec.validated,
        draw=seed + _ANOTHER_DRAW,
        chained=CHAINED in task.spec.emulate,
    )
    remember = RememberEngine()
    warm_up = replace(chosen, stages=chosen.stages[:1])
    _fitted(warm_up, data, case, seed, context, [remember, *_selection_callbacks(case)])
    return ContinueTraining(remember.engine)
