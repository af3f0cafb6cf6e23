"""What holds for every recipe: it is a value, it trains, and its F-pair differs in the selector alone."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eigenclean.detect import DETECTORS
from eigenclean.nets import NETS, make_net
from eigenclean.train import RECIPES, Recipe, recipe
from eigenclean.train.augment import AUGMENTS
from eigenclean.train.data.pool import Pool
from eigenclean.train.data.scaling import CONSTANTS, MEASURED, UNIT
from eigenclean.train.engine import Engine
from eigenclean.train.presets import PRESETS
from eigenclean.train.selectors import KeepAll, make_selector

PAIRS = {
    "fine": ("standard", "fine"),
    "f-coteaching": ("co-teaching", "fine"),
    "f-dividemix": ("dividemix", "fine"),
    "gce+fine": ("gce", "fine"),
    "sce+fine": ("sce", "fine"),
    "elr+fine": ("elr", "fine"),
    "judge": ("standard", "judge"),
    "j-coteaching": ("co-teaching", "judge"),
    "j-dividemix": ("dividemix", "judge"),
}


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def pool() -> Pool:
    """64 samples of 3 classes, 8 of them wrong."""
    rng = np.random.default_rng(0)
    codes = np.arange(64) % 3
    features = (4 * np.eye(3)[codes] @ rng.normal(size=(3, 6)) + rng.normal(size=(64, 6))).astype(np.float32)
    given = codes.copy()
    given[:8] = (given[:8] + 1) % 3
    return Pool.from_arrays(features, given, np.arange(3))


def make() -> torch.nn.Module:
    return make_net("mlp", 6, 3, hidden=[8], dropout=0.1)


def trained(chosen: Recipe, pool: Pool, seed: int = 0) -> Engine:
    return Engine(chosen, make, pool, validation=pool, seed=seed, device="cpu").fit()


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_it_trains_and_equal_seeds_give_equal_runs(name: str, pool: Pool) -> None:
    chosen = recipe(name)
    chosen = chosen.with_epochs(len(chosen.stages) + 1)
    one, other = trained(chosen, pool), trained(chosen, pool)
    assert one.history == other.history
    assert len(one.history) == chosen.epochs
    for ours, theirs in zip(one.networks, other.networks, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
        assert all(torch.isfinite(value).all() for value in ours.state_dict().values())
    assert all(np.isfinite(record["loss"]) for record in one.history)
    assert trained(chosen, pool, seed=1).history != one.history


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_it_is_a_value_in_every_preset(name: str, preset: str) -> None:
    one = recipe(name, preset=preset)
    back = Recipe.from_dict(json.loads(json.dumps(one.to_dict())))
    assert back == one
    assert (repr(back), hash(back), back.name) == (repr(one), hash(one), name)
    assert one.net in NETS
    assert one.augment in AUGMENTS
    assert one.scale in (MEASURED, UNIT, *CONSTANTS)
    assert one.with_epochs(one.epochs) == one


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_f_x_is_x_with_another_selector(name: str, preset: str) -> None:
    base, detector = PAIRS[name]
    ours, plain = recipe(name, preset=preset), recipe(base, preset=preset)
    soft = base == "dividemix"
    if base == "co-teaching":  # F-Coteaching has the optimiser of the common protocol, not Co-teaching's
        plain = dataclasses.replace(plain, optimiser=recipe("standard", preset=preset).optimiser)
    assert ours == plain.with_selector(make_selector(detector, soft=soft)) == plain.with_selector(detector)
    assert ours != plain
    for mine, theirs in zip(ours.stages, plain.stages, strict=True):
        assert replace(mine, select=KeepAll(), refresh=1) == replace(theirs, select=KeepAll(), refresh=1)
        if mine.warm_up:
            assert mine.select == KeepAll()
        else:
            assert mine.select == make_selector(detector, soft=soft)
            assert mine.refresh == theirs.refresh
    assert replace(ours, stages=plain.stages) == plain


@pytest.mark.parametrize("detector", sorted(DETECTORS))
@pytest.mark.parametrize("base", ["standard", "co-teaching", "dividemix", "elr"])
def test_any_detector_selects_for_any_recipe(base: str, detector: str, pool: Pool) -> None:
    chosen = recipe(base).with_epochs(3).with_selector(detector)
    engine = trained(chosen, pool)
    assert engine.verdicts[0] is not None
    assert engine.verdicts[0].method == detector
    assert all(np.isfinite(record["loss"]) for record in engine.history)


def test_every_f_and_j_recipe_has_its_pair() -> None:
    assert set(PAIRS) == {name for name in RECIPES if name.startswith(("f-", "j-")) or name.endswith("fine")} | {
        "judge"
    }


Numbers = Callable[[Recipe], Any]
PAPER: list[tuple[str, str, Numbers, Any]] = [  # recipe, preset, what, as the paper or the authors' code has it
    ("standard", "cifar10", lambda r: (r.epochs, r.optimiser.milestones, r.optimiser.gamma), (120, (40, 80), 0.01)),
    ("standard", "cifar100", lambda r: (r.epochs, r.optimiser.milestones), (150, (80, 120))),
    ("standard", "cifar10", lambda r: (r.optimiser.lr, r.optimiser.weight_decay), (0.02, 1e-3)),
    ("fine", "cifar10", lambda r: rounds(r), [41, 51, 61, 71, 81, 91, 101, 111]),
    ("fine", "cifar100", lambda r: (rounds(r)[0], rounds(r)[-1], len(rounds(r))), (41, 141, 11)),
    ("fine", "clothing1m", lambda r: rounds(r), [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("gce+fine", "cifar10", lambda r: rounds(r), [51, 61, 71, 81, 91, 101, 111]),
    ("gce", "cifar100", lambda r: (r.optimiser.lr, r.optimiser.weight_decay, r.optimiser.gamma), (0.01, 1e-4, 0.1)),
    ("sce", "cifar10", lambda r: dict(r.stages[0].loss.options), {"alpha": 0.1, "beta": 1.0, "clip": -4.0}),
    ("sce", "cifar100", lambda r: dict(r.stages[0].loss.options), {"alpha": 1.0, "beta": 0.4, "clip": -4.0}),
    ("elr", "cifar10", lambda r: dict(r.stages[0].loss.options), {"beta": 0.7, "lambda_": 3.0}),
    ("elr", "cifar100", lambda r: dict(r.stages[0].loss.options), {"beta": 0.9, "lambda_": 7.0}),
    (
        "elr",
        "clothing1m",
        lambda r: (r.optimiser.lr, r.optimiser.milestones, r.optimiser.gamma),
        (0.001, (5,), 0.01),
    ),
    ("standard", "clothing1m", lambda r: (r.epochs, r.optimiser.milestones), (10, (5, 6, 7, 8))),
    ("co-teaching", "cifar10", lambda r: (r.optimiser.lr, r.optimiser.weight_decay, r.stages[0].select), None),
    (
        "co-teaching+",
        "cifar10",
        lambda r: (r.optimiser.name, r.optimiser.lr, r.optimiser.fade),
        ("adam", 1e-3, (80, 120)),
    ),
    (
        "topofilter",
        "cifar10",
        lambda r: (r.epochs, rounds(r)[:2], r.optimiser.milestones),
        (180, [32, 37], (60, 120)),
    ),
    ("crust", "cifar10", lambda r: (r.epochs, rounds(r)[:2], r.optimiser.lr), (120, [6, 7], 0.1)),
    ("cores2", "cifar10", lambda r: (r.epochs, r.stages[0].epochs, r.optimiser.momentum), (100, 31, 0.0)),
    ("cores2", "cifar10", lambda r: (r.stages[1].select.scope, r.optimiser.batch_size), ("batch", 64)),
    ("f-coteaching", "cifar10", lambda r: (r.optimiser.lr, r.optimiser.weight_decay), (0.02, 1e-3)),
    ("f-coteaching", "cifar100", lambda r: (r.optimiser.lr, r.optimiser.milestones), (0.02, (80, 120))),
    ("elr", "cifar10-asymmetric", lambda r: dict(r.stages[0].loss.options), {"beta": 0.9, "lambda_": 1.0}),
    ("elr+fine", "cifar10-asymmetric", lambda r: rounds(r), [51, 61, 71, 81, 91, 101, 111]),
    ("dividemix", "cifar10-asymmetric", lambda r: r.stages[0].loss.name, "confidence-penalty"),
    ("dividemix", "cifar10-asymmetric", lambda r: r.stages[1].step.options["lambda_u"], 0.0),
    ("longremix", "cifar10", lambda r: r.stages[1].select.to_dict()["core_after"], 151),
    (
        "cores2",
        "cifar10",
        lambda r: (r.stages[0].loss.options["start"], r.stages[0].loss.options["ramp"]),
        (10, 30),
    ),
    ("forward", "cifar10", lambda r: [r.plan()[e - 1].lr for e in (1, 41, 81, 121)], [0.1, 0.01, 0.001, 0.1]),
    ("dividemix", "cifar10", lambda r: (r.epochs, rounds(r)[0], r.net), (301, 11, "preact-resnet18")),
    ("dividemix", "cifar10", lambda r: [r.plan()[e - 1].lr for e in (150, 151)], [0.02, 0.002]),
    ("dividemix", "cifar100", lambda r: (rounds(r)[0], r.stages[1].step.options["lambda_u"]), (31, 150.0)),
    ("dividemix", "cifar10", lambda r: [t.optimiser.batch_size for t in (r.plan()[0], r.plan()[10])], [128, 64]),
    ("dividemix", "clothing1m", lambda r: (r.epochs, r.stages[0].loss.name), (80, "confidence-penalty")),
    ("f-dividemix", "cifar10", lambda r: r.stages[1].select.to_dict()["options"]["cut.max_iter"], 10),
    ("longremix", "cifar10", lambda r: (r.epochs, [r.plan()[e].lr for e in (300, 301, 450, 451)]), None),
]


def rounds(one: Recipe) -> list[int]:
    return [plan.epoch for plan in one.plan() if plan.selects and plan.stage.select.needs]


@pytest.mark.parametrize(("name", "preset", "what", "expected"), PAPER)
def test_the_numbers_of_the_paper(name: str, preset: str, what: Numbers, expected: Any) -> None:
    found = what(recipe(name, preset=preset))
    if name == "co-teaching":
        assert found[:2] == (0.01, 1e-4)
        assert found[2].ramp == 40
    elif expected is None:  # LongReMix: two trainings of 301 epochs, the first with a constant rate
        assert found[0] == 602
        assert found[1] == pytest.approx([0.02, 0.02, 0.02, 0.002])
    else:
        assert found == (pytest.approx(expected) if isinstance(expected, list) else expected)


def test_a_threshold_reaches_the_selector_of_the_pair() -> None:
    one = recipe("f-dividemix", threshold=0.6)
    assert one.stages[1].select.to_dict()["options"]["threshold"] == 0.6
    assert recipe("dividemix", window=5).stages[1].select.kind == "averaged-losses"
