"""Cells of kind "train": a recipe is carried out, and its accuracy and selections are written down."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.train import RECIPES, Callback, FromDetector, Recipe, RobustClassifier, recipe
from eigenclean.train.recipes.dividemix import DIVIDEMIX_BY_NOISE
from eigenclean.workflows.train_callbacks import SelectionQuality
from eigenclean_lab.bench.train import Clock
from eigenclean_lab.reproduce.context import Context, Measured
from eigenclean_lab.reproduce.data import Case, make_case
from eigenclean_lab.reproduce.profiles import IMAGES, Data
from eigenclean_lab.reproduce.released_code import AUGMENTED, REDRAWN, TEST_SELECTION, emulated
from eigenclean_lab.reproduce.values import Task

_OF_DETECTOR = ("vector", "subset", "threshold")  # options of FINE, where they are not options of the recipe
_FORGET = 0.9  # Co-teaching in the paper's comparison forgets so much of the noise rate
_ANOTHER_DRAW = 1000  # added to the seed where noise is drawn anew
_CURVES = ("f", "precision", "recall", "kept_fraction", "test_accuracy", "val_accuracy")


def make_recipe(task: Task, data: Data, noise_rate: float | None = None) -> Recipe:
    """The recipe of the task with what its authors took for such noise, in as many epochs as the profile has.

    Args:
        task: what to do.
        data: preset and epochs.
        noise_rate: true share of wrong labels, for methods that are told it and noise that has no nominal rate.
    """
    options = dict(task.part.options)
    known = signature(RECIPES[task.part.method]).parameters
    own = {name: options.pop(name) for name in _OF_DETECTOR if name in options and name not in known}
    augment = options.pop("augment", None)
    told = {key: value for key, value in _told(task, data, noise_rate).items() if key in known}
    made = recipe(task.part.method, **{"preset": data.preset, **told, **options})
    if own:
        made = _with_detector(made, own)
    if augment is not None:
        made = replace(made, augment=augment)
    if data.epochs is not None:
        length = recipe("standard", preset=data.preset).epochs
        made = made.with_epochs(max(len(made.stages), round(made.epochs * data.epochs / length)))
    return emulated(made, task.part.emulate)


def measure_training(task: Task, seed: int, context: Context) -> Measured:
    """Train once; figures of the best and the last epoch, and curves over all epochs."""
    data = context.data(task)
    case = make_case(data, task.noise, seed, context.folder, validated=task.part.validated)
    chosen = make_recipe(task, data, case.noise_rate)
    clock = Clock()
    callbacks: list[Callback] = [clock, *_watching(case)]
    if REDRAWN in task.part.emulate:
        callbacks.append(_first_draw(task, chosen, data, seed, context))
    if AUGMENTED in task.part.emulate:
        callbacks.append(VariedLooks(chosen.augment, seed))
    # Hours on a GPU survive a kill; what takes minutes needs no checkpoint.
    runs = None if context.runs is None or REDRAWN in task.part.emulate else context.runs
    model = _fitted(chosen, data, case, seed, context, callbacks, runs)
    figures = _figures(model.history_, model.best_epoch_, by_test=TEST_SELECTION in task.part.emulate)
    if case.noise_rate is not None:
        figures["noise_rate"] = case.noise_rate
    if case.imagenet is not None:
        figures |= _elsewhere(model, *case.imagenet)
    curves = {
        name: [record.get(name) for record in model.history_] for name in _CURVES if name in model.history_[-1]
    }
    return Measured({**figures, "seconds": clock.seconds}, curves, case.noise_hash())


def _told(task: Task, data: Data, noise_rate: float | None) -> dict[str, Any]:
    """Options that depend on the noise: what the authors, or the paper's comparison, took for it."""
    kind, _, text = task.noise.partition(":")
    rate = float(text) if text else noise_rate
    told: dict[str, Any] = {} if rate is None else {"forget_rate": _FORGET * rate}
    paper = "cifar10" if task.data == IMAGES else task.data
    of_noise = dict(DIVIDEMIX_BY_NOISE.get(paper, {}).get(task.noise, {}))
    if data.preset != paper:  # weights that were tuned for other networks say nothing here
        of_noise.pop("lambda_u", None)
    if task.part.method == "longremix":
        of_noise.pop("window", None)  # its own means something else
    if task.part.method.startswith("elr") and (paper, kind) == ("cifar10", "asymmetric"):
        told |= {"beta": 0.9, "lambda_": 1.0}
    return {**told, **of_noise}


