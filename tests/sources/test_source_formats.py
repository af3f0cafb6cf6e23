"""The same rows in every format: equal features, labels, ids, batches and hash."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from eigenclean.arrays import Array
from eigenclean.sources import Source, open_source

N, D = 23, 3
FEATURES = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
LABELS = np.array(["cat", "dog", "ibis"])[np.arange(N) % 3]
IDS = np.array([f"row{i:02d}" for i in range(N)])


def fixed_lists(features: Array) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(features.ravel()), features.shape[1])


def table(*, lists: bool = True) -> pa.Table:
    columns: dict[str, Any] = {"id": IDS.tolist(), "label": LABELS.tolist()}
    if lists:
        columns["embedding"] = fixed_lists(FEATURES)
    else:
        columns |= {f"f{j}": FEATURES[:, j] for j in range(D)}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def npz(folder: Path) -> Source:
    np.savez(folder / "x.npz", features=FEATURES, labels=LABELS, ids=IDS)
    return open_source(folder / "x.npz")


def npz_compressed(folder: Path) -> Source:
    np.savez_compressed(folder / "x.npz", features=FEATURES, labels=LABELS, ids=IDS)
    return open_source(str(folder / "x.npz"))


def npy(folder: Path) -> Source:
    np.save(folder / "x.npy", FEATURES)
    np.save(folder / "y.npy", LABELS)
    return open_source(folder / "x.npy", labels=folder / "y.npy")


def npy_fortran(folder: Path) -> Source:
    np.save(folder / "x.npy", np.asfortranarray(FEATURES))
    (folder / "y.txt").write_text("\n".join(LABELS) + "\n")
    return open_source(folder / "x.npy", labels=str(folder / "y.txt"))


def parquet(folder: Path) -> Source:
    pq.write_table(table(), folder / "x.parquet", row_group_size=7)
    return open_source(folder / "x.parquet")


def parquet_columns(folder: Path) -> Source:
    pq.write_table(table(lists=False), folder / "x.parquet")
    return open_source(folder / "x.parquet")


def parquet_variable_lists(folder: Path) -> Source:
    lists = table().set_column(2, "embedding", pa.array(FEATURES.tolist(), pa.list_(pa.float32())))
    pq.write_table(lists, folder / "x.parquet", row_group_size=5)
    return open_source(folder / "x.parquet")


def arrow_file(folder: Path) -> Source:
    with pa.ipc.new_file(str(folder / "x.arrow"), table().schema) as writer:
        writer.write_table(table(), max_chunksize=6)
    return open_source(folder / "x.arrow")


def arrow_stream(folder: Path) -> Source:
    with pa.ipc.new_stream(str(folder / "x.ipc"), table().schema) as writer:
        writer.write_table(table())
    return open_source(folder / "x.ipc")


def feather(folder: Path) -> Source:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(folder / "x.feather"), table().schema, options=options) as writer:
        writer.write_table(table(), max_chunksize=9)
    return open_source(folder / "x.feather")


def saved_dataset(folder: Path) -> Source:
    coded = table().set_column(1, "label", pa.array(np.arange(N) % 3))
    for number, shard in enumerate((coded.slice(0, 10), coded.slice(10))):
        with pa.ipc.new_stream(str(folder / f"data-0000{number}-of-00002.arrow"), shard.schema) as writer:
            writer.write_table(shard, max_chunksize=4)
    files = [{"filename": f"data-0000{number}-of-00002.arrow"} for number in range(2)]
    (folder / "state.json").write_text(json.dumps({"_data_files": files, "_split": None}))
    described = {"label": {"names": ["cat", "dog", "ibis"], "_type": "ClassLabel"}}
    (folder / "dataset_info.json").write_text(json.dumps({"features": described}))
    return open_source(folder)


def frame(folder: Path) -> Source:
    return open_source(pa.concat_tables([table().slice(0, 4), table().slice(4)]))


def arrays(folder: Path) -> Source:
    return open_source({"features": FEATURES, "labels": LABELS, "ids": IDS})


EXACT: list[Callable[[Path], Source]] = [
    npz, npz_compressed, npy, npy_fortran, parquet, parquet_columns, parquet_variable_lists,
    arrow_file, arrow_stream, feather, saved_dataset, frame, arrays,
]  # fmt: skip


def csv(folder: Path) -> Source:
    pyarrow.csv.write_csv(table(lists=False), str(folder / "x.csv"))
    return open_source(folder / "x.csv")


def tsv(folder: Path) -> Source:
    rows = [[*map(str, row), label, id] for row, label, id in zip(FEATURES.tolist(), LABELS, IDS, strict=True)]
    lines = ["\t".join(row) for row in [["f0", "f1", "f2", "label", "id"], *rows]]
    (folder / "x.tsv").write_text("\n".join(lines))
    return open_source(folder / "x.tsv")


@pytest.mark.parametrize("make", [*EXACT, csv, tsv])
def test_round_trip(make: Callable[[Path], Source], tmp_path: Path) -> None:
    source = make(tmp_path)
    np.testing.assert_allclose(source.features(), FEATURES, rtol=1e-6)
    assert source.labels.tolist() == LABELS.tolist()
    assert source.ids.tolist() in (IDS.tolist(), list(range(N)))
    assert len(source) == N
    assert source.evidence().features is not None


@pytest.mark.parametrize("rows", [1, 4, 7, 22, 23, 1000])
@pytest.mark.parametrize("make", [*EXACT, csv, tsv])
def test_batches_equal_the_whole(make: Callable[[Path], Source], rows: int, tmp_path: Path) -> None:
    source = make(tmp_path)
    batches = list(source.batches(rows))
    assert [len(batch) for batch in batches] == [min(rows, N - start) for start in range(0, N, rows)]
    features = np.concatenate([batch.need("features", by="test") for batch in batches])
    np.testing.assert_array_equal(features, source.features())
    assert features.dtype == source.features().dtype
    np.testing.assert_array_equal(np.concatenate([batch.labels for batch in batches]), source.labels)
    np.testing.assert_array_equal(np.concatenate([batch.ids for batch in batches]), source.ids)


def test_equal_data_have_equal_hashes(tmp_path: Path) -> None:
    hashes = {}
    for make in EXACT:
        folder = tmp_path / make.__name__
        folder.mkdir()
        hashes[make.__name__] = make(folder).data_hash()
    assert len(set(hashes.values())) == 1, hashes


def test_hash_ignores_batches_and_integer_width_but_no_value() -> None:
    labels = np.arange(N) % 3
    reference = open_source((FEATURES, labels)).data_hash()
    assert open_source((FEATURES, labels.astype(np.int8))).data_hash() == reference
    assert open_source((FEATURES.astype(">f4"), labels)).data_hash() == reference
    assert open_source((FEATURES, labels[::-1])).data_hash() != reference
    assert open_source((FEATURES.astype(np.float64), labels)).data_hash() != reference
    changed = FEATURES.copy()
    changed[-1, -1] += 1
    assert open_source((changed, labels)).data_hash() != reference
    # "ab", "c" and "a", "bc" are different labels.
    assert open_source((np.eye(2), ["ab", "c"])).data_hash() != open_source((np.eye(2), ["a", "bc"])).data_hash()


def test_hash_is_the_same_for_many_batches() -> None:
    features = np.arange(70_000, dtype=np.int32)[:, None]
    labels = np.arange(70_000) % 2
    pieces = pa.chunked_array([pa.array(chunk.tolist()) for chunk in np.array_split(features.ravel(), 7)])
    cut = pa.table({"f": pieces.cast(pa.int32()), "label": labels})
    assert open_source((features, labels)).data_hash() == open_source(cut).data_hash()


def test_npz_and_npy_are_mapped(tmp_path: Path) -> None:
    assert isinstance(npz(tmp_path).features(), np.memmap)
    assert isinstance(npy(tmp_path).features(), np.memmap)
    assert not isinstance(npz_compressed(tmp_path).features(), np.memmap)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_features_are_views_of_the_mapped_file(kind: str, tmp_path: Path) -> None:
    features = np.zeros((50_000, 16), dtype=np.float32)
    big = pa.table({"x": fixed_lists(features), "label": np.arange(50_000) % 2})
    new = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}[kind]
    with new(str(tmp_path / "x.arrow"), big.schema) as writer:
        writer.write_table(big)
    source = open_source(tmp_path / "x.arrow")
    before = pa.total_allocated_bytes()
    mapped = source.features()
    assert pa.total_allocated_bytes() - before < 100_000
    assert not mapped.flags.owndata and not mapped.flags.writeable
    batch = next(source.batches(1000)).need("features", by="test")
    assert not batch.flags.owndata


@pytest.mark.parametrize("group", [20_000, 200_000])
def test_parquet_batches_do_not_load_the_file(group: int, tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(200_000, 16))
    big = pa.table({"x": fixed_lists(features), "label": np.arange(len(features)) % 2})
    pq.write_table(big, tmp_path / "x.parquet", row_group_size=group)
    source = open_source(tmp_path / "x.parquet")
    most = 0
    before = pa.total_allocated_bytes()
    for batch in source.batches(5_000):
        assert len(batch) == 5_000
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < features.nbytes / 4


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "int64", "bool"])
def test_every_kind_of_number(dtype: str, tmp_path: Path) -> None:
    features = (np.arange(12).reshape(6, 2) % 5).astype(dtype)
    labels = np.arange(6) % 2
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    pq.write_table(pa.table({"x": fixed_lists(features), "label": labels}), tmp_path / "x.parquet")
    hashes = set()
    for source in (open_source(tmp_path / "x.npz"), open_source(tmp_path / "x.parquet")):
        assert source.features().dtype == dtype
        np.testing.assert_array_equal(source.features(), features)
        hashes.add(source.data_hash())
    assert len(hashes) == 1
