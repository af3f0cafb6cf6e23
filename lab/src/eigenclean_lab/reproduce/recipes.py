"""The recipes of the paper's trainings: options by noise as published, epochs by profile."""

from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

from eigenclean.train import DIVIDEMIX_BY_NOISE, RECIPES, FromDetector, Recipe, recipe
from eigenclean_lab.reproduce.profile import ProfileData
from eigenclean_lab.reproduce.profiles import IMAGES
from eigenclean_lab.reproduce.released_code import with_deviations
from eigenclean_lab.reproduce.values import Task, method_spec

FEATURES = method_spec("features", "standard", validated=False)  # the training of a network for its features
_OF_DETECTOR = ("vector", "subset", "threshold")  # options of FINE, where they are not options of the recipe
PROBE = "probe"  # trains no network
_FORGET = 0.9  # Co-teaching in the paper's comparison forgets this share of the noise rate


def make_recipe(task: Task, data: ProfileData, noise_rate: float | None = None) -> Recipe:
    """The recipe of the task with its authors' options for such noise, in as many epochs as the profile sets.

    Args:
        task: method and noise.
        data: preset and epochs.
        noise_rate: true share of wrong labels, for methods that expect it and noise that has no nominal rate.
    """
    options = dict(task.spec.options)
    known = signature(RECIPES[task.spec.method]).parameters
    of_detector = {name: options.pop(name) for name in _OF_DETECTOR if name in options and name not in known}
    augment = options.pop("augment", None)
    of_noise = {key: value for key, value in _noise_options(task, data, noise_rate).items() if key in known}
    chosen = recipe(task.spec.method, **{"preset": data.preset, **of_noise, **options})
    if of_detector:
        chosen = _with_detector_options(chosen, of_detector)
    if augment is not None:
        chosen = replace(chosen, augment=augment)
    if data.epochs is not None:
        length = recipe("standard", preset=data.preset).epochs
        chosen = chosen.with_epochs(max(len(chosen.stages), round(chosen.epochs * data.epochs / length)))
    if data.optimiser:
        chosen = replace(chosen, optimiser=replace(chosen.optimiser, **data.optimiser))
    return with_deviations(chosen, task.spec.emulate)


def _noise_options(task: Task, data: ProfileData, noise_rate: float | None) -> dict[str, Any]:
    """Options that depend on the noise, as the authors or the paper's comparison set them."""
    kind, _, text = task.noise.partition(":")
    rate = float(text) if text else noise_rate
    options: dict[str, Any] = {} if rate is None else {"forget_rate": _FORGET * rate}
    paper = "cifar10" if task.data == IMAGES else task.data
    of_noise = dict(DIVIDEMIX_BY_NOISE.get(paper, {}).get(task.noise, {}))
    if data.preset != paper:  # weights that were tuned for other networks do not apply
        of_noise.pop("lambda_u", None)
    if task.spec.method == "longremix":
        of_noise["average"] = of_noise.pop("window", 1)  # its own window means something else
    if task.spec.method.startswith("elr") and (paper, kind) == ("cifar10", "asymmetric"):
        options |= {"beta": 0.9, "lambda_": 1.0}
    return {**options, **of_noise}


def _with_detector_options(chosen: Recipe, options: Mapping[str, Any]) -> Recipe:
    selectors = [stage.select for stage in chosen.stages if isinstance(stage.select, FromDetector)]
    changed = replace(selectors[-1], options={**selectors[-1].options, **options})
    return chosen.with_selector(changed)
