"""The linear head: out-of-sample logits, calibrated; and what detectors that read logits share."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from eigenclean.arrays import Array, Ints
from eigenclean.detect import DETECTORS
from eigenclean.detect.baselines.head import SHRINKAGES, LinearHead, LogitDetector, _calibrated, margins
from eigenclean.detect.folds import content_folds
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.noise import corrupt

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
NOISY = corrupt(Y, "symmetric", 0.2, random_state=0).labels
KINDS = {name: kind for name, kind in DETECTORS.items() if issubclass(kind, LogitDetector)}


def drawn(n: int = 5000, scale: float = 1.5, seed: int = 0) -> tuple[Array, Ints]:
    """Values, and labels drawn from softmax(scale · values + (0, ½, −½))."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, 3))
    values -= values.mean(axis=1, keepdims=True)
    p = softmax(scale * values + np.array([0.0, 0.5, -0.5]), axis=1)
    return values, np.asarray((p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))


class TestCalibration:
    def test_finds_scale_and_offsets(self) -> None:
        model = _calibrated(*drawn(50_000))
        assert model.scale == pytest.approx(1.5, rel=0.03)
        np.testing.assert_allclose(model.offsets - model.offsets.mean(), [0.0, 0.5, -0.5], atol=0.03)

    def test_nothing_near_is_more_likely(self) -> None:
        values, codes = drawn()
        model = _calibrated(values, codes)

        def likelihood(scale: float, offsets: Array) -> float:
            return float(log_softmax(scale * values + offsets, axis=1)[np.arange(len(codes)), codes].mean())

        best = likelihood(model.scale, model.offsets)
        assert model.log_likelihood == pytest.approx(best, abs=1e-6)
        for step in (-0.01, 0.01):
            assert likelihood(model.scale + step, model.offsets) < best
            for k in range(3):
                assert likelihood(model.scale, model.offsets + step * np.eye(3)[k]) < best

    def test_classes_perfectly_apart_do_not_blow_it_up(self) -> None:
        codes = np.arange(300) % 3
        model = _calibrated(np.eye(3)[codes] - 1 / 3, codes)
        p = softmax(model.scale * (np.eye(3) - 1 / 3) + model.offsets, axis=1)
        assert np.diag(p).min() > 0.99
        assert p.max() < 1 - 1e-4  # 300 samples cannot tell more


