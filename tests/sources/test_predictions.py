"""Predicted probabilities: read from arrays, frames and files, matched to labels by class name and id."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from eigenclean.errors import InvalidData
from eigenclean.sources.predictions.matching import PredictedProbabilities
from eigenclean.sources.predictions.reading import read_probabilities

LABELS = np.array(["dog", "cat", "eel", "cat"])
P = np.array([[0.1, 0.7, 0.2], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [0.9, 0.1, 0.0]])  # cat, dog, eel
SHUFFLED = ["eel", "cat", "dog"]


def columns(names: list[str] = SHUFFLED, **more: Any) -> dict[str, Any]:
    return {name: P[:, ["cat", "dog", "eel"].index(name)] for name in names} | more


class TestMatch:
    def test_without_names_columns_are_the_sorted_classes(self) -> None:
        np.testing.assert_array_equal(read_probabilities(P).match(LABELS).values, P)
        np.testing.assert_array_equal(read_probabilities(P.tolist()).match(LABELS).values, P)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
    def test_frames_are_matched_by_name(self, frame: Callable[[Any], Any]) -> None:
        np.testing.assert_array_equal(read_probabilities(frame(columns())).match(LABELS).values, P)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_columns_without_names_of_their_own_are_in_order(self, frame: Callable[[Any], Any]) -> None:
        np.testing.assert_array_equal(read_probabilities(frame(P)).match(LABELS).values, P)

    def test_names_of_integer_classes(self) -> None:
        given = PredictedProbabilities(P, columns=["7", "-1", "3"])
        np.testing.assert_allclose(given.match(np.array([7, 3, -1, 3])).values, P[:, [1, 2, 0]])

    def test_rows_are_matched_by_id(self) -> None:
        order = [2, 0, 3, 1]
        table = pa.table({"id": ["c", "a", "d", "b"], **{k: v[order] for k, v in columns().items()}})
        matched = read_probabilities(table).match(LABELS, np.array(["a", "b", "c", "d"]))
        np.testing.assert_array_equal(matched.values, P)
        matched = read_probabilities(table).match(LABELS[:2], np.array(["b", "a"]))  # further rows are not needed
        np.testing.assert_allclose(matched.values, P[[1, 0]][:, :2] / P[[1, 0]][:, :2].sum(axis=1, keepdims=True))

    def test_ids_as_numbers_and_as_texts(self) -> None:
        given = PredictedProbabilities(P, ids=np.array([10, 11, 12, 13]))
        np.testing.assert_array_equal(given.match(LABELS, np.array(["13", "12", "11", "10"])).values, P[::-1])

    def test_columns_of_classes_that_no_label_has_are_left_out(self) -> None:
        matched = read_probabilities(pa.table(columns())).match(np.array(["cat", "dog", "cat", "dog"]))
        np.testing.assert_allclose(matched.values[0], [0.125, 0.875])
        np.testing.assert_array_equal(matched.values[2], [0.5, 0.5])  # nothing is left of this row
        assert matched.notices == ["pred_probs: 1 column is left out, as no label has the class: 'eel'"]
        numbers = read_probabilities(P).match(np.array([0, 2, 0, 2]))  # labels are numbers of columns
        np.testing.assert_allclose(numbers.values[0], [1 / 3, 2 / 3])
        assert numbers.notices == ["pred_probs: 1 column is left out, as no label has the class: 1"]

    def test_a_column_of_labels_is_no_class(self) -> None:
        table = pa.table(columns(label=[1, 0, 2, 0], note=["a", "b", "c", "d"]))
        matched = read_probabilities(table).match(LABELS)
        np.testing.assert_array_equal(matched.values, P)
        assert not matched.notices

    def test_rounded_probabilities_are_normalised(self) -> None:
        np.testing.assert_allclose(read_probabilities(P.round(2) * 1.004).match(LABELS).values, P, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (P[:3], "pred_probs must have one row for each of the 4 labels, got 3$"),
        (P[:, :2], "one column for each of the 3 classes .*'cat', 'dog', 'eel'.* got 2 columns$"),
        (np.hstack([P, P]), "one column for each of the 3 classes .* got 6 columns$"),
        (P[:, 0], r"must be a table of numbers .* got shape \(4,\)"),
        (P.astype(str), "must be a table of numbers"),
        (np.where(P == 0.7, np.nan, P), "must be finite, but row 0 has NaN"),
        (np.log(P + 0.01), "row 0 has a negative value; if these are logits, apply a softmax$"),
        (3 * P + 1, "row 0 has the sum 6; if these are logits, apply a softmax$"),
    ],
)
def test_bad_arrays_are_one_sentence(values: Any, message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        read_probabilities(values).match(LABELS)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (columns(["cat", "eel"]), "has no column for the class 'dog'; its columns are 'cat', 'eel'; name them as"),
        (columns(id=["a", "b", "c", "c"]), "more than one row with the id 'c'"),
        (columns(id=["a", "b", "c", "x"]), "has no row for 1 of the 4 ids, such as 'd'"),
        (columns(cat=[0.1, None, 0.0, 0.9]), "probabilities must be complete, but 1 of 4 rows"),
        ({"name": ["a", "b", "c", "d"]}, "has no column of numbers; its columns are 'name'"),
        ({"cat": pa.array([], pa.float64())}, "has no rows"),
    ],
)
def test_bad_tables_are_one_sentence(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        read_probabilities(pa.table(table)).match(LABELS, np.array(["a", "b", "c", "d"]))


def test_a_repeated_column() -> None:
    with pytest.raises(InvalidData, match="more than one column named 'cat'"):
        PredictedProbabilities(P, columns=["cat", "cat", "dog"]).match(LABELS[:2].repeat(2))


class TestFiles:
    def test_every_format_gives_the_same(self, tmp_path: Path) -> None:
        np.save(tmp_path / "p.npy", P)
        np.savez(tmp_path / "p.npz", pred_probs=P)
        np.savez_compressed(
            tmp_path / "q.npz", probabilities=P[::-1, ::-1], classes=LABELS[[2, 0, 1]], ids=[3, 2, 1, 0]
        )
        table = pa.table(columns(id=np.arange(4)))
        pq.write_table(table, tmp_path / "p.parquet")
        pyarrow.csv.write_csv(table, str(tmp_path / "p.csv"))
        pq.write_table(pa.table({"p": P.tolist()}), tmp_path / "lists.parquet")
        files = sorted(tmp_path.iterdir())
        assert len(files) == 6
        for file in files:
            matched = read_probabilities(file).match(LABELS, np.arange(4))
            np.testing.assert_allclose(matched.values, P, err_msg=file.name)

    def test_an_id_column_of_another_name(self, tmp_path: Path) -> None:
        pq.write_table(pa.table(columns(key=["d", "c", "b", "a"])), tmp_path / "p.parquet")
        given = read_probabilities(tmp_path / "p.parquet", id_column="key")
        np.testing.assert_array_equal(given.match(LABELS, np.array(["a", "b", "c", "d"])).values, P[::-1])

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("p.npy", None, "there is no file .*p.npy of probabilities; check the path"),
            ("p.txt", b"0.5", "probabilities are read from .npy, .npz and .parquet, .* got '.txt'"),
            ("p.npy", b"nonsense", "is not a readable .npy file"),
            ("p.npz", b"nonsense", "is not a readable .npz archive"),
            ("p.parquet", b"nonsense", "is not a readable"),
        ],
    )
    def test_bad_files_are_one_sentence(
        self, tmp_path: Path, name: str, content: bytes | None, message: str
    ) -> None:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidData, match=message):
            read_probabilities(tmp_path / name)

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"features": P}, "has no array 'pred_probs'; its arrays are 'features'"),
            ({"pred_probs": P, "classes": LABELS[:2]}, "has 2 classes for 3 columns"),
            ({"pred_probs": P, "ids": np.arange(3)}, "ids must be one integer or text for each of the 4 rows"),
        ],
    )
    def test_bad_archives_are_one_sentence(self, tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
        np.savez(tmp_path / "p.npz", **arrays)
        with pytest.raises(InvalidData, match=message):
            read_probabilities(tmp_path / "p.npz")
