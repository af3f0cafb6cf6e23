"""Stages that divide a fresh, balanced part of the samples, as DivideMix does on Clothing1M."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train import Callback, Recipe, RobustClassifier, Stage, recipe
from eigenclean.train.data.pool import Pool
from eigenclean.train.engine import Engine
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import KeepAll, Memory

Make = Callable[[], torch.nn.Module]


class Ear(Callback):
    def __init__(self) -> None:
        self.heard: list[list[Selection]] = []

    def on_selection(self, engine: Engine, epoch: int, selections: Sequence[Selection]) -> None:
        self.heard.append(list(selections))


class Batches(Callback):
    """Which samples a network has been shown in an epoch, of the kept and of the others."""

    def __init__(self) -> None:
        self.seen: list[tuple[set[int], set[int]]] = []

    def on_epoch_end(self, engine: Engine, record: dict[str, Any]) -> None:
        for state in engine.network_states:
            rows = state.batches(engine._step, 16, use_rest=True)
            kept = {int(row) for batch, _ in rows for row in batch}
            rest = {int(row) for _, batch in rows if batch is not None for row in batch}
            self.seen.append((kept, rest))


def small(part: int | None, **options: Any) -> Recipe:
    chosen = recipe("dividemix", warm_up=1, epochs=4, **options)
    return replace(chosen, stages=tuple(replace(stage, subset_size=part) for stage in chosen.stages))


def test_every_division_is_of_a_fresh_part_with_equal_classes(pool: Pool, small_net: Make) -> None:
    ear, batches = Ear(), Batches()
    Engine(small(30), small_net, pool, device="cpu", callbacks=[ear, batches]).fit()
    parts = []
    for selections in ear.heard:
        for selection in selections:
            assert selection.rest is not None and not (selection.rest & selection.keep).any()
            rows = np.flatnonzero(selection.rest | selection.keep)
            assert np.bincount(pool.codes[rows], minlength=3).tolist() == [10, 10, 10]
            parts.append(tuple(rows.tolist()))
    assert len(set(parts)) == len(parts) == 8  # two networks, four epochs
    for (kept, rest), part in zip(batches.seen, parts, strict=True):
        assert kept | rest <= set(part)


def test_the_whole_is_not_a_part(pool: Pool, small_net: Make) -> None:
    ear = Ear()
    Engine(small(None), small_net, pool, device="cpu", callbacks=[ear]).fit()
    assert all(selection.rest is None for selections in ear.heard for selection in selections)


def test_only_the_part_is_looked_at_and_it_has_no_past(pool: Pool, small_net: Make) -> None:
    looked: list[tuple[Array, Any, Memory]] = []

    class Watching(KeepAll):
        needs = ("features", "losses")

        def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
            assert evidence.features is not None and evidence.losses is not None
            assert len(evidence.features) == len(evidence.losses) == len(evidence)
            looked.append((evidence.ids, previous, dict(memory)))
            memory["mine"] = np.zeros(1)
            return super().select(evidence, epoch, previous, memory)

    chosen = Recipe("mine", (Stage(2, Watching(), subset_size=12),))
    engine = Engine(chosen, small_net, pool, device="cpu").fit()
    assert [len(ids) for ids, _, _ in looked] == [12, 12]
    assert not np.array_equal(looked[0][0], looked[1][0])
    assert all(before is None and not memory for _, before, memory in looked)
    assert engine.history[-1]["kept_fraction"] == 12 / len(pool)


def test_evidence_of_some_rows_is_that_of_all(pool: Pool, small_net: Make) -> None:
    from eigenclean.train.loop.evaluation import collect_evidence

    rows = np.array([3, 70, 119])
    needs = ("features", "probabilities", "losses", "logits")
    net = small_net()
    some, every = collect_evidence(net, pool, needs, rows), collect_evidence(net, pool, needs)
    for name in ("ids", "labels"):
        assert np.array_equal(getattr(some, name), getattr(every, name)[rows])
    for name in needs:
        np.testing.assert_allclose(getattr(some, name), getattr(every, name)[rows], rtol=1e-5, atol=1e-6)


def test_people_have_the_last_word_in_a_part_too() -> None:
    part = Selection(np.array([True, False]), np.array([0.5, 0.5])).expanded(np.array([1, 3]), 5)
    trusted = np.array([True, False, False, True, False])
    kept = part.with_trusted(trusted, np.zeros(5, dtype=np.intp))
    assert kept.rest is not None
    assert kept.keep.tolist() == [True, True, False, True, False]
    assert not kept.rest.any()
    assert kept.weight.tolist() == [1.0, 0.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("target", [np.array([1, 2]), np.array([[0.25, 0.75], [1.0, 0.0]])])
def test_targets_are_placed(target: Array) -> None:
    part = Selection(np.array([True, True]), np.ones(2), target).expanded(np.array([1, 3]), 4)
    assert part.target is not None and part.target.dtype == target.dtype
    assert np.array_equal(part.target[[1, 3]], target)


@pytest.mark.parametrize("name", ["dividemix", "f-dividemix", "j-dividemix"])
def test_clothing1m_is_divided_in_parts(name: str) -> None:
    assert [stage.subset_size for stage in recipe(name, preset="clothing1m").stages] == [64_000, 32_000]
    assert [stage.subset_size for stage in recipe(name, preset="cifar10").stages] == [None, None]
    again = Recipe.from_dict(recipe(name, preset="clothing1m").to_dict())
    assert again == recipe(name, preset="clothing1m")


def test_the_last_verdict_is_about_all(blobs: tuple[Array, Ints]) -> None:
    features, labels = blobs
    model = RobustClassifier(small(30), net="mlp", random_state=0).fit(features, labels)
    assert len(model.verdict_) == len(labels)
    assert str(model.verdict_).startswith("Verdict by small-loss")


@pytest.mark.parametrize("part", [0, -1, 2.5])
def test_bad_parts(part: Any) -> None:
    with pytest.raises(InvalidOption, match="stage: subset_size must be an integer of at least 1"):
        Stage(1, subset_size=part)
