"""LongReMix: DivideMix twice, the second time guided by what the first found clean again and again."""

import dataclasses
from typing import Any

from eigenclean.train.presets import choose
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.dividemix import OWN, halves, mixmatch
from eigenclean.train.recipes.frame import assembled
from eigenclean.train.selectors import Guided, Persistent


def longremix(
    preset: str = "small",
    lambda_u: float | None = None,
    threshold: float = 0.5,
    window: int = 5,
    warm_up: int | None = None,
    epochs: int | None = None,
) -> Recipe:
    """Look for a core of high confidence, then train fresh networks that trust it (Cordeiro et al., 2023).

    Args:
        preset: a name from `PRESETS`.
        lambda_u: weight of the samples whose labels are not trusted.
        threshold: labels are found clean when the posterior is above it.
        window: divisions in a row in which a label must be found clean.
        warm_up: epochs before the first division, of each stage.
        epochs: of each stage.

    >>> [stage.restart for stage in longremix().stages]
    [False, False, True, False]
    """
    own = {name: {**table, "epochs": 300} if table.get("epochs") == 301 else table for name, table in OWN.items()}
    chosen = choose(preset, own, warm_up=warm_up, epochs=epochs)
    first, rest = chosen.warm_up, chosen.epochs - chosen.warm_up
    judged: dict[str, Any] = {
        "name": "small-loss",
        "options": {"head": None, "threshold": threshold},
        "learn_from": "all",
    }
    lasting = Persistent(**judged, soft=True, window=window, core_after=chosen.epochs // 2)
    steady = dataclasses.replace(
        chosen.optimiser, milestones=(), fade=None
    )  # the search for the core never slows down
    mixed = dataclasses.replace(halves(preset, chosen), milestones=(), fade=None)
    stages = (
        Stage(first, dataclasses.replace(lasting, watch=True), warm_up=True, optimiser=steady),
        Stage(rest, lasting, step=mixmatch(preset, lambda_u), optimiser=mixed),
        Stage(first, warm_up=True, restart=True),
        Stage(
            rest,
            Guided(**judged, soft=True),
            step=mixmatch(preset, lambda_u, through="all"),
            optimiser=halves(preset, chosen),
        ),
    )
    return assembled("longremix", chosen, stages, networks=2)
