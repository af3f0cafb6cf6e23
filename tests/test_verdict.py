"""The verdict: what its columns mean, and that it survives the disk or is not there at all."""

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean import FINE, Verdict
from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption

Writer = Callable[..., None]
COLUMNS = [
    "id",
    "given_label",
    "is_label_issue",
    "label_score",
    "suggested_label",
    "suggested_confidence",
    "score",
    "rank",
]


def verdict_of(labels: Array, seed: int = 0, /, **fields: Any) -> Verdict:
    n = len(labels)
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(1)  # with ties
    parts: dict[str, Any] = {
        "ids": rng.permutation(1000)[:n],
        "labels": labels,
        "score": rng.random(n),
        "p_clean": p,
        "flagged": p <= 0.5,
        "suggested": rng.permutation(labels),
        "suggested_confidence": rng.random(n),
        "made_by": {"method": "test", "parameters": {"a": 1, "b": None}, "notes": ["ä"]},
    }
    return Verdict(**(parts | fields))


INTS = np.array([3, -1, 3, 0, 0, 3, -1])
STRINGS = np.array(["cat", "dög", "", "a b", "cat", "dog", "x,y\n"])


def assert_same(a: Verdict, b: Verdict) -> None:
    for field in ("ids", "labels", "score", "p_clean", "flagged", "suggested", "suggested_confidence", "rank"):
        first, other = getattr(a, field), getattr(b, field)
        np.testing.assert_array_equal(first, other)
        assert first.dtype.kind == other.dtype.kind, field
    assert a.made_by == b.made_by


class TestRecord:
    def test_rank_is_worst_first_and_the_score_settles_ties(self) -> None:
        verdict = verdict_of(INTS)
        expected = sorted(range(7), key=lambda i: (verdict.p_clean[i], verdict.score[i]))
        np.testing.assert_array_equal(np.argsort(verdict.rank), expected)
        assert sorted(verdict.rank.tolist()) == list(range(1, 8))

    def test_suspects_are_the_flagged_ones_worst_first(self) -> None:
        verdict = verdict_of(np.arange(50) % 3)
        rows = verdict.suspects()
        assert set(rows.tolist()) == set(np.flatnonzero(verdict.flagged).tolist())
        assert (np.diff(verdict.rank[rows]) > 0).all()
        np.testing.assert_array_equal(verdict.suspects(3), rows[:3])

    def test_figures(self) -> None:
        verdict = verdict_of(INTS)
        summary = verdict.summary(seconds=1.5)
        assert summary["n_samples"] == 7
        assert summary["n_classes"] == 3
        assert summary["n_flagged"] == int(verdict.flagged.sum())
        assert summary["estimated_noise_rate"] == pytest.approx(float(np.mean(1 - verdict.p_clean)))
        assert summary["method"] == "test"
        assert summary["parameters"] == {"a": 1, "b": None}
        assert summary["seconds"] == 1.5
        for row in summary["per_class"]:
            of_class = verdict.labels == row["label"]
            assert row["n_samples"] == of_class.sum()
            assert row["n_flagged"] == verdict.flagged[of_class].sum()
            assert row["estimated_noise_rate"] == pytest.approx(float(np.mean(1 - verdict.p_clean[of_class])))
        json.dumps(summary, allow_nan=False)

    def test_nothing_to_say_about_nothing(self) -> None:
        verdict = verdict_of(np.array([], dtype=int))
        assert (len(verdict), verdict.n_flagged, verdict.noise_rate) == (0, 0, 0.0)
        assert verdict.summary()["per_class"] == []

    @pytest.mark.parametrize("field", ["ids", "score", "p_clean", "flagged", "suggested", "suggested_confidence"])
    def test_lengths_must_agree(self, field: str) -> None:
        with pytest.raises(InvalidData, match=f"verdict: {field} must have one value per label, got 2 for 7"):
            verdict_of(INTS, 0, **{field: np.zeros(2)})

    def test_repr(self) -> None:
        text = repr(verdict_of(INTS, p_clean=np.full(7, 0.75), flagged=np.zeros(7, bool)))
        assert text == "Verdict by test: 0 of 7 labels look wrong, estimated noise rate 25.0 %"


