"""Folds by group: groups stay together, copies too, few groups are spread evenly; bursts do not hide errors."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

from eigenclean import detector
from eigenclean.arrays import Array
from eigenclean.detect.folds import content_hash, folds_of_hashes
from eigenclean.detect.group_folds import GroupFolds, groups_of_one_class
from eigenclean.detect.judge.judge import Judge
from eigenclean.errors import InvalidData


@pytest.fixture(scope="module")
def rows() -> Array:
    return np.random.default_rng(0).normal(size=(600, 3))


@pytest.mark.parametrize("n_groups", [7, 40, 1500])
@pytest.mark.parametrize("repeat", [0, 3])
def test_a_group_is_in_one_fold(rows: Array, n_groups: int, repeat: int) -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    groups = np.random.default_rng(1).integers(0, n_groups, len(rows))
    hashes = content_hash(rows)
    assigned = GroupFolds.of(hashes, groups, 5, by="x")
    folds = assigned.folds(hashes, 5, repeat)
    for group in np.unique(groups):
        assert len(set(folds[groups == group].tolist())) == 1
    shares = np.bincount(folds, minlength=5) / len(rows)
    assert shares.min() > (0.1 if n_groups > 10 else 0.05)
    order = np.random.default_rng(2).permutation(len(rows))[:100]
    np.testing.assert_array_equal(assigned.folds(hashes[order], 5, repeat), folds[order])


def test_another_repeat_is_another_assignment(rows: Array) -> None:
    hashes = content_hash(rows)
    assigned = GroupFolds.of(hashes, np.arange(600) // 3, 5, by="x")
    assert (assigned.folds(hashes, 5, 0) != assigned.folds(hashes, 5, 1)).mean() > 0.5


def test_groups_with_a_copy_in_common_are_one(rows: Array) -> None:
    doubled = np.concatenate([rows, rows[:1]])
    hashes = content_hash(doubled)
    groups = np.append(np.arange(600), 599)  # the copy of row 0 belongs to row 599
    folds = GroupFolds.of(hashes, groups, 5, by="x").folds(hashes, 5)
    assert folds[0] == folds[599] == folds[600]


def test_names_of_groups_do_not_matter_and_new_rows_go_by_content(rows: Array) -> None:
    hashes = content_hash(rows)
    numbers = np.arange(600) // 4
    first = GroupFolds.of(hashes, numbers, 5, by="x")
    second = GroupFolds.of(hashes, [f"scene {149 - number}" for number in numbers], 5, by="x")
    np.testing.assert_array_equal(first.folds(hashes, 5), second.folds(hashes, 5))
    new = content_hash(rows + 1)
    np.testing.assert_array_equal(first.folds(new, 5), folds_of_hashes(new, 5))


def test_bad_groups_get_a_sentence(rows: Array) -> None:
    with pytest.raises(InvalidData, match="at least 5 groups, so that some can judge the others, got 2"):
        GroupFolds.of(content_hash(rows), np.arange(600) % 2, 5, by="x")
    with pytest.raises(InvalidData, match="one value for each of the 600 rows"):
        GroupFolds.of(content_hash(rows), np.arange(7), 5, by="x")


def test_classes_of_one_group_are_named() -> None:
    assert groups_of_one_class(np.array([1, 1, 2, 2, 3]), np.array([0, 1, 1, 1, 4])) == [2, 3]


def test_bursts_of_near_copies_with_one_wrong_label_are_found() -> None:
    X, y = (np.asarray(values) for values in load_digits(return_X_y=True))
    X, y = X[:900], y[:900]
    rng = np.random.default_rng(0)
    wrong = rng.choice(900, 90, replace=False)
    labels = y.copy()
    labels[wrong] = (y[wrong] + rng.integers(1, 10, 90)) % 10
    copies = np.repeat(wrong[:30], 7)
    X = np.concatenate([X, X[copies] + 0.3 * rng.normal(size=(len(copies), 64))])
    labels, truth = np.concatenate([labels, labels[copies]]), np.concatenate([y, y[copies]])
    groups = np.concatenate([np.arange(900), copies])
    judge = Judge(n_repeats=1)
    verdict = judge.fit_judge(X, labels, groups=groups)
    assert average_precision_score(labels != truth, -verdict.score) > 0.97
    np.testing.assert_allclose(judge.judge(X, labels).p_clean, verdict.p_clean)  # folds are found again
    assert average_precision_score(labels != truth, -detector("knn").judge(X, labels).score) < 0.8
    assert judge._groups is None
