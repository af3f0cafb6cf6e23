"""Measurements of class eigenvectors against loops over samples and NumPy's SVD."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean import FINE, add_noise
from eigenclean.arrays import Array, Bools
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.metrics import (
    alignment_heatmap,
    eigenvalue_spectrum,
    eigenvector_shift,
    fraction_curve,
)
from eigenclean.metrics.class_eigenvectors import largest_eigenpairs, leading_eigenpairs
from eigenclean.seeds import tagged_generator

Noisy = tuple[Array, Array, Bools]


@pytest.fixture(scope="module")
def noisy() -> Noisy:
    """Digits with half of their labels drawn anew: features, given labels, which of them are right."""
    pixels, truth = map(np.asarray, load_digits(return_X_y=True))
    given = add_noise(truth, "symmetric", 0.5)
    return pixels, given, given == truth


@pytest.mark.parametrize(("n", "d", "k"), [(5, 3, 2), (3, 5, 3), (400, 250, 4), (250, 400, 4), (40, 30, 30)])
def test_leading_eigenpairs_are_those_of_the_svd(n: int, d: int, k: int) -> None:
    rows = np.random.default_rng(n).standard_normal((n, d)) + 0.3
    values, vectors = leading_eigenpairs(rows, k)
    _, singular, right = np.linalg.svd(rows, full_matrices=False)
    np.testing.assert_allclose(values, singular[:k] ** 2, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.vecdot(vectors, right[:k])), 1, rtol=1e-6)


def test_the_largest_eigenvalue_is_meant_and_not_the_one_farthest_from_zero() -> None:
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    values = np.concatenate([[-50.0], np.linspace(-1, 2, 299)])
    eigenvalues, vectors = largest_eigenpairs(basis @ np.diag(values) @ basis.T, 1)
    assert eigenvalues[0] == pytest.approx(2)
    assert abs(vectors[0] @ basis[:, -1]) == pytest.approx(1)


def test_alignment_is_what_a_loop_over_angles_finds(noisy: Noisy) -> None:
    X, y, clean = noisy
    result = alignment_heatmap(X, y, clean, n_angles=12, n_planes=1, random_state=5)
    rng = tagged_generator(5, "planes")
    for k, label in enumerate(result.classes):
        rows, across = X[y == label], rng.standard_normal((1, X.shape[1]))[0]
        right = clean[y == label]
        u = np.linalg.svd(rows)[2][0]
        u *= np.sign(u.sum())
        r = across - (across @ u) * u
        r /= np.linalg.norm(r)
        for angle, value in zip(result.angles, result.values[k], strict=True):
            squares = (rows @ (np.cos(angle) * u + np.sin(angle) * r)) ** 2
            assert squares[right].mean() - squares[~right].mean() == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_alignment_has_the_best_direction_as_its_reference(noisy: Noisy) -> None:
    X, y, clean = noisy
    result = alignment_heatmap(X, y, clean)
    assert result.values.shape == result.spread.shape == (10, 72)
    assert (result.values <= result.best[:, None] + 1e-9).all()
    np.testing.assert_allclose(result.values[:, 0], result.at_eigenvector, rtol=1e-9)
    np.testing.assert_allclose(result.values, np.roll(result.values, 36, axis=1), rtol=1e-6, atol=1e-6)  # a and −a
    rows, right = X[y == 3], clean[y == 3]
    moments = rows[right].T @ rows[right] / right.sum() - rows[~right].T @ rows[~right] / (~right).sum()
    assert result.best[3] == pytest.approx(np.linalg.eigvalsh(moments)[-1])
    # On real images the eigenvector tells right from wrong better than any direction of a random plane but itself.
    assert (np.abs(np.cos(result.angles[result.values.argmax(axis=1)])) > 0.95).sum() >= 5


def test_a_class_without_wrong_labels_has_nothing_to_compare() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)) + 1, np.repeat([0, 1], 20)
    clean = (np.arange(40) % 2 == 0) | (y == 0)
    result = alignment_heatmap(X, y, clean)
    assert np.isnan(result.values[0]).all() and np.isfinite(result.values[1]).all()
    assert result.as_dict()["best"][0] is None
    json.dumps(result.as_dict(), allow_nan=False)


def test_classes_do_not_shift_each_others_planes(noisy: Noisy) -> None:
    X, y, clean = noisy
    first = y <= 4
    np.testing.assert_allclose(
        alignment_heatmap(X, y, clean).values[:5], alignment_heatmap(X[first], y[first], clean[first]).values
    )


def test_shift_is_the_sine_between_two_svds(noisy: Noisy) -> None:
    X, y, clean = noisy
    result = eigenvector_shift(X, y, clean)
    for k in range(10):
        all_rows = np.linalg.svd(X[y == k])[2]
        right = np.linalg.svd(X[(y == k) & clean])[2]
        for c in (0, 1):
            cosine = all_rows[c] @ right[c]
            assert result.perturbation[c, k] == pytest.approx(np.sqrt(1 - cosine**2), abs=1e-9)
    np.testing.assert_allclose(result.mean, result.perturbation.mean(axis=1))
    np.testing.assert_allclose(result.std, result.perturbation.std(axis=1))
    assert result.mean[0] < result.mean[1]  # the first eigenvector stands firmer, as the paper says


def test_without_wrong_labels_nothing_turns(noisy: Noisy) -> None:
    X, y, _ = noisy
    result = eigenvector_shift(X, y, np.ones(len(y), dtype=bool))
    assert result.perturbation.max() < 1e-6


def test_a_class_without_right_labels_is_left_out_of_the_mean() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 5)) + 1, np.repeat(["a", "b", "c"], 20)
    clean = (y != "b") & (np.arange(60) % 2 == 0)
    result = eigenvector_shift(X, y, clean)
    assert np.isnan(result.perturbation[:, 1]).all()
    assert np.isfinite(result.mean).all()
    assert result.as_dict()["perturbation"][0][1] is None
    with pytest.raises(InvalidData, match="no class has 2 right labels"):
        eigenvector_shift(X, y, np.zeros(60, dtype=bool))


def test_spectrum_is_that_of_the_singular_values(noisy: Noisy) -> None:
    X, y, _ = noisy
    result = eigenvalue_spectrum(X, y, k=5)
    for k in range(10):
        squares = np.linalg.svd(X[y == k], compute_uv=False) ** 2
        np.testing.assert_allclose(result.values[k], squares[:5], rtol=1e-9)
        np.testing.assert_allclose(result.shares[k], squares[:5] / squares.sum(), rtol=1e-9)
    assert eigenvalue_spectrum(X, y, k=100).values.shape == (10, 64)
    assert eigenvalue_spectrum(X, y, k=64).shares.sum(axis=1) == pytest.approx(np.ones(10))


def test_spectrum_of_fewer_samples_than_asked_for() -> None:
    result = eigenvalue_spectrum(np.eye(4)[:3] * [3, 2, 1, 1], ["a", "a", "b"], k=4)
    assert result.values.tolist() == [[9, 4, 0, 0], [1, 0, 0, 0]]


def test_fraction_curve_takes_the_sizes_that_fine_does(noisy: Noisy) -> None:
    X, y, _ = noisy
    result = fraction_curve(X, y, fractions=[0.001, 0.1, 1.0], draws=3)
    counts = np.bincount(y)
    assert result.sizes == pytest.approx([2, np.ceil(0.1 * counts).mean(), counts.mean()])
    assert result.cosine[2] == pytest.approx(1)
    assert result.cosine[0] < result.cosine[1] < result.cosine[2]
    assert (result.low <= result.cosine + 1e-12).all() and (result.cosine <= result.high + 1e-12).all()
    np.testing.assert_allclose(result.by_class.mean(axis=1), result.cosine)


def test_fraction_curve_agrees_with_fine_on_a_subset(noisy: Noisy) -> None:
    X, y, _ = noisy
    whole, some = FINE().fit(X, y), FINE(subset=0.2).fit(X, y)
    measured = np.abs(np.vecdot(whole.eigenvectors_, some.eigenvectors_)).mean()
    result = fraction_curve(X, y, fractions=[0.2], draws=20)
    assert measured == pytest.approx(result.cosine[0], abs=0.01)


def test_labels_may_be_strings_and_features_small_floats(noisy: Noisy) -> None:
    X, y, clean = noisy
    names = np.array([f"digit {number}" for number in range(10)])[y]
    half = X.astype(np.float16)
    first, second = eigenvector_shift(X, y, clean), eigenvector_shift(half, names, clean)
    np.testing.assert_allclose(second.perturbation, first.perturbation, atol=1e-3)
    assert second.classes[0] == "digit 0"


@pytest.mark.parametrize("permuted", [True, False])
def test_the_order_of_rows_does_not_matter(noisy: Noisy, permuted: bool) -> None:
    X, y, clean = noisy
    order = np.random.default_rng(0).permutation(len(y)) if permuted else np.arange(len(y))
    again = alignment_heatmap(X[order], y[order], clean[order], n_planes=2)
    np.testing.assert_allclose(
        again.values, alignment_heatmap(X, y, clean, n_planes=2).values, rtol=1e-8, atol=1e-7
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y, c: alignment_heatmap(X, y, c, n_angles=0), "n_angles and n_planes must be at least 1"),
        (lambda X, y, c: alignment_heatmap(X, y, c[:5]), "is_clean must have one value for each of"),
        (lambda X, y, c: alignment_heatmap(X * np.nan, y, c), "features must be finite"),
        (lambda X, y, c: eigenvector_shift(X, y[:5], c), "features and labels must have equal length"),
        (lambda X, y, c: eigenvector_shift(X, y, c, components=[0]), "components must be 1 or more"),
        (
            lambda X, y, c: eigenvector_shift(X, y, c, components=[99]),
            "component 99 needs as many features, got 64",
        ),
        (lambda X, y, c: eigenvalue_spectrum(X, y, k=0), "k must be at least 1, got 0"),
        (lambda X, y, c: fraction_curve(X, y, fractions=[0.0]), "fractions must be above 0 and at most 1"),
        (lambda X, y, c: fraction_curve(X, y, draws=0), "draws must be at least 1, got 0"),
    ],
)
def test_bad_input_gets_a_sentence(noisy: Noisy, call: object, words: str) -> None:
    with pytest.raises(EigencleanError, match=words) as caught:
        call(*noisy)  # type: ignore[operator]
    assert isinstance(caught.value, InvalidData | InvalidOption)
