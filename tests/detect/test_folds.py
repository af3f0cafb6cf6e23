"""Folds by content: they depend on the values of a row alone, are even, and independent of the class."""

import numpy as np
from sklearn.datasets import load_digits

from eigenclean.detect.folds import content_folds, content_hash

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))


def test_a_fold_depends_on_the_row_alone() -> None:
    folds, order = content_folds(X, 5), np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(content_folds(X[order], 5), folds[order])
    np.testing.assert_array_equal(content_folds(X[7:8], 5), folds[7:8])
    np.testing.assert_array_equal(content_folds(X.astype(np.float32), 5), folds)
    np.testing.assert_array_equal(content_folds(np.asfortranarray(X), 5), folds)


def test_folds_are_even_and_copies_stay_together() -> None:
    share = np.bincount(content_folds(X, 5), minlength=5) / len(X)
    assert abs(share - 0.2).max() < 0.04
    assert len(set(content_folds(np.repeat(X[:1], 50, axis=0), 5))) == 1
    assert content_folds(np.array([[0.0, 1.0]]), 7) == content_folds(np.array([[-0.0, 1.0]]), 7)


def test_a_fold_says_nothing_about_the_class() -> None:
    folds = content_folds(X, 5)
    counts = np.array([[np.sum((folds == f) & (k == Y)) for k in range(10)] for f in range(5)])
    expected = counts.sum(axis=0) / 5
    assert (((counts - expected) ** 2) / expected).sum() < 80  # chi-square with 36 degrees of freedom


def test_another_seed_gives_other_hashes_and_the_same_seed_the_same() -> None:
    hashes = content_hash(X, 0)
    np.testing.assert_array_equal(content_hash(X, 0), hashes)
    assert (content_hash(X, 1) != hashes).all()
