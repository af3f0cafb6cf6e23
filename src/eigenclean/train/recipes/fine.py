"""FINE: standard training that learns, after a warm-up, from the labels that FINE trusts (Kim et al., 2021)."""

from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.standard import standard
from eigenclean.train.selectors import FromDetector


def fine(
    preset: str = "small", warm_up: int | None = None, epochs: int | None = None, refresh: int | None = None
) -> Recipe:
    """`standard` with FINE as the selector; networks and optimiser are not reset at a selection.

    >>> fine(warm_up=2, epochs=6, refresh=2).stages[1].select.name
    'fine'
    """
    return standard(preset, warm_up, epochs, refresh).with_selector(FromDetector("fine"), name="fine")