def _with_detector(made: Recipe, options: Mapping[str, Any]) -> Recipe:
    selectors = [stage.select for stage in made.stages if isinstance(stage.select, FromDetector)]
    changed = replace(selectors[-1], options={**selectors[-1].options, **options})
    return made.with_selector(changed)


def _watching(case: Case) -> list[Callback]:
    return [] if case.truth is None else [SelectionQuality(case.truth, case.labels)]


def _fitted(
    chosen: Recipe,
    data: Data,
    case: Case,
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


def _figures(history: Sequence[Mapping[str, Any]], best_epoch: int, *, by_test: bool) -> dict[str, float]:
    found = [record["test_accuracy"] for record in history]
    highest = int(np.argmax(found))
    best, last = history[highest if by_test else best_epoch - 1], history[-1]
    figures = {
        "best": best["test_accuracy"],
        "best_epoch": best["epoch"],
        "last": last["test_accuracy"],
        "highest": found[highest],
        "last_ten": float(np.mean(found[-10:])),
        "kept": last["kept_fraction"],
    }
    if "test_accuracy_top5" in best:
        figures["best_top5"] = best["test_accuracy_top5"]
    if "f" in last:
        first = next((record for record in history if record["selected"]), last)
        figures |= {"f": last["f"], "precision": last["precision"], "recall": last["recall"], "f_first": first["f"]}
    return {name: float(value) for name, value in figures.items()}


def _elsewhere(model: RobustClassifier, inputs: Any, labels: Array) -> dict[str, float]:
    """Accuracy on a second test set, by the networks of the best epoch."""
    order = np.argsort(-model.predict_proba(inputs), axis=1)[:, :5]
    hits = model.classes_[order] == labels[:, None]
    return {"imagenet": float(hits[:, 0].mean()), "imagenet_top5": float(hits.any(axis=1).mean())}


# Habits of the released code that are about the run.


class Kept(Callback):
    """Remembers the networks at the end."""

    engine: Any

    def on_train_end(self, engine: Any) -> None:
        """Remember."""
        self.engine = engine


class GoOn(Callback):
    """Starts where another training has ended, on other data: networks and optimisers are taken over."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def on_train_begin(self, engine: Any) -> None:
        """Take over."""
        if engine.epochs_done:
            return
        for state, old in zip(engine.network_states, self._before.network_states, strict=True):
            state.net.load_state_dict(old.net.state_dict())
            state.optimiser.load_state_dict(old.optimiser.state_dict())
        engine.history[:] = self._before.history


class VariedLooks(Callback):
    """Whoever selects sees varied images, as they are learned from, instead of the images themselves."""

    def __init__(self, augment: str, seed: int) -> None:
        self._augment, self._seed = augment, seed

    def on_train_begin(self, engine: Any) -> None:
        """Vary what is looked at; what is learned from is varied anyway."""
        import torch

        from eigenclean.train import augmentation_by_name

        vary = augmentation_by_name(self._augment, images=engine.pool.inputs.ndim > 2)
        if vary is not None:
            dice = torch.Generator(engine.pool.codes.device).manual_seed(self._seed)
            engine.pool = replace(engine.pool, eval_transform=lambda images: vary(images, dice))


def _first_draw(task: Task, chosen: Recipe, data: Data, seed: int, context: Context) -> GoOn:
    """The warm-up, on another split with other noise."""
    another = seed + _ANOTHER_DRAW
    case = make_case(data, task.noise, seed, context.folder, validated=task.part.validated, draw=another)
    kept = Kept()
    warm_up = replace(chosen, stages=chosen.stages[:1])
    _fitted(warm_up, data, case, seed, context, [kept, *_watching(case)])
    return GoOn(kept.engine)
