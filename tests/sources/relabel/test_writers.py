"""The pieces of writing labels back: tables of writers, label columns, undo logs, and names that changed."""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenclean.sources.relabel as relabel
from eigenclean.errors import InvalidData
from eigenclean.patch import Patch
from eigenclean.sources import Source, open_source
from eigenclean.sources.opening import ARRAY_FILES, TABLE_FILES
from eigenclean.sources.relabel import apply_patch, match_patch, reviewed_labels
from eigenclean.sources.relabel.columns import LabelColumn
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog
from eigenclean.sources.relabel.writers import label_writer, write_file

FEATURES = np.arange(8.0).reshape(4, 2)
LABELS = ["cat", "dog", "cat", "dog"]


def write(path: Path) -> dict[str, Any]:
    """The same four rows in the format of the suffix; returns what `open_source` needs besides the path."""
    suffix = path.suffix
    table = pa.table({"f0": FEATURES[:, 0], "f1": FEATURES[:, 1], "label": LABELS})
    if suffix == ".npz":
        np.savez(path, features=FEATURES, labels=np.array(LABELS))
    elif suffix == ".npy":
        np.save(path, FEATURES)
        np.save(path.with_name("labels.npy"), np.array(LABELS))
        return {"labels": path.with_name("labels.npy")}
    elif suffix == ".parquet":
        pq.write_table(table, path)
    elif suffix in (".csv", ".tsv"):
        rows = [
            ["f0", "f1", "label"],
            *([str(a), str(b), c] for (a, b), c in zip(FEATURES.tolist(), LABELS, strict=True)),
        ]
        path.write_text("".join(("\t" if suffix == ".tsv" else ",").join(row) + "\n" for row in rows))
    elif suffix == ".gz":
        write(path.with_suffix(""))
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
        path.with_suffix("").unlink()
    elif suffix.startswith(".json"):
        rows_as_json = [json.dumps(row) for row in table.to_pylist()]
        path.write_text("\n".join(rows_as_json) if suffix == ".jsonl" else f"[{', '.join(rows_as_json)}]")
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    return {}


def relabelling(source: Source, changes: dict[int, str]) -> Patch:
    return Patch.from_records(
        [
            {
                "id": source.ids[row].item(),
                "decision": "relabel",
                "old": source.labels[row].item(),
                "new": new,
                "data_hash": source.data_hash(),
            }
            for row, new in changes.items()
        ]
    )


WRITABLE = [suffix for suffix in TABLE_FILES if suffix != ".xlsx"]  # which needs an extra: see test_table_formats


