"""Small loss against scikit-learn's mixture, with the settings of DivideMix."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.mixture import GaussianMixture

from eigenclean.detect.baselines.head import LinearHead
from eigenclean.detect.baselines.small_loss import SharedMixtureCut, SmallLoss
from eigenclean.detect.cuts import GaussianCut
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
NOISY = corrupt(Y, "symmetric", 0.2, random_state=1)


def test_the_score_is_minus_the_cross_entropy() -> None:
    scores = SmallLoss().fit(X, NOISY.labels).score_samples(X, NOISY.labels)
    p = LinearHead.fit(X, NOISY.labels, 10).probabilities(X)
    np.testing.assert_allclose(scores, [np.log(p[i, c]) for i, c in enumerate(NOISY.labels)], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(-scores.mean(), log_loss(NOISY.labels, p))


def test_the_decision_is_the_one_of_dividemix() -> None:
    detector = SmallLoss()
    verdict = detector.judge(X, NOISY.labels)
    loss = -verdict.score
    scaled = ((loss - loss.min()) / (loss.max() - loss.min()))[:, None]
    mixture = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0).fit(scaled)
    p = np.asarray(mixture.predict_proba(scaled))[:, int(np.argmin(np.asarray(mixture.means_)))]
    assert np.mean((p > 0.5) == ~verdict.flagged) > 0.98
    assert np.abs(p - verdict.p_clean).mean() < 0.05


def test_one_boundary_for_all_classes() -> None:
    verdict = SmallLoss().judge(X, NOISY.labels)
    assert verdict.score[verdict.flagged].max() < verdict.score[~verdict.flagged].min()
    of_each = SmallLoss(cut=GaussianCut(split="always")).judge(X, NOISY.labels)
    assert of_each.score[of_each.flagged].max() > of_each.score[~of_each.flagged].min()


def test_p_rises_with_the_score_far_beyond_what_was_seen() -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(-0.2, 0.1, 300), rng.normal(-3.0, 1.5, 100)])
    cut = SharedMixtureCut().fit(scores, np.arange(400) % 3, 3)
    grid = np.linspace(-20.0, 5.0, 1001)
    for k in range(3):
        p = cut.p_clean(grid, np.full(1001, k))
        assert (np.diff(p) >= -1e-12).all()
        assert p[0] < 0.01
        assert p[-1] > 0.9


def test_digits() -> None:
    quality = score_verdict(SmallLoss().judge(X, NOISY.labels), NOISY.truth)
    assert quality.f > 0.96
    assert quality.auroc is not None and quality.auroc > 0.99
