"""Rankings against scikit-learn, with ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from eigenclean.metrics.detection import auroc, average_precision, dense_rank

rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.booleans()), min_size=2, max_size=60).filter(
    lambda rows: len({positive for *_, positive in rows}) == 2
)


@given(rows=rows)
def test_both_figures_are_those_of_scikit_learn(rows: list[tuple[int, int, bool]]) -> None:
    first, then, positive = np.array(rows).T
    together = 10 * first + then  # the same order in one number
    rank = dense_rank(first.astype(float), then.astype(float))
    np.testing.assert_array_equal(rank, np.unique(together, return_inverse=True)[1])
    assert auroc(rank, positive == 1) == pytest.approx(roc_auc_score(positive, together))
    assert average_precision(rank, positive == 1) == pytest.approx(average_precision_score(positive, together))


def test_many_rows_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(300_000) < 0.5
    value = rng.random(300_000).astype(np.float32) + positive * np.float32(0.3)
    assert auroc(dense_rank(value), positive) == pytest.approx(roc_auc_score(positive, value), abs=1e-12)


def test_infinite_scores_can_be_ranked() -> None:
    assert dense_rank(np.array([np.inf, 0.0, -np.inf, np.inf])).tolist() == [2, 1, 0, 2]


def test_one_kind_only() -> None:
    rank = np.array([0, 1, 2])
    assert auroc(rank, np.array([True] * 3)) is None
    assert auroc(rank, np.array([False] * 3)) is None
    assert average_precision(rank, np.array([False] * 3)) is None
    assert average_precision(rank, np.array([True] * 3)) == 1
