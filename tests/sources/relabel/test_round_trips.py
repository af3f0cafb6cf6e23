"""Every format: labels change, nothing else does, and taking the patch back gives the same content."""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.arrays import Array
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.patch import Patch
from eigenclean.sources import Source, open_source
from eigenclean.sources.relabel import apply_patch, match_patch, reviewed_labels

N = 7
WORDS = ["cat", "dog", "bird"]
CODES = np.arange(N) % 3
TEXTS = np.array(WORDS)[CODES]


def patch_for(source: Source, changes: dict[int, Any], **others: int) -> Patch:
    """Row number to new label; ``others`` are decisions that change nothing, with their rows."""
    records: list[dict[str, Any]] = [
        {"row": row, "decision": "relabel", "new": new} for row, new in changes.items()
    ]
    records += [{"row": row, "decision": decision} for decision, row in others.items()]
    hashed = source.data_hash()
    for record in records:
        row = record.pop("row")
        record |= {"id": source.ids[row].item(), "old": source.labels[row].item(), "data_hash": hashed}
    return Patch.from_records(records)


def table(labels: Any) -> pa.Table:
    columns = pa.table(
        {
            "f": pa.array(np.arange(2.0 * N).reshape(N, 2).tolist(), pa.list_(pa.float32(), 2)),
            "label": labels,
            "a.b": pa.array([{"x": row} for row in range(N)]),
            "key": [f"k{row}" for row in range(N)],
        }
    )
    fields = [field.with_metadata({"unit": "cm"}) if field.name == "key" else field for field in columns.schema]
    return columns.cast(pa.schema(fields, metadata={"made by": "a test"}))


