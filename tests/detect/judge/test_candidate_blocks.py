"""Subsamples of candidates: the same rows however the data are ordered and split into blocks."""

import numpy as np
import pytest

from eigenclean.arrays import Ints
from eigenclean.detect.blocks import LocalBlocks
from eigenclean.detect.judge import candidate_blocks, candidates
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks, RowSample
from eigenclean.detect.judge.candidates import Candidates

N, K = 500, 3
RNG = np.random.default_rng(0)
HASHES = RNG.integers(0, 1 << 63, size=N, dtype=np.uint64) * np.uint64(2)
VALUES = RNG.normal(size=(N, K))
GIVEN = RNG.integers(0, K, N)
BY_GIVEN = np.argsort(GIVEN, kind="stable")


def in_blocks(order: Ints, sizes: list[int]) -> CandidateBlocks:
    parts = np.split(order, np.cumsum(sizes)[:-1])
    sample = RowSample.of(LocalBlocks.of([HASHES[block] for block in parts]), N)
    tables = [Candidates.from_tables([VALUES[block]], GIVEN[block], is_partial=len(sizes) > 1) for block in parts]
    return CandidateBlocks(LocalBlocks.of(tables), N, K, sample)


@pytest.mark.parametrize("sizes", [[500], [100, 400], [1, 250, 249]])
def test_a_subsample_holds_the_rows_with_the_lowest_hashes(sizes: list[int]) -> None:
    order = np.random.default_rng(1).permutation(N)
    subsample = in_blocks(order, sizes).subsample(50)
    assert len(subsample) == 50 and len(subsample.blocks) == 1
    expected = VALUES[np.argsort(HASHES)[:50]]
    result = subsample.blocks.first().values[0].T
    np.testing.assert_array_equal(np.sort(result[:, 0]), np.sort(expected[:, 0]))


def test_subsamples_are_nested() -> None:
    blocks = in_blocks(np.arange(N), [200, 300])
    small, large = (set(blocks.subsample(n).blocks.first().values[0, 0].tolist()) for n in (20, 60))
    assert small < large


@pytest.mark.parametrize("sizes", [[500], [200, 300]])
def test_all_rows_when_there_are_no_more(sizes: list[int]) -> None:
    blocks = in_blocks(np.arange(N), sizes)
    whole = blocks.subsample(N).blocks.first()
    np.testing.assert_array_equal(whole.values[0].T, VALUES[BY_GIVEN])
    np.testing.assert_array_equal(whole.given, GIVEN[BY_GIVEN])
    assert whole.is_sorted and not whole.is_partial
    assert blocks.spreads == pytest.approx([VALUES.std()])


def test_copies_of_few_rows_still_fill_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their hashes are not uniform: the rows below an expected quantile may be too few."""
    monkeypatch.setattr(candidate_blocks, "MAX_SAMPLE", 30)
    hashes = np.full(N, np.uint64(2**63))
    sample = RowSample.of(LocalBlocks.of([hashes[:200], hashes[200:]]), N)
    rows = sample.first(30, 2)
    assert [len(chosen) for chosen in rows] == [30, 0]


def test_spreads_are_those_of_each_view() -> None:
    tables = [VALUES, 10 * VALUES[:, ::-1] + 3]
    halves = [
        Candidates.from_tables([table[rows] for table in tables], GIVEN[rows], is_partial=True)
        for rows in (slice(0, 200), slice(200, N))
    ]
    blocks = CandidateBlocks(LocalBlocks.of(halves), N, K)
    assert blocks.spreads == pytest.approx([VALUES.std(), 10 * VALUES.std()])
    whole = blocks.subsample(N).blocks.first()
    for view, table in enumerate(tables):
        np.testing.assert_array_equal(whole.values[view].T, table[BY_GIVEN])


def test_chunks_hold_all_rows_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_CHUNK_BYTES", 70 * K * 8)
    known = np.where(np.arange(N) % 9 == 0, GIVEN, -1)
    whole = Candidates.from_tables([VALUES, 2 * VALUES], GIVEN).knowing(known)
    chunks = list(whole.chunks())
    assert [len(chunk) for chunk in chunks] == [70] * 7 + [10]
    assert all(chunk.values.flags.c_contiguous for chunk in chunks)
    np.testing.assert_array_equal(np.concatenate([chunk.values for chunk in chunks], axis=2), whole.values)
    np.testing.assert_array_equal(np.concatenate([chunk.given for chunk in chunks]), GIVEN)
    np.testing.assert_array_equal(
        np.concatenate([chunk.known for chunk in chunks if chunk.known is not None]), known
    )


@pytest.mark.parametrize("chunk_rows", [N, 70])
def test_sums_over_pairs_of_sorted_rows_are_those_of_rows_in_any_order(
    chunk_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_CHUNK_BYTES", chunk_rows * (K + 1) * 8)
    given = np.where(GIVEN == 1, 3, GIVEN)  # no label of class 1
    whole = Candidates.from_tables([np.hstack([VALUES, VALUES[:, :1]])], given)
    expected = whole.sum_per_pair(whole.values[0])
    result = [chunk.sum_per_pair(chunk.values[0]) for chunk in whole.by_given().chunks()]
    assert len(result) == -(-N // chunk_rows)
    np.testing.assert_array_equal(result[0].keys, expected.keys)
    np.testing.assert_allclose(sum(each.counts for each in result), expected.counts, atol=1e-12)
