"""Presets and overrides: what they name exists, lengths scale, nothing else changes."""

import dataclasses
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import InvalidOption
from eigenclean.nets import NETS
from eigenclean.train import AUGMENTS, PRESETS, RECIPES, Recipe, recipe, with_settings
from eigenclean.train.data.scaling import CONSTANTS
from eigenclean.train.presets import resolve_preset


@pytest.mark.parametrize("name", PRESETS)
def test_what_a_preset_names_exists(name: str) -> None:
    preset = PRESETS[name]
    assert preset.net in NETS and preset.augment in AUGMENTS
    assert preset.scale in {"measured", "unit", *CONSTANTS}
    assert resolve_preset(name) == preset
    assert all(milestone < preset.epochs for milestone in preset.optimiser.milestones)


@settings(max_examples=40)
@given(name=st.sampled_from(sorted(PRESETS)), epochs=st.integers(2, 400))
def test_other_lengths_scale_the_schedule_and_nothing_else(name: str, epochs: int) -> None:
    preset, resolved = PRESETS[name], resolve_preset(name, warm_up=1, epochs=epochs)
    assert (resolved.warm_up, resolved.epochs) == (1, epochs)
    assert resolved.optimiser == preset.optimiser.scaled(epochs / preset.epochs)
    restored = dataclasses.replace(
        resolved, warm_up=preset.warm_up, epochs=preset.epochs, optimiser=preset.optimiser
    )
    assert restored == preset


def test_overrides_of_a_method_give_way_to_those_of_the_user() -> None:
    overrides: dict[str, dict[str, Any]] = {
        "small": {"refresh": 1, "epochs": 60, "warm_up": 20, "optimiser": {"lr": 0.5, "milestones": (30,)}},
        "head": {"refresh": 9},
    }
    preset = resolve_preset("small", overrides)
    assert (preset.warm_up, preset.epochs, preset.refresh, preset.optimiser.lr) == (20, 60, 1, 0.5)
    shorter = resolve_preset("small", overrides, epochs=30, refresh=4)
    assert (shorter.warm_up, shorter.epochs, shorter.refresh) == (20, 30, 4)
    assert shorter.optimiser.milestones == (15,)  # relative to the length of the method, not of the preset
    assert overrides["small"]["optimiser"] == {"lr": 0.5, "milestones": (30,)}
    assert PRESETS["small"].refresh == 5


@pytest.mark.parametrize("options", [{"warm_up": 0}, {"warm_up": 30}, {"warm_up": 5, "epochs": 5}, {"epochs": 3}])
def test_something_must_come_after_the_warm_up(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="warm_up must be at least 1 and less than the"):
        resolve_preset("small", **options)


@pytest.mark.parametrize("name", RECIPES)
def test_no_settings_and_settings_as_they_are_leave_a_recipe_alone(name: str) -> None:
    original = recipe(name)
    assert with_settings(original, {}) == original
    unchanged: dict[str, Any] = {"networks": original.networks, "net": original.net, "augment": original.augment}
    for number, stage in enumerate(original.stages, start=1):
        unchanged[f"stage.{number}.epochs"] = stage.epochs
        unchanged[f"stage.{number}.refresh"] = stage.refresh
        unchanged |= {f"stage.{number}.loss.{option}": value for option, value in stage.loss.options.items()}
        unchanged |= {f"stage.{number}.step.{option}": value for option, value in stage.step.options.items()}
    assert with_settings(original, unchanged) == original


@settings(max_examples=40)
@given(name=st.sampled_from(sorted(RECIPES)), lr=st.floats(1e-5, 1), stage=st.integers(1, 2))
def test_a_setting_of_one_stage_leaves_the_others_alone(name: str, lr: float, stage: int) -> None:
    original = recipe(name)
    stage = min(stage, len(original.stages))
    changed = with_settings(original, {f"stage.{stage}.lr": lr})
    for number, (before, after) in enumerate(zip(original.stages, changed.stages, strict=True), start=1):
        if number == stage:
            assert after.optimiser is not None and after.optimiser.lr == lr
            assert dataclasses.replace(after, optimiser=before.optimiser) == before
        else:
            assert after == before
    assert changed.optimiser == original.optimiser


@settings(max_examples=60)
@given(name=st.sampled_from(sorted(RECIPES)), epochs=st.integers(4, 300))
def test_a_recipe_of_another_length_has_that_length_and_its_stages(name: str, epochs: int) -> None:
    original = recipe(name)
    changed = original.with_epochs(epochs)
    assert changed.epochs == epochs == len(changed.plan())
    assert [stage.step.name for stage in changed.stages] == [stage.step.name for stage in original.stages]
    for before, after in zip(original.stages, changed.stages, strict=True):
        assert after.epochs >= 1
        assert abs(after.epochs - before.epochs * epochs / original.epochs) <= len(original.stages)
    assert Recipe.from_dict(json.loads(json.dumps(changed.to_dict()))) == changed
    assert original.with_epochs(original.epochs) == original


@pytest.mark.parametrize("name", RECIPES)
def test_epochs_of_a_plan_are_counted_without_gaps(name: str) -> None:
    method = recipe(name)
    plans = method.plan()
    assert [plan.epoch for plan in plans] == list(range(1, method.epochs + 1))
    for before, after in pairwise(plans):
        begins = after.stage_epoch == 0
        assert begins or (after.stage is before.stage and after.stage_epoch == before.stage_epoch + 1)
        restarts = begins and after.stage.restart
        assert after.epochs_since_restart == (1 if restarts else before.epochs_since_restart + 1)
        assert not begins or after.selects
