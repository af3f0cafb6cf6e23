"""Annotations: missing entries, the majority against a slow loop, and labels that cannot be compared."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData
from eigenclean.evidence import Annotations


@pytest.mark.parametrize(
    "labels",
    [
        np.array([[0, 1, -1], [1, 1, 0]]),
        np.array([[0, 1, np.nan], [1, 1, 0]]),
        [[0, 1, None], [1, 1, 0]],
        [["a", "b", ""], ["b", "b", "a"]],
        [["a", "b", float("nan")], ["b", "b", "a"]],
        np.array([["a", "b", ""], ["b", "b", "a"]]),
    ],
)
def test_missing_entries_of_all_kinds(labels: Any) -> None:
    given = Annotations.from_matrix(labels)
    assert given.rows.tolist() == [0, 0, 1, 1, 1]
    assert given.annotators.tolist() == [0, 1, 0, 1, 2]
    assert given.codes.tolist() == [0, 1, 1, 1, 0]
    assert given.per_row.tolist() == [2, 3] and given.per_annotator.tolist() == [2, 2, 1]


def test_minus_one_is_a_class_where_missing_entries_are_nan() -> None:
    given = Annotations.from_matrix(np.array([[-1.0, 1.0], [np.nan, 1.0]]))
    assert given.classes.tolist() == [-1, 1] and len(given.rows) == 3


def test_the_majority_is_that_of_a_slow_loop_where_there_is_one() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(-1, 4, (300, 5))
    table[:, 0] = rng.integers(0, 4, 300)
    given = Annotations.from_matrix(table)
    for row, majority in zip(table, given.majority, strict=True):
        counts = Counter(row[row >= 0].tolist())
        assert counts[int(majority)] == max(counts.values())


def test_a_tie_goes_to_those_who_agree_more_often() -> None:
    table = np.array([[0, 0, 0, 0]] * 5 + [[1, 1, 1, 2]] * 5 + [[1, -1, -1, 0]])
    assert Annotations.from_matrix(table).majority[-1] == 1


def test_taking_rows_keeps_their_labels() -> None:
    table = np.array([[0, 1, -1], [1, 1, 0], [2, 2, 2]])
    taken = Annotations.from_matrix(table).take(np.array([2, 0]))
    np.testing.assert_array_equal(taken.label_counts.toarray(), [[0, 0, 3], [1, 1, 0]])


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (np.array([[0, 1], [1, -1], [-1, -1]]), "row 2 has no label"),
        (np.array([[0, -1], [-1, 1]]), "every row has one label only"),
        (np.array([[0], [1]]), "all labels are by one annotator, '0'"),
        (np.array([[0, 0, 7], [1, 1, 8]]), "'2' uses labels that no other annotator uses"),
    ],
)
def test_labels_that_cannot_be_compared(labels: Any, sentence: str) -> None:
    with pytest.raises(InvalidData, match=sentence):
        Annotations.from_matrix(labels).check(by="x.csv")


def test_a_label_of_one_annotator_only_is_noted() -> None:
    assert Annotations.from_matrix([["a", "a"], ["b", "c"], ["a", "b"]]).check(by="x") == [
        "only one annotator uses the label 'c'"
    ]


def test_an_annotator_who_contradicts_himself() -> None:
    rows, annotators, names = np.array([0, 0, 1]), np.array([0, 0, 1]), np.array(["ann", "bob"])
    same = Annotations.from_labels(rows, annotators, np.array(["a", "a", "b"]), names, 2)
    assert len(same.rows) == 2
    with pytest.raises(InvalidData, match="'ann' gave row 0 two labels, 'a' and 'c'"):
        Annotations.from_labels(rows, annotators, np.array(["a", "c", "b"]), names, 2)


def test_shapes_and_names_are_checked() -> None:
    with pytest.raises(InvalidData, match="rows x annotators"):
        Annotations.from_matrix(np.array([0, 1]))
    with pytest.raises(InvalidData, match="3 names for 2 annotators"):
        Annotations.from_matrix(np.array([[0, 1]]), names=["a", "b", "c"])
    with pytest.raises(InvalidData, match="no labels by any annotator"):
        Annotations.from_matrix(np.array([[-1, -1]]))
