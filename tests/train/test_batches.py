"""Batches of an epoch: every row in its turn, none alone, the rest beside the kept samples."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from eigenclean.nets import make_net
from eigenclean.train import Optimiser, Pool, Selection
from eigenclean.train.loop.batches import repeated_batches, shuffled_batches, split_evenly
from eigenclean.train.loop.network_state import NetworkState, make_optimiser
from eigenclean.train.steps import make_step


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def flat(batches: list[Tensor]) -> list[int]:
    return [row for batch in batches for row in batch.tolist()]


@settings(max_examples=40)
@given(n=st.integers(1, 60), size=st.integers(2, 20), seed=st.integers(0, 99))
def test_an_epoch_has_every_row_once_and_no_batch_of_one(n: int, size: int, seed: int) -> None:
    rows = torch.arange(n) * 3
    batches = shuffled_batches(rows, size, generator(seed))
    assert sorted(flat(batches)) == rows.tolist()
    assert all(len(batch) == size for batch in batches[:-1])
    if n > 1:
        assert 2 <= len(batches[-1]) <= size + 1
    assert flat(shuffled_batches(rows, size, generator(seed))) == flat(batches)


def test_the_order_is_new_in_every_epoch() -> None:
    shared = generator()
    first, second = (flat(shuffled_batches(torch.arange(50), 8, shared)) for _ in range(2))
    assert first != second and sorted(first) == sorted(second)


@settings(max_examples=40)
@given(n=st.integers(1, 25), size=st.integers(2, 9), count=st.integers(0, 20))
def test_repeated_batches_use_all_rows_almost_equally_often(n: int, size: int, count: int) -> None:
    batches = repeated_batches(torch.arange(n), size, count, generator(n))
    assert len(batches) == count
    uses = Counter(flat(batches))
    assert max((uses[row] for row in range(n)), default=0) - min(uses[row] for row in range(n)) <= 1


@settings(max_examples=30)
@given(n=st.integers(1, 40), n_chunks=st.integers(1, 50))
def test_chunks_are_nearly_equal_and_never_empty(n: int, n_chunks: int) -> None:
    chunks = split_evenly(torch.arange(n), n_chunks)
    sizes = [len(chunk) for chunk in chunks]
    assert flat(chunks) == list(range(n))
    assert len(chunks) == min(n, n_chunks)
    assert max(sizes) - min(sizes) <= 1 and min(sizes) >= 1


def network_state(selection: Selection) -> NetworkState:
    n = len(selection)
    pool = Pool.from_arrays(np.zeros((n, 2), np.float32), np.arange(n) % 2, np.array(["a", "b"]))
    net = make_net("linear", 2, 2)
    state = NetworkState(net, make_optimiser(net, Optimiser()), "sgd", pool, seed=0)
    state.set_selection(selection)
    return state


@settings(max_examples=40)
@given(
    roles=st.lists(st.sampled_from(["kept", "rest", "unused"]), min_size=2, max_size=40),
    through=st.sampled_from(["kept", "all"]),
)
def test_semi_supervised_batches_have_kept_and_rest_and_nothing_else(roles: list[str], through: str) -> None:
    kept, rest = (np.array([role == name for role in roles]) for name in ("kept", "rest"))
    if not kept.any():
        kept[0], rest[0] = True, False
    state = network_state(Selection(kept, np.ones(len(kept)), rest=rest))
    batches = state.batches(make_step("mixmatch", through=through), 4, use_rest=True)
    assert set(flat([rows for rows, _ in batches])) == set(np.flatnonzero(kept).tolist())
    rest_rows = [rows for _, rows in batches if rows is not None]
    assert set(flat(rest_rows)) <= set(np.flatnonzero(rest).tolist())
    assert len(rest_rows) == (len(batches) if rest.any() else 0)
    if through == "all":
        assert len(batches) == (kept.sum() + rest.sum()) // 4 + 1


def test_without_a_rest_of_its_own_a_selection_leaves_all_that_is_not_kept() -> None:
    state = network_state(Selection(np.arange(12) < 5, np.ones(12)))
    rest = [rows for _, rows in state.batches(make_step("mixmatch"), 3, use_rest=True) if rows is not None]
    assert set(flat(rest)) <= set(range(5, 12))
    assert all(rows is None for _, rows in state.batches(make_step("supervised"), 3))


def weights_and_targets(selection: Selection) -> tuple[list[float] | None, list[Any]]:
    state = network_state(selection)
    return None if state.weight is None else state.weight.tolist(), state.target.tolist()


def test_weights_are_left_out_when_they_all_are_one_and_targets_follow_the_selection() -> None:
    weight, soft = np.where(np.arange(6) < 3, 1.0, 0.25), np.full((6, 2), 0.5)
    labels = [0, 1, 0, 1, 0, 1]
    assert weights_and_targets(Selection.all_samples(6)) == (None, labels)
    assert weights_and_targets(Selection(np.arange(6) < 3, weight)) == (None, labels)  # those kept have weight 1
    assert weights_and_targets(Selection(np.arange(6) < 4, weight)) == (weight.tolist(), labels)
    assert weights_and_targets(Selection(np.arange(6) < 3, weight, target=soft)) == (None, soft.tolist())
    hard = Selection(np.arange(6) < 3, weight, target=np.zeros(6, dtype=np.int64))
    assert weights_and_targets(hard) == (None, [0] * 6)


def test_a_new_selection_replaces_weights_and_targets_of_the_old_one() -> None:
    state = network_state(Selection(np.arange(6) < 4, np.full(6, 0.5), target=np.full((6, 2), 0.5)))
    assert state.target.dtype == torch.float32
    state.set_selection(Selection.all_samples(6))
    assert state.weight is None
    assert state.target.tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(("n_kept", "n_rest", "size"), [(10, 5, 4), (1, 0, 8), (0, 9, 3)])
def test_supervised_epochs_go_once_through_the_kept_samples(n_kept: int, n_rest: int, size: int) -> None:
    assert make_step("supervised").n_batches(n_kept, n_rest, size) is None
    assert make_step("mixmatch", through="all").n_batches(n_kept, n_rest, size) == (n_kept + n_rest) // size + 1
