"""Odd but fine input works; bad input gets one clear sentence."""

import re
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from eigenclean import FINE
from eigenclean.arrays import Array
from eigenclean.detect.cuts import GaussianCut
from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption, TooFewSamples


def blobs(n: int = 120, k: int = 3, d: int = 6, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return 4 * np.eye(d)[y % d] + rng.standard_normal((n, d)), y


class TestOddButFine:
    @pytest.mark.parametrize("size", [1, 2, 9])
    def test_a_class_of_few_samples_is_kept_whole(self, size: int) -> None:
        X, y = blobs()
        X, y = np.vstack([X, -X[:size]]), np.concatenate([y, np.full(size, 77)])
        with pytest.warns(EigencleanWarning, match="^FINE: class 77 kept whole: too few samples, or all alike"):
            fine = FINE().fit(X, y)
        verdict = fine.judge(X, y)
        assert (verdict.p_clean[y == 77] == 1).all()
        assert not verdict.flagged[y == 77].any()
        assert isinstance(verdict.made_by, dict)
        assert "class 77 kept whole" in verdict.made_by["notes"][0]

    def test_small_classes_can_be_split_when_asked(self) -> None:
        X, y = blobs(24)
        FINE(cut=GaussianCut(min_samples=2)).fit(X, y)  # no warning

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16])
    @pytest.mark.parametrize("d", [6, 100, 513])
    @pytest.mark.parametrize(
        "cut", ["gaussian", "beta", "kmeans", "quantile", GaussianCut(split="always")], ids=str
    )
    def test_constant_features(self, dtype: Any, d: int, cut: Any) -> None:
        X = np.tile((np.random.default_rng(0).standard_normal(d) * 9).astype(dtype), (203, 1))
        y = np.arange(203) % 2
        with pytest.warns(EigencleanWarning, match=r"2 classes \(0, 1\) kept whole"):
            fine = FINE(cut=cut).fit(X, y)
        np.testing.assert_allclose(fine.score_samples(X, y), 1, atol=1e-5)
        assert fine.judge(X, y).n_flagged == 0

    def test_standardising_does_not_blow_up_rounding_errors(self) -> None:
        X = np.tile(np.random.default_rng(0).standard_normal(513).astype(np.float32), (203, 1))
        X *= np.random.default_rng(1).uniform(0.1, 10, (203, 1)).astype(np.float32)
        y = np.arange(203) % 2
        with pytest.warns(EigencleanWarning, match="kept whole"):
            verdict = FINE(cut=GaussianCut(standardise=True, split="always")).fit(X, y).judge(X, y)
        assert verdict.n_flagged == 0

    @pytest.mark.parametrize("d", [6, 100])
    def test_zero_features(self, d: int) -> None:
        X, y = blobs(d=d)
        X[5] = 0  # cosine 0, not NaN
        X[y == 2] = 0  # and a class without a direction
        with pytest.warns(EigencleanWarning, match="class 2 kept whole"):
            fine = FINE().fit(X, y)
        scores = fine.score_samples(X, y)
        assert np.isfinite(scores).all()
        assert scores[5] == 0
        assert (scores[y == 2] == 0).all()
        assert fine.eigenvalues_[2] == 0
        np.testing.assert_array_equal(fine.eigenvectors_[2], np.zeros(d))
        assert not fine.judge(X, y).flagged[y == 2].any()

    def test_negative_and_far_apart_labels(self) -> None:
        X, y = blobs()
        labels = np.array([-(2**60), -1, 2**60])[y]
        verdict = FINE().judge(X, labels)
        np.testing.assert_array_equal(verdict.labels, labels)
        np.testing.assert_array_equal(FINE().fit(X, labels).classes_, [-(2**60), -1, 2**60])

    def test_two_classes(self) -> None:
        X, y = blobs(k=2)
        y[:10] = 1 - y[:10]
        verdict = FINE().judge(X, y.astype(bool))
        assert verdict.labels.dtype == np.bool_
        assert (verdict.suggested[verdict.flagged] != verdict.labels[verdict.flagged]).all()

    def test_ten_thousand_classes(self) -> None:
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(10_000), 4)
        X = rng.standard_normal((10_000, 8))[y] + 0.1 * rng.standard_normal((40_000, 8))
        order = rng.permutation(40_000)
        with pytest.warns(EigencleanWarning, match=r"10000 classes \(0, 1, 2, 3, … \(10000 in all\)\) kept whole"):
            fine = FINE(cut=GaussianCut(min_samples=5)).fit(X[order], y[order])
        assert fine.eigenvectors_.shape == (10_000, 8)
        np.testing.assert_array_equal(fine.n_samples_per_class_, np.full(10_000, 4))
        fine = FINE(cut=GaussianCut(min_samples=2, split="always")).fit(X, y)
        verdict = fine.judge(X[order[:2000]], y[order[:2000]])
        assert 0 < verdict.n_flagged < 2000
        assert (verdict.suggested[verdict.flagged] != verdict.labels[verdict.flagged]).all()

    def test_one_column(self) -> None:
        y = np.arange(60) % 2
        X = np.random.default_rng(0).random((60, 1)) + 1
        with pytest.warns(EigencleanWarning, match="kept whole"):  # all cosines are 1
            FINE().fit(X, y)
        FINE(preset="paper").fit(X, y)

    def test_unsorted_and_named_ids(self) -> None:
        X, y = blobs()
        ids = np.random.default_rng(0).permutation(10_000)[:120]
        np.testing.assert_array_equal(FINE().judge(X, y, ids=ids).ids, ids)
        names = [f"image-{i}.png" for i in ids]
        assert FINE().judge(X, y, ids=names).ids.tolist() == names
        assert FINE().judge(X, y, ids=pd.Series(names)).ids.tolist() == names

    def test_data_frames(self) -> None:
        X, y = blobs()
        expected = FINE().judge(X, y)
        columns = [f"f{i}" for i in range(6)]
        names = np.array(["a", "b", "c"])[y]
        for features, labels in (
            (pd.DataFrame(X, columns=columns), pd.Series(names)),
            (pl.DataFrame(X, schema=columns), pl.Series(names)),
            (X.tolist(), names.tolist()),
        ):
            verdict = FINE().judge(features, labels)
            np.testing.assert_allclose(verdict.score, expected.score)
            assert verdict.labels.tolist() == names.tolist()

    def test_nothing_to_judge(self) -> None:
        X, y = blobs()
        verdict = FINE().fit(X, y).judge(X[:0], y[:0])
        assert len(verdict) == 0

    @pytest.mark.parametrize("threshold", [0.0, 1.0, np.float32(0.5)])
    def test_thresholds_at_the_ends(self, threshold: float) -> None:
        X, y = blobs()
        y[:15] = (y[:15] + 1) % 3
        verdict = FINE(threshold=threshold).judge(X, y)
        np.testing.assert_array_equal(verdict.flagged, verdict.p_clean <= threshold)
        if threshold == 1.0:
            assert verdict.flagged.all()

    def test_thresholds_nest(self) -> None:
        X, y = blobs()
        y[:15] = (y[:15] + 1) % 3
        counts = [FINE(threshold=t).judge(X, y).n_flagged for t in (0.0, 0.2, 0.5, 0.9, 1.0)]
        assert counts == sorted(counts)


