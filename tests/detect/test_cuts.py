"""Each cut by itself: what it promises beyond the common checks."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.cluster import KMeans

from eigenclean.arrays import Array, Ints
from eigenclean.detect.cuts import (
    BetaCut,
    Cut,
    FixedCut,
    GaussianCut,
    KMeansCut,
    PosteriorCut,
    QuantileCut,
    make_cut,
)
from eigenclean.detect.cuts.base import plain_numbers
from eigenclean.errors import InvalidOption

MIXTURES: list[Any] = [GaussianCut, BetaCut]


def bimodal(n: int = 400, seed: int = 0, share: float = 0.3) -> tuple[Array, Ints, Array]:
    """Scores of three classes, the classes, and which scores come from the lower group."""
    rng = np.random.default_rng(seed)
    groups = np.arange(3 * n) % 3
    low = rng.random(3 * n) < share
    scores = np.where(low, rng.normal(0.5, 0.05, 3 * n), rng.normal(0.9, 0.02, 3 * n))
    return np.clip(scores - 0.1 * groups, 0, 1), groups, low


@pytest.mark.parametrize("cut", [GaussianCut(), BetaCut(), KMeansCut(), QuantileCut(fraction=0.3)], ids=str)
def test_finds_two_groups_in_each_class(cut: Cut) -> None:
    scores, groups, low = bimodal()
    kept = cut.fit(scores, groups).p_clean(scores, groups) > 0.5
    assert np.mean(kept == ~low) > (0.9 if isinstance(cut, QuantileCut) else 0.995)


class TestMixtureCuts:
    @pytest.mark.parametrize("kind", MIXTURES)
    @pytest.mark.parametrize("monotone", [True, False])
    def test_a_mixture_may_dismiss_the_best_unless_monotone(self, kind: Any, monotone: bool) -> None:
        rng = np.random.default_rng(0)
        scores = np.concatenate([rng.normal(0.96, 0.01, 4000), rng.normal(0.85, 0.08, 6000)])
        scores = scores[scores <= 1]
        groups = np.zeros(len(scores), dtype=np.intp)
        cut = kind(monotone=monotone, split="always").fit(scores, groups)
        p = cut.p_clean(np.array([0.7, 0.97, scores.max()]), groups[:3])
        assert p[0] < 0.1
        assert p[1] > 0.8
        if monotone:
            assert p[2] >= p[1]
        elif kind is GaussianCut:
            assert p[2] < 0.1

    @pytest.mark.parametrize("kind", MIXTURES)
    def test_one_group_is_not_split_unless_asked(self, kind: Any) -> None:
        rng = np.random.default_rng(0)
        groups = np.arange(4000) % 4
        scores = 1 - np.exp(rng.normal(-3, 0.3, 4000))  # log-angles are normal
        whole = kind().fit(scores, groups, ceiling=1.0)
        split = kind(split="always").fit(scores, groups, ceiling=1.0)
        assert (whole.p_two_ < 0.5).all()
        assert (whole.p_clean(scores, groups) > 0.5).all()
        assert (split.p_clean(scores, groups) <= 0.5).mean() > 0.05
        assert not whole.whole_.any()  # a decision was made, so nobody is warned

    @pytest.mark.parametrize("kind", MIXTURES)
    @pytest.mark.parametrize("split", ["auto", "always"])
    def test_two_groups_are_split(self, kind: Any, split: str) -> None:
        scores, groups, _ = bimodal()
        assert (kind(split=split).fit(scores, groups).p_two_ > 0.9).all()

    def test_probability_of_two_bounds_the_doubt(self) -> None:
        rng = np.random.default_rng(3)
        groups = np.arange(900) % 3
        scores = np.clip(rng.normal(0.8, 0.05, 900) - 0.08 * (rng.random(900) < 0.2), 0, 1)
        cut = GaussianCut().fit(scores, groups)
        always = GaussianCut(split="always").fit(scores, groups)
        expected = 1 - cut.p_two_[groups] * (1 - always.p_clean(scores, groups))
        np.testing.assert_allclose(cut.p_clean(scores, groups), expected)

    @pytest.mark.parametrize(("factor", "offset"), [(1e6, 0.0), (1e-6, 1e-3), (1.0, 50.0), (1e-2, 1.0)])
    def test_standardised_scores_have_no_scale(self, factor: float, offset: float) -> None:
        scores, groups, _ = bimodal()
        cut = GaussianCut(standardise=True, split="always")
        plain = cut.fit(scores, groups).p_clean(scores, groups)
        moved = cut.fit(factor * scores + offset, groups).p_clean(factor * scores + offset, groups)
        np.testing.assert_allclose(moved, plain, atol=1e-5)

    def test_without_standardising_the_regulariser_blurs_tiny_scores(self) -> None:
        scores, groups, low = bimodal()
        tiny = 1 - 1e-3 * (1 - scores)  # alignments late in training
        kept = GaussianCut(standardise=True).fit(tiny, groups).p_clean(tiny, groups) > 0.5
        assert np.mean(kept == ~low) > 0.99

    @pytest.mark.parametrize("kind", MIXTURES)
    @pytest.mark.parametrize("standardise", [True, False])
    def test_describes_itself_on_the_scale_of_the_scores(self, kind: Any, standardise: bool) -> None:
        scores, groups, low = bimodal(2000)
        cut = kind(standardise=standardise, split="always").fit(scores, groups)
        record = cut.describe()
        for k in range(3):
            of_group = groups == k
            expected = [scores[of_group & low].mean(), scores[of_group & ~low].mean()]
            np.testing.assert_allclose(record["means"][k], expected, atol=0.01)
            spread = [scores[of_group & low].std(), scores[of_group & ~low].std()]
            np.testing.assert_allclose(np.sqrt(record["variances"][k]), spread, rtol=0.3)
            np.testing.assert_allclose(record["weights"][k], [0.3, 0.7], atol=0.05)
        assert record["split"] == [True] * 3
        if kind is BetaCut:
            for k in range(3):
                (lowest, highest), of_group = record["range"][k], scores[groups == k]
                assert lowest == pytest.approx(of_group.min())
                assert highest == pytest.approx(of_group.max())
                unit = np.clip((of_group - lowest) / (highest - lowest), 1e-4, 1 - 1e-4)
                densities = [
                    w * stats.beta.pdf(unit, a, b)
                    for w, a, b in zip(record["weights"][k], record["alpha"][k], record["beta"][k], strict=True)
                ]
                total = densities[0] + densities[1]
                inside = total > 1e-200
                cut.monotone = False
                p = cut.p_clean(of_group, np.full(len(of_group), k))
                np.testing.assert_allclose(p[inside], densities[1][inside] / total[inside], atol=1e-6)

    def test_small_variances_are_not_rounded_away(self) -> None:
        assert plain_numbers(np.array([[1.23e-15, np.inf], [-0.1, 3.0]])) == [[1.23e-15, None], [-0.1, 3.0]]


class TestOtherCuts:
    @pytest.mark.parametrize("fraction", [0.0, 0.01, 0.2, 0.5, 0.99, 1.0])
    def test_quantile_flags_that_share_of_each_class(self, fraction: float) -> None:
        rng = np.random.default_rng(0)
        groups = np.repeat([0, 1, 2], [100, 1000, 50])
        scores = rng.random(1150) + groups
        cut = QuantileCut(fraction=fraction).fit(scores, groups)
        flagged = cut.p_clean(scores, groups) <= 0.5
        for k, n in enumerate((100, 1000, 50)):
            assert flagged[groups == k].sum() == np.ceil(np.round(fraction * n, 6))
            if 0 < fraction < 0.9:
                assert scores[(groups == k) & flagged].max() < scores[(groups == k) & ~flagged].min()

    def test_fixed_keeps_what_lies_above(self) -> None:
        scores, groups, _ = bimodal()
        p = FixedCut(at=0.7).fit(scores, groups).p_clean(scores, groups)
        np.testing.assert_array_equal(p > 0.5, scores > 0.7)

    def test_kmeans_is_the_nearer_centre(self) -> None:
        scores, groups, _ = bimodal()
        cut = KMeansCut().fit(scores, groups)
        upper = np.abs(scores - cut.centres_[groups, 1]) < np.abs(scores - cut.centres_[groups, 0])
        np.testing.assert_array_equal(cut.p_clean(scores, groups) > 0.5, upper)

    @pytest.mark.parametrize(
        ("cut", "words"),
        [
            (QuantileCut(fraction=1.5), "fraction must be between 0 and 1, got 1.5"),
            (QuantileCut(fraction=-0.1), "fraction must be between 0 and 1, got -0.1"),
            (FixedCut(at=float("nan")), "at must be a finite score, got nan"),
            (GaussianCut(split="maybe"), "split must be one of always, auto, got 'maybe'"),  # type: ignore[arg-type]
        ],
    )
    def test_options(self, cut: Cut, words: str) -> None:
        with pytest.raises(InvalidOption, match=words):
            cut.fit(np.arange(30.0), np.zeros(30, dtype=np.intp))


class TestMakeCut:
    def test_by_name_or_as_a_copy(self) -> None:
        assert isinstance(make_cut("beta"), BetaCut)
        given = QuantileCut(fraction=0.4)
        copy = make_cut(given)
        assert copy is not given
        assert copy.get_params() == given.get_params()

    @pytest.mark.parametrize("name", ["betta", "", None, 3])
    def test_unknown(self, name: Any) -> None:
        with pytest.raises(
            InvalidOption,
            match="cut must be one of beta, fixed, gaussian, kmeans, margin, posterior, quantile, got",
        ):
            make_cut(name)


@pytest.mark.parametrize("scale", [0.1, 1.0, 1000.0])
def test_raw_scores_of_any_scale_are_judged_alike(scale: float) -> None:
    """A raw score below 1 is no cosine: whether a class is split must not depend on the unit of the features."""
    rng = np.random.default_rng(0)
    groups = np.arange(3000) % 3
    scores = np.exp(rng.normal(-1, 0.4, 3000)) * np.where(rng.random(3000) < 0.2, 0.05, 1.0)
    cuts = [GaussianCut(standardise=True).fit(factor * scores, groups) for factor in (1.0, scale)]
    np.testing.assert_allclose(cuts[0].p_two_, cuts[1].p_two_, rtol=1e-6)


def test_percentile_is_the_rank_among_the_class_own_scores() -> None:
    scores = np.concatenate([np.linspace(0, 1, 101), np.linspace(10, 20, 51)])
    groups = np.repeat([0, 1], [101, 51])
    cut = KMeansCut().fit(scores, groups, 3)
    percentiles = cut.percentile(np.array([-1.0, 0.5, 2.0, 9.0, 15.0]), np.array([0, 0, 0, 1, 1]))
    np.testing.assert_allclose(percentiles, [0.0, 0.5, 1.0, 0.0, 0.5], atol=0.04)


@pytest.mark.parametrize("seed", range(5))
def test_kmeans_centres_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(0.2, 0.1, 60), rng.normal(0.8, 0.15, 140)])
    cut = KMeansCut().fit(scores, np.zeros(200, dtype=np.intp))
    expected = KMeans(2, n_init=20, random_state=0).fit(scores[:, None]).cluster_centers_.ravel()
    np.testing.assert_allclose(cut.centres_[0], np.sort(expected), atol=1e-6)


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("cut", [GaussianCut(), BetaCut(), KMeansCut(), FixedCut(at=0.6), QuantileCut()], ids=str)
def test_the_boundary_parts_what_is_kept_from_what_is_flagged(cut: Cut, threshold: float) -> None:
    scores, groups, _ = bimodal()
    boundary = cut.fit(scores, groups).boundary(threshold)
    rows = np.isfinite(boundary)[groups]
    kept = cut.p_clean(scores, groups) > threshold
    for k in np.flatnonzero(np.isnan(boundary)):  # no boundary: the class is kept or flagged whole
        assert len(set(kept[groups == k].tolist())) == 1
    at_edge = np.isclose(scores, boundary[groups], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(kept[rows & ~at_edge], (scores > boundary[groups])[rows & ~at_edge])


def test_the_posterior_is_the_logistic_function_and_small_classes_are_kept_whole() -> None:
    scores, groups = np.array([-2.0, 0.0, 3.0, -5.0, 5.0]), np.array([0, 0, 0, 1, 1])
    cut = PosteriorCut(min_samples=3).fit(scores, groups)
    np.testing.assert_allclose(cut.p_clean(scores, groups)[:3], 1 / (1 + np.exp(-scores[:3])))
    np.testing.assert_array_equal(cut.p_clean(scores, groups)[3:], 1.0)
