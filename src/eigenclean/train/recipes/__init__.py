"""Recipes by name. A new one is one file and one line in `RECIPES`."""

from collections.abc import Callable
from inspect import signature
from typing import Any, Literal, overload

from eigenclean.names import check_name
from eigenclean.train.probe.recipe import PROBE, Probe, probe
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.co_teaching import co_teaching, co_teaching_plus, f_coteaching, j_coteaching
from eigenclean.train.recipes.dividemix import dividemix, f_dividemix, j_dividemix
from eigenclean.train.recipes.dst import dst
from eigenclean.train.recipes.finetune import finetune
from eigenclean.train.recipes.forward import forward
from eigenclean.train.recipes.longremix import longremix
from eigenclean.train.recipes.robust_losses import bootstrap, elr, elr_fine, gce, gce_fine, sce, sce_fine
from eigenclean.train.recipes.sample_selection import cores2, crust, topofilter
from eigenclean.train.recipes.standard import fine, judge, standard

RECIPES: dict[str, Callable[..., Recipe]] = {
    "standard": standard,
    "bootstrap": bootstrap,
    "forward": forward,
    "co-teaching": co_teaching,
    "co-teaching+": co_teaching_plus,
    "topofilter": topofilter,
    "crust": crust,
    "fine": fine,
    "f-coteaching": f_coteaching,
    "dividemix": dividemix,
    "f-dividemix": f_dividemix,
    "dst": dst,
    "longremix": longremix,
    "gce": gce,
    "sce": sce,
    "elr": elr,
    "cores2": cores2,
    "gce+fine": gce_fine,
    "sce+fine": sce_fine,
    "elr+fine": elr_fine,
    "judge": judge,
    "j-coteaching": j_coteaching,
    "j-dividemix": j_dividemix,
    "finetune": finetune,
}

__all__ = ["RECIPES", "recipe", "recipe_names"]


def recipe_names() -> list[str]:
    """All names that `recipe` takes: the probe, and the recipes that train networks."""
    return [PROBE, *RECIPES]


@overload
def recipe(name: Literal["probe"], **options: Any) -> Probe: ...


@overload
def recipe(name: str, **options: Any) -> Recipe: ...


def recipe(name: str, **options: Any) -> Recipe | Probe:
    """The recipe of that name with these options; "probe" needs no torch, those of `RECIPES` train networks.

    >>> recipe("fine", warm_up=4, epochs=12).epochs
    12
    >>> recipe("fien")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: recipe: name must be one of ..., got 'fien'; did you mean 'fine'?
    """
    check_name(name, recipe_names(), by="recipe", what="name")
    if name == PROBE:
        return probe(**options)
    make = RECIPES[name]
    for option in options:
        check_name(option, signature(make).parameters, by=f"recipe {name}", what="option")
    return make(**options)