class TestFiles:
    @pytest.mark.parametrize("labels", [INTS, STRINGS, INTS > 0, INTS.astype(np.int8)], ids=["i", "s", "b", "i1"])
    @pytest.mark.parametrize("single_file", [True, False])
    def test_round_trip(self, tmp_path: Path, labels: Array, single_file: bool) -> None:
        verdict = verdict_of(labels)
        path = tmp_path / ("v.parquet" if single_file else "out")
        written = verdict.save(path)
        assert written == (path if single_file else path / "verdict.parquet")
        assert_same(verdict, Verdict.load(path))
        assert_same(verdict, Verdict.load(written))
        expected = ["v.parquet"] if single_file else ["manifest.json", "summary.json", "verdict.parquet"]
        assert sorted(os.listdir(written.parent)) == expected

    @given(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5),
            min_size=1,
            max_size=12,
        )
    )
    @settings(max_examples=25)
    def test_round_trip_of_any_text(self, tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
        verdict = verdict_of(np.array(texts))
        path = tmp_path_factory.mktemp("v")
        verdict.save(path)
        assert_same(verdict, Verdict.load(path))

    def test_columns(self, tmp_path: Path) -> None:
        verdict = verdict_of(STRINGS)
        frame = pq.read_table(verdict.save(tmp_path))
        assert frame.column_names == COLUMNS
        np.testing.assert_array_equal(frame["label_score"].to_numpy(), verdict.p_clean)
        np.testing.assert_array_equal(frame["is_label_issue"].to_numpy(), verdict.flagged)
        np.testing.assert_array_equal(frame["score"].to_numpy(), verdict.score)
        np.testing.assert_array_equal(frame["rank"].to_numpy(), verdict.rank)
        assert frame["given_label"].to_pylist() == verdict.labels.tolist()
        assert frame["suggested_label"].to_pylist() == verdict.suggested.tolist()

    def test_columns_of_a_real_verdict_mean_what_they_say(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        y = np.arange(300) % 3
        X = rng.standard_normal((300, 6)) + 6 * np.eye(6)[y]
        y[:30] = (y[:30] + 1) % 3
        judge = FINE(threshold=0.4)
        frame = pl.from_arrow(pq.read_table(judge.judge(X, y, ids=np.arange(300) + 7).save(tmp_path)))
        assert isinstance(frame, pl.DataFrame)
        np.testing.assert_array_equal(frame["id"], np.arange(300) + 7)
        np.testing.assert_array_equal(frame["given_label"], y)
        np.testing.assert_array_equal(frame["is_label_issue"], frame["label_score"] <= 0.4)
        np.testing.assert_allclose(frame["score"], judge.score_samples(X, y))
        kept = frame.filter(~pl.col("is_label_issue"))
        assert (kept["suggested_label"] == kept["given_label"]).all()
        assert (kept["suggested_confidence"] == kept["label_score"]).all()
        issues = frame.filter(pl.col("is_label_issue"))
        assert (issues["suggested_label"] != issues["given_label"]).all()
        assert (issues["suggested_confidence"] <= 1 - issues["label_score"]).all()
        assert (frame.sort("rank")["label_score"].diff().drop_nulls() >= 0).all()

    def test_summary_and_csv(self, tmp_path: Path) -> None:
        verdict = verdict_of(STRINGS)
        verdict.save(tmp_path, csv=True, version="1.2.3")
        assert sorted(os.listdir(tmp_path)) == ["manifest.json", "summary.json", "verdict.csv", "verdict.parquet"]
        summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
        assert summary == json.loads(json.dumps(verdict.summary(version="1.2.3")))
        with open(tmp_path / "verdict.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == COLUMNS
        assert [row["given_label"] for row in rows] == STRINGS.tolist()
        assert [int(row["id"]) for row in rows] == verdict.ids.tolist()

    def test_frames_of_other_libraries(self) -> None:
        verdict = verdict_of(STRINGS)
        frame = verdict.to_frame()
        assert isinstance(frame, pa.Table)
        assert pl.DataFrame(frame)["rank"].to_list() == verdict.rank.tolist()
        assert pd.DataFrame(frame.to_pandas())["given_label"].tolist() == STRINGS.tolist()

    def test_saving_twice_replaces(self, tmp_path: Path) -> None:
        verdict_of(INTS).save(tmp_path)
        second = verdict_of(STRINGS, 1)
        second.save(tmp_path)
        assert_same(Verdict.load(tmp_path), second)


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("in the middle")


def half(table: pa.Table, path: Path, **__: object) -> None:
    path.write_bytes(b"PAR1 half a file")
    raise KeyboardInterrupt


class TestAtomicity:
    @pytest.mark.parametrize(("writer", "error"), [(fail, RuntimeError), (half, KeyboardInterrupt)])
    def test_a_failing_writer_leaves_nothing(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        writer: Callable[..., None],
        error: type[BaseException],
    ) -> None:
        monkeypatch.setattr("pyarrow.parquet.write_table", writer)
        with pytest.raises(error):
            verdict_of(INTS).save(tmp_path / "out")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(("writer", "error"), [(fail, RuntimeError), (half, KeyboardInterrupt)])
    def test_a_failing_writer_leaves_the_old_verdict(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        writer: Callable[..., None],
        error: type[BaseException],
    ) -> None:
        old = verdict_of(INTS)
        old.save(tmp_path)
        before = {file: (tmp_path / file).read_bytes() for file in os.listdir(tmp_path)}
        monkeypatch.setattr("pyarrow.parquet.write_table", writer)
        with pytest.raises(error):
            verdict_of(STRINGS).save(tmp_path)
        assert {file: (tmp_path / file).read_bytes() for file in os.listdir(tmp_path)} == before

    def test_facts_that_json_cannot_hold_are_noticed_before_anything_is_written(self, tmp_path: Path) -> None:
        for fact in (float("nan"), object()):
            with pytest.raises((ValueError, TypeError)):
                verdict_of(INTS).save(tmp_path, seconds=fact)
        assert os.listdir(tmp_path) == []

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pyarrow.parquet.write_table", full)
        with pytest.raises(
            InvalidOption, match=r"cannot write .*: no space left on the disk of .*; nothing was changed"
        ):
            verdict_of(INTS).save(tmp_path)
        assert os.listdir(tmp_path) == []

    def test_a_file_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        for path in (tmp_path / "file", tmp_path / "file" / "out", tmp_path / "file" / "v.parquet"):
            with pytest.raises(InvalidOption, match="cannot create the folder"):
                verdict_of(INTS).save(path)
        assert (tmp_path / "file").read_text() == "mine"


class TestUnreadable:
    def test_nothing_there(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "missing", tmp_path / "missing.parquet"):
            with pytest.raises(InvalidData, match=r"no verdict at .*: expected a folder with verdict\.parquet"):
                Verdict.load(path)

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
    def test_truncated(self, tmp_path: Path, share: float) -> None:
        file = verdict_of(np.arange(500) % 7).save(tmp_path)
        content = file.read_bytes()
        file.write_bytes(content[: int(share * len(content))])
        with pytest.raises(InvalidData, match="is not a readable Parquet file") as error:
            Verdict.load(tmp_path)
        assert "\n" not in str(error.value)

    def test_damaged_anywhere_is_an_error_of_ours_or_harmless(self, tmp_path: Path) -> None:
        file = verdict_of(np.arange(200) % 7).save(tmp_path)
        content = bytearray(file.read_bytes())
        rng = np.random.default_rng(0)
        for position in rng.integers(0, len(content), 60).tolist():
            damaged = bytearray(content)
            damaged[position] ^= 0xFF
            file.write_bytes(damaged)
            try:
                Verdict.load(tmp_path)
            except InvalidData as error:
                assert "\n" not in str(error)

    def test_another_table(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"id": [1], "given_label": [2]}), tmp_path / "x.parquet")
        with pytest.raises(InvalidData, match="is not a verdict: it lacks the column 'is_label_issue'"):
            Verdict.load(tmp_path / "x.parquet")

    def test_a_table_without_our_metadata_still_loads(self, tmp_path: Path) -> None:
        verdict = verdict_of(INTS)
        pq.write_table(verdict.to_frame().replace_schema_metadata(None), tmp_path / "x.parquet")
        assert Verdict.load(tmp_path / "x.parquet").method == "unknown"


def test_files_with_the_old_column_name_are_read(tmp_path: Path) -> None:
    verdict = verdict_of(STRINGS)
    names = ["alignment" if name == "score" else name for name in verdict.to_frame().column_names]
    table = verdict.to_frame()
    old = table.rename_columns(names).replace_schema_metadata(table.schema.metadata)
    pq.write_table(old, tmp_path / "old.parquet")
    loaded = Verdict.load(tmp_path / "old.parquet")
    assert_same(loaded, verdict)
    assert loaded.to_frame().column_names == verdict.to_frame().column_names


def test_a_verdict_is_assembled_from_scores_flags_and_suggestions() -> None:
    flagged = np.array([False, True, False, True])
    verdict = Verdict.assemble(
        ids=np.arange(4),
        classes=np.array(["cat", "dog", "owl"]),
        codes=np.array([0, 1, 2, 2]),
        score=np.array([4.0, 1.0, 3.0, 2.0]),
        p_clean=np.array([0.9, 0.2, 0.8, 0.4]),
        flagged=flagged,
        suggestions=(np.array([2, 0]), np.array([0.5, 1.0])),
        made_by={"method": "me", "parameters": {}},
    )
    assert verdict.labels.tolist() == ["cat", "dog", "owl", "owl"]
    assert verdict.suggested.tolist() == ["cat", "owl", "owl", "cat"]
    np.testing.assert_allclose(verdict.suggested_confidence, [0.9, 0.8 * 0.5, 0.8, 0.6 * 1.0])
    assert verdict.to_frame(rank=np.array([9, 2, 8, 4])).column("rank").to_pylist() == [9, 2, 8, 4]


def test_data_frames_have_the_columns_of_the_file() -> None:
    verdict = verdict_of(STRINGS)
    pandas, polars = verdict.to_pandas(), verdict.to_polars()
    assert list(pandas.columns) == polars.columns == COLUMNS
    assert pandas["given_label"].tolist() == polars["given_label"].to_list() == STRINGS.tolist()
    np.testing.assert_array_equal(polars["score"].to_numpy(), verdict.score)


def test_a_notebook_shows_the_worst_flags_and_escapes_labels() -> None:
    n = 40
    flagged = np.arange(n) < 15
    p = np.linspace(0.0, 1.0, n)
    labels = np.array(["<b>bold</b>"] * n)
    html = verdict_of(labels, p_clean=p, flagged=flagged, ids=np.arange(n), suggested=labels)._repr_html_()
    assert "<b>" not in html
    assert html.count("<tr>") == 1 + 10
    assert [f"<tr><td>{row}</td>" in html for row in range(12)] == [True] * 10 + [False] * 2
    assert "15 of 40 labels look wrong" in html


def test_ordinary_errors_are_ranked_by_the_probability_of_another_class() -> None:
    p, p_none = np.array([0.05, 0.02, 0.45, 0.9, 0.1]), np.array([0.9, 0.3, 0.4, 0.0, 0.8])
    verdict = verdict_of(np.arange(5), score=p, p_clean=p, flagged=p <= 0.5)
    np.testing.assert_allclose(verdict.other_class_probability, 1 - p)
    assert verdict.suspects(action="relabel").tolist() == verdict.suspects().tolist() == [1, 0, 4, 2]
    assert verdict.suspects(action="remove").tolist() == []
    with_none = verdict_of(np.arange(5), score=p, p_clean=p, flagged=p <= 0.5, none_probability=p_none)
    np.testing.assert_allclose(with_none.other_class_probability, [0.05, 0.68, 0.15, 0.1, 0.1])
    assert with_none.suspects().tolist() == [1, 0, 4, 2]  # as before
    assert with_none.suspects(action="relabel").tolist() == [1, 2]
    assert with_none.suspects(1, action="remove").tolist() == [0]
    with pytest.raises(InvalidOption, match=r"action must be one of relabel, remove, got 'relable'; did you mean"):
        verdict.suspects(action="relable")
