"""The record of decisions: what it keeps, what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.patch import DECISIONS, FIELDS, Patch, is_patch

LINE: dict[str, Any] = {"id": 1, "decision": "relabel", "old": "cat", "new": "dog", "data_hash": "ab"}

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
words = texts.filter(bool)


@st.composite
def patches(draw: Any) -> Patch:
    labels: Any = draw(st.sampled_from([words, st.integers(-(2**63), 2**63 - 1), st.booleans()]))
    ids: Any = draw(st.sampled_from([words, st.integers(-(2**63), 2**63 - 1)]))
    records = []
    for id in draw(st.lists(ids, min_size=1, max_size=6, unique=True)):
        decision, old = draw(st.sampled_from(DECISIONS)), draw(labels)
        new = draw(labels.filter(lambda label, old=old: label != old)) if decision == "relabel" else None
        new = old if decision == "keep" and draw(st.booleans()) else new
        score = draw(st.none() | st.floats(0, 1))
        time = draw(st.sampled_from(["", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+02:00"]))
        records.append(
            {"id": id, "decision": decision, "old": old, "new": new, "score": score, "reason": draw(texts),
             "reviewer": draw(texts), "time": time, "data_hash": "ab"}
        )  # fmt: skip
    return Patch.from_records(records)


@settings(max_examples=60)
@given(patch=patches(), suffix=st.sampled_from([".jsonl", ".parquet"]))
def test_what_is_saved_is_loaded(patch: Patch, suffix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = patch.save(tmp_path_factory.mktemp("patch") / f"patch{suffix}")
    assert is_patch(path)
    assert Patch.load(path).to_records() == patch.to_records()


def test_the_new_label_is_the_old_one_unless_it_was_changed() -> None:
    records = [
        LINE,
        {**LINE, "id": 2, "decision": "keep", "new": None},
        {**LINE, "id": 3, "decision": "remove", "new": None},
        {**LINE, "id": 4, "decision": "unsure", "new": None},
    ]
    patch = Patch.from_records(records)
    assert patch.new.tolist() == ["dog", "cat", "cat", "cat"]
    assert [record["new"] for record in patch.to_records()] == ["dog", "cat", None, None]
    assert patch.counts() == {"relabel": 1, "keep": 1, "remove": 1, "unsure": 1}
    assert repr(patch) == "Patch of 4 decisions: 1 relabel, 1 keep, 1 remove, 1 unsure"


def test_lines_written_by_a_browser(tmp_path: Path) -> None:
    line = '{"time":"2026-11-16T04:30:05.123Z","id":"a","decision":"keep","old":0,"data_hash":"ab","score":null}'
    (tmp_path / "p.jsonl").write_text(f"\ufeff{line}\r\n\r\n", encoding="utf-8")
    patch = Patch.load(tmp_path / "p.jsonl")
    assert patch.ids.tolist() == ["a"] and np.isnan(patch.score[0]) and patch.new.tolist() == [0]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"id": None}, "line 1: 'id' is missing; a decision needs id, decision, old, data_hash"),
        ({"old": ""}, "line 1: 'old' is missing"),
        ({"data_hash": ""}, "'data_hash' is missing"),
        ({"decision": "drop"}, "decision must be one of relabel, keep, remove, unsure, got 'drop'"),
        ({"decision": ["keep"]}, "decision must be one of"),
        ({"new": None}, "'new' is missing; relabel needs the label to put instead of 'cat'"),
        ({"new": "cat"}, "relabel must change the label, but old and new are both 'cat'; use keep"),
        ({"decision": "keep"}, "keep must not change the label, got 'dog' for 'cat'"),
        ({"decision": "remove"}, "remove has no new label, got 'dog'"),
        ({"score": 1.5}, "score must be a number from 0 to 1 or null, got 1.5"),
        ({"score": "high"}, "score must be a number"),
        ({"score": True}, "score must be a number"),
        ({"time": "yesterday"}, "time must be ISO 8601 with a time zone"),
        ({"time": "2026-01-31T12:00:00"}, "time must be ISO 8601 with a time zone"),
        ({"reviewer": 7}, "reviewer must be text, got 7"),
        ({"colour": "red"}, "a decision has the fields id, decision, old, .* got 'colour'"),
        ({"id": 1.5}, "ids must be all integers or all strings, got float"),
        ({"id": True}, "ids must be all integers or all strings, got bool"),
        ({"id": 2**70}, "ids must be integers of 64 bits"),
        ({"old": 3}, "labels must be all integers or all strings, got int, str"),
        ({"old": [3]}, "labels must be all integers or all strings"),
    ],
)
def test_wrong_decisions(changed: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps({**LINE, **changed}) + "\n")
    with pytest.raises(InvalidData, match=sentence) as caught:
        Patch.load(tmp_path / "p.jsonl")
    assert str(tmp_path / "p.jsonl") in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "has no decisions; review some labels first"),
        (b"{oops\n", "line 1: must be one JSON object, got '{oops'"),
        (b"[1]\n", "line 1: a decision must be an object with id, decision, old, data_hash"),
        (b"\xff\xfe", "is not a readable patch: it is not UTF-8 text"),
    ],
)
def test_wrong_files(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(content)
    with pytest.raises(InvalidData, match=sentence):
        Patch.load(tmp_path / "p.jsonl")


def test_two_decisions_about_one_sample_and_two_data_sets() -> None:
    with pytest.raises(InvalidData, match="ids must be unique, but 1 repeat, for example 1"):
        Patch.from_records([LINE, {**LINE, "new": "bird"}])
    with pytest.raises(InvalidData, match="must be for one data set, but its data_hash is ab and cd"):
        Patch.from_records([LINE, {**LINE, "id": 2, "data_hash": "cd"}])


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"a patch is a \.jsonl or \.parquet file, got x\.csv"):
        Patch.load("x.csv")
    with pytest.raises(InvalidOption, match=r"a patch is a \.jsonl or \.parquet file"):
        Patch.from_records([LINE]).save(tmp_path / "x.json")
    with pytest.raises(InvalidData, match="there is no patch"):
        Patch.load(tmp_path / "x.jsonl")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidData, match="is not a readable Parquet file"):
        Patch.load(tmp_path / "x.parquet")
    assert not is_patch(tmp_path / "x.parquet")
    pq.write_table(pa.table({"f": [1]}), tmp_path / "y.parquet")
    assert not is_patch(tmp_path / "y.parquet")
    with pytest.raises(InvalidData, match="row 0: a decision has the fields"):
        Patch.load(tmp_path / "y.parquet")


def test_a_patch_cut_at_every_byte(tmp_path: Path) -> None:
    whole = Patch.from_records([LINE, {**LINE, "id": 2}]).save(tmp_path / "p.jsonl").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "cut.jsonl").write_bytes(whole[:length])
        try:
            assert len(Patch.load(tmp_path / "cut.jsonl")) <= 2
        except EigencleanError as error:
            assert "cut.jsonl" in str(error) and "\n" not in str(error)


def test_columns_of_the_files(tmp_path: Path) -> None:
    patch = Patch.from_records([{**LINE, "decision": "unsure", "new": None}])
    assert tuple(json.loads(patch.save(tmp_path / "p.jsonl").read_text())) == FIELDS
    table = pq.read_table(patch.save(tmp_path / "p.parquet"))
    assert tuple(table.column_names) == FIELDS and table.schema.field("new").type == pa.string()