def columns_of(kind: str, rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """A label column of that type, and labels to choose from."""
    codes = rng.integers(0, 3, N).tolist()
    if kind == "int":
        return pa.array(codes, pa.int8()), [0, 1, 2, 100]
    if kind == "bool":
        return pa.array([code > 0 for code in codes]), [True, False]
    words = [WORDS[code] for code in codes]
    if kind == "dictionary":  # a word that is new to it would stay in it
        return pa.array([*WORDS, *words[3:]]).dictionary_encode(), WORDS
    return pa.array(words, {"text": pa.string(), "large": pa.large_string(), "view": pa.string_view()}[kind]), [
        *WORDS,
        "a much longer label",
    ]


def write_parquet(path: Path, written: pa.Table) -> None:
    pq.write_table(written, path, row_group_size=3, compression={"f": "zstd", "label": "none", "key": "gzip"})


def write_feather(path: Path, written: pa.Table) -> None:
    pyarrow.feather.write_feather(written, str(path), chunksize=4)


def write_stream(path: Path, written: pa.Table) -> None:
    with pa.ipc.new_stream(str(path), written.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(written, max_chunksize=4)


def read_table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".feather":
        return pyarrow.feather.read_table(str(path))
    return pa.ipc.open_stream(path.read_bytes()).read_all()


WRITERS: dict[str, Callable[[Path, pa.Table], None]] = {
    "x.parquet": write_parquet,
    "x.feather": write_feather,
    "x.arrow": write_stream,
}


@settings(max_examples=36)
@given(
    name=st.sampled_from(sorted(WRITERS)),
    kind=st.sampled_from(["int", "bool", "text", "large", "dictionary", "view"]),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_tables(name: str, kind: str, seed: int, data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("table") / name
    column, choices = columns_of(kind, np.random.default_rng(seed))
    WRITERS[name](path, table(column))
    source, content, table_before = open_source(path, id_column="key"), path.read_bytes(), read_table(path)
    rows = data.draw(st.sets(st.integers(0, N - 1), min_size=1))
    others = {row: [choice for choice in choices if choice != source.labels[row].item()] for row in rows}
    changes = {row: data.draw(st.sampled_from(some)) for row, some in others.items()}
    patch = patch_for(source, changes)
    applied = apply_patch(source, patch, path, path)
    assert applied["changed"] == len(changes) and applied["already"] == 0
    between = read_table(path)
    expected = source.labels.tolist()
    for row, new in changes.items():
        expected[row] = new
    assert between.column("label").to_pylist() == expected
    assert between.schema.equals(table_before.schema, check_metadata=True)
    assert between.drop_columns("label").equals(table_before.drop_columns("label"))
    again = apply_patch(open_source(path, id_column="key"), patch, path, path)  # once is enough
    assert again["changed"] == 0 and again["already"] == len(changes)
    apply_patch(open_source(path, id_column="key"), patch, path, path, revert=True)
    after = read_table(path)
    assert after.equals(table_before) and after.schema.equals(table_before.schema, check_metadata=True)
    if path.suffix == ".parquet":
        assert path.read_bytes() == content
    else:
        assert abs(len(path.read_bytes()) - len(content)) < 200  # compressed as before


def test_parquet_keeps_groups_compression_and_metadata(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    written = table(pa.array(["cat", "dog"] * 3 + ["cat"]))
    with pq.ParquetWriter(
        path, written.schema, version="1.0", compression="brotli", write_statistics=False
    ) as writer:
        writer.write_table(written.slice(0, 2))
        writer.write_table(written.slice(2))
        writer.add_key_value_metadata({"late": "words"})
    before = pq.ParquetFile(path).metadata
    source = open_source(path)
    apply_patch(source, patch_for(source, {4: "dog"}), path, tmp_path / "y.parquet")
    after = pq.ParquetFile(tmp_path / "y.parquet").metadata
    assert after.metadata == before.metadata and after.format_version == before.format_version
    for number in range(before.num_row_groups):
        first, other = before.row_group(number), after.row_group(number)
        assert (first.num_rows, first.num_columns) == (other.num_rows, other.num_columns)
        for place in range(first.num_columns):
            assert first.column(place).compression == other.column(place).compression == "BROTLI"
            assert not other.column(place).is_stats_set


def test_parquet_without_arrow_schema_and_with_class_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    features = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    written = pa.table({"f": [1.0, 2.0, 3.0], "label": [0, 1, 0]}).replace_schema_metadata(
        {"huggingface": json.dumps(features)}
    )
    pq.write_table(written, path)
    source = open_source(path)
    assert source.labels.tolist() == ["cat", "dog", "cat"]
    content = path.read_bytes()
    patch = patch_for(source, {0: "dog"})
    apply_patch(source, patch, path, path)
    assert pq.read_table(path).column("label").to_pylist() == [1, 1, 0]
    apply_patch(open_source(path), patch, path, path, revert=True)
    assert path.read_bytes() == content
    with pytest.raises(InvalidData, match="fixed list of 2 classes, and 'bird' is not among them"):
        apply_patch(open_source(path), patch_for(source, {0: "bird"}), path, path)
    assert path.read_bytes() == content


def test_labels_that_do_not_fit_the_column(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"f": [1.0, 2.0], "label": pa.array([0, 1], pa.int8())}), path)
    source, content = open_source(path), path.read_bytes()
    with pytest.raises(InvalidData, match="label column holds int8, which cannot be 1000"):
        apply_patch(source, patch_for(source, {0: 1000}), path, path)
    assert path.read_bytes() == content and os.listdir(tmp_path) == ["x.parquet"]


# Arrays.


@settings(max_examples=25)
@given(
    labels=st.sampled_from(
        [CODES, CODES.astype("i1"), CODES == 0, TEXTS, TEXTS.astype("U9"), TEXTS.astype("S"), CODES.astype(">f4")]
    ),
    compressed=st.booleans(),
    data=st.data(),
)  # fmt: skip
def test_archives(labels: Array, compressed: bool, data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    others = {"features": np.eye(N), "ids": np.arange(N) + 5, "extra": np.array([1, 2])}
    (np.savez_compressed if compressed else np.savez)(path, **others, labels=labels)  # type: ignore[arg-type]
    source, content = open_source(path), path.read_bytes()
    known: dict[str, list[Any]] = {"U": [*WORDS, "a much longer label"], "b": [True, False]}
    choices = known.get(source.labels.dtype.kind, [0, 1, 2])
    rows = data.draw(st.sets(st.integers(0, N - 1), min_size=1))
    options = {row: [choice for choice in choices if choice != source.labels[row].item()] for row in rows}
    changes = {row: data.draw(st.sampled_from(some)) for row, some in options.items()}
    patch = patch_for(source, changes)
    apply_patch(source, patch, path, path)
    changed = open_source(path)
    assert [changed.labels[row].item() for row in changes] == list(changes.values())
    unchanged = [row for row in range(N) if row not in changes]
    assert (changed.labels[unchanged] == source.labels[unchanged]).all()
    with np.load(path) as archive:
        assert sorted(archive) == sorted([*others, "labels"])
        assert all((archive[key] == value).all() for key, value in others.items())
    apply_patch(open_source(path), patch, path, path, revert=True)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["x.npz"]


def test_archives_of_other_writers(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(tmp_path / "y.npz", features=np.eye(3), labels=np.array([0, 1, 0]))
    with zipfile.ZipFile(tmp_path / "y.npz") as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as other:
        other.comment = b"mine"
        for name in archive.namelist():
            other.writestr(name, archive.read(name))
        other.writestr("notes.txt", "hello")
    source, content = open_source(path), path.read_bytes()
    patch = patch_for(source, {0: 1})
    apply_patch(source, patch, path, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.read("notes.txt") == b"hello" and archive.comment == b"mine"
    apply_patch(open_source(path), patch, path, path, revert=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("name", "content", "new"),
    [
        ("y.npy", None, 2),
        ("y.txt", b"0\r\n 1 \r\n007\r\n", 2),
        ("y.txt", b"\xef\xbb\xbfcat\ndog\ncat\n\n\n", "a, b"),
        ("y.csv", b"label\ncat\n\"dog\"\ncat", "a, b"),
        ("y.csv", b"cat\r\ndog\r\ncat\r\n", "bird"),
        ("y.csv", b"0\n1\n0\n", 5),
    ],
)  # fmt: skip
def test_labels_in_a_file_of_their_own(name: str, content: bytes | None, new: Any, tmp_path: Path) -> None:
    features, labels = tmp_path / "x.npy", tmp_path / name
    np.save(features, np.eye(3))
    if content is None:
        np.save(labels, np.array([0, 1, 0], dtype="u1"))
    else:
        labels.write_bytes(content)
    content = labels.read_bytes()
    source = open_source(features, labels=labels)
    patch = patch_for(source, {0: new, 2: new})
    apply_patch(source, patch, labels, labels)
    changed = open_source(features, labels=labels)
    assert changed.labels.tolist() == [new, source.labels[1].item(), new]
    apply_patch(changed, patch, labels, labels, revert=True)
    assert labels.read_bytes() == content


def test_a_line_cannot_hold_two(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.eye(2))
    (tmp_path / "y.txt").write_text("cat\ndog\n")
    source = open_source(tmp_path / "x.npy", labels=tmp_path / "y.txt")
    with pytest.raises(InvalidData, match="one label per line, so it cannot hold the label"):
        apply_patch(source, patch_for(source, {0: "a\nb"}), tmp_path / "y.txt", tmp_path / "y.txt")
    assert (tmp_path / "y.txt").read_text() == "cat\ndog\n"


# Saved Hugging Face data sets.


def saved_dataset(folder: Path) -> Path:
    folder.mkdir()
    info = {"features": {"label": {"names": WORDS, "_type": "ClassLabel"}, "f": {"_type": "Value"}}}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    names = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0123456789abcdef"}
    (folder / "state.json").write_text(json.dumps(state))
    for number, name in enumerate(names):
        shard = pa.table({"f": [[1.0 + number], [2.0]], "label": pa.array([0, 1 + number], pa.int64())})
        with pa.ipc.new_stream(str(folder / name), shard.schema) as writer:
            writer.write_table(shard)
    return folder


def test_saved_datasets(tmp_path: Path) -> None:
    folder = saved_dataset(tmp_path / "saved")
    source = open_source(folder)
    assert source.labels.tolist() == ["cat", "dog", "cat", "bird"]
    content = {file.name: file.read_bytes() for file in folder.glob("*.arrow")}
    patch = patch_for(source, {0: "bird", 3: "dog"}, keep=1)
    apply_patch(source, patch, folder, tmp_path / "copy")
    assert open_source(tmp_path / "copy").labels.tolist() == ["bird", "dog", "cat", "dog"]
    assert {file.name: file.read_bytes() for file in folder.glob("*.arrow")} == content
    fingerprint = json.loads((tmp_path / "copy" / "state.json").read_text())["_fingerprint"]
    assert fingerprint.startswith("0123456789abcdef-")
    with pytest.raises(InvalidOption, match="it is there already"):
        apply_patch(source, patch, folder, tmp_path / "copy")
    apply_patch(open_source(tmp_path / "copy"), patch, tmp_path / "copy", tmp_path / "copy", revert=True)
    assert {file.name: file.read_bytes() for file in (tmp_path / "copy").glob("*.arrow")} == content
    assert json.loads((tmp_path / "copy" / "state.json").read_text())["_fingerprint"] == "0123456789abcdef"
    assert sorted(os.listdir(tmp_path)) == ["copy", "saved"]


# What fits and what does not.


def arrays() -> Source:
    return open_source({"features": np.eye(4), "labels": ["a", "b", "a", "b"], "ids": ["p", "q", "r", "s"]})


def test_what_differs_is_said() -> None:
    source = arrays()
    patch = patch_for(source, {0: "b", 2: "b"}, keep=1)
    with pytest.raises(InvalidData, match=r"ids that are not there: 1 of 3, such as 'p'; nothing was changed"):
        match_patch(open_source({"features": np.eye(3), "labels": ["b", "a", "b"], "ids": ["q", "r", "s"]}), patch)
    with pytest.raises(InvalidData, match=r"neither .* such as 'q' with 'a' where 'b' is expected"):
        match_patch(source.relabelled(np.array(["a", "a", "a", "b"])), patch)
    with pytest.raises(InvalidData, match=r"other labels, the features or the order of rows differ \(data hash"):
        match_patch(source.relabelled(np.array(["a", "b", "a", "a"])), patch)
    moved = open_source({"features": np.eye(4) * 2, "labels": ["a", "b", "a", "b"], "ids": ["p", "q", "r", "s"]})
    with pytest.raises(InvalidData, match="add --by-id"):
        match_patch(moved, patch)
    assert match_patch(moved, patch, by_id=True).rows.tolist() == [0, 2, 1]
    with pytest.raises(InvalidData, match="ids such as 0, but the patch has ids such as 'p'"):
        match_patch(open_source((np.eye(4), ["a", "b", "a", "b"])), patch)
    with pytest.raises(InvalidData, match="has labels of type int64, but the patch is about <U1"):
        match_patch(open_source({"features": np.eye(2), "labels": [0, 1], "ids": ["p", "q"]}), patch)


def test_decided() -> None:
    source = arrays()
    known = reviewed_labels(source, patch_for(source, {0: "long"}, keep=1, remove=2, unsure=3))
    assert known.labels.tolist() == ["long", "b", "a", "b"]
    assert known.verified.tolist() == [True, True, False, False]
    assert known.removed.tolist() == [False, False, True, False]


def test_where_labels_cannot_go(tmp_path: Path) -> None:
    source = open_source("digits")
    patch = patch_for(source, {0: 1})
    with pytest.raises(InvalidOption, match="cannot be changed in place"):
        apply_patch(source, patch, "digits", "digits")
    with pytest.raises(
        InvalidOption, match=r"can be written as \.npy \(labels alone\) or \.csv \(names and labels\)"
    ):
        apply_patch(source, patch, "digits", tmp_path / "x.parquet")
    apply_patch(source, patch, "digits", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy")[:2].tolist() == [1, 1]
    path = tmp_path / "x.csv"
    path.write_text("f,label\n1,a\n2,b\n")
    table = open_source(path)
    with pytest.raises(InvalidOption, match=r"can be written as \.csv or \.npy"):
        apply_patch(table, patch_for(table, {0: "b"}), path, tmp_path / "x.txt")
    assert sorted(os.listdir(tmp_path)) == ["x.csv", "y.npy"]


def test_a_failure_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, features=np.eye(2), labels=np.array(["a", "b"]))
    source, content = open_source(path), path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(EigencleanError, match="no space left on the disk"):
        apply_patch(source, patch_for(source, {0: "b"}), path, path)
    monkeypatch.undo()
    assert path.read_bytes() == content and os.listdir(tmp_path) == ["x.npz"]
