"""What the published methods do in training, against slow loops over their descriptions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.mixture import GaussianMixture
from torch import nn

from eigenclean.arrays import Float64s
from eigenclean.evidence import Evidence
from eigenclean.losses.anchor_points import estimate_transition
from eigenclean.nets import make_net
from eigenclean.train import Recipe, Stage, recipe
from eigenclean.train.component import ComponentSpec
from eigenclean.train.data.pool import Pool
from eigenclean.train.engine import Engine
from eigenclean.train.loop.evaluation import network_outputs
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.presets import PRESETS
from eigenclean.train.selectors import AveragedLosses, Guided, Memory, Persistent, Sieve

Make = Callable[[], nn.Module]


@pytest.fixture
def plain_net() -> Make:
    return lambda: make_net("mlp", 8, 3, hidden=[16])


@pytest.mark.parametrize("name", ["dividemix", "f-dividemix", "j-dividemix", "dst", "longremix", "cores2"])
@pytest.mark.parametrize("preset", PRESETS)
def test_methods_that_select_in_every_epoch_do_so_with_every_preset(name: str, preset: str) -> None:
    assert {stage.refresh for stage in recipe(name, preset=preset).stages} == {1}


# CORES²: the sieve inside a batch.


def test_the_sieve_keeps_what_a_slow_loop_keeps() -> None:
    logits = 4 * torch.randn(64, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(64) % 5
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    (mask,) = Sieve().pick([logits], [losses], epoch=40, batch=0)
    for row, (values, label) in enumerate(zip(logits.tolist(), labels.tolist(), strict=True)):
        total = sum(math.exp(value) for value in values)
        p = [math.exp(value) / total for value in values]
        assert mask[row] == (-math.log(p[label]) - sum(-math.log(x + 1e-8) for x in p) / 5 <= 0)
    assert 0 < mask.sum() < 64


def test_cores2_makes_as_many_steps_after_the_sieve_as_before(pool: Pool, plain_net: Make) -> None:
    chosen = recipe("cores2", warm_up=2, epochs=4)
    steps: list[int] = []
    engine = Engine(chosen, plain_net, pool, device="cpu")
    runner: Any = engine._runner
    train = runner.train_jointly

    def counting(states: Any, *arguments: Any) -> Any:
        optimiser = states[0].optimiser
        before = optimiser.step

        def step() -> None:
            steps.append(1)
            before()

        optimiser.step = step
        try:
            return train(states, *arguments)
        finally:
            optimiser.step = before

    runner.train_jointly = counting
    engine.fit()
    assert len(steps) == 2 * math.ceil(len(pool) / chosen.optimiser.batch_size)
    verdict = engine.judge_all()
    assert verdict is not None
    assert isinstance(verdict.made_by, Mapping) and verdict.made_by["method"] == "cores2"


def test_the_prior_of_cores2_is_that_of_the_kept_labels(pool: Pool, plain_net: Make) -> None:
    engine = Engine(recipe("cores2", warm_up=1, epochs=4), plain_net, pool, device="cpu").fit()
    state = engine.network_states[0]
    state.trained_on = np.arange(len(pool)) % 4 == 0
    kept = pool.codes[torch.from_numpy(state.trained_on)].tolist()
    assert engine._label_counts(state).tolist() == [kept.count(k) for k in range(pool.n_classes)]
    state.trained_on[:] = False  # at first, all labels
    assert engine._label_counts(state).tolist() == [pool.codes.tolist().count(k) for k in range(pool.n_classes)]


# DivideMix and LongReMix at 90 % noise: losses averaged over five divisions.


def averaged_by_hand(history: list[Float64s]) -> Float64s:
    """Each vector of losses scaled to [0, 1], the mean of the last five as it is, one mixture, the smaller mean."""
    scaled = [(losses - losses.min()) / (losses.max() - losses.min()) for losses in history[-5:]]
    mean = np.mean(scaled, axis=0)[:, None]
    mixture = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0).fit(mean)
    return np.asarray(mixture.predict_proba(mean))[:, int(np.asarray(mixture.means_).argmin())]


def divisions(n: int = 400, k: int = 4) -> tuple[list[Evidence], list[Float64s]]:
    rng = np.random.default_rng(0)
    right = np.arange(n) % k
    labels = np.where(rng.random(n) < 0.6, rng.integers(0, k, n), right)
    evidences, losses = [], []
    for number in range(7):
        logits = 2 * np.eye(k)[right] + rng.normal(size=(n, k))
        # Each time another label is far off, which leaves the mean of the scaled losses far below 1.
        logits[number, labels[number]] -= 40
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        evidences.append(Evidence(np.arange(n), labels, logits=logits))
        losses.append(-log_p[np.arange(n), labels])
    return evidences, losses


@pytest.mark.parametrize(
    "selector",
    [
        AveragedLosses(5, 0.6),
        Persistent("small-loss", {"head": None, "threshold": 0.6}, "all", True, 1, average=5),
        Guided("small-loss", {"head": None, "threshold": 0.6}, "all", True, average=5),
    ],
    ids=lambda selector: selector.kind,
)
def test_averaged_losses_are_not_scaled_again(selector: Any) -> None:
    evidences, losses = divisions()
    memory: Memory = {}
    for number, evidence in enumerate(evidences, start=1):
        selection = selector.select(evidence, number, None, memory)
        expected = averaged_by_hand(losses[:number])
        # Beyond its turning point our posterior is held, which the mixture's is not; elsewhere they agree.
        mean = np.mean([(row - row.min()) / np.ptp(row) for row in losses[:number][-5:]], axis=0)
        inside = (mean > np.quantile(mean, 0.05)) & (mean < np.quantile(mean, 0.95))
        np.testing.assert_allclose(selection.weight[inside], expected[inside], atol=0.05)
        sure = inside & (np.abs(expected - 0.6) > 0.02)
        np.testing.assert_array_equal(selection.keep[sure], expected[sure] > 0.6)


def test_the_second_stage_of_longremix_does_not_average_losses_of_the_first() -> None:
    evidences, _ = divisions()
    memory: Memory = {}
    chosen = recipe("longremix", average=5)
    for number, evidence in enumerate(evidences[:5], start=1):
        chosen.stages[1].select.select(evidence, number, None, memory)
    memory.pop("core", None)
    alone = chosen.stages[3].select.select(evidences[5], 6, None, memory)
    fresh = chosen.stages[3].select.select(evidences[5], 6, None, {})
    np.testing.assert_array_equal(alone.weight, fresh.weight)


# Forward: the network of the lowest validation loss.


def test_forward_takes_the_network_of_the_lowest_validation_loss(pool: Pool, plain_net: Make) -> None:
    validation = replace(pool, codes=(pool.codes + 1) % pool.n_classes)  # learning makes this loss grow
    seen: list[tuple[float, Float64s]] = []

    class Watch:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *arguments: None

        def on_epoch_end(self, engine: Engine, record: dict[str, Any]) -> None:
            if record["epoch"] <= 4:
                logits = network_outputs(engine.networks[0], engine.evaluation_pools["val"])[1]
                loss = -torch.log_softmax(logits, dim=1)[torch.arange(len(logits)), validation.codes].mean()
                p = torch.softmax(network_outputs(engine.networks[0], engine.pool)[1], dim=1)
                seen.append((float(loss), np.asarray(p.double().numpy())))

    chosen = recipe("forward", epochs=4)
    engine = Engine(chosen, plain_net, pool, validation=validation, device="cpu", callbacks=[Watch()])  # type: ignore[list-item]
    engine.fit()
    losses = [loss for loss, _ in seen]
    assert losses.index(min(losses)) < 3  # not the last
    matrix = engine.network_states[0].loss.state_dict()["log_transition"].exp().double().numpy()
    np.testing.assert_allclose(matrix, estimate_transition(seen[losses.index(min(losses))][1]), atol=1e-5)
    assert not np.allclose(matrix, estimate_transition(seen[-1][1]), atol=1e-4)


def test_the_networks_before_a_restart_are_never_the_result(pool: Pool, plain_net: Make) -> None:
    learning, at_rest = Optimiser(lr=0.05), Optimiser(lr=1e-9)
    stages = (Stage(3, optimiser=learning), Stage(3, optimiser=at_rest, restart=True))
    engine = Engine(Recipe("mine", stages), plain_net, pool, validation=pool, device="cpu")
    engine.fit()
    accuracies = [record["val_accuracy"] for record in engine.history]
    assert max(accuracies[:3]) > max(accuracies[3:])
    assert engine.best.epoch == 6 and engine.best.accuracy == accuracies[5]  # of equal ones, the last


# Truncated GCE: the weights come from the best network so far, before epochs 40, 50, ...


def test_truncated_gce_is_refreshed_by_the_best_network_so_far(pool: Pool, plain_net: Make) -> None:
    spec = ComponentSpec("gce", {"truncate": 0.5, "start": 3, "every": 2})
    method = Recipe("mine", (Stage(6, loss=spec),), optimiser=Optimiser(lr=0.05))
    validation = replace(pool, codes=(pool.codes + 1) % pool.n_classes)  # the first epochs are the best here
    weights: dict[int, Float64s] = {}
    expected: dict[int, Float64s] = {}

    class Watch:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *arguments: None

        def on_epoch_end(self, engine: Engine, record: dict[str, Any]) -> None:
            loss: Any = engine.network_states[0].loss
            weights[record["epoch"]] = loss.weight.numpy().copy()
            best = engine.best.networks(engine.networks)[0]
            logits = network_outputs(best, engine.pool)[1]
            p = torch.softmax(logits, dim=1)[torch.arange(len(pool)), pool.codes].double().numpy()
            expected[record["epoch"]] = ((1 - p**0.7) / 0.7 < (1 - 0.5**0.7) / 0.7).astype(float)

    Engine(method, plain_net, pool, validation=validation, device="cpu", callbacks=[Watch()]).fit()  # type: ignore[list-item]
    assert (weights[1] == 1).all() and (weights[2] == 1).all()
    np.testing.assert_array_equal(weights[3], expected[2])
    np.testing.assert_array_equal(weights[4], weights[3])
    np.testing.assert_array_equal(weights[5], expected[4])
    starts = [
        recipe("gce", preset=name, truncate=0.5).stages[0].loss.options["start"] for name in ("cifar10", "cifar100")
    ]
    assert starts == [40, 80]


def test_the_full_forget_rate_of_co_teaching_is_reached_after_39_steps() -> None:
    select: Any = recipe("co-teaching", preset="cifar10", forget_rate=0.45).stages[0].select
    for step in range(60):
        assert select.dropped_fraction(step + 1) == pytest.approx(0.45 * min(step, 39) / 39)


def test_the_full_forget_rate_is_reached_in_the_first_third_of_a_short_training() -> None:
    for name in ("co-teaching", "co-teaching+"):
        chosen = recipe(name, preset="finetune", forget_rate=0.45)
        select: Any = chosen.stages[0].select
        assert select.dropped_fraction(1) == 0 and select.dropped_fraction(chosen.epochs // 3) == 0.45


def test_relatives_of_dividemix_have_its_warm_up_loss() -> None:
    for name in ("dividemix", "longremix", "dst"):
        for chosen in (recipe(name, preset="cifar10-asymmetric"), recipe(name, warm_up_loss="confidence-penalty")):
            losses = {stage.loss.name for stage in chosen.stages if stage.warm_up}
            assert losses == {"confidence-penalty"}, name
        assert {stage.loss.name for stage in recipe(name, preset="cifar10").stages} == {"cross-entropy"}
