"""What most recipes are built from: a warm-up stage, a main stage, a preset, a selector."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import Preset
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.selectors import KeepAll, Selector, make_selector


def two_stages(
    name: str,
    preset: Preset,
    *,
    select: Selector | None = None,
    warm_up_select: Selector | None = None,
    loss: ComponentSpec | None = None,
    networks: int = 1,
) -> Recipe:
    """A warm-up stage and a main stage with the same loss; by default both keep all samples."""
    loss = loss or ComponentSpec("cross-entropy")
    stages = (
        Stage(preset.warm_up, warm_up_select or KeepAll(), loss, warm_up=True),
        Stage(preset.epochs - preset.warm_up, select or KeepAll(), loss, refresh=preset.refresh),
    )
    return recipe_of(name, preset, stages, networks)


def recipe_of(name: str, preset: Preset, stages: tuple[Stage, ...], networks: int = 1) -> Recipe:
    """A recipe of these stages with the other settings of the preset; two networks exchange their selections."""
    return Recipe(
        name,
        stages,
        networks,
        exchange=networks == 2,
        optimiser=preset.optimiser,
        net=preset.net,
        augment=preset.augment,
        scale=preset.scale,
    )


def with_detector(base: Callable[..., Recipe], detector: str, name: str, title: str = "") -> Callable[..., Recipe]:
    """F-X is X with another selector: a recipe function with the options of ``base``.

    A ``threshold`` among the options is passed to the selector. Its documentation calls ``base`` by ``title``.
    """

    @wraps(base)
    def make_recipe(*args: Any, **options: Any) -> Recipe:
        recipe = base(*args, **options)
        threshold = {"threshold": options["threshold"]} if "threshold" in options else {}
        return recipe.with_selector(make_selector(detector, soft=recipe.is_semi_supervised, **threshold), name=name)

    make_recipe.__doc__ = f"`{title or base.__name__}` on the samples that the detector {detector} keeps."
    return make_recipe
