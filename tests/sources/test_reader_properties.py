"""Any rows, written by NumPy or Arrow in any format, are read as the same features, labels, ids and hash."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenclean.arrays import Array
from eigenclean.sources import Source, open_source
from eigenclean.sources.tabular.column_arrays import blocks, regroup, stack, texts, vector
from eigenclean.sources.write import write_npz, write_shards

# A letter first: a CSV file has no types, so that "1" and "NA" would be read as a number and a gap.
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=6).map(
    lambda text: f"c{text}e"
)
Rows = tuple[Array, Array, Array]


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Features, labels (numbers or names) and unique ids (numbers or names) of one to nine rows."""
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    features = draw(
        st.sampled_from([np.float32, np.float64]).flatmap(
            lambda dtype: hnp.arrays(
                dtype, (n, d), elements=st.floats(-1e9, 1e9, width=32).map(lambda value: value + 0.0)
            )
        )
    )
    labels = draw(
        st.one_of(
            st.lists(NAMES, min_size=n, max_size=n),
            st.lists(st.integers(-(2**62), 2**62), min_size=n, max_size=n),
        )
    )
    ids = draw(
        st.one_of(
            st.lists(NAMES, min_size=n, max_size=n, unique=True),
            st.lists(st.integers(0, 2**62), min_size=n, max_size=n, unique=True),
        )
    )
    return features, np.array(labels), np.array(ids)


def as_table(data: Rows, *, lists: bool) -> pa.Table:
    features, labels, ids = data
    columns: dict[str, Any] = {"id": pa.array(ids.tolist()), "label": pa.array(labels.tolist())}
    if lists:
        columns["x"] = pa.FixedSizeListArray.from_arrays(pa.array(features.ravel()), features.shape[1])
    else:
        columns |= {f"f{j}": pa.array(features[:, j]) for j in range(features.shape[1])}
    return pa.table(columns)


def npz(folder: Path, data: Rows) -> Path:
    features, labels, ids = data
    np.savez(folder / "x.npz", features=features, labels=labels, ids=ids)
    return folder / "x.npz"


def parquet(folder: Path, data: Rows) -> Path:
    pq.write_table(as_table(data, lists=True), folder / "x.parquet", row_group_size=4)
    return folder / "x.parquet"


