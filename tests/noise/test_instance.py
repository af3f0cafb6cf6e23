"""Instance-dependent noise against a slow reading of its definition."""

from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.noise import add_noise, corrupt
from eigenclean.noise.instance import Instance, _flip_rates, _label_distribution, _mean_and_deviation

RNG = np.random.default_rng(0)
N, D, K = 4000, 12, 5
X = RNG.standard_normal((N, D))
Y = RNG.integers(K, size=N)


def slow_shares(x: Float64s, weights: Float64s, y: int, q: float) -> Float64s:
    a = x @ weights
    a[y] = -1e6
    shares = np.exp(a - a.max()) / np.exp(a - a.max()).sum() * q
    shares[y] = 1 - q
    return np.asarray(shares / shares.sum())


def test_shares_follow_the_definition_row_by_row() -> None:
    weights, rates = RNG.standard_normal((D, K)), RNG.random(50)
    expected = [slow_shares(X[i], weights, int(Y[i]), float(rates[i])) for i in range(50)]
    np.testing.assert_allclose(_label_distribution(X[:50] @ weights, Y[:50], rates), expected, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"standardise": True}, {"per_class": True}])
@pytest.mark.parametrize("rate", [0.2, 0.4, 0.6])
def test_the_true_rate_is_the_rate(rate: float, options: dict[str, Any]) -> None:
    assert corrupt(Y, "instance", rate, features=X, **options).true_rate == pytest.approx(rate, abs=0.04)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5, 1.0])
def test_flip_rates_are_shares_around_the_rate(rate: float) -> None:
    rates = _flip_rates(20_000, rate, 0.1, np.random.default_rng(1))
    assert 0 <= rates.min() <= rates.max() <= 1
    slow = np.random.default_rng(2).normal(rate, 0.1, 200_000)
    slow = slow[(slow >= 0) & (slow <= 1)]
    assert rates.mean() == pytest.approx(slow.mean(), abs=0.005)
    assert rates.std() == pytest.approx(slow.std(), abs=0.005)


def test_equal_samples_are_taken_for_the_same_class() -> None:
    pixels = np.full((3000, 48), 128, dtype=np.uint8)
    labels = np.arange(3000) % 3
    noisy = add_noise(labels, "instance", 0.5, features=pixels, classes=range(6))
    wrong = noisy != labels
    assert wrong.mean() == pytest.approx(0.5, abs=0.05)
    # On raw pixels one class attracts everything, except its own samples.
    assert len({(a, b) for a, b in zip(labels[wrong].tolist(), noisy[wrong].tolist(), strict=True)}) <= 4


def test_standardised_pixels_spread_the_flips() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (4000, 192), dtype=np.uint8)

    def share_of_favourite(**options: Any) -> float:
        noisy = add_noise(Y, "instance", 0.5, features=pixels, **options)
        return float(np.bincount(noisy[noisy != Y]).max() / np.count_nonzero(noisy != Y))

    assert share_of_favourite() > 0.5
    assert share_of_favourite(standardise=True) < 0.35


def test_mean_and_deviation() -> None:
    table = np.column_stack([X, np.full(N, 7.0)]).astype(np.float32)
    mean, deviation = _mean_and_deviation(table)
    np.testing.assert_allclose(mean, table.mean(axis=0, dtype=np.float64), atol=1e-9)
    np.testing.assert_allclose(deviation[:-1], table.std(axis=0, dtype=np.float64)[:-1], rtol=1e-9)
    assert deviation[-1] == 1  # a constant feature divides nothing


def test_one_map_per_class_sends_the_same_sample_different_ways() -> None:
    same = np.tile(100 * RNG.standard_normal(D), (N, 1))

    def n_favourites(**options: Any) -> int:
        noisy = add_noise(Y, "instance", 0.5, features=same, random_state=4, **options)
        return len(set(noisy[noisy != Y].tolist()))

    assert n_favourites() == 2
    assert n_favourites(per_class=True) > 2


@pytest.mark.parametrize("options", [{}, {"standardise": True, "per_class": True}])
def test_the_size_of_the_chunks_does_not_matter(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    whole = add_noise(Y, "instance", 0.4, features=X, **options)
    monkeypatch.setattr(
        "eigenclean.noise.instance.row_chunks",
        lambda n_rows, row_bytes: [slice(i, min(i + 97, n_rows)) for i in range(0, n_rows, 97)],
    )
    np.testing.assert_array_equal(add_noise(Y, "instance", 0.4, features=X, **options), whole)


def test_images_are_rows_of_pixels() -> None:
    images = RNG.integers(0, 256, (60, 4, 4, 3), dtype=np.uint8)
    labels = np.arange(60) % 3
    np.testing.assert_array_equal(
        add_noise(labels, "instance", features=images),
        add_noise(labels, "instance", features=images.reshape(60, -1)),
    )


@pytest.mark.parametrize("features", [X[:10], np.full((N, 2), np.nan), Y.astype(str)[:, None]])
def test_features_are_checked(features: Any) -> None:
    with pytest.raises(InvalidData, match="instance noise: "):
        add_noise(Y, "instance", features=features)


@pytest.mark.parametrize("spread", [-0.1, 2, "wide"])
def test_spread_is_a_share(spread: Any) -> None:
    with pytest.raises(InvalidOption, match="instance noise: spread must be a number from 0 to 1"):
        Instance(spread=spread)


def test_without_spread_at_full_rate_every_label_is_wrong() -> None:
    assert corrupt(Y, "instance", 1.0, features=X, spread=0.0).true_rate == 1.0
