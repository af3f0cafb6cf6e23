"""Class-relative FINE against a slow loop on FINE's own eigenvectors."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean import FINE
from eigenclean.arrays import Array, Bools
from eigenclean.detect.fine.fine import PRESETS
from eigenclean.detect.fine.relative import FINERelative
from eigenclean.errors import InvalidOption


def noisy_digits(rate: float = 0.3) -> tuple[Array, Array, Array, Bools]:
    X, truth = (np.asarray(array) for array in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    wrong = rng.random(len(truth)) < rate
    return X, np.where(wrong, (truth + rng.integers(1, 10, len(truth))) % 10, truth), truth, wrong


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_slow_loop(preset: str) -> None:
    X, y, _, _ = noisy_digits()
    verdict = FINERelative(preset=preset).judge(X, y)  # type: ignore[arg-type]
    vectors = FINE().fit(X, y).eigenvectors_
    for i in range(0, len(y), 13):
        z = X[i] / np.linalg.norm(X[i]) if preset == "official" else X[i]
        fits = [abs(float(np.dot(u, z))) ** (1 if preset == "official" else 2) for u in vectors]
        other = max(fit for k, fit in enumerate(fits) if k != y[i])
        np.testing.assert_allclose(verdict.score[i], fits[y[i]] - other, rtol=1e-7, atol=1e-9)
        assert verdict.flagged[i] == (int(np.argmax(fits)) != y[i])
        assert verdict.suggested[i] == np.argmax(fits)
        assert (verdict.p_clean[i] > 0.5) == (verdict.score[i] > 0)


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.6])
def test_the_line_holds_at_any_noise(rate: float) -> None:
    X, y, truth, wrong = noisy_digits(rate)
    verdict = FINERelative().judge(X, y)
    assert verdict.flagged[~wrong].mean() < 0.2
    if rate:
        assert verdict.flagged[wrong].mean() > 0.9
        flagged_wrong = verdict.flagged & wrong
        assert (verdict.suggested[flagged_wrong] == truth[flagged_wrong]).mean() > 0.8


def test_pieces_add_up() -> None:
    X, y, _, _ = noisy_digits()
    whole = FINERelative().fit(X, y)
    pieces = FINERelative()
    for rows in np.array_split(np.arange(len(y)), 3):
        pieces.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(pieces.score_samples(X, y), whole.score_samples(X, y), atol=1e-7)
    np.testing.assert_array_equal(pieces.fit_cut(X, y).judge(X, y).flagged, whole.judge(X, y).flagged)


def test_two_classes() -> None:
    X, y, _, _ = noisy_digits()
    two = y < 2
    verdict = FINERelative().judge(X[two], y[two])
    flagged = verdict.flagged
    np.testing.assert_array_equal(verdict.suggested[flagged], 1 - y[two][flagged])
    np.testing.assert_allclose(verdict.suggested_confidence[flagged], 1 - verdict.p_clean[flagged])


def test_other_cuts_and_options() -> None:
    X, y, _, wrong = noisy_digits()
    flagged = FINERelative(cut="gaussian").judge(X, y).flagged
    assert flagged[wrong].mean() > 0.8
    assert flagged[~wrong].mean() < 0.2
    with pytest.raises(InvalidOption, match="preset must be one of"):
        FINERelative(preset="printed").fit(X, y)  # type: ignore[arg-type]


def test_little_memory_beyond_the_features() -> None:
    X = np.random.default_rng(0).random((20_000, 256), dtype=np.float32)
    y = np.arange(20_000) % 100
    fitted = FINERelative().fit(X, y)
    tracemalloc.start()
    try:
        fitted.judge(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * X.nbytes  # 20 000 x 100 alignments in float64 alone would be most of that
