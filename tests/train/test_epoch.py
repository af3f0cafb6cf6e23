"""One epoch of learning: picks in batches, exchange, pieces of a batch, memories."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.nets import make_net
from eigenclean.train import Callback, ComponentSpec, Optimiser, Recipe, Selection, Stage, recipe
from eigenclean.train.data.pool import Pool
from eigenclean.train.engine import Engine
from eigenclean.train.selectors import BatchSelector, FromDetector, KeepAll, Memory, Selector, SmallestLosses

Make = Callable[[], nn.Module]
PLAIN = Optimiser("sgd", lr=0.05, momentum=0.0, weight_decay=0.0, batch_size=30)


@dataclass(frozen=True)
class Halves(BatchSelector):
    """The first network trusts the first half of the batch, the second the rest; remembers the batches."""

    batches: list[tuple[int, int, int]] = field(default_factory=list, compare=False)
    kind: ClassVar[str] = "halves"

    def pick(self, logits: Sequence[Tensor], losses: Sequence[Tensor], epoch: int, batch: int) -> list[Tensor]:
        self.batches.append((epoch, batch, len(losses[0])))
        mask = torch.arange(len(losses[0])) < len(losses[0]) // 2
        return [mask, ~mask][: len(losses)]


def weights(engine: Engine) -> list[Tensor]:
    return [value for net in engine.networks for value in net.state_dict().values()]


def close(first: Engine, other: Engine) -> bool:
    return all(torch.allclose(a, b, atol=1e-6) for a, b in zip(weights(first), weights(other), strict=True))


@pytest.fixture
def plain_net() -> Make:
    return lambda: make_net("mlp", 8, 3, hidden=[16])


def test_each_network_learns_from_what_the_other_picks(pool: Pool, plain_net: Make) -> None:
    for exchange, first in ((False, 0), (True, 1)):
        chosen = Halves()
        method = Recipe("mine", (Stage(1, chosen),), networks=2, exchange=exchange, optimiser=PLAIN)
        engine = Engine(method, plain_net, pool, device="cpu").fit()
        assert chosen.batches == [(1, number, 30) for number in range(4)]
        learned = [state.trained_on for state in engine.network_states]
        assert (learned[0] ^ learned[1]).all()
        generator = torch.Generator().manual_seed(int(np.random.SeedSequence(0).generate_state(2)[0]))
        batches = torch.split(torch.randperm(120, generator=generator), 30)
        picked = torch.cat([rows[:15] for rows in batches])
        assert np.array_equal(np.flatnonzero(learned[first]), np.sort(picked.numpy()))


def test_a_picked_batch_is_learned_as_a_bare_loop_would(pool: Pool, plain_net: Make) -> None:
    method = Recipe("mine", (Stage(1, Halves()),), optimiser=PLAIN)
    engine = Engine(method, plain_net, pool, device="cpu").fit()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = plain_net()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(int(np.random.SeedSequence(0).generate_state(1)[0]))
    assert isinstance(pool.inputs, Tensor)
    for rows in torch.split(torch.randperm(120, generator=generator), 30):
        picked = rows[:15]
        loss = torch.nn.functional.cross_entropy(net(pool.inputs[picked])[1], pool.codes[picked])
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    for ours, bare in zip(weights(engine), net.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, bare)


def test_an_empty_pick_leaves_the_network_as_it_is(pool: Pool, plain_net: Make) -> None:
    @dataclass(frozen=True)
    class Nobody(Halves):
        def pick(self, logits: Sequence[Tensor], losses: Sequence[Tensor], epoch: int, batch: int) -> list[Tensor]:
            return [torch.zeros(len(losses[0]), dtype=torch.bool)]

    engine = Engine(Recipe("mine", (Stage(1, Nobody()),), optimiser=PLAIN), plain_net, pool, device="cpu").fit()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        fresh = plain_net()
    assert all(torch.equal(a, b) for a, b in zip(weights(engine), fresh.state_dict().values(), strict=True))
    assert engine.history[0]["kept_fraction"] == 0
    assert engine.history[0]["loss"] == 0


def test_the_kept_fraction_of_co_teaching_follows_the_schedule(pool: Pool, plain_net: Make) -> None:
    method = recipe("co-teaching", forget_rate=0.5, ramp=3).with_epochs(30)
    method = replace(method, stages=(Stage(4, SmallestLosses(0.5, 3)),), optimiser=PLAIN)
    engine = Engine(method, plain_net, pool, device="cpu").fit()
    assert [record["kept_fraction"] for record in engine.history] == pytest.approx([1.0, 22 / 30, 0.5, 0.5])


def test_pieces_of_a_batch_give_the_gradient_of_the_whole(pool: Pool, plain_net: Make) -> None:
    @dataclass(frozen=True)
    class Weighted(KeepAll):
        def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
            n = len(evidence)
            return Selection(np.ones(n, dtype=bool), np.linspace(0.1, 2.0, n))

    for chosen in (KeepAll(), Weighted()):
        stage = Stage(2, chosen)
        runs = [
            Engine(
                Recipe("mine", (stage,), optimiser=replace(PLAIN, accumulate=pieces)), plain_net, pool, device="cpu"
            ).fit()
            for pieces in (1, 4, 200)
        ]
        assert close(runs[0], runs[1])
        assert close(runs[0], runs[2])


def test_divide_mix_in_pieces_trains_too(pool: Pool, plain_net: Make) -> None:
    method = recipe("dividemix").with_epochs(4)
    method = replace(
        method, stages=tuple(replace(s, optimiser=replace(PLAIN, accumulate=7)) for s in method.stages)
    )
    history = Engine(method, plain_net, pool, device="cpu").fit().history
    assert all(np.isfinite(record["loss"]) for record in history)


@dataclass(frozen=True)
class Remembers(Selector):
    """Counts its calls for each network."""

    kind: ClassVar[str] = "remembers"
    counts: list[int] = field(default_factory=list, compare=False)

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        memory["calls"] = memory.get("calls", np.zeros(1)) + 1
        self.counts.append(int(memory["calls"][0]))
        return Selection.all_samples(len(evidence))


def test_memory_belongs_to_a_network_and_survives_a_restart(pool: Pool, plain_net: Make) -> None:
    chosen = Remembers()
    method = Recipe("mine", (Stage(2, chosen), Stage(1, chosen, restart=True)), networks=2, optimiser=PLAIN)
    Engine(method, plain_net, pool, device="cpu").fit()
    assert chosen.counts == [1, 1, 2, 2, 3, 3]


def test_both_networks_are_divided_before_either_learns(pool: Pool, plain_net: Make) -> None:
    states: list[list[float]] = []

    @dataclass(frozen=True)
    class Watching(Selector):
        kind: ClassVar[str] = "watching"

        @property
        def needs(self) -> tuple[str, ...]:
            return ("logits",)

        def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
            states.append([float(sum(p.detach().sum() for p in net.parameters())) for net in engine.networks])
            return Selection.all_samples(len(evidence))

    engine = Engine(Recipe("mine", (Stage(2, Watching()),), networks=2), plain_net, pool, device="cpu")
    engine.fit()
    assert states[0] == states[1]
    assert states[2] == states[3]
    assert states[0] != states[2]


def test_memory_of_a_loss_is_addressed_by_the_original_index(pool: Pool, plain_net: Make) -> None:
    """After a selection, ELR goes on with the same rows of its memory; rows that are left out stay as they were."""
    keep = np.arange(len(pool)) % 3 == 0

    @dataclass(frozen=True)
    class Third(KeepAll):
        def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
            return Selection(keep, np.ones(len(evidence)))

    elr = ComponentSpec("elr", {"beta": 0.5})
    method = Recipe("mine", (Stage(1, loss=elr), Stage(1, Third(), elr)), optimiser=PLAIN)
    memories: list[Tensor] = []
    engine = Engine(method, plain_net, pool, device="cpu")

    class Watch(Callback):
        def on_epoch_end(self, engine: Engine, record: dict[str, Any]) -> None:
            memories.append(engine.network_states[0].loss.state_dict()["memory"].clone())

    engine.callbacks.append(Watch())
    engine.fit()
    changed = (memories[0] != memories[1]).any(dim=1).numpy()
    assert np.array_equal(changed, keep)


def test_an_empty_division_goes_on_with_the_one_before(pool: Pool, plain_net: Make) -> None:
    nobody = FromDetector("small-loss", {"head": None, "threshold": 1.0}, "all", soft=True)
    everybody = FromDetector("small-loss", {"head": None, "threshold": 0.0, "cut": "quantile"}, "all", soft=True)
    for select, kept in ((nobody, 1.0), (everybody, None)):
        method = recipe("dividemix").with_epochs(4).with_selector(select)
        engine = Engine(method, plain_net, pool, device="cpu").fit()
        assert all(np.isfinite(record["loss"]) for record in engine.history)
        if kept is not None:
            assert {record["kept_fraction"] for record in engine.history} == {kept}


def test_a_single_trusted_and_a_single_other_sample(pool: Pool, plain_net: Make) -> None:
    for keep in (np.arange(len(pool)) == 5, np.arange(len(pool)) != 5):

        @dataclass(frozen=True)
        class Only(KeepAll):
            mask: Any = field(default=None, compare=False)

            def select(
                self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory
            ) -> Selection:
                return Selection(self.mask, np.full(len(evidence), 0.7))

        method = recipe("dividemix").with_epochs(4).with_selector(Only(keep))
        engine = Engine(method, plain_net, pool, device="cpu").fit()
        assert all(np.isfinite(record["loss"]) for record in engine.history)


def test_the_optimiser_of_a_stage(pool: Pool, plain_net: Make) -> None:
    of_stage = Optimiser("adam", lr=0.5, milestones=(1,))
    method = Recipe("mine", (Stage(1), Stage(1, optimiser=of_stage), Stage(1)), optimiser=PLAIN)
    engine = Engine(method, plain_net, pool, device="cpu").fit()
    assert [record["lr"] for record in engine.history] == pytest.approx([0.05, 0.05, 0.05])
    assert engine.network_states[0].optimiser_name == "sgd"
    fading = replace(PLAIN, fade=(1, 3), late_momentum=0.5)
    engine = Engine(Recipe("mine", (Stage(3),), optimiser=fading), plain_net, pool, device="cpu").fit()
    assert [record["lr"] for record in engine.history] == pytest.approx([0.05, 0.05, 0.025])
    assert engine.network_states[0].optimiser.param_groups[0]["momentum"] == 0.5


def test_forward_learns_its_matrix_from_the_first_training(pool: Pool, plain_net: Make) -> None:
    engine = Engine(recipe("forward", epochs=6), plain_net, pool, device="cpu").fit()
    matrix = engine.network_states[0].loss.state_dict()["log_transition"].exp()
    assert not torch.allclose(matrix, torch.eye(3))
    torch.testing.assert_close(matrix.sum(dim=1), torch.ones(3))
    assert [record["epoch"] for record in engine.history] == list(range(1, 13))


def test_wrong_options_of_a_late_stage_are_heard_of_at_once(pool: Pool, plain_net: Make) -> None:
    for stage in (
        Stage(1, loss=ComponentSpec("gce", {"p": 1})),
        Stage(1, step=ComponentSpec("mixmatch", {"lambda": 1})),
    ):
        with pytest.raises(InvalidOption, match="option must be one of"):
            Engine(Recipe("mine", (Stage(1), stage)), plain_net, pool, device="cpu")
    with pytest.raises(InvalidOption, match="chooses inside a batch, which the step mixmatch cannot use"):
        Stage(1, SmallestLosses(), step=ComponentSpec("mixmatch"))


def test_augmentations_vary_what_is_learned_and_not_what_is_observed() -> None:
    images = np.random.default_rng(0).integers(0, 255, (40, 1, 8, 8), dtype=np.uint8)
    from eigenclean.train.augment import make_augment
    from eigenclean.train.data.scaling import image_scaling

    pool = Pool.from_arrays(images, np.arange(40) % 2, np.arange(2), scaling=image_scaling(images))
    inputs_of_passes: list[Tensor] = []

    class Recording(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = make_net("linear", (1, 8, 8), 2)

        def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
            inputs_of_passes.append(inputs.detach().clone())
            features, logits = self.inner(inputs)
            return features, logits

    method = Recipe("mine", (Stage(1), Stage(1, FromDetector("fine"))), optimiser=replace(PLAIN, batch_size=40))
    Engine(method, Recording, pool, augment=make_augment("crop-flip", pad=2), device="cpu").fit()
    learned, observed, _ = inputs_of_passes
    assert torch.equal(observed, pool.eval_inputs(slice(0, 40)))
    assert observed.mean().abs() < 1e-5
    assert observed.std().item() == pytest.approx(1, abs=0.01)
    assert not torch.equal(learned.sum(dim=(1, 2, 3)).sort().values, observed.sum(dim=(1, 2, 3)).sort().values)


def test_every_view_of_a_sample_is_varied_anew() -> None:
    from eigenclean.train.augment import make_augment
    from eigenclean.train.data.scaling import image_scaling
    from eigenclean.train.steps.mixmatch import MixMatch

    images = np.random.default_rng(0).integers(0, 255, (20, 3, 8, 8), dtype=np.uint8)
    pool = Pool.from_arrays(images, np.arange(20) % 2, np.arange(2), scaling=image_scaling(images))
    method = recipe("dividemix").with_epochs(2)
    for augment, alike in ((make_augment("crop-flip", pad=2), False), (None, True)):
        engine = Engine(method, lambda: make_net("linear", (3, 8, 8), 2), pool, augment=augment, device="cpu").fit()
        rows = torch.arange(10)
        batch = engine._runner.load_batch(engine.network_states[0], rows, MixMatch())
        assert len(batch.views) == 2
        assert torch.equal(batch.views[0], batch.views[1]) == alike
        assert torch.equal(batch.index, rows)
