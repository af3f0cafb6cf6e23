"""The recipes of `eigenclean bench train`: under one schedule for all, or with the settings of their authors."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

from eigenclean.names import check_name
from eigenclean.train import RECIPES, Optimiser, Recipe, recipe

EPOCHS = recipe("standard").epochs
_NOISE_RATE = "forget_rate"  # the option that expects the true share of wrong labels

# Learning rate schedules as changes of the optimiser, given the number of epochs. They apply to all recipes alike;
# only a rate that a method itself keeps constant is left as it is.
SCHEDULES: dict[str, Callable[[int], dict[str, Any]]] = {
    "preset": lambda epochs: {},  # linear decay to 0 after the warm-up
    "late": lambda epochs: {"fade": (2 * epochs // 3, epochs)},  # linear decay to 0 in the last third
    "constant": lambda epochs: {"fade": None},
    "steps": lambda epochs: {"fade": None, "milestones": (epochs // 2, 3 * epochs // 4), "gamma": 0.1},
}
# A schedule that is the same for all may suit some methods better than others. The alternative: optimiser, rates,
# batches, warm-up and augmentation that the authors of each method used for CIFAR-10, shortened to the same epochs.
PUBLISHED = "published"
_PUBLISHED_PRESET = "cifar10"


def make_recipe(
    name: str,
    schedule: str = "preset",
    epochs: int | None = None,
    noise_rate: float | None = None,
    net: str = "small-cnn",
) -> Recipe:
    """The recipe as it is measured: the preset for such a network under a schedule, or the published settings.

    >>> [round(make_recipe("fine", schedule).plan()[-1].lr, 6) for schedule in SCHEDULES]
    [5e-05, 0.0001, 0.001, 1e-05]
    """
    check_name(name, RECIPES, by="bench train", what="recipe")
    check_name(schedule, (*SCHEDULES, PUBLISHED), by="bench train", what="schedule")
    options: dict[str, Any] = {}
    if noise_rate is not None and _NOISE_RATE in signature(RECIPES[name]).parameters:
        options[_NOISE_RATE] = noise_rate
    chosen = recipe(name, preset="head" if net == "mlp" else "small", **options)
    # Recipes that train twice have twice as many epochs.
    total = None if epochs is None else max(len(chosen.stages), round(chosen.epochs * epochs / EPOCHS))
    if schedule == PUBLISHED:
        published = recipe(name, preset=_PUBLISHED_PRESET, **options).with_epochs(total or chosen.epochs)
        # The colours of CIFAR-10 are not those of other images, and vectors cannot be shifted or flipped.
        augment = chosen.augment if net == "mlp" else published.augment
        return replace(published, scale=chosen.scale, augment=augment)
    changes = SCHEDULES[schedule](EPOCHS)
    stages = tuple(replace(stage, optimiser=_rescheduled(stage.optimiser, changes)) for stage in chosen.stages)
    chosen = replace(chosen, stages=stages, optimiser=_rescheduled(chosen.optimiser, changes))
    return chosen if total is None else chosen.with_epochs(total)


def _rescheduled(settings: Optimiser | None, changes: Mapping[str, Any]) -> Any:
    """The optimiser with another schedule; without one, a method keeps its learning rate constant itself."""
    return settings if settings is None or settings.fade is None else replace(settings, **changes)
