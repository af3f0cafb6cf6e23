"""The loop: right epochs, right samples, equal seeds, untouched globals."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.progress import listening
from eigenclean.train import Callback, FromDetector, KeepAll, Optimiser, Recipe, Selection, Selector, Stage, recipe
from eigenclean.train.data.pool import Pool
from eigenclean.train.engine import Engine
from eigenclean.train.selectors import Memory
from eigenclean.train.steps.supervised import Supervised

Make = Callable[[], torch.nn.Module]


@dataclass(frozen=True)
class Scripted(Selector):
    """Selects what it is told to, and remembers when and after what."""

    masks: tuple[tuple[bool, ...], ...] = ()
    asked: list[tuple[int, Selection | None]] = field(default_factory=list, compare=False)

    kind: ClassVar[str] = "scripted"

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        mask = self.masks[len(self.asked)]
        self.asked.append((epoch, previous))
        return Selection(np.array(mask), np.ones(len(evidence)))


class Ear(Callback):
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.selections: dict[int, list[Selection]] = {}

    def on_train_begin(self, engine: Engine) -> None:
        self.events.append("begin")

    def on_selection(self, engine: Engine, epoch: int, selections: Sequence[Selection]) -> None:
        self.selections[epoch] = list(selections)

    def on_epoch_end(self, engine: Engine, record: dict[str, Any]) -> None:
        self.events.append(f"epoch {record['epoch']}")

    def on_train_end(self, engine: Engine) -> None:
        self.events.append("end")


def state(engine: Engine) -> list[torch.Tensor]:
    return [value for net in engine.networks for value in net.state_dict().values()]


def equal(first: Engine, other: Engine) -> bool:
    return all(torch.equal(a, b) for a, b in zip(state(first), state(other), strict=True))


def small(name: str, **options: Any) -> Recipe:
    return recipe(name, **{"warm_up": 2, "epochs": 7, "refresh": 2, **options})


def test_fine_rounds_come_at_the_right_epochs(pool: Pool, small_net: Make) -> None:
    engine = Engine(small("fine"), small_net, pool, device="cpu").fit()
    assert [record["epoch"] for record in engine.history if record["selected"]] == [3, 5, 7]
    assert [record["epoch"] for record in engine.history] == list(range(1, 8))
    assert engine.verdicts[0] is not None
    assert set(engine.verdicts[0].labels.tolist()) == {"a", "b", "c"}


def test_equal_seeds_give_equal_weights_and_other_seeds_others(pool: Pool, small_net: Make) -> None:
    runs = [Engine(small("fine"), small_net, pool, seed=seed, device="cpu").fit() for seed in (5, 5, 6)]
    assert equal(runs[0], runs[1])
    assert runs[0].history == runs[1].history
    assert not equal(runs[0], runs[2])


def test_global_random_states_stay_as_they_were(pool: Pool, small_net: Make) -> None:
    torch.manual_seed(11)
    before = torch.get_rng_state(), str(np.random.get_state()), random.getstate()  # noqa: NPY002
    first = Engine(small("fine"), small_net, pool, device="cpu").fit()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert str(np.random.get_state()) == before[1]  # noqa: NPY002
    assert random.getstate() == before[2]
    torch.manual_seed(12)  # and what is outside does not reach inside
    assert equal(first, Engine(small("fine"), small_net, pool, device="cpu").fit())


def test_the_warm_up_of_standard_is_only_a_mark(pool: Pool, small_net: Make) -> None:
    marked = small("standard")
    plain = replace(marked, stages=(Stage(marked.epochs),))
    first, other = (Engine(chosen, small_net, pool, device="cpu").fit() for chosen in (marked, plain))
    assert equal(first, other)


def test_only_kept_samples_are_learned_from(blobs: Any, small_net: Make) -> None:
    features, given = blobs
    spoiled = features.copy()
    keep = np.arange(len(given)) % 4 != 0
    spoiled[~keep] += 100.0
    masks = Scripted((tuple(keep.tolist()),))
    runs = [
        Engine(
            Recipe("mine", (Stage(3, masks, refresh=3),)),
            small_net,
            Pool.from_arrays(x, given, np.arange(3)),
            device="cpu",
        )
        for x in (features, spoiled)
    ]
    runs[0].fit()
    masks.asked.clear()
    runs[1].fit()
    assert equal(*runs)
    assert runs[0].history[-1]["kept_fraction"] == 0.75


def test_a_discarded_sample_returns(pool: Pool, small_net: Make) -> None:
    first, second = (tuple((np.arange(len(pool)) % 2 == half).tolist()) for half in (0, 1))
    select, ear = Scripted((first, second)), Ear()
    Engine(Recipe("mine", (Stage(2, select),)), small_net, pool, device="cpu", callbacks=[ear]).fit()
    assert not ear.selections[1][0].keep[1]
    assert ear.selections[2][0].keep[1]
    assert select.asked[0] == (1, None)
    assert select.asked[1][1] is ear.selections[1][0]


def test_a_selection_of_nobody_leaves_the_one_before(pool: Pool, small_net: Make) -> None:
    some, nobody = tuple((np.arange(len(pool)) < 60).tolist()), (False,) * len(pool)
    ear = Ear()
    chosen = Recipe("mine", (Stage(3, Scripted((nobody, some, nobody))),))
    engine = Engine(chosen, small_net, pool, device="cpu", callbacks=[ear]).fit()
    assert [record["kept_fraction"] for record in engine.history] == [1.0, 0.5, 0.5]
    assert ear.selections[3][0] is ear.selections[2][0]


def test_a_detector_that_flags_everything_leaves_the_selection(pool: Pool, small_net: Make) -> None:
    strict = FromDetector("fine", {"cut": "fixed", "threshold": 1.0})
    engine = Engine(small("standard").with_selector(strict), small_net, pool, device="cpu").fit()
    assert engine.verdicts[0] is not None
    assert engine.verdicts[0].flagged.all()
    assert {record["kept_fraction"] for record in engine.history} == {1.0}


def test_two_networks_exchange_what_they_select(pool: Pool, small_net: Make) -> None:
    halves = [tuple((np.arange(len(pool)) % 2 == half).tolist()) for half in (0, 1)]
    for exchange, expected in ((False, halves), (True, halves[::-1])):
        ear = Ear()
        chosen = Recipe("mine", (Stage(1, Scripted(tuple(halves))),), networks=2, exchange=exchange)
        engine = Engine(chosen, small_net, pool, device="cpu", callbacks=[ear]).fit()
        assert [tuple(selection.keep.tolist()) for selection in ear.selections[1]] == expected
        first, second = (list(net.state_dict().values()) for net in engine.networks)
        assert not torch.equal(first[0], second[0])


def test_a_restart_begins_with_fresh_networks(pool: Pool, small_net: Make) -> None:
    settings = Optimiser(lr=0.1, milestones=(1,))
    chosen = Recipe("mine", (Stage(2), Stage(2, restart=True)), optimiser=settings)
    engine = Engine(chosen, small_net, pool, device="cpu").fit()
    assert [record["lr"] for record in engine.history] == pytest.approx([0.1, 0.01, 0.1, 0.01])
    assert engine.history[2]["loss"] > engine.history[1]["loss"]


def test_targets_and_weights_of_a_selection_are_used(pool: Pool, small_net: Make) -> None:
    @dataclass(frozen=True)
    class Relabel(KeepAll):
        def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
            n = len(evidence)
            return Selection(np.ones(n, dtype=bool), np.full(n, 2.0), target=np.zeros(n, dtype=np.int64))

    chosen = Recipe("mine", (Stage(30, Relabel()),), optimiser=Optimiser(lr=0.1))
    engine = Engine(chosen, small_net, pool, device="cpu").fit()
    net = engine.networks[0].eval()
    assert (net(pool.inputs)[1].argmax(dim=1) == 0).all()
    assert engine.history[-1]["train_accuracy"] == pytest.approx((pool.codes == 0).double().mean().item(), abs=0.02)


def test_a_last_batch_of_one_is_not_left_alone(pool: Pool, small_net: Make) -> None:
    keep = tuple((np.arange(len(pool)) < 17).tolist())
    chosen = Recipe("mine", (Stage(1, Scripted((keep,))),), optimiser=Optimiser(batch_size=8))
    engine = Engine(chosen, small_net, pool, device="cpu").fit()
    assert sorted(len(rows) for rows, _ in engine.network_states[0].batches(Supervised(), 8)) == [8, 9]
    rows = torch.cat([rows for rows, _ in engine.network_states[0].batches(Supervised(), 8)])
    assert sorted(rows.tolist()) == list(range(17))


def test_a_loss_that_is_not_a_number_stops_with_a_sentence(pool: Pool, small_net: Make) -> None:
    wild = replace(small("standard"), optimiser=Optimiser(lr=1e30))
    with pytest.raises(
        InvalidData, match=r"training by standard stopped: the loss is (nan|inf) in epoch \d+; try a"
    ):
        Engine(wild, small_net, pool, device="cpu").fit()


def test_callbacks_hear_everything_and_listeners_the_epochs(pool: Pool, small_net: Make) -> None:
    descriptions: list[str] = []

    class Listener:
        def begin(self, what: str, total: float) -> int:
            descriptions.append(what)
            return 0

        def advance(self, handle: int, amount: float) -> None: ...

        def end(self, handle: int) -> None: ...

    ear = Ear()
    with listening(Listener()):
        Engine(small("standard", epochs=3), small_net, pool, device="cpu", callbacks=[ear]).fit()
    assert ear.events == ["begin", "epoch 1", "epoch 2", "epoch 3", "end"]
    assert descriptions[0] == "training by standard"
    assert descriptions[1] == "epoch 1"
    assert descriptions[2].startswith("epoch 2: loss ")


def test_the_inputs_are_not_copied_on_the_cpu(pool: Pool, small_net: Make) -> None:
    engine = Engine(small("standard"), small_net, pool, device="cpu")
    assert isinstance(engine.pool.inputs, torch.Tensor)
    assert isinstance(pool.inputs, torch.Tensor)
    assert engine.pool.inputs.data_ptr() == pool.inputs.data_ptr()


def test_unknown_devices_and_precisions_get_a_sentence(pool: Pool, small_net: Make) -> None:
    with pytest.raises(InvalidOption, match="device must be 'cpu' or None"):
        Engine(small("standard"), small_net, pool, device="cuda:7")
    with pytest.raises(InvalidOption, match="did you mean 'bf16'"):
        Engine(small("standard"), small_net, pool, mixed_precision="bf-16")


def test_margins_are_those_of_the_training_passes_by_original_index(pool: Pool, small_net: Make) -> None:
    """Against a slow sum over the training batches, over three epochs and a selection."""
    batches: list[tuple[torch.Tensor, torch.Tensor]] = []

    class Listening(torch.nn.Module):
        def __init__(self, net: torch.nn.Module) -> None:
            super().__init__()
            self.net = net

        def forward(self, inputs: torch.Tensor) -> Any:
            features, logits = self.net(inputs)
            if self.training:
                batches.append((inputs.detach(), logits.detach()))
            return features, logits

    chosen = recipe("standard", warm_up=2, epochs=4, refresh=1).with_selector("aum")
    engine = Engine(chosen, lambda: Listening(small_net()), pool, device="cpu").fit()
    inputs, codes = pool.eval_inputs(slice(None)), pool.codes.tolist()
    margins: list[list[float]] = [[] for _ in codes]
    for batch, logits in batches:
        for row, row_logits in zip(batch, logits, strict=True):
            [at] = (inputs == row).all(dim=1).nonzero()[:1].flatten().tolist()
            others = [float(value) for code, value in enumerate(row_logits) if code != codes[at]]
            margins[at].append(float(row_logits[codes[at]]) - max(others))
    history = engine.network_states[0].margins
    assert history is not None
    once = torch.unique(inputs, dim=0).shape[0] == len(inputs)
    assert once, "rows must be told apart by their content"
    assert history.count.tolist() == [len(values) for values in margins]
    np.testing.assert_allclose(history.mean(), [np.mean(values) for values in margins], atol=1e-4)
    assert Engine(recipe("fine"), small_net, pool, device="cpu").fit().network_states[0].margins is None
