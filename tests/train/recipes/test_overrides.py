"""Overrides from the command line."""

from typing import Any

import pytest

from eigenclean.errors import InvalidOption
from eigenclean.train import recipe
from eigenclean.train.overrides import with_settings


def test_a_learning_rate_of_one_stage() -> None:
    changed = with_settings(recipe("fine", preset="cifar10"), {"stage.2.lr": 0.5})
    assert [changed.plan()[epoch - 1].lr for epoch in (40, 41, 81)] == pytest.approx([0.02, 0.005, 0.00005])


def test_a_setting_without_a_stage_holds_everywhere() -> None:
    changed = with_settings(recipe("dividemix"), {"lr": 0.5, "optimiser.weight_decay": 0.25})
    assert {plan.optimiser.lr for plan in changed.plan()} == {0.5}
    assert {plan.optimiser.weight_decay for plan in changed.plan()} == {0.25}
    assert {plan.optimiser.batch_size for plan in changed.plan()} == {128, 64}


@pytest.mark.parametrize(
    ("name", "setting", "value", "look"),
    [
        ("fine", "stage.2.refresh", 7, lambda changed: changed.stages[1].refresh),
        ("fine", "stage.1.epochs", 3, lambda changed: changed.stages[0].epochs),
        ("gce", "stage.2.loss.q", 0.3, lambda changed: changed.stages[1].loss.options["q"]),
        ("standard", "stage.2.loss", "elr", lambda changed: changed.stages[1].loss.name),
        ("fine", "stage.2.select.threshold", 0.7, lambda changed: changed.stages[1].select.options["threshold"]),
        (
            "fine",
            "stage.2.select.cut.max_iter",
            9,
            lambda changed: changed.stages[1].select.options["cut.max_iter"],
        ),
        ("fine", "stage.2.select.learn_from", "all", lambda changed: changed.stages[1].select.learn_from),
        ("co-teaching", "stage.1.select.ramp", 5, lambda changed: changed.stages[0].select.ramp),
        ("dividemix", "stage.2.step.lambda_u", 3, lambda changed: changed.stages[1].step.options["lambda_u"]),
        ("dividemix", "stage.2.batch_size", 8, lambda changed: changed.plan()[-1].optimiser.batch_size),
        ("standard", "augment", "crop-flip", lambda changed: changed.augment),
    ],
)
def test_everything_can_be_changed(name: str, setting: str, value: Any, look: Any) -> None:
    assert look(with_settings(recipe(name), {setting: value})) == value


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("stage.2.lrr", 0.1, "did you mean 'lr'"),
        ("stage.2.refesh", 1, "did you mean 'refresh'"),
        ("stage.3.lr", 0.1, "stage.N.lr with N from 1 to 2, got 'stage.3.lr'"),
        ("stage.lr", 0.1, "must look like stage.N.lr"),
        ("agument", "none", "did you mean 'augment'"),
        ("optimiser.momentun", 0.1, "did you mean 'momentum'"),
        ("lr", -1, "lr must be above 0"),
        ("stage.2.loss", "elrr", "did you mean 'elr'"),
        ("stage.2.select.treshold", 0.5, "did you mean 'threshold'"),
        ("stage.1.select.ramp", 1, "setting 'stage.1.select.ramp': it must be one of"),
        ("stage.2.epochs", "many", "epochs must be an integer of at least 1"),
    ],
)
def test_mistakes_get_a_sentence(setting: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        with_settings(recipe("fine"), {setting: value})
