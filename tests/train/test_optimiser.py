"""Optimiser settings: schedules against torch's own schedulers, lengths, files."""

import json
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim import SGD, Adam, AdamW
from torch.optim.lr_scheduler import LinearLR, MultiStepLR

from eigenclean.errors import InvalidOption
from eigenclean.train import Optimiser
from eigenclean.train.loop.network_state import apply_schedule, make_optimiser

MILESTONES = st.lists(st.integers(1, 30), max_size=4).map(tuple)
FADES = st.none() | st.tuples(st.integers(0, 20), st.integers(1, 20)).map(lambda pair: (pair[0], sum(pair)))
OPTIMISERS = st.builds(
    Optimiser,
    name=st.sampled_from(["sgd", "adam", "adamw"]),
    lr=st.floats(1e-6, 10),
    momentum=st.floats(0, 0.999),
    weight_decay=st.floats(0, 1),
    milestones=MILESTONES,
    gamma=st.floats(0.001, 1),
    fade=FADES,
    late_momentum=st.none() | st.floats(0, 0.999),
    batch_size=st.integers(1, 512),
    accumulate=st.integers(1, 8),
)


@settings(max_examples=40)
@given(milestones=MILESTONES, gamma=st.floats(0.01, 1))
def test_milestones_are_those_of_torch(milestones: tuple[int, ...], gamma: float) -> None:
    ours = Optimiser(lr=0.5, milestones=milestones, gamma=gamma)
    theirs = SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    scheduler = MultiStepLR(theirs, list(milestones), gamma)
    for epoch in range(1, 35):
        assert ours.lr_at(epoch) == pytest.approx(scheduler.get_last_lr()[0], rel=1e-9)
        theirs.step()
        scheduler.step()


@settings(max_examples=40)
@given(start=st.integers(0, 8), length=st.integers(1, 12))
def test_a_fade_is_torch_s_linear_decay_to_zero(start: int, length: int) -> None:
    ours = Optimiser(lr=0.5, fade=(start, start + length))
    assert [ours.lr_at(epoch) for epoch in range(1, start + 1)] == [0.5] * start
    theirs = SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    scheduler = LinearLR(theirs, start_factor=1.0, end_factor=0.0, total_iters=length)
    for epoch in range(start + 1, start + length + 4):
        assert ours.lr_at(epoch) == pytest.approx(scheduler.get_last_lr()[0], abs=1e-12)
        theirs.step()
        scheduler.step()


@settings(max_examples=60)
@given(settings_=OPTIMISERS)
def test_the_learning_rate_never_grows_and_is_never_negative(settings_: Optimiser) -> None:
    rates = [settings_.lr_at(epoch) for epoch in range(1, 60)]
    assert rates[0] == pytest.approx(settings_.lr, rel=1e-12)  # rounded, as all of them
    assert all(0 <= later <= earlier * (1 + 1e-12) for earlier, later in pairwise(rates))


def test_momentum_changes_when_the_decay_begins() -> None:
    settings_ = Optimiser(momentum=0.9, late_momentum=0.1, fade=(3, 6))
    assert [settings_.momentum_at(epoch) for epoch in (1, 3, 4, 6, 9)] == [0.9, 0.9, 0.1, 0.1, 0.1]
    assert Optimiser(momentum=0.9, fade=(3, 6)).momentum_at(5) == 0.9
    assert Optimiser(momentum=0.9, late_momentum=0.1).momentum_at(50) == 0.9


@settings(max_examples=60)
@given(settings_=OPTIMISERS, factor=st.floats(0.01, 10))
def test_a_schedule_of_another_length_keeps_its_shape(settings_: Optimiser, factor: float) -> None:
    assert settings_.scaled(1.0) == settings_
    scaled = settings_.scaled(factor)
    assert len(scaled.milestones) == len(settings_.milestones)
    for after, before in zip(scaled.milestones, settings_.milestones, strict=True):
        assert after >= 1 and abs(after - before * factor) <= 1
    if settings_.fade is not None:
        assert scaled.fade is not None and scaled.fade[0] < scaled.fade[1]
    assert (scaled.lr, scaled.batch_size) == (settings_.lr, settings_.batch_size)


@settings(max_examples=60)
@given(settings_=OPTIMISERS)
def test_settings_survive_json(settings_: Optimiser) -> None:
    back = Optimiser.from_dict(json.loads(json.dumps(settings_.to_dict())))
    assert back == settings_ and hash(back) == hash(settings_)


@pytest.mark.parametrize(("name", "expected"), [("sgd", SGD), ("adam", Adam), ("adamw", AdamW)])
def test_the_torch_optimiser_follows_the_settings_and_the_schedule(name: str, expected: type) -> None:
    settings_ = Optimiser(name, lr=0.1, momentum=0.8, weight_decay=0.3, fade=(1, 5), late_momentum=0.2)
    optimiser = make_optimiser(nn.Linear(2, 2), settings_)
    assert type(optimiser) is expected

    def values() -> tuple[float, float, float]:
        (group,) = optimiser.param_groups
        momentum = group["betas"][0] if "betas" in group else group["momentum"]
        return group["lr"], momentum, group["weight_decay"]

    assert values() == (0.1, 0.8, 0.3)
    apply_schedule(optimiser, settings_, 3)
    assert values() == pytest.approx((0.1 * 3 / 4, 0.2, 0.3))
    if name != "sgd":
        assert optimiser.param_groups[0]["betas"][1] == 0.999


def test_one_step_of_sgd_by_hand() -> None:
    net = nn.Linear(1, 1, bias=False)
    nn.init.constant_(net.weight, 2.0)
    optimiser = make_optimiser(net, Optimiser(lr=0.1, momentum=0.5, weight_decay=0.25))
    weight, velocity = 2.0, 0.0
    for _ in range(3):
        optimiser.zero_grad()
        net(torch.ones(1, 1)).sum().backward()
        optimiser.step()
        velocity = 0.5 * velocity + 1.0 + 0.25 * weight
        weight -= 0.1 * velocity
        assert net.weight.item() == pytest.approx(weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"momentum": 1.0}, "momentum must be from 0 to below 1"),
        ({"late_momentum": -0.1}, "late_momentum must be from 0 to below 1"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or more"),
        ({"weight_decay": float("nan")}, "weight_decay must be 0 or more"),
        ({"lr": float("nan")}, "lr must be above 0"),
        ({"fade": (5, 5)}, "fade must be two epochs, the first before the second"),
        ({"fade": (1, 2, 3)}, "fade must be two epochs"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"accumulate": 0}, "accumulate must be at least 1"),
    ],
)
def test_mistakes_get_a_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        Optimiser(**options)
