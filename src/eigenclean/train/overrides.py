"""Settings of a recipe by dotted names, for the command line: ``--set stage.2.lr=0.01``."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from eigenclean.deprecation import warn_renamed
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.recipe import Recipe
from eigenclean.train.selectors import SELECTORS
from eigenclean.train.stage import Stage

_OPTIMISER_FIELDS = tuple(field.name for field in fields(Optimiser))
_STAGE_FIELDS = tuple(field.name for field in fields(Stage))
_RECIPE_FIELDS = ("networks", "exchange", "net", "augment", "scale")
_NESTED_FIELDS = {"optimiser", "select", "loss", "step"}


def with_settings(recipe: Recipe, settings: Mapping[str, Any], others: Iterable[str] = ()) -> Recipe:
    """The recipe with some values changed.

    A name is a field of the recipe (``augment``), a field of its optimiser (``lr``, for all stages), or
    ``stage.N.`` with a field of that stage (``epochs``), of its optimiser (``lr``), or of its selector, loss or
    step (``loss.q``, ``select.threshold``, ``step.lambda_u``). Stages are counted from 1. ``others`` are
    further names that the caller handles, for the suggestion in an error message.

    >>> from eigenclean.train.recipes import recipe
    >>> with_settings(recipe("fine"), {"stage.2.lr": 0.5}).plan()[10].lr
    0.5
    >>> with_settings(recipe("gce"), {"stage.1.loss.q": 0.5}).stages[0].loss
    ComponentSpec('gce', q=0.5)
    """
    record = recipe.to_dict()
    for name, value in settings.items():
        _change(record, name, value, tuple(others))
    return Recipe.from_dict(record)


def _change(record: dict[str, Any], name: str, value: Any, others: tuple[str, ...]) -> None:
    head, *rest = name.split(".")
    if head == "stage":
        _change_stage(record, name, rest, value)
    elif (head == "optimiser" and rest) or (head in _OPTIMISER_FIELDS and not rest):
        field = rest[0] if rest else head
        check_name(field, _OPTIMISER_FIELDS, by="--set", what=f"setting of {name!r}")
        for table in [record["optimiser"], *(stage["optimiser"] for stage in record["stages"])]:
            if table is not None:
                table[field] = value
    else:
        check_name(name, (*_RECIPE_FIELDS, *_OPTIMISER_FIELDS, *others, "stage.1.lr"), by="--set", what="setting")
        record[name] = value


def _change_stage(record: dict[str, Any], name: str, path: list[str], value: Any) -> None:
    stages = record["stages"]
    if len(path) < 2 or not path[0].isdigit() or not 1 <= int(path[0]) <= len(stages):
        raise InvalidOption(
            f"--set: a setting of a stage must look like stage.N.lr with N from 1 to {len(stages)}, got {name!r}"
        )
    stage, field, rest = stages[int(path[0]) - 1], path[1], path[2:]
    if field == "part":
        warn_renamed("the setting 'part' of a stage", "'subset_size'")
        field = "subset_size"
    if field in _OPTIMISER_FIELDS and not rest:
        field, rest = "optimiser", [field]
    check_name(field, (*_STAGE_FIELDS, *_OPTIMISER_FIELDS), by="--set", what=f"setting {name!r}: it")
    if field not in _NESTED_FIELDS:
        stage[field] = value
    elif field == "optimiser":
        check_name(".".join(rest), _OPTIMISER_FIELDS, by="--set", what=f"setting {name!r}: it")
        stage["optimiser"] = {**(stage["optimiser"] or record["optimiser"]), rest[0]: value}
    elif field == "select":
        _change_selector(stage, name, rest, value)
    else:
        _change_component(stage, field, rest, value)


def _change_selector(stage: dict[str, Any], name: str, rest: list[str], value: Any) -> None:
    """Set a field of the selector, or an option of its detector, which checks the name of the option itself."""
    selector = dict(stage["select"])
    selector_fields = [field.name for field in fields(SELECTORS[selector["kind"]])]
    option = ".".join(rest)
    if option not in selector_fields and "options" in selector_fields and option:
        selector["options"] = {**selector["options"], option: value}
    else:
        check_name(option, selector_fields, by="--set", what=f"setting {name!r}: it")
        selector[option] = value
    stage["select"] = selector


def _change_component(stage: dict[str, Any], field: str, rest: list[str], value: Any) -> None:
    """Set the loss or step by name, or an option of the present one, which the engine checks."""
    if not rest:
        stage[field] = {"name": value, "options": {}}
    else:
        options = {**stage[field]["options"], ".".join(rest): value}
        stage[field] = {**stage[field], "options": options}
