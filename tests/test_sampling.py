"""Random rows class by class, by properties."""

from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import InvalidOption
from eigenclean.sampling import balanced_subset, held_out

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(np.array)


@settings(max_examples=60)
@given(labels=LABELS, fraction=st.floats(0, 0.99), seed=st.integers(0, 99))
def test_a_hold_out_takes_its_fraction_of_every_class_and_leaves_one(
    labels: np.ndarray[Any, Any], fraction: float, seed: int
) -> None:
    mask = held_out(labels, fraction, seed)
    assert mask.shape == labels.shape and mask.dtype == bool
    for label in np.unique(labels):
        size = int((labels == label).sum())
        assert mask[labels == label].sum() == min(round(fraction * size), size - 1)


@settings(max_examples=30)
@given(labels=LABELS, seed=st.integers(0, 99))
def test_a_hold_out_depends_on_the_classes_and_not_on_their_names(labels: np.ndarray[Any, Any], seed: int) -> None:
    names = np.array(["ape", "bee", "cow", "dog", "elk"])  # in the order of the numbers
    assert np.array_equal(held_out(labels, 0.4, seed), held_out(names[labels], 0.4, seed))
    assert np.array_equal(held_out(labels, 0.4, seed), held_out(labels, 0.4, seed))


def test_every_row_of_a_class_is_held_out_equally_often() -> None:
    labels = np.repeat([0, 1], [8, 4])
    counts = sum(held_out(labels, 0.5, seed).astype(int) for seed in range(400))
    assert isinstance(counts, np.ndarray)
    assert counts.min() > 150 and counts.max() < 250  # 200 ± 5 standard deviations


@settings(max_examples=60)
@given(labels=LABELS, size=st.integers(1, 40), seed=st.integers(0, 99))
def test_a_balanced_subset_has_no_more_of_a_class_than_its_share(
    labels: np.ndarray[Any, Any], size: int, seed: int
) -> None:
    rows = balanced_subset(labels, size, n_classes=5, seed=seed)
    assert len(set(rows.tolist())) == len(rows) <= size
    counts, available = np.bincount(labels[rows], minlength=5), np.bincount(labels, minlength=5)
    assert counts.max() <= ceil(size / 5)
    if size % 5 == 0:  # otherwise which class has one more is a matter of chance
        assert np.array_equal(counts, np.minimum(available, size // 5))
    if (available >= ceil(size / 5)).all():
        assert len(rows) == size


def test_the_rows_of_a_balanced_subset_come_in_random_order() -> None:
    labels = np.repeat(np.arange(4), 50)
    rows = balanced_subset(labels, 100, n_classes=4, seed=0)
    half = np.bincount(labels[rows[:50]], minlength=4)
    assert half.min() >= 5 and not np.array_equal(rows, np.sort(rows))
    assert not np.array_equal(rows, balanced_subset(labels, 100, n_classes=4, seed=1))


@pytest.mark.parametrize(
    ("size", "seed", "message"),
    [
        (0, 0, "subset must be a number of rows from 1, got 0"),
        (2.5, 0, "subset must be a number of rows from 1, got 2.5"),
        (True, 0, "subset must be a number of rows from 1, got True"),
        (3, -1, "seed must be an integer from 0, got -1"),
    ],
)
def test_mistakes_get_a_sentence(size: Any, seed: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=f"layout: {message}"):
        balanced_subset(np.array([0, 1]), size, n_classes=2, seed=seed, by="layout")


@pytest.mark.parametrize("fraction", [-0.1, 1.0, float("nan")])
def test_a_fraction_leaves_something_to_train_on(fraction: float) -> None:
    with pytest.raises(InvalidOption, match="fraction must be from 0 to below 1"):
        held_out(np.array([0, 1]), fraction)