@pytest.mark.parametrize("suffix", [*ARRAY_FILES, *WRITABLE])
def test_every_file_that_can_be_read_can_be_relabelled(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    options = write(path)
    labels_path = options.get("labels", path)
    source = open_source(path, **options)
    content = labels_path.read_bytes()
    patch = relabelling(source, {1: "ibis", 2: "dog"})
    assert label_writer(source, labels_path) is not None
    apply_patch(source, patch, labels_path, labels_path)
    changed = open_source(path, **options)
    assert changed.labels.tolist() == ["cat", "ibis", "dog", "dog"]
    np.testing.assert_array_equal(changed.features(), FEATURES)
    apply_patch(changed, patch, labels_path, labels_path, revert=True)
    assert open_source(path, **options).labels.tolist() == LABELS
    if suffix not in (".arrow", ".feather", ".ipc", ".parquet"):  # Arrow may lay out its buffers in another way
        assert labels_path.read_bytes() == content


def test_the_delimiter_is_that_of_the_name_that_was_opened(tmp_path: Path) -> None:
    """Files of the Hugging Face hub are links to blobs whose names have no suffix."""
    write(tmp_path / "x.tsv")
    (tmp_path / "x.tsv").rename(tmp_path / "blob")
    (tmp_path / "x.tsv").symlink_to("blob")
    source = open_source(tmp_path / "x.tsv")
    apply_patch(source, relabelling(source, {0: "dog"}), tmp_path / "x.tsv", tmp_path / "x.tsv")
    assert open_source(tmp_path / "x.tsv").labels.tolist() == ["dog", "dog", "cat", "dog"]
    assert (tmp_path / "x.tsv").is_symlink()


def test_a_writer_that_fails_leaves_the_file_and_its_log(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1.0\n2\n")
    UndoLog({(7, 1): "+1"}).save(path)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}

    def failing(path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog) -> None:
        out.write_text("half")
        undo_log.log_spelling(0, 1, "1.0")
        raise InvalidData("the data changed")

    with pytest.raises(InvalidData, match="the data changed"):
        write_file(failing, path, path, update_of([0], ["a"], ["b"]))
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before


def update_of(rows: list[int], before: list[Any], after: list[Any]) -> LabelUpdate:
    return LabelUpdate(np.array(rows, dtype=np.int64), np.array(rows), np.array(before), np.array(after))


@settings(max_examples=50)
@given(
    labels=st.lists(st.sampled_from(["a", "bb", "c"]), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=3),
    encoded=st.booleans(),
    draw=st.data(),
)
def test_a_label_column_in_chunks_equals_a_slow_loop(
    labels: list[str], cuts: list[int], encoded: bool, draw: st.DataObject
) -> None:
    rows = sorted(draw.draw(st.sets(st.integers(0, len(labels) - 1))))
    after = [draw.draw(st.sampled_from(["a", "new", "c"])) for _ in rows]
    column: Any = pa.array(labels)
    dictionary = None
    if encoded:
        column = column.dictionary_encode()
        dictionary = column.dictionary
    update = LabelUpdate(
        np.array(rows, dtype=np.int64),
        np.array(rows),
        np.array([labels[row] for row in rows], dtype=np.str_),
        np.array(after, dtype=np.str_),
    )
    replaced = LabelColumn(update, column.type, name="x", dictionary=dictionary)
    written: list[str | None] = []
    borders = sorted({0, len(labels), *(min(cut, len(labels)) for cut in cuts)})
    for start, stop in pairwise(borders):
        chunk = replaced.replace(column.slice(start, stop - start), start)
        assert chunk.type == column.type
        written += chunk.to_pylist()
    expected = list(labels)
    for row, new in zip(rows, after, strict=True):
        expected[row] = new
    assert written == expected


SPELLINGS = st.dictionaries(
    st.tuples(st.one_of(st.integers(), st.text(max_size=3)), st.one_of(st.integers(), st.text(max_size=3))),
    st.text(st.characters(codec="utf-8"), max_size=4),
    max_size=4,
)


@settings(max_examples=20)
@given(cells=SPELLINGS, types=st.lists(st.sampled_from(["<U3", "|S5"]), max_size=2))
def test_a_saved_log_is_the_same_when_it_is_loaded(
    cells: dict[tuple[Any, Any], str], types: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "x.csv"
    UndoLog(cells, types).save(path)
    assert path.with_name("x.csv.undo.json").exists() == bool(cells or types)
    log = UndoLog.load(path)
    assert log.types == types
    for (id, label), cell in cells.items():
        assert log.pop_spelling(id, label) == cell
        assert log.pop_spelling(id, label) is None  # once is enough
    log.types.clear()
    log.save(path)
    assert not path.with_name("x.csv.undo.json").exists()


def test_before_the_file_is_replaced_the_log_serves_both_versions_of_it(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    UndoLog({(1, "cat"): '"cat"'}, ["<U3"]).save(path)
    log = UndoLog.load(path)
    assert log.pop_spelling(1, "cat") == '"cat"' and log.types.pop() == "<U3"
    log.log_spelling(2, "dog", " dog")
    log.save(path, ahead_of_data=True)
    after_a_crash = UndoLog.load(path)
    assert after_a_crash.pop_spelling(1, "cat") == '"cat"' and after_a_crash.types == ["<U3"]
    assert after_a_crash.pop_spelling(2, "dog") == " dog"
    log.save(path)
    assert UndoLog.load(path).pop_spelling(1, "cat") is None and UndoLog.load(path).types == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": []}', '{"cells": [{"id": 1}], "types": []}', "\xff"])
def test_a_damaged_log_is_an_empty_one(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv.undo.json").write_bytes(content.encode("latin-1"))
    log = UndoLog.load(tmp_path / "x.csv")
    assert log.types == [] and log.pop_spelling(1, "cat") is None


def test_every_cut_of_a_log_loads_nothing_or_everything(tmp_path: Path) -> None:
    path, log_path = tmp_path / "x.csv", tmp_path / "x.csv.undo.json"
    UndoLog({(1, "cat"): '"cat"', (2, "dog"): "dog "}).save(path)
    content = log_path.read_bytes()
    assert set(json.loads(content)) == {"cells", "types"}
    for end in range(len(content) + 1):
        log_path.write_bytes(content[:end])
        log = UndoLog.load(path)
        popped = (log.pop_spelling(1, "cat"), log.pop_spelling(2, "dog"))
        assert popped in ((None, None), ('"cat"', "dog "))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Decided", "ReviewedLabels"),
        ("Fit", "PatchMatch"),
        ("decided", "reviewed_labels"),
        ("fit_patch", "match_patch"),
    ],
)
def test_old_names_are_the_new_objects(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"relabel\.{old} is now eigenclean\.sources\.relabel\.{new}"):
        assert getattr(relabel, old) is getattr(relabel, new)
    assert old not in relabel.__all__


def test_the_old_argument_and_attribute_still_work(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write(path)
    source = open_source(path)
    patch = relabelling(source, {0: "dog"})
    apply_patch(source, patch, path, path)
    old: dict[str, Any] = {"back": True}
    with pytest.warns(DeprecationWarning, match="'back' of apply_patch is now 'revert'"):
        record = apply_patch(open_source(path), patch, path, path, **old)
    assert record["changed"] == 1 and open_source(path).labels.tolist() == LABELS
    reviewed = reviewed_labels(open_source(path), patch)
    with pytest.warns(DeprecationWarning, match="settled is now ReviewedLabels.verified"):
        assert reviewed.settled is reviewed.verified
    assert reviewed.verified.tolist() == [True, False, False, False]
    assert match_patch(open_source(path), patch).rows.tolist() == [0]