class TestLinearHead:
    @pytest.mark.parametrize("shrinkage", [0.003, 0.3])
    def test_no_row_vouches_for_its_own_label(self, shrinkage: float) -> None:
        rng = np.random.default_rng(0)
        wide, y = rng.standard_normal((300, 400)), rng.integers(0, 3, 300)
        # There is room enough to learn any label by heart; one covariance for all folds would give it away.
        head = LinearHead.fit(wide, y, 3, shrinkages=[shrinkage])
        assert np.mean(head.logits(wide).argmax(axis=1) == y) < 0.45

    def test_chooses_the_shrinkage_under_which_labels_are_most_likely(self) -> None:
        rows = np.arange(len(X))
        likelihood = {
            s: log_softmax(LinearHead.fit(X, NOISY, 10, shrinkages=[s]).logits(X), axis=1)[rows, NOISY].mean()
            for s in SHRINKAGES
        }
        assert LinearHead.fit(X, NOISY, 10).shrinkage == max(SHRINKAGES, key=lambda s: likelihood[s])

    def test_logits_are_calibrated_discriminants_of_the_other_folds(self) -> None:
        head, folds = LinearHead.fit(X, NOISY, 10, n_folds=3, shrinkages=[0.03]), content_folds(X, 3)
        unit = np.sqrt(X / X.sum(axis=1, keepdims=True))  # digits are never negative
        Z = unit - unit.mean(axis=0)
        values = np.empty((len(X), 10))
        for fold in range(3):
            z, y = Z[folds != fold], NOISY[folds != fold]
            means = np.stack([z[y == k].mean(axis=0) for k in range(10)])
            within = (z - means[y]).T @ (z - means[y]) / len(z)
            second = z.T @ z / len(z)
            ridge = 0.03 * np.trace(second) / 64 * np.eye(64)
            inverse = np.linalg.inv(0.97 * within + ridge)
            # By so much is the length of a mean too long, over its size; it is much the same for all folds.
            first = Z[folds != 0].T @ Z[folds != 0] / np.sum(folds != 0)
            dimensions = np.trace(np.linalg.solve(0.97 * first + 0.03 * np.trace(first) / 64 * np.eye(64), first))
            lengths = np.vecdot(means @ inverse, means) - dimensions / np.bincount(y)
            values[folds == fold] = Z[folds == fold] @ inverse @ means.T - 0.5 * np.maximum(lengths, 0)
        values -= values.mean(axis=1, keepdims=True)
        expected = head._calibration.scale * values + head._calibration.offsets
        np.testing.assert_allclose(head.logits(X), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(head.probabilities(X), softmax(expected, axis=1), atol=1e-6)

    def test_as_good_as_a_logistic_regression_on_rows_it_has_not_seen(self) -> None:
        head = LinearHead.fit(X[:1200], NOISY[:1200], 10)
        theirs = LogisticRegression(C=0.01, max_iter=2000).fit(X[:1200], NOISY[:1200])
        ours = np.mean(head.logits(X[1200:]).argmax(axis=1) == Y[1200:])
        assert ours > theirs.score(X[1200:], Y[1200:]) - 0.02

    def test_probabilities_are_honest_while_labels_are_right(self) -> None:
        p, hit = LinearHead.fit(X, Y, 10).probabilities(X), np.eye(10, dtype=bool)[Y]
        for low in (0.0, 0.25, 0.5, 0.75):
            inside = (p >= low) & (p < low + 0.25)
            assert hit[inside].mean() == pytest.approx(p[inside].mean(), abs=0.1)

    def test_pieces_and_weights(self) -> None:
        head = LinearHead.fit(X, NOISY, 10)
        np.testing.assert_allclose(head.logits(X[5:50]), head.logits(X)[5:50], rtol=1e-6, atol=1e-6)
        mask = np.arange(len(X)) % 2 == 0
        masked = LinearHead.fit(X, np.where(mask, NOISY, 0), 10, mask.astype(float), shrinkages=[0.1])
        again = LinearHead.fit(X, np.where(mask, NOISY, 5), 10, mask.astype(float), shrinkages=[0.1])
        np.testing.assert_allclose(masked.logits(X), again.logits(X))  # labels without weight are not looked at

    def test_a_class_without_samples_is_unlikely(self) -> None:
        p = LinearHead.fit(X, NOISY, 11).probabilities(X)
        assert np.isfinite(p).all()
        assert p[:, 10].max() < 0.01


def test_margins_equal_a_slow_loop() -> None:
    logits, codes = np.random.default_rng(0).standard_normal((50, 4)), np.arange(50) % 4
    before = logits.copy()
    slow = [row[c] - max(row[j] for j in range(4) if j != c) for row, c in zip(logits, codes, strict=True)]
    np.testing.assert_allclose(margins(logits, codes), slow)
    np.testing.assert_array_equal(logits, before)


@pytest.mark.parametrize("name", sorted(KINDS))
class TestLogitDetectors:
    def test_logits_given(self, name: str) -> None:
        logits = LinearHead.fit(X, NOISY, 10).logits(X)
        given = KINDS[name](head=None).judge(logits, NOISY)
        wrong = NOISY != Y
        assert given.flagged[wrong].mean() > 0.5
        assert given.flagged[~wrong].mean() < 0.1
        # Without features AUM has no head with a threshold class, and CRUST no head to sharpen.
        if name not in ("aum", "crust"):
            fitted = KINDS[name]().judge(X, NOISY)
            np.testing.assert_allclose(given.score, fitted.score, atol=1e-6)
            np.testing.assert_array_equal(given.suggested, fitted.suggested)

    def test_suggests_the_most_probable_other_class(self, name: str) -> None:
        logits = 3 * np.random.default_rng(0).standard_normal((200, 4))
        y = np.where(np.arange(200) % 5 == 0, logits.argmin(axis=1), logits.argmax(axis=1))
        verdict = KINDS[name](head=None).judge(logits, y)
        assert verdict.n_flagged
        for i in np.flatnonzero(verdict.flagged):
            others = [j for j in range(4) if j != y[i]]
            assert verdict.suggested[i] == max(others, key=lambda j: logits[i, j])

    def test_errors(self, name: str) -> None:
        kind = KINDS[name]
        with pytest.raises(InvalidData, match="one column for each of the 10 classes, got 64 columns"):
            kind(head=None).fit(X, Y)
        with pytest.raises(InvalidOption, match=f"{kind.__name__}: head must be 'linear' or None, got 'deep'"):
            kind(head="deep").fit(X, Y)  # type: ignore[arg-type]
        with pytest.raises(InvalidOption, match="n_folds must be a whole number of at least 2, got 1"):
            kind(n_folds=1).fit(X, Y)
        with pytest.raises(InvalidData, match="fitted on 64 features, got 10"):
            kind().fit(X, Y).score_samples(X[:, :10], Y)
