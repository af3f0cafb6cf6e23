"""Recipes by name. A new one is one file and one line in `RECIPES`."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from eigenclean.names import check_name
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.fine import fine
from eigenclean.train.recipes.standard import standard

RECIPES: dict[str, Callable[..., Recipe]] = {
    "standard": standard,
    "fine": fine,
}

__all__ = ["RECIPES", "recipe"]


def recipe(name: str, **options: Any) -> Recipe:
    """The recipe of that name with these options.

    >>> recipe("fine", warm_up=4, epochs=12).epochs
    12
    >>> recipe("fien")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: recipe: name must be one of fine, standard, got 'fien'; did you mean 'fine'?
    """
    check_name(name, RECIPES, by="recipe", what="name")
    make = RECIPES[name]
    for option in options:
        check_name(option, signature(make).parameters, by=f"recipe {name}", what="option")
    return make(**options)
