"""The judge as a whole: digits with noise, many classes, rows that it has not seen, and options."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine, make_classification, make_moons

from eigenclean import open_source
from eigenclean.arrays import Array
from eigenclean.detect.judge import Judge
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt
from eigenclean.scale.stream import judge_stream

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
WINE, KINDS = (np.asarray(array) for array in load_wine(return_X_y=True))
NOISY = corrupt(KINDS, "symmetric", 0.2, random_state=0)
ALL = "linear,kernel,neighbours,trees"


class TestJudge:
    @pytest.mark.parametrize(
        ("rate", "least_f", "least_auroc"),
        [
            (0.2, 0.98, 0.99),
            pytest.param(0.5, 0.96, 0.98, marks=pytest.mark.slow),
            pytest.param(0.8, 0.88, 0.92, marks=pytest.mark.slow),
        ],
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
        judge = Judge(views="linear").fit(X, noisy.labels)
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

    def test_a_small_class_is_judged_by_its_samples(self) -> None:
        keep = (Y != 3) | (np.cumsum(Y == 3) <= 12)
        verdict = Judge().judge(X[keep], Y[keep])
        assert verdict.flagged[Y[keep] == 3].mean() < 0.5

    @pytest.mark.parametrize(
        "options", [{"n_folds": 2}, {"rounds": 0}, {"threshold": 2.0}, {"views": 3}, {"n_repeats": 0}]
    )
    def test_bad_options(self, options: dict[str, float]) -> None:
        with pytest.raises(InvalidOption, match=next(iter(options))):
            Judge(**options).fit(X, Y)  # type: ignore[arg-type]

    def test_labels_of_very_many_classes_are_judged(self) -> None:
        rng = np.random.default_rng(0)
        k = 201
        centres = rng.normal(size=(k, 24))
        right = np.repeat(np.arange(k), 9)
        features = centres[right] + 0.3 * rng.normal(size=(len(right), 24))
        noisy = corrupt(right, "symmetric", 0.2, random_state=0)
        judge = Judge(views="linear,neighbours")
        quality = score_verdict(judge.judge(features, noisy.labels), noisy.truth)
        assert quality.f > 0.97
        assert quality.estimated_noise_rate == pytest.approx(0.2, abs=0.02)
        assert judge.transition_.shape == (k, k)
        np.testing.assert_allclose(judge.transition_.sum(axis=1), 1, rtol=1e-6)

    def test_the_old_name_of_the_instance_noise_rate(self) -> None:
        judge = Judge(views="linear").fit(WINE, NOISY.labels)
        with pytest.warns(DeprecationWarning, match="instance_noise_rate_"):
            assert judge.glances_ == judge.instance_noise_rate_


@pytest.mark.parametrize("views", [ALL, "linear", "neighbours", "trees"])
def test_every_view_judges_and_judges_again(views: str) -> None:
    names = views.split(",")
    judge = Judge(views=views)
    verdict = judge.fit_judge(WINE, NOISY.labels)
    quality = score_verdict(verdict, NOISY.truth)
    assert quality.average_precision is not None and quality.average_precision > 0.85
    assert quality.suggestion_accuracy is not None and quality.suggestion_accuracy > 0.9

    assert list(judge.view_weights_) == names
    assert sum(judge.view_weights_.values()) == pytest.approx(1)
    assert min(judge.view_weights_.values()) >= 0
    assert list(judge.shrinkages_) == [name for name in names if name in ("linear", "kernel")]
    low, high = judge.noise_rate_range_
    assert 0 <= low <= high <= 1
    np.testing.assert_allclose(judge.transition_.sum(axis=1), 1)

    twice = Judge(views=views).fit(WINE, NOISY.labels)
    again = twice.judge(WINE, NOISY.labels)
    np.testing.assert_allclose(again.score, verdict.score, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(again.suggested, verdict.suggested)
    np.testing.assert_array_equal(again.flagged, verdict.flagged)
    assert again.made_by == verdict.made_by

    parts = [twice.p_clean(WINE[rows], NOISY.labels[rows]) for rows in (slice(0, 33), slice(33, None))]
    np.testing.assert_allclose(np.concatenate(parts), verdict.p_clean, atol=1e-4)


class TestBlocks:
    def test_blocks_change_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        views = "linear,neighbours,trees"
        whole = Judge(views=views).judge(WINE, NOISY.labels)
        monkeypatch.setattr("eigenclean.detect.blocks.BLOCK_ROWS", 50)
        judge = Judge(views=views)
        blocks = judge.judge(WINE, NOISY.labels)
        np.testing.assert_allclose(blocks.p_clean, whole.p_clean, atol=1e-3)
        np.testing.assert_allclose(judge.p_clean(WINE, NOISY.labels), blocks.p_clean, atol=1e-3)

    @pytest.mark.parametrize("views", ["auto", "linear", "neighbours"])
    def test_the_order_of_the_rows_does_not_matter(self, views: str) -> None:
        order = np.random.default_rng(0).permutation(len(WINE))
        weight = np.random.default_rng(1).random(len(WINE))
        verdict = Judge(views=views, n_repeats=1).fit_judge(WINE, NOISY.labels, weight)
        shuffled = Judge(views=views, n_repeats=1).fit_judge(WINE[order], NOISY.labels[order], weight[order])
        np.testing.assert_array_equal(shuffled.score, verdict.score[order])
        assert shuffled.suggested.tolist() == verdict.suggested[order].tolist()

    def test_not_even_with_few_rows_of_many_columns(self) -> None:
        """Views are then so alike that the last digits of sums would decide how much each counts."""
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 3, 150)
        wide = (rng.normal(size=(3, 600))[codes] + 4 * rng.normal(size=(150, 600))).astype(np.float32)
        codes[:20] = (codes[:20] + 1) % 3
        order = rng.permutation(150)
        verdict = Judge(n_repeats=1).judge(wide, codes)
        assert 0.05 < verdict.p_clean.mean() < 0.98
        np.testing.assert_array_equal(
            Judge(n_repeats=1).judge(wide[order], codes[order]).p_clean, verdict.p_clean[order]
        )

    def test_suggestions_of_the_fit_are_those_of_the_fitted_judge(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("eigenclean.detect.blocks.BLOCK_ROWS", 50)  # suggestions come block by block
        judge = Judge(views="linear,trees")
        fitted = judge.fit_judge(WINE, NOISY.labels)
        again = judge.judge(WINE, NOISY.labels)
        assert fitted.flagged.any() and fitted.suggested.tolist() == again.suggested.tolist()
        np.testing.assert_allclose(fitted.suggested_confidence, again.suggested_confidence, atol=1e-4)

    def test_streams_use_views_that_are_sums(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("eigenclean.detect.blocks.BLOCK_ROWS", 50)
        streamed = judge_stream(open_source((WINE, NOISY.labels)), Judge())
        expected = Judge(views="linear,kernel").judge(WINE, NOISY.labels)
        np.testing.assert_allclose(streamed.verdict.p_clean, expected.p_clean, atol=1e-4)

    @pytest.mark.parametrize(("views", "name"), [(ALL, "neighbours"), ("linear,trees", "trees")])
    def test_streams_name_a_view_that_they_cannot_use(self, views: str, name: str) -> None:
        with pytest.raises(InvalidOption, match=f"{name} needs all rows in memory"):
            judge_stream(open_source((WINE, NOISY.labels)), Judge(views=views))


class TestShapes:
    """What linear discriminants cannot see."""

    def test_two_moons(self) -> None:
        features, right = make_moons(800, noise=0.15, random_state=0)
        noisy = corrupt(right, "symmetric", 0.4, random_state=0)  # 20 % of the labels change
        precision = {}
        for views in ("auto", "linear"):
            judge = Judge(views=views)
            quality = score_verdict(judge.judge(features, noisy.labels), noisy.truth)
            assert quality.average_precision is not None
            precision[views] = quality.average_precision
        assert precision["auto"] > 0.95 and precision["linear"] < 0.9

    def test_clouds_with_different_covariances(self) -> None:
        """All labels are right, and classes overlap only for linear discriminants."""
        features, right = make_classification(
            2000, n_features=30, n_informative=12, n_classes=4, n_clusters_per_class=1, flip_y=0,
            class_sep=0.5, random_state=2,
        )  # fmt: skip
        judge = Judge()
        assert judge.judge(features, right).flagged.mean() <= 0.02
        assert judge.view_weights_["kernel"] > judge.view_weights_["linear"]

    def test_three_folds_are_enough(self) -> None:
        features, right = make_moons(800, noise=0.15, random_state=0)
        noisy = corrupt(right, "symmetric", 0.4, random_state=0)
        quality = score_verdict(Judge(n_folds=3).judge(features, noisy.labels), noisy.truth)
        assert quality.average_precision is not None and quality.average_precision > 0.95


class TestProbabilities:
    def matrix(self, right: Array, confidence: float) -> Array:
        rng = np.random.default_rng(0)
        logits = confidence * np.eye(10)[right] + rng.normal(size=(len(right), 10))
        return np.asarray(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))

    def test_a_matrix_of_probabilities_is_judged(self) -> None:
        noisy = corrupt(Y, "symmetric", 0.2, random_state=0)
        judge = Judge(views="probabilities")
        assert judge.consumes == "probabilities" and Judge().consumes == "features"
        verdict = judge.judge(self.matrix(Y, 5.0), noisy.labels)
        quality = score_verdict(verdict, noisy.truth)
        assert quality.f > 0.98 and quality.ece < 0.03
        assert judge.view_weights_ == {"probabilities": 1.0} and judge.n_rounds_ == 1
        np.testing.assert_allclose(judge.score_samples(self.matrix(Y, 5.0), noisy.labels), verdict.score)

    def test_probabilities_that_are_too_sure_or_too_humble_are_calibrated(self) -> None:
        noisy = corrupt(Y, "symmetric", 0.2, random_state=0)
        matrix = self.matrix(Y, 4.0)
        verdicts = []
        for power in (0.2, 1.0, 2.0):
            raised = np.maximum(matrix, 1e-3) ** power
            raised /= raised.sum(axis=1, keepdims=True)
            verdicts.append(Judge(views="probabilities").judge(raised, noisy.labels))
        for verdict in verdicts:
            np.testing.assert_allclose(verdict.p_clean, verdicts[1].p_clean, atol=0.02)

    def test_a_column_for_each_class(self) -> None:
        with pytest.raises(InvalidData, match="columns"):
            Judge(views="probabilities").judge(self.matrix(Y, 5.0)[:, :9], Y)


@pytest.mark.parametrize("views", ["auto,auto", "linear,auto"])
def test_auto_is_alone(views: str) -> None:
    with pytest.raises(InvalidOption, match="auto"):
        Judge(views=views).judge(WINE, NOISY.labels)