def arrow_file(folder: Path, data: Rows) -> Path:
    table = as_table(data, lists=False)
    with pa.ipc.new_file(str(folder / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return folder / "x.arrow"


def arrow_stream(folder: Path, data: Rows) -> Path:
    table = as_table(data, lists=True)
    with pa.ipc.new_stream(str(folder / "x.ipc"), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return folder / "x.ipc"


def delimited(folder: Path, data: Rows) -> Path:
    """Written by Python's own module, which quotes differently from Arrow."""
    features, labels, ids = data
    with open(folder / "x.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"f{j}" for j in range(features.shape[1])), "label"])
        for id, row, label in zip(ids.tolist(), features.tolist(), labels.tolist(), strict=True):
            writer.writerow([id, *map(repr, row), label])
    return folder / "x.csv"


def shards(folder: Path, data: Rows) -> Path:
    write_shards(memory(data), folder / "shards", facts={}, shard_rows=3)
    return folder / "shards"


def written_npz(folder: Path, data: Rows) -> Path:
    write_npz(memory(data), folder / "x.npz")
    return folder / "x.npz"


def memory(data: Rows) -> Source:
    features, labels, ids = data
    return open_source({"features": features, "labels": labels, "ids": ids})


WRITERS: list[Callable[[Path, Rows], Path]] = [
    npz, parquet, arrow_file, arrow_stream, delimited, shards, written_npz,
]  # fmt: skip


@settings(max_examples=15)
@pytest.mark.parametrize("write", WRITERS)
@given(data=rows(), block=st.integers(1, 10))
def test_what_is_written_is_read(
    write: Callable[[Path, Rows], Path], data: Rows, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    features, labels, ids = data
    if write is delimited:  # numbers in a text file have no width
        features = features.astype(np.float64)
    source = open_source(write(tmp_path_factory.mktemp("data"), data))
    read_in_blocks = np.concatenate(list(source.blocks(block)))  # before `features`, which keeps them
    data_hash = source.data_hash()
    read = source.features()
    assert read.dtype == features.dtype and read_in_blocks.dtype == features.dtype
    np.testing.assert_array_equal(read, features)
    np.testing.assert_array_equal(read_in_blocks, features)
    assert source.labels.tolist() == labels.tolist()
    assert source.ids.tolist() == ids.tolist()
    assert data_hash == source.data_hash() == memory((features, labels, ids)).data_hash()
    assert source.kind() == (features.shape[1], features.dtype)


@settings(max_examples=10)
@pytest.mark.parametrize("write", WRITERS)
@given(data=rows(), draw=st.data())
def test_any_rows_can_be_read(
    write: Callable[[Path, Rows], Path], data: Rows, draw: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    features, n = data[0], len(data[0])
    source = open_source(write(tmp_path_factory.mktemp("data"), data))
    start = draw.draw(st.integers(0, n - 1))
    stop = draw.draw(st.integers(start + 1, n))
    np.testing.assert_array_equal(source.reader().read(start, stop), features[start:stop])
    chosen = np.array(draw.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=12)))
    np.testing.assert_array_equal(source.take(chosen), features[chosen])  # in any order, and repeatedly


@settings(max_examples=15)
@given(data=rows(), draw=st.data())
def test_the_hash_depends_on_every_label_and_feature_but_not_on_ids(data: Rows, draw: st.DataObject) -> None:
    features, labels, ids = data
    reference = memory(data).data_hash()
    assert memory((features, labels, np.arange(len(ids)) + 5)).data_hash() == reference
    row = draw.draw(st.integers(0, len(labels) - 1))
    column = draw.draw(st.integers(0, features.shape[1] - 1))
    changed = features.copy()
    changed[row, column] = np.nextafter(changed[row, column], features.dtype.type(np.inf))
    assert memory((changed, labels, ids)).data_hash() != reference
    others = labels.tolist()
    others[row] = f"{others[row]}x" if isinstance(others[row], str) else others[row] + 1
    assert memory((features, np.array(others), ids)).data_hash() != reference


CHUNKS = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@settings(max_examples=50)
@given(sizes=CHUNKS, rows=st.integers(1, 8))
def test_regrouped_chunks_are_the_same_rows_in_equal_groups(sizes: list[int], rows: int) -> None:
    whole = np.arange(2 * sum(sizes)).reshape(-1, 2)
    chunks = np.split(whole, np.cumsum(sizes)[:-1])
    groups = list(regroup(chunks, rows))
    assert [len(group) for group in groups[:-1]] == [rows] * (len(groups) - 1) and 1 <= len(groups[-1]) <= rows
    np.testing.assert_array_equal(np.concatenate(groups), whole)
    for group in groups:  # a group inside one chunk is a view of it
        inside = any(np.isin(group[:, 0], chunk[:, 0]).all() for chunk in chunks)
        assert inside == any(np.shares_memory(group, chunk) for chunk in chunks)


@settings(max_examples=50)
@given(sizes=CHUNKS)
def test_stacked_chunks_are_one_array_and_a_single_one_is_not_copied(sizes: list[int]) -> None:
    whole = np.arange(3 * sum(sizes), dtype=np.float32).reshape(-1, 3)
    chunks = np.split(whole.copy(), np.cumsum(sizes)[:-1])
    stacked = stack(chunks, sum(sizes))
    np.testing.assert_array_equal(stacked, whole)
    assert (stacked is chunks[0]) == (len(chunks) == 1)


@settings(max_examples=40)
@given(
    values=st.lists(
        st.lists(st.lists(st.integers(-9, 9), min_size=2, max_size=2), min_size=3, max_size=3), min_size=1
    ),
    cut=st.integers(0, 4),
    offset=st.integers(0, 3),
)
def test_nested_lists_become_rows_whatever_the_slices(values: list[Any], cut: int, offset: int) -> None:
    """Slices share the memory of their array, so that the offset must be added."""
    for kind in (
        pa.list_(pa.list_(pa.int16())),
        pa.list_(pa.list_(pa.int16(), 2), 3),
        pa.large_list(pa.list_(pa.int16())),
    ):
        column: Any = pa.array(values, kind).slice(min(offset, len(values) - 1))
        table = pa.Table.from_arrays([pa.chunked_array([column.slice(0, cut), column.slice(cut)])], names=["x"])
        expected = np.array(column.to_pylist(), dtype=np.int16).reshape(len(column), 6)
        np.testing.assert_array_equal(np.concatenate(list(blocks(table.to_batches, by="t"))), expected)


COLUMNS = st.one_of(
    st.lists(st.text(max_size=4), min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.lists(st.dates(), min_size=1),
)


@settings(max_examples=60)
@given(values=COLUMNS, cut=st.integers(0, 5), encoded=st.booleans(), draw=st.data())
def test_vectors_hold_the_values_of_the_column(
    values: list[Any], cut: int, encoded: bool, draw: st.DataObject
) -> None:
    whole: Any = pa.array(values)
    if encoded and isinstance(values[0], str):
        whole = whole.dictionary_encode()
    column: Any = pa.chunked_array([whole.slice(0, cut), whole.slice(cut)], type=whole.type)
    expected = values if isinstance(values[0], str | int | float) else [str(value) for value in values]
    # NumPy's strings have no zero bytes at their ends.
    expected = [value.rstrip("\0") if isinstance(value, str) else value for value in expected]
    assert vector(column, by="t", what="labels").tolist() == expected
    missing = draw.draw(st.integers(0, len(values) - 1))
    with_gap: Any = pa.chunked_array(
        [pa.array([*values[:missing], None, *values[missing + 1 :]], type=pa.array(values).type)]
    )
    gap = vector(with_gap, by="t", what="labels")
    assert gap.dtype == object and gap[missing] is None
    assert texts(with_gap)[missing] == ""
