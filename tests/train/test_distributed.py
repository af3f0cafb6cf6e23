"""Division of batches among processes, with accelerators of several processes played by threads."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any, TypeVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from eigenclean.errors import InvalidOption
from eigenclean.train.loop.distributed import BatchShare, ProcessSharding, make_accelerator
from eigenclean.train.loop.history import MarginHistory

Result = TypeVar("Result")


class Network:
    """What the processes of a run have in common: values that all of them contribute to one sum."""

    def __init__(self, n_processes: int) -> None:
        self.barrier = Barrier(n_processes)
        self.values: list[Tensor] = [torch.empty(0)] * n_processes


class FakeAccelerator:
    """The part of accelerate's interface that the sharding uses."""

    device = torch.device("cpu")

    def __init__(self, rank: int, n_processes: int, network: Network | None = None) -> None:
        self.process_index, self.num_processes = rank, n_processes
        self._network = network

    def reduce(self, values: Tensor, reduction: str) -> Tensor:
        assert reduction == "sum" and self._network is not None
        self._network.values[self.process_index] = values
        self._network.barrier.wait(10)
        total = torch.stack(self._network.values).sum(dim=0)
        self._network.barrier.wait(10)  # nobody overwrites a value that another process still reads
        return total


def sharding(rank: int, n_processes: int, network: Network | None = None) -> ProcessSharding:
    accelerator: Any = FakeAccelerator(rank, n_processes, network)
    return ProcessSharding(accelerator)


