"""Repeated cross-fitting: few rows are assigned to folds several times, and probabilities are averaged."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_wine
from sklearn.metrics import average_precision_score

from eigenclean import open_source
from eigenclean.detect.folds import content_folds, content_hash, folds_of_hashes
from eigenclean.detect.judge import Judge
from eigenclean.detect.judge.instance_noise import mean_log_odds
from eigenclean.detect.judge.repeats import MAX_REPEATS, default_repeats
from eigenclean.noise import corrupt
from eigenclean.scale.stream import judge_stream

WINE, KINDS = (np.asarray(array) for array in load_wine(return_X_y=True))
NOISY = corrupt(KINDS, "symmetric", 0.2, random_state=0)


class TestFolds:
    def test_repeats_assign_rows_differently_but_always_the_same_way(self) -> None:
        X = np.random.default_rng(0).normal(size=(5000, 3))
        folds = np.stack([content_folds(X, 5, repeat) for repeat in range(4)])
        np.testing.assert_array_equal(folds[2], folds_of_hashes(content_hash(X), 5, 2))
        for first, second in [(0, 1), (1, 2), (0, 3)]:  # independent: one in five agrees
            assert np.mean(folds[first] == folds[second]) == pytest.approx(0.2, abs=0.03)
        shares = np.stack([np.bincount(each, minlength=5) / len(X) for each in folds])
        np.testing.assert_allclose(shares, 0.2, atol=0.03)

    def test_copies_of_a_row_share_a_fold_in_every_repeat(self) -> None:
        X = np.repeat(np.random.default_rng(0).normal(size=(40, 3)), 3, axis=0)
        for repeat in range(3):
            folds = content_folds(X, 5, repeat).reshape(40, 3)
            assert (folds == folds[:, :1]).all()


def test_few_rows_are_repeated_for_users_and_many_are_not(repeated_rows: int) -> None:
    assert default_repeats(100, 3) == MAX_REPEATS
    assert default_repeats(repeated_rows, 3) == 1
    assert default_repeats(repeated_rows // 2, 3) == 2
    assert default_repeats(1000, 500) == 1


def test_log_odds_of_a_mean_of_probabilities() -> None:
    odds = np.random.default_rng(0).normal(scale=4.0, size=(3, 50))
    weights = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(expit(mean_log_odds(list(odds), weights)), weights @ expit(odds), rtol=1e-10)


class TestJudge:
    def test_the_first_repeat_alone_is_the_judge_without_repeats(self) -> None:
        single = Judge(n_repeats=1).fit_judge(WINE, NOISY.labels)
        averaged = Judge(n_repeats=2)
        both = averaged.fit_judge(WINE, NOISY.labels)
        second = expit(
            averaged._repeats[1].model.log_odds(
                averaged._repeats[1].candidates(WINE, np.searchsorted(averaged.classes_, NOISY.labels), None)
            )
        )
        np.testing.assert_allclose(both.p_clean, (single.p_clean + second) / 2, atol=1e-9)
        assert np.abs(second - single.p_clean).max() > 0.01  # otherwise nothing is averaged

    def test_rows_that_were_fitted_get_their_scores_again(self) -> None:
        judge = Judge(n_repeats=3)
        verdict = judge.fit_judge(WINE, NOISY.labels)
        again = judge.judge(WINE[::-1], NOISY.labels[::-1])
        np.testing.assert_allclose(again.p_clean[::-1], verdict.p_clean, atol=1e-9)
        np.testing.assert_array_equal(again.suggested[::-1], verdict.suggested)
        np.testing.assert_allclose(judge.transition_.sum(axis=1), 1.0)
        assert sum(judge.view_weights_.values()) == pytest.approx(1.0)

    def test_the_range_holds_the_estimate(self) -> None:
        judge = Judge(n_repeats=3, views="linear")
        verdict = judge.fit_judge(WINE, NOISY.labels)
        low, high = judge.noise_rate_range_
        assert low - 1e-9 <= np.mean(1 - verdict.p_clean) <= high + 1e-9

    def test_streams_repeat_too(self) -> None:
        options: dict[str, Any] = {"views": "linear,kernel", "n_repeats": 2}
        in_memory = Judge(**options).judge(WINE, NOISY.labels)
        streamed = judge_stream(open_source((WINE, NOISY.labels)), Judge(**options)).verdict
        np.testing.assert_allclose(streamed.p_clean, in_memory.p_clean, atol=1e-6)

    def test_the_ranking_depends_less_on_the_folds(self) -> None:
        """Of averages over two disjoint sets of repeats, compared with single ones."""
        judge = Judge(n_repeats=6, views="linear,kernel").fit(WINE, NOISY.labels)
        codes = np.searchsorted(judge.classes_, NOISY.labels)
        single = np.stack(
            [expit(each.model.log_odds(each.candidates(WINE, codes, None))) for each in judge._repeats]
        )
        halves = single[:3].mean(axis=0), single[3:].mean(axis=0)
        assert np.abs(halves[0] - halves[1]).mean() < np.abs(single[:3] - single[3:]).mean()
        wrong = NOISY.labels != KINDS
        mean_of_single = float(np.mean([average_precision_score(wrong, -each) for each in single]))
        assert average_precision_score(wrong, -single.mean(axis=0)) >= mean_of_single - 0.005

    def test_by_default_few_rows_are_repeated(self, repeated_rows: int) -> None:
        judge = Judge(views="linear").fit(WINE, NOISY.labels)
        assert len(judge._repeats) == MAX_REPEATS
