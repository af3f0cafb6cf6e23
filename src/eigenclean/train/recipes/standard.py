"""Standard training: cross-entropy on all samples. The baseline, and the base of the recipes that select."""

from eigenclean.train.presets import resolve_preset
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.builders import two_stages, with_detector


def standard(
    preset: str = "small", warm_up: int | None = None, epochs: int | None = None, refresh: int | None = None
) -> Recipe:
    """One network trained with cross-entropy on all samples.

    It has a warm-up stage and a refresh interval although nothing is selected: a method that selects is then this
    recipe with another selector.

    Args:
        preset: a name from `PRESETS`; what follows overrides it.
        warm_up: epochs before the first selection.
        epochs: total number of epochs.
        refresh: epochs between selections.

    >>> [stage.epochs for stage in standard(warm_up=5, epochs=20).stages]
    [5, 15]
    """
    return two_stages("standard", resolve_preset(preset, warm_up=warm_up, epochs=epochs, refresh=refresh))


# As in FINE (Kim et al., 2021), networks and optimiser are not reset at a selection.
fine = with_detector(standard, "fine", "fine")
judge = with_detector(standard, "judge", "judge")
