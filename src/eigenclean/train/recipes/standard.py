"""Standard training: cross-entropy on all samples. The yardstick, and the frame that selections go into."""

from eigenclean.train.presets import choose
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.frame import selecting, two_stages


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
    return two_stages("standard", choose(preset, warm_up=warm_up, epochs=epochs, refresh=refresh))


# FINE (Kim et al., 2021): networks and optimiser are not reset at a selection.
fine = selecting(standard, "fine", "fine")
judge = selecting(standard, "judge", "judge")