X, Y = blobs()
HOLED = X.copy()
HOLED[7, 2] = np.nan


class TestBad:
    @pytest.mark.parametrize(
        ("features", "labels", "words"),
        [
            (HOLED, Y, "1 of 720 values is NaN or infinite, the first in row 7"),
            (np.where(X > 5, np.inf, X), Y, "values are NaN or infinite, the first in row"),
            (X, Y[:-1], "got 120 rows and 119 labels"),
            (
                X,
                np.zeros(120, dtype=int),
                "at least two classes are needed to find .*, got one class only, 0",
            ),
            (X[:0], Y[:0], "there are no samples"),
            (X.astype(str), Y, "features must be numbers, got text"),
            (X.astype(object), Y, "features must be numbers, got type object"),
            (X, [None, *Y[1:]], "1 of 120 labels are missing, the first in row 0"),
            (X, np.where(Y == 1, np.nan, Y), "40 of 120 labels are missing, the first in row 1"),
            (X, Y + 0.5, "labels must be classes"),
            (X[:, 0], Y, "one row per sample"),
            (X[:, None], Y, "reshape it to"),
            (X, np.stack([Y, Y], axis=1), "one value per row, got shape"),
        ],
    )
    def test_one_clear_sentence(self, features: Any, labels: Any, words: str) -> None:
        for attempt in (FINE().fit, FINE().judge):
            with pytest.raises(InvalidData, match=words) as error:
                attempt(features, labels)
            assert str(error.value).startswith("FINE: ")
            assert "\n" not in str(error.value)

    def test_one_class_is_too_few(self) -> None:
        with pytest.raises(TooFewSamples):
            FINE().fit(X, np.zeros(120, dtype=int))

    def test_ids(self) -> None:
        with pytest.raises(InvalidData, match="FINE: ids must be unique, but 1 repeat, for example 5"):
            FINE().judge(X, Y, ids=[5, *range(1, 120)])
        with pytest.raises(InvalidData, match="FINE: ids must be one value for each of the 120 rows"):
            FINE().judge(X, Y, ids=[1, 2])

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"threshold": 1.5}, "threshold must be between 0 and 1, got 1.5"),
            ({"threshold": -0.1}, "threshold must be between 0 and 1, got -0.1"),
            ({"threshold": float("nan")}, "threshold must be between 0 and 1, got nan"),
            ({"preset": "papre"}, "preset must be one of official, paper, got 'papre'"),
            ({"score": "cosine"}, "score must be one of abs_cos, sq_cos, abs_raw, sq_raw, got 'cosine'"),
            ({"vector": "median"}, "vector must be 'eigen' or 'mean', got 'median'"),
            ({"component": 0}, "component must be 1 or more"),
            ({"component": 7}, "component must be at most the number of features, 6, got 7"),
            ({"component": 2, "vector": "mean"}, "and 1 for the mean, got 2"),
            ({"subset": 0.0}, "subset must be above 0 and at most 1, got 0.0"),
            ({"subset": 1.5}, "subset must be above 0 and at most 1, got 1.5"),
            ({"cut": "gausian"}, "cut must be one of beta, .*, got 'gausian'; did you mean 'gaussian'"),
            ({"cut": GaussianCut(split="never")}, "split must be one of always, auto, got"),  # type: ignore[arg-type]
            ({"cut": GaussianCut(max_iter=0)}, "max_iter must be at least 1, got 0"),
            ({"cut": GaussianCut(min_samples=1)}, "min_samples must be at least 2, got 1"),
        ],
    )
    def test_options(self, options: dict[str, Any], words: str) -> None:
        fine = FINE(**options)  # nothing is checked before it is used, as in scikit-learn
        with pytest.raises(InvalidOption, match=words) as error:
            fine.fit(X, Y)
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize(
        "weight", [np.ones(3), np.full(120, -1.0), np.full(120, np.nan), np.full(120, "a"), np.ones((120, 1))]
    )
    def test_weights(self, weight: Array) -> None:
        with pytest.raises(InvalidData, match="FINE: sample_weight must"):
            FINE().fit(X, Y, sample_weight=weight)

    def test_not_fitted(self) -> None:
        for method in ("score_samples", "p_clean", "fit_cut"):
            with pytest.raises(
                NotFittedError, match=re.escape("this FINE is not fitted yet: call fit(X, y) first")
            ):
                getattr(FINE(), method)(X, Y)

    def test_not_what_it_was_fitted_on(self) -> None:
        fine = FINE().fit(X, Y)
        with pytest.raises(InvalidData, match="FINE: fitted on 6 features, got 5"):
            fine.judge(X[:, :5], Y)
        with pytest.raises(InvalidData, match="FINE: label 3 in row 2 was not seen in fit; known are 0, 1, 2"):
            fine.judge(X, np.where(Y == 2, 3, Y))
        with pytest.raises(InvalidData, match="FINE: fitted on labels of type int64, got <U1"):
            fine.judge(X, Y.astype("U1"))

    @pytest.mark.parametrize(
        ("labels", "weight"), [(np.zeros(120, dtype=int), None), (Y, np.full(120, -1.0)), (Y[:5], None)]
    )
    def test_a_fit_that_failed_is_no_fit(self, labels: Array, weight: Any) -> None:
        fine = FINE()
        with pytest.raises(InvalidData):
            fine.fit(X, labels, weight)
        assert not hasattr(fine, "classes_")
        assert len(fine.judge(X, Y)) == 120
