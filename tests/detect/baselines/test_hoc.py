"""HOC: the slope against differences, and transition matrices that are known."""

import numpy as np
import pytest

from eigenclean.arrays import Array, Ints
from eigenclean.detect.baselines.hoc import _consensus, _loss, _SymmetrisedTable, estimate_noise


def triples(T: Array, p: Array, n: int, seed: int = 0) -> Ints:
    """Three given labels of the same true class, n times."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(p), n, p=p)
    return np.stack([(rng.random((n, 1)) > T[truth].cumsum(axis=1)).sum(axis=1) for _ in range(3)], axis=1)


def symmetric(k: int, rate: float) -> Array:
    return np.full((k, k), rate / (k - 1)) + (1 - rate - rate / (k - 1)) * np.eye(k)


@pytest.mark.parametrize("orders", [1, 2, 3])
def test_loss_and_slope(orders: int) -> None:
    rng = np.random.default_rng(0)
    k = 4
    T, p = rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(k))
    tables = [rng.random((k,) * order) for order in range(1, orders + 1)]  # not symmetric

    def slow(T: Array, p: Array) -> float:
        models = [
            np.einsum("i,ij->j", p, T),
            np.einsum("i,ij,il->jl", p, T, T),
            np.einsum("i,ij,il,im->jlm", p, T, T, T),
        ]
        return float(sum(np.sqrt(((m - t) ** 2).sum()) for m, t in zip(models, tables, strict=False)))

    loss, slope = _loss(T, p, [_SymmetrisedTable.of(table) for table in tables])
    assert loss == pytest.approx(slow(T, p))
    step = 1e-6
    for i in range(k):
        for j in range(k):
            moved = T.copy()
            moved[i, j] += step
            assert slope[i, j] == pytest.approx((slow(moved, p) - slow(T, p)) / step, abs=1e-4)
        moved = p.copy()
        moved[i] += step
        assert slope[-1, i] == pytest.approx((slow(T, moved) - slow(T, p)) / step, abs=1e-4)


# With two classes, half of them wrong is as good as any matrix: nothing could be found.
@pytest.mark.parametrize(
    ("k", "rate"), [(2, 0.0), (2, 0.2), (5, 0.0), (5, 0.2), (5, 0.5), (10, 0.0), (10, 0.2), (10, 0.5)]
)
def test_symmetric_noise(k: int, rate: float) -> None:
    T = symmetric(k, rate)
    result = estimate_noise(triples(T, np.full(k, 1 / k), 14_000), k)
    np.testing.assert_allclose(result.transition, T, atol=0.06)
    np.testing.assert_allclose(result.prior, 1 / k, atol=0.03)


def test_any_matrix_and_imbalance() -> None:
    T = np.array([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.4, 0.0, 0.6]])
    p = np.array([0.5, 0.3, 0.2])
    labels = triples(T, p, 15_000)
    result = estimate_noise(labels, 3)
    np.testing.assert_allclose(result.transition, T, atol=0.05)
    np.testing.assert_allclose(result.prior, p, atol=0.03)
    given = np.bincount(labels[:, 0]) / 15_000
    np.testing.assert_allclose(result.p_right(given), np.diag(T) * p / (p @ T), atol=0.06)


def test_many_classes_use_pairs() -> None:
    T, p = symmetric(40, 0.3), np.full(40, 1 / 40)
    labels = triples(T, p, 14_000)
    assert len(_consensus(labels, 40, 1, 15_000, np.random.default_rng(0))) == 2
    result = estimate_noise(labels, 40)
    assert abs(np.diag(result.transition).mean() - 0.7) < 0.08


def test_draws() -> None:
    labels = triples(symmetric(3, 0.3), np.full(3, 1 / 3), 5_000)
    every = _consensus(labels, 3, 10, 5_000, np.random.default_rng(0))
    some = _consensus(labels, 3, 10, 2_000, np.random.default_rng(0))
    for order, (a, b) in enumerate(zip(every, some, strict=True), start=1):
        assert a.shape == (3,) * order
        assert a.sum() == pytest.approx(1)
        assert b.sum() == pytest.approx(1)
        assert 0 < np.abs(a - b).max() < 0.02
    count = np.zeros((3, 3))
    for row in labels:
        count[row[0], row[1]] += 1 / len(labels)
    np.testing.assert_allclose(every[1], count)
    first, other = (estimate_noise(labels, 3, draw_size=1000, random_state=s).transition for s in (0, 1))
    assert np.abs(first - other).max() > 0
    np.testing.assert_array_equal(first, estimate_noise(labels, 3, draw_size=1000).transition)
