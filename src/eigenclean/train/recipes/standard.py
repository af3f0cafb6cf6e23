"""Standard training: cross-entropy on all samples. The yardstick, and the frame that selections go into."""

import dataclasses

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train.presets import PRESETS
from eigenclean.train.recipe import Recipe, Stage


def standard(
    preset: str = "small", warm_up: int | None = None, epochs: int | None = None, refresh: int | None = None
) -> Recipe:
    """One network, cross-entropy, everything kept.

    The first epochs are marked as warm-up and the rest has a rhythm, though nothing happens there: a method that
    selects is then this one with another selector.

    Args:
        preset: a name from `PRESETS`; what follows overrides it.
        warm_up: epochs before the first selection.
        epochs: epochs in all.
        refresh: epochs from one selection to the next.

    >>> [stage.epochs for stage in standard(warm_up=5, epochs=20).stages]
    [5, 15]
    """
    check_name(preset, PRESETS, by="recipe", what="preset")
    usual = PRESETS[preset]
    chosen = dataclasses.replace(
        usual,
        warm_up=usual.warm_up if warm_up is None else warm_up,
        epochs=usual.epochs if epochs is None else epochs,
        refresh=usual.refresh if refresh is None else refresh,
    )
    if not 0 < chosen.warm_up < chosen.epochs:
        raise InvalidOption(
            f"recipe: warm_up must be at least 1 and less than the {chosen.epochs} epochs, got {chosen.warm_up}"
        )
    stages = Stage(chosen.warm_up, warm_up=True), Stage(chosen.epochs - chosen.warm_up, refresh=chosen.refresh)
    return Recipe("standard", stages, optimiser=chosen.optimiser)