def on_all_processes(n_processes: int, work: Callable[[ProcessSharding], Result]) -> list[Result]:
    """Run the same work on so many processes at once; the result of each."""
    network, results = Network(n_processes), {}

    def run(rank: int) -> None:
        try:
            results[rank] = work(sharding(rank, n_processes, network))
        except BaseException:
            network.barrier.abort()
            raise

    threads = [Thread(target=run, args=(rank,)) for rank in range(n_processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return [results[rank] for rank in range(n_processes)]


@settings(max_examples=40)
@given(n_rows=st.integers(1, 30), n_processes=st.integers(1, 5))
def test_the_processes_divide_a_batch_without_overlap(n_rows: int, n_processes: int) -> None:
    rows = torch.randperm(100, generator=torch.Generator().manual_seed(n_rows))[:n_rows]
    local = [sharding(rank, n_processes).local_rows(rows) for rank in range(n_processes)]
    local_rows = [row for values in local[:n_rows] for row in values.tolist()]
    assert sorted(local_rows) == sorted(rows.tolist())
    for values in local[n_rows:]:  # more processes than rows: the others repeat a row
        assert values.tolist() == [rows[0]]
    sizes = [len(values) for values in local]
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=40)
@given(n_rows=st.integers(1, 12), n_processes=st.integers(1, 5))
def test_local_values_belong_to_the_local_rows_and_a_repeated_row_has_none(n_rows: int, n_processes: int) -> None:
    rows = torch.arange(n_rows) + 7
    for rank in range(n_processes):
        process = sharding(rank, n_processes)
        values = process.local_values(rows.double() * 2, rows)
        expected = process.local_rows(rows).double() * (2 if rank < n_rows else 0)
        assert torch.equal(values, expected)


@pytest.mark.parametrize("n_processes", [1, 2, 3, 5])
@pytest.mark.parametrize("n_rows", [1, 2, 4, 11])
def test_gathered_values_are_those_of_the_whole_batch_in_its_order(n_processes: int, n_rows: int) -> None:
    rows = torch.randperm(40, generator=torch.Generator().manual_seed(3))[:n_rows]
    table = torch.randn(40, 3, generator=torch.Generator().manual_seed(4))
    gathered = on_all_processes(n_processes, lambda process: process.gather(table[process.local_rows(rows)], rows))
    assert all(torch.equal(values, table[rows]) for values in gathered)


def mean_loss(values: Tensor, weight: Tensor | None, share: BatchShare) -> Tensor:
    """What a step computes from the rows of a share."""
    if weight is None:
        return values[share.kept].mean()
    return (values[share.kept] * weight[share.kept]).sum() / weight[share.kept].sum()


@settings(max_examples=40)
@given(
    n_rows=st.integers(1, 25),
    n_processes=st.integers(1, 4),
    accumulate=st.integers(1, 6),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_shares_of_all_processes_add_up_to_the_loss_of_the_batch(
    n_rows: int, n_processes: int, accumulate: int, weighted: bool, seed: int
) -> None:
    """Gradients are linear, so it is enough that the losses add up; torch averages them over the processes."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(60, generator=generator, dtype=torch.float64)
    weight = torch.rand(60, generator=generator, dtype=torch.float64) + 0.1 if weighted else None
    rows = torch.randperm(60, generator=generator)[:n_rows]
    whole = mean_loss(values, weight, BatchShare(rows, None, None))
    total = torch.zeros((), dtype=torch.float64)
    for rank in range(n_processes):
        for share in sharding(rank, n_processes).shares(rows, None, weight, accumulate):
            total += (
                mean_loss(values, weight, share) * (1.0 if share.factor is None else share.factor) / n_processes
            )
    torch.testing.assert_close(total, whole)


@settings(max_examples=30)
@given(
    n_kept=st.integers(1, 20),
    n_rest=st.integers(1, 20),
    n_processes=st.integers(1, 4),
    accumulate=st.integers(1, 6),
)
def test_every_chunk_has_some_of_the_rest(n_kept: int, n_rest: int, n_processes: int, accumulate: int) -> None:
    kept, rest = torch.arange(n_kept), torch.arange(n_rest) + 100
    used: set[int] = set()
    for rank in range(n_processes):
        chunks = list(sharding(rank, n_processes).shares(kept, rest, None, accumulate))
        assert 1 <= len(chunks) <= accumulate
        for chunk in chunks:
            assert chunk.rest is not None and len(chunk.rest) > 0 and len(chunk.kept) > 0
            assert set(chunk.kept.tolist()) <= set(range(n_kept))
            used |= set(chunk.rest.tolist())
    assert used <= set(rest.tolist())


def test_a_single_process_takes_the_whole_batch_as_it_is() -> None:
    rows, rest = torch.tensor([5, 3, 9]), torch.tensor([1])
    (share,) = sharding(0, 1).shares(rows, rest, None, 1)
    assert share.factor is None
    assert torch.equal(share.kept, rows) and share.rest is not None and torch.equal(share.rest, rest)
    module = MarginHistory(3)
    with sharding(0, 1).synchronised_buffers([module]):  # would fail if it asked other processes
        module.count += 1
    assert module.count.tolist() == [1, 1, 1]


@pytest.mark.parametrize("n_processes", [2, 3])
def test_margins_of_several_processes_are_those_of_one(n_processes: int) -> None:
    n, k = 17, 4
    generator = torch.Generator().manual_seed(0)
    epochs = [torch.randn(n, k, generator=generator) for _ in range(3)]
    codes = torch.randint(k, (n,), generator=generator)
    alone = MarginHistory(n)
    for logits in epochs:
        alone.add(logits, codes, torch.arange(n))

    def train(process: ProcessSharding) -> MarginHistory:
        history = MarginHistory(n)
        for logits in epochs:
            with process.synchronised_buffers([history]):
                rows = process.local_rows(torch.arange(n))
                history.add(logits[rows], codes[rows], rows)
        return history

    for history in on_all_processes(n_processes, train):
        assert torch.equal(history.count, alone.count)
        torch.testing.assert_close(history.total, alone.total)


def test_whole_numbers_are_not_summed_over_the_processes() -> None:
    """A step counter advances on every process alike; its sum would be wrong."""

    def train(process: ProcessSharding) -> list[Any]:
        module = nn.Module()
        module.register_buffer("steps", torch.tensor(3))
        module.register_buffer("rows", torch.zeros(2))
        with process.synchronised_buffers([module]):
            module.get_buffer("steps").add_(1)
            module.get_buffer("rows")[process.rank] = 1.0
        return [module.get_buffer("steps").item(), module.get_buffer("rows").tolist()]

    assert on_all_processes(2, train) == [[4, [1.0, 1.0]]] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "cuda:1"}, "device must be 'cpu' or None .* CUDA_VISIBLE_DEVICES"),
        ({"device": "cpu", "mixed_precision": "fp32"}, "mixed_precision must be one of"),
    ],
)
def test_mistakes_get_a_sentence(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make_accelerator(**options)
