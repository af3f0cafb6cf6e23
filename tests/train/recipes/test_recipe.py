"""Recipes are values."""

import json
from typing import Any

import pytest

from eigenclean.errors import InvalidOption
from eigenclean.train import RECIPES, ComponentSpec, FromDetector, KeepAll, Optimiser, Recipe, Stage, recipe
from eigenclean.train.overrides import with_settings

MINE = Recipe(
    "mine",
    (
        Stage(3, warm_up=True),
        Stage(5, FromDetector("fine", {"preset": "paper", "cut.split": "always"}, "all", soft=True), refresh=2),
        Stage(2, restart=True),
    ),
    networks=2,
    exchange=True,
    optimiser=Optimiser("adamw", lr=0.01, milestones=(4, 6)),
)


@pytest.mark.parametrize("original", [MINE, *(recipe(name) for name in RECIPES)], ids=lambda value: value.name)
def test_a_recipe_survives_json(original: Recipe) -> None:
    back = Recipe.from_dict(json.loads(json.dumps(original.to_dict())))
    assert back == original
    assert back.name == original.name
    assert repr(back) == repr(original)
    assert hash(back) == hash(original)


def test_fine_is_standard_with_another_selector() -> None:
    assert recipe("fine") == recipe("standard").with_selector("fine")
    assert recipe("fine") != recipe("standard")
    pairs = zip(recipe("fine").stages, recipe("standard").stages, strict=True)
    for ours, plain in pairs:
        kept = {**ours.to_dict(), "select": None}
        assert kept == {**plain.to_dict(), "select": None}
        assert (ours.select == plain.select) == ours.warm_up
        assert plain.select == KeepAll()


def test_with_selector_replaces_rhythm_and_name_when_asked() -> None:
    changed = recipe("standard").with_selector(FromDetector("fine"), refresh=3, name="mine")
    assert changed.name == "mine"
    assert [stage.refresh for stage in changed.stages] == [1, 3]


def test_the_paper_s_rounds_on_cifar10() -> None:
    plan = recipe("fine", warm_up=40, epochs=120, refresh=10).plan()
    rounds = [plan.epoch for plan in plan if plan.selects and plan.stage.select.needs]
    assert rounds == [41, 51, 61, 71, 81, 91, 101, 111]


def test_a_restart_counts_the_schedule_anew() -> None:
    assert [plan.epochs_since_restart for plan in MINE.plan()] == [1, 2, 3, 4, 5, 6, 7, 8, 1, 2]
    assert MINE.epochs == 10


def test_learning_rate_drops_after_each_milestone() -> None:
    settings = Optimiser(lr=0.02, milestones=(40, 80), gamma=0.01)
    assert [settings.lr_at(epoch) for epoch in (1, 40, 41, 80, 81)] == pytest.approx([2e-2, 2e-2, 2e-4, 2e-4, 2e-6])


@pytest.mark.parametrize("epochs", [3, 4, 9, 10, 11, 57, 200])
def test_other_lengths_keep_the_proportions(epochs: int) -> None:
    changed = MINE.with_epochs(epochs)
    assert changed.epochs == epochs
    assert all(stage.epochs >= 1 for stage in changed.stages)
    assert len(changed.optimiser.milestones) == 2
    assert MINE.with_epochs(10) == MINE


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: recipe("fien"), "did you mean 'fine'"),
        (lambda: recipe("fine", epoch=3), "did you mean 'epochs'"),
        (lambda: recipe("fine", preset="smal"), "did you mean 'small'"),
        (lambda: recipe("fine", warm_up=30), "warm_up must be at least 1 and less than the 30 epochs"),
        (lambda: Stage(0), "epochs must be an integer of at least 1, got 0"),
        (lambda: Stage(1, loss=ComponentSpec("cross entropy")), "did you mean 'cross-entropy'"),
        (lambda: Stage(1, step=ComponentSpec("supervized")), "did you mean 'supervised'"),
        (lambda: FromDetector("fime"), "did you mean 'fine'"),
        (lambda: FromDetector("fine", {"treshold": 0.5}), "did you mean 'threshold'"),
        (lambda: FromDetector("fine", {"cut": object()}), "options must be numbers"),
        (lambda: Recipe("mine", ()), "at least one stage"),
        (lambda: Recipe("mine", (Stage(1),), exchange=True), "2 for an exchange"),
        (lambda: Optimiser("sdg"), "did you mean 'sgd'"),
        (lambda: Optimiser(lr=0), "lr must be above 0"),
        (lambda: recipe("fine").with_epochs(1), "epochs must be at least 2, one per stage"),
        (lambda: Stage.from_dict({"epochs": 1, "selector": {}}), "did you mean 'select'"),
        (lambda: Recipe.from_dict({**MINE.to_dict(), "stages": [3]}), "stage: must be a table"),
    ],
)
def test_mistakes_get_a_sentence(make: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make()


def test_names_of_version_0_1_still_work() -> None:
    import eigenclean.train

    old_options: dict[str, Any] = {"part": 10}
    with pytest.warns(DeprecationWarning, match="ComponentSpec"):
        assert eigenclean.train.Part is ComponentSpec
    with pytest.warns(DeprecationWarning, match="'part' of Stage is now 'subset_size'"):
        stage = Stage(2, **old_options)
    assert stage == Stage(2, subset_size=10)
    with pytest.warns(DeprecationWarning, match=r"Stage\.subset_size"):
        assert stage.part == 10
    with pytest.warns(DeprecationWarning, match=r"Recipe\.is_semi_supervised"):
        assert recipe("dividemix").divides
    with pytest.warns(DeprecationWarning, match="'subset_size'"):
        assert with_settings(recipe("fine"), {"stage.1.part": 64}).stages[0].subset_size == 64
    old = {**Stage(2, subset_size=10).to_dict(), "part": 10}
    del old["subset_size"]
    assert Stage.from_dict(old) == Stage(2, subset_size=10)  # files are read without a warning


def test_options_that_count_epochs_are_options_of_the_component() -> None:
    from eigenclean.losses import LOSSES, make_loss
    from eigenclean.train.steps import STEPS, make_step

    for name, loss in LOSSES.items():
        assert set(loss.epoch_options) <= set(make_loss(name, 2, 2).options)
    for name, step in STEPS.items():
        assert set(step.epoch_options) <= set(vars(make_step(name)))
    half = Stage(4, loss=ComponentSpec("gce", {"q": 0.7, "start": 20, "every": 10})).scaled(0.5, 2)
    assert half.loss == ComponentSpec("gce", {"q": 0.7, "start": 10, "every": 5})
