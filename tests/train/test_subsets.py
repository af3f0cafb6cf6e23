"""Stages that divide a fresh, class-balanced subset of the samples, as DivideMix does on Clothing1M."""

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


class RecordedSelections(Callback):
    def __init__(self) -> None:
        self.selections: list[list[Selection]] = []

    def on_selection(self, engine: Engine, epoch: int, selections: Sequence[Selection]) -> None:
        self.selections.append(list(selections))


class Batches(Callback):
    """The rows of the kept samples and of the others in the batches of each network."""

    def __init__(self) -> None:
        self.rows: list[tuple[set[int], set[int]]] = []

    def on_epoch_end(self, engine: Engine, record: dict[str, Any]) -> None:
        for state in engine.network_states:
            pairs = state.batches(engine._step, 16, use_rest=True)
            kept = {int(row) for batch, _ in pairs for row in batch}
            rest = {int(row) for _, batch in pairs if batch is not None for row in batch}
            self.rows.append((kept, rest))


def small(subset_size: int | None, **options: Any) -> Recipe:
    chosen = recipe("dividemix", warm_up=1, epochs=4, **options)
    return replace(chosen, stages=tuple(replace(stage, subset_size=subset_size) for stage in chosen.stages))


def test_every_division_is_of_a_fresh_subset_with_equal_classes(pool: Pool, small_net: Make) -> None:
    recorded, batches = RecordedSelections(), Batches()
    Engine(small(30), small_net, pool, device="cpu", callbacks=[recorded, batches]).fit()
    subsets = []
    for selections in recorded.selections:
        for selection in selections:
            assert selection.rest is not None and not (selection.rest & selection.keep).any()
            rows = np.flatnonzero(selection.rest | selection.keep)
            assert np.bincount(pool.codes[rows], minlength=3).tolist() == [10, 10, 10]
            subsets.append(tuple(rows.tolist()))
    assert len(set(subsets)) == len(subsets) == 8  # two networks, four epochs
    for (kept, rest), subset in zip(batches.rows, subsets, strict=True):
        assert kept | rest <= set(subset)


def test_without_a_subset_size_all_samples_are_divided(pool: Pool, small_net: Make) -> None:
    recorded = RecordedSelections()
    Engine(small(None), small_net, pool, device="cpu", callbacks=[recorded]).fit()
    assert all(selection.rest is None for selections in recorded.selections for selection in selections)


def test_a_selector_gets_only_the_subset_and_no_memory(pool: Pool, small_net: Make) -> None:
    calls: list[tuple[Array, Any, Memory]] = []

    class Watching(KeepAll):
        needs = ("features", "losses")

        def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
            assert evidence.features is not None and evidence.losses is not None
            assert len(evidence.features) == len(evidence.losses) == len(evidence)
            calls.append((evidence.ids, previous, dict(memory)))
            memory["mine"] = np.zeros(1)
            return super().select(evidence, epoch, previous, memory)

    chosen = Recipe("mine", (Stage(2, Watching(), subset_size=12),))
    engine = Engine(chosen, small_net, pool, device="cpu").fit()
    assert [len(ids) for ids, _, _ in calls] == [12, 12]
    assert not np.array_equal(calls[0][0], calls[1][0])
    assert all(before is None and not memory for _, before, memory in calls)
    assert engine.history[-1]["kept_fraction"] == 12 / len(pool)


def test_evidence_of_some_rows_is_that_of_all(pool: Pool, small_net: Make) -> None:
    from eigenclean.train.loop.evaluation import collect_evidence

    rows = np.array([3, 70, 119])
    needs = ("features", "probabilities", "losses", "logits")
    net = small_net()
    some, complete = collect_evidence(net, pool, needs, rows), collect_evidence(net, pool, needs)
    for name in ("ids", "labels"):
        assert np.array_equal(getattr(some, name), getattr(complete, name)[rows])
    for name in needs:
        np.testing.assert_allclose(getattr(some, name), getattr(complete, name)[rows], rtol=1e-5, atol=1e-6)


def test_confirmed_labels_are_kept_in_a_subset_too() -> None:
    expanded = Selection(np.array([True, False]), np.array([0.5, 0.5])).expanded(np.array([1, 3]), 5)
    trusted = np.array([True, False, False, True, False])
    kept = expanded.with_trusted(trusted, np.zeros(5, dtype=np.intp))
    assert kept.rest is not None
    assert kept.keep.tolist() == [True, True, False, True, False]
    assert not kept.rest.any()
    assert kept.weight.tolist() == [1.0, 0.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("target", [np.array([1, 2]), np.array([[0.25, 0.75], [1.0, 0.0]])])
def test_targets_are_placed(target: Array) -> None:
    expanded = Selection(np.array([True, True]), np.ones(2), target).expanded(np.array([1, 3]), 4)
    assert expanded.target is not None and expanded.target.dtype == target.dtype
    assert np.array_equal(expanded.target[[1, 3]], target)


@pytest.mark.parametrize("name", ["dividemix", "f-dividemix", "j-dividemix"])
def test_clothing1m_is_divided_in_subsets(name: str) -> None:
    assert [stage.subset_size for stage in recipe(name, preset="clothing1m").stages] == [64_000, 32_000]
    assert [stage.subset_size for stage in recipe(name, preset="cifar10").stages] == [None, None]
    restored = Recipe.from_dict(recipe(name, preset="clothing1m").to_dict())
    assert restored == recipe(name, preset="clothing1m")


def test_the_last_verdict_is_about_all(blobs: tuple[Array, Ints]) -> None:
    features, labels = blobs
    model = RobustClassifier(small(30), net="mlp", random_state=0).fit(features, labels)
    assert len(model.verdict_) == len(labels)
    assert str(model.verdict_).startswith("Verdict by small-loss")


@pytest.mark.parametrize("subset_size", [0, -1, 2.5])
def test_bad_subset_sizes(subset_size: Any) -> None:
    with pytest.raises(InvalidOption, match="stage: subset_size must be an integer of at least 1"):
        Stage(1, subset_size=subset_size)
