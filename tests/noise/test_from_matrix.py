"""Transition noise: the matrix that comes out is the one that went in."""

from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidOption
from eigenclean.noise import add_noise
from eigenclean.noise.base import pick_columns
from eigenclean.noise.class_conditional import Transition

MATRIX = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])
LABELS = np.repeat([0, 1, 2], [1000, 400, 200])


def counts(noisy: Any) -> Any:
    table = np.zeros((3, 3), dtype=int)
    np.add.at(table, (LABELS, noisy), 1)
    return table


def test_exact_shares_are_met_to_the_label() -> None:
    expected = [[700, 200, 100], [0, 400, 0], [50, 50, 100]]
    np.testing.assert_array_equal(counts(add_noise(LABELS, "transition", matrix=MATRIX, exact=True)), expected)


def test_exact_shares_are_met_in_random_rows() -> None:
    first, two = (add_noise(LABELS, "transition", matrix=MATRIX, exact=True, random_state=s) for s in (0, 1))
    assert (first != two).any()
    assert (first[:500] == 0).mean() == pytest.approx(0.7, abs=0.1)


def test_independent_draws_follow_the_matrix() -> None:
    observed = sum(counts(add_noise(LABELS, "transition", matrix=MATRIX, random_state=s)) for s in range(30)) / 30
    expected = MATRIX * np.array([[1000], [400], [200]])
    np.testing.assert_allclose(observed, expected, atol=15)
    np.testing.assert_array_equal(observed[MATRIX == 0], 0)


def test_the_identity_changes_nothing() -> None:
    np.testing.assert_array_equal(add_noise(LABELS, "transition", matrix=np.eye(3)), LABELS)


def test_more_rows_than_one_chunk_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = add_noise(LABELS, "transition", matrix=MATRIX)
    sizes: list[int] = []

    def small_chunks(n_rows: int, row_bytes: int) -> list[slice]:
        sizes.append(row_bytes)
        return [slice(start, min(start + 7, n_rows)) for start in range(0, n_rows, 7)]

    monkeypatch.setattr("eigenclean.noise.class_conditional.row_chunks", small_chunks)
    np.testing.assert_array_equal(add_noise(LABELS, "transition", matrix=MATRIX), whole)
    assert sizes == [24]


def test_a_share_of_zero_is_never_drawn_at_either_end() -> None:
    weights = np.array([[0.1] * 10 + [0.0]])  # ten tenths do not sum to one
    last = np.nextafter(1.0, 0.0)
    assert pick_columns(weights, np.array([last])).tolist() == [9]
    assert pick_columns(np.array([[0.0, 1.0]]), np.array([0.0])).tolist() == [1]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)) / 3, r"must be square, at least 2 x 2, got shape \(2, 3\)"),
        (np.ones(3), r"must be square, at least 2 x 2, got shape \(3,\)"),
        ([[1.0]], "at least 2 x 2"),
        ([[1.5, -0.5], [0, 1]], "must not be negative or NaN, but row 0 is"),
        ([[1, 0], [np.nan, 1]], "must not be negative or NaN, but row 1 is"),
        ([[1, 0], [0.3, 0.3]], "must have sum 1, row 1 has 0.6"),
        ([[1, 0], [np.inf, 1]], "must have sum 1, row 1 has inf"),
        ([[1, 0], [1]], "square table of numbers"),
        ("identity", "square table of numbers"),
        (np.eye(4), "matrix must be 3 x 3, one row per class, got 4 x 4"),
    ],
)
def test_what_is_no_transition_is_explained(matrix: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        add_noise(LABELS, "transition", matrix=matrix)


def test_equal_matrices_make_equal_noises() -> None:
    assert Transition(MATRIX) == Transition(MATRIX.tolist())
    assert Transition(MATRIX) != Transition(np.eye(3))
    assert repr(Transition(np.eye(2))) == "Transition(matrix=((1.0, 0.0), (0.0, 1.0)), exact=False)"
    assert repr(Transition(np.eye(100))) == "Transition(matrix=<100 x 100>, exact=False)"
