"""LongReMix: DivideMix twice; the second run starts from the samples that the first repeatedly found clean."""

import dataclasses
from typing import Any

from eigenclean.train.presets import resolve_preset
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.builders import recipe_of
from eigenclean.train.recipes.dividemix import DIVIDEMIX_PRESETS, half_batches, mixmatch, warm_up_component
from eigenclean.train.selectors import Guided, Persistent


def longremix(
    preset: str = "small",
    lambda_u: float | None = None,
    threshold: float = 0.5,
    window: int = 5,
    average: int = 1,
    warm_up_loss: str | None = None,
    warm_up: int | None = None,
    epochs: int | None = None,
) -> Recipe:
    """Find a core of confidently clean samples, then train fresh networks that trust it (Cordeiro et al., 2023).

    Args:
        preset: a name from `PRESETS`.
        lambda_u: weight of the samples whose labels are not trusted.
        threshold: labels are found clean when the posterior is above it.
        window: consecutive divisions in which a label must be found clean.
        average: divisions whose losses are averaged; 5 at 90 % noise.
        warm_up_loss: "confidence-penalty" for asymmetric noise.
        warm_up: epochs before the first division, of each stage.
        epochs: of each stage.

    >>> [stage.restart for stage in longremix().stages]
    [False, False, True, False]
    """
    settings = resolve_preset(preset, DIVIDEMIX_PRESETS, warm_up=warm_up, epochs=epochs)
    loss = warm_up_component(preset, warm_up_loss)
    first, rest = settings.warm_up, settings.epochs - settings.warm_up
    small_loss: dict[str, Any] = {
        "name": "small-loss",
        "options": {"head": None, "threshold": threshold},
        "learn_from": "all",
        "soft": True,
        "average": average,
    }
    # The core is the largest set of the last 150 of 301 epochs.
    persistent = Persistent(**small_loss, window=window, core_after=settings.epochs - settings.epochs // 2)
    # The search for the core has a constant learning rate.
    warm_up_optimiser = dataclasses.replace(settings.optimiser, milestones=(), fade=None)
    mixmatch_optimiser = dataclasses.replace(half_batches(preset, settings), milestones=(), fade=None)
    stages = (
        Stage(first, dataclasses.replace(persistent, watch=True), loss, warm_up=True, optimiser=warm_up_optimiser),
        Stage(rest, persistent, step=mixmatch(preset, lambda_u), optimiser=mixmatch_optimiser),
        Stage(first, loss=loss, warm_up=True, restart=True),
        Stage(
            rest,
            Guided(**small_loss),
            step=mixmatch(preset, lambda_u, through="all"),
            optimiser=half_batches(preset, settings),
        ),
    )
    return recipe_of("longremix", settings, stages, networks=2)
