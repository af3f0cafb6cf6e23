"""The judge as a whole: digits with noise, many classes, rows that it has not seen, and options."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean.detect.judge import Judge
from eigenclean.errors import InvalidOption
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt

X, Y = (np.asarray(part) for part in load_digits(return_X_y=True))


class TestJudge:
    @pytest.mark.parametrize(
        ("rate", "least_f", "least_auroc"), [(0.2, 0.98, 0.99), (0.5, 0.96, 0.98), (0.8, 0.88, 0.92)]
    )
    def test_digits(self, rate: float, least_f: float, least_auroc: float) -> None:
        noisy = corrupt(Y, "symmetric", rate, random_state=1)
        quality = score_verdict(Judge().judge(X, noisy.labels), noisy.truth)
        assert quality.f > least_f
        assert quality.auroc is not None and quality.auroc > least_auroc
        assert quality.ece < 0.06
        assert quality.suggestion_accuracy is not None and quality.suggestion_accuracy > 0.85
        assert quality.estimated_noise_rate == pytest.approx(quality.noise_rate, abs=0.05)

    def test_clean_labels_are_left_alone(self) -> None:
        assert Judge().judge(X, Y).flagged.mean() <= 0.01

    def test_the_transition_matrix_shows_where_labels_went(self) -> None:
        noisy = corrupt(Y, "pair", 0.3, random_state=0)
        judge = Judge().fit(X, noisy.labels)
        for k in range(10):
            row = judge.transition_[k].copy()
            assert row[k] > 0.5
            row[k] = 0
            assert row.argmax() == (k + 1) % 10

    def test_rows_it_has_not_seen(self) -> None:
        noisy = corrupt(Y, "symmetric", 0.2, random_state=0)
        judge = Judge().fit(X[:1400], noisy.labels[:1400])
        verdict = judge.judge(X[1400:], noisy.labels[1400:])
        wrong = noisy.labels[1400:] != Y[1400:]
        assert verdict.flagged[wrong].mean() > 0.85
        assert verdict.flagged[~wrong].mean() < 0.1

    def test_judging_again_in_pieces_changes_nothing(self) -> None:
        noisy = corrupt(Y, "symmetric", 0.2, random_state=0)
        judge = Judge().fit(X, noisy.labels)
        whole = judge.p_clean(X, noisy.labels)
        parts = [judge.p_clean(X[part], noisy.labels[part]) for part in (slice(0, 333), slice(333, None))]
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-4)

    def test_a_small_class_is_judged_by_its_samples(self) -> None:
        keep = (Y != 3) | (np.cumsum(Y == 3) <= 12)
        verdict = Judge().judge(X[keep], Y[keep])
        assert verdict.flagged[Y[keep] == 3].mean() < 0.5

    @pytest.mark.parametrize("options", [{"n_folds": 1}, {"rounds": 0}, {"threshold": 2.0}])
    def test_bad_options(self, options: dict[str, float]) -> None:
        with pytest.raises(InvalidOption, match=next(iter(options))):
            Judge(**options).fit(X, Y)  # type: ignore[arg-type]

    def test_labels_of_very_many_classes_are_judged(self) -> None:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(260, 24))
        right = np.repeat(np.arange(260), 12)
        features = centres[right] + 0.3 * rng.normal(size=(len(right), 24))
        noisy = corrupt(right, "symmetric", 0.2, random_state=0)
        judge = Judge()
        quality = score_verdict(judge.judge(features, noisy.labels), noisy.truth)
        assert quality.f > 0.97
        assert judge.transition_.shape == (260, 260)
        np.testing.assert_allclose(judge.transition_.sum(axis=1), 1, rtol=1e-6)

    def test_the_old_name_of_the_instance_noise_rate(self) -> None:
        judge = Judge(rounds=2).fit(X, Y)
        with pytest.warns(DeprecationWarning, match="instance_noise_rate_"):
            assert judge.glances_ == judge.instance_noise_rate_
