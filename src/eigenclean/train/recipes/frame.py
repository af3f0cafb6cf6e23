"""The frame that most recipes share: a warm-up, then the method."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import Preset
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.selectors import KeepAll, Selector, make_selector


def two_stages(
    name: str,
    chosen: Preset,
    *,
    select: Selector | None = None,
    warm_up_select: Selector | None = None,
    loss: ComponentSpec | None = None,
    networks: int = 1,
) -> Recipe:
    """A warm-up and the rest; by default everything is kept, and nothing happens between the two."""
    part = loss or ComponentSpec("cross-entropy")
    stages = (
        Stage(chosen.warm_up, warm_up_select or KeepAll(), part, warm_up=True),
        Stage(chosen.epochs - chosen.warm_up, select or KeepAll(), part, refresh=chosen.refresh),
    )
    return assembled(name, chosen, stages, networks)


def assembled(name: str, chosen: Preset, stages: tuple[Stage, ...], networks: int = 1) -> Recipe:
    """Those stages with what else the preset says; two networks exchange what they select."""
    return Recipe(
        name,
        stages,
        networks,
        exchange=networks == 2,
        optimiser=chosen.optimiser,
        net=chosen.net,
        augment=chosen.augment,
        scale=chosen.scale,
    )


def selecting(base: Callable[..., Recipe], detector: str, name: str) -> Callable[..., Recipe]:
    """F-X is X with another selector: a maker of recipes with the options of ``base``.

    A ``threshold`` among them is that of the selector.
    """

    @wraps(base)
    def made(*args: Any, **options: Any) -> Recipe:
        plain = base(*args, **options)
        own = {"threshold": options["threshold"]} if "threshold" in options else {}
        return plain.with_selector(make_selector(detector, soft=plain.divides, **own), name=name)

    made.__doc__ = f"`{base.__name__}` with the detector {detector} as the selector."
    return made
