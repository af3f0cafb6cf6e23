"""CRUST: row sums and the greedy choice against slow loops, the clusters, and the score."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances

from eigenclean.arrays import Array, Float64s
from eigenclean.detect.baselines import crust
from eigenclean.detect.baselines.crust import CRUST, greedy_medoids
from eigenclean.detect.baselines.head import LinearHead
from eigenclean.detect.cuts import FixedCut
from eigenclean.errors import InvalidOption
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt
from tests.detect.baselines.slow_crust import slow_row_sums

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
NOISY = corrupt(Y, "symmetric", 0.2, random_state=1)
RIGHT = NOISY.labels == Y


def slow_gain(distances: Float64s, weight: Float64s, medoids: list[int], candidate: int) -> float:
    """What the sum of similarities to the nearest medoid gains by one more."""
    largest, gain = max(float(distances.max()), 2**0.5), 0.0
    for row, w in zip(distances, weight, strict=True):
        before = max((largest - row[j] for j in medoids), default=0.0)
        gain += w * max(0.0, largest - row[candidate] - before)
    return gain


def gradients(n: int, seed: int) -> Float64s:
    """A tight cluster and some scattered rows, as right and wrong labels give them."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 4)) + np.where(np.arange(n)[:, None] < 0.7 * n, [6.0, 0, 0, 0], 0.0)
    return np.asarray(softmax(logits, axis=1) - np.array([1.0, 0, 0, 0]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_medoids", [1, 5, 30, 60])
def test_every_choice_gains_most(n_medoids: int, seed: int) -> None:
    rows = gradients(60, seed)
    distances = np.asarray(euclidean_distances(rows))
    weight = np.random.default_rng(seed).uniform(0.1, 2.0, 60) if seed else np.ones(60)
    picked, size = greedy_medoids(distances, weight, n_medoids)
    assert len(set(picked.tolist())) == n_medoids
    for turn, medoid in enumerate(
        picked.tolist()
    ):  # not the indices: of two that are nearest to each other, each does
        before = picked[:turn].tolist()
        gains = [slow_gain(distances, weight, before, j) for j in range(60) if j not in before]
        assert slow_gain(distances, weight, before, medoid) == pytest.approx(max(gains), abs=1e-12)
    nearest = distances[:, picked].argmin(axis=1)
    np.testing.assert_allclose(size, [weight[nearest == j].sum() for j in range(n_medoids)])


def test_copies_are_chosen_once_each() -> None:
    picked, size = greedy_medoids(np.zeros((40, 40)), np.ones(40), 40)
    np.testing.assert_array_equal(np.sort(picked), np.arange(40))
    np.testing.assert_array_equal(size, 1.0)


def slow_score(logits: Array, codes: Array, coreset: Array, weight: Array) -> Float64s:
    scores = []
    for row, k in zip(logits, codes, strict=True):
        of_class = codes[coreset] == k
        target = np.eye(logits.shape[1])[k]
        apart = [np.linalg.norm((softmax(row) - target) - (softmax(logits[j]) - target)) for j in coreset[of_class]]
        scores.append(1 - np.average(apart, weights=weight[of_class]) / np.sqrt(2))
    return np.array(scores)


def test_the_score_is_the_mean_similarity_to_the_coreset() -> None:
    logits = 3 * LinearHead.fit(X, NOISY.labels, 10).logits(X)[:400]
    labels = NOISY.labels[:400]
    fitted = CRUST(head=None, fraction=0.3, coreset="facility-location").fit(logits, labels)
    expected = slow_score(logits, labels, fitted.coreset_, fitted.coreset_weight_)
    np.testing.assert_allclose(fitted.score_samples(logits, labels), expected, atol=1e-6)


def test_the_coreset_is_a_share_of_each_class_and_stands_for_all_of_it() -> None:
    for fraction in (0.1, 0.5, 1.0):
        fitted = CRUST(fraction=fraction, coreset="facility-location").fit(X, NOISY.labels)
        counts = np.bincount(NOISY.labels)
        chosen = NOISY.labels[fitted.coreset_]
        np.testing.assert_array_equal(np.bincount(chosen), (fraction * counts).astype(int))
        np.testing.assert_allclose(np.bincount(chosen, fitted.coreset_weight_), counts)
        assert (np.diff(fitted.coreset_) > 0).all()


def test_of_medoids_membership_says_little_and_the_score_much() -> None:
    fitted = CRUST(coreset="facility-location").fit(X, NOISY.labels)
    member = np.isin(np.arange(len(X)), fitted.coreset_)
    assert roc_auc_score(RIGHT, member) < 0.4
    assert roc_auc_score(RIGHT, fitted.score_samples(X, NOISY.labels)) > 0.99
    # What the paper's argument is: the heavy medoids are right.
    heavy = fitted.coreset_weight_ >= 10
    assert RIGHT[fitted.coreset_[heavy]].mean() > 0.98 > RIGHT[fitted.coreset_].mean()


@pytest.mark.parametrize("fraction", [0.5, 0.2])
def test_row_sums_are_those_of_a_slow_loop(fraction: float) -> None:
    logits = 3 * LinearHead.fit(X, NOISY.labels, 10).logits(X)[:300]
    fitted = CRUST(head=None, fraction=fraction).fit(logits, NOISY.labels[:300])
    chosen, scores = slow_row_sums(logits, NOISY.labels[:300], fraction)
    assert set(fitted.coreset_.tolist()) == chosen
    assert (fitted.coreset_weight_ == 1).all() and (np.diff(fitted.coreset_) > 0).all()
    np.testing.assert_allclose(fitted.score_samples(logits, NOISY.labels[:300]), scores, atol=1e-6)


def test_the_released_choice_is_clean_and_that_of_the_paper_is_not() -> None:
    noisy = corrupt(Y, "symmetric", 0.5, random_state=0)
    right = noisy.labels == Y
    logits = 3 * LinearHead.fit(X, noisy.labels, 10).logits(X)
    for coreset, least, most in (("row-sums", 0.9, 1.0), ("facility-location", 0.0, 0.5)):
        fitted = CRUST(head=None, coreset=coreset).fit(logits, noisy.labels)  # type: ignore[arg-type]
        assert least <= right[fitted.coreset_].mean() <= most


def test_row_sums_of_large_classes_are_over_a_sample_that_the_order_does_not_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = CRUST().fit(X, NOISY.labels)
    monkeypatch.setattr(crust, "_REFERENCE_ROWS", 50)
    fitted = CRUST().fit(X, NOISY.labels)
    assert np.isin(fitted.coreset_, whole.coreset_).mean() > 0.9
    order = np.random.default_rng(0).permutation(len(X))
    again = CRUST().fit(X[order], NOISY.labels[order])
    np.testing.assert_array_equal(np.sort(order[again.coreset_]), fitted.coreset_)
    with pytest.raises(InvalidOption, match="CRUST: coreset must be one of"):
        CRUST(coreset="sums").fit(X, Y)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rate", "auroc", "f"), [(0.2, 0.99, 0.96), (0.5, 0.98, 0.95), (0.8, 0.85, 0.6)])
def test_digits(rate: float, auroc: float, f: float) -> None:
    noisy = corrupt(Y, "symmetric", rate, random_state=0)
    quality = score_verdict(CRUST().judge(X, noisy.labels), noisy.truth)
    assert quality.auroc is not None and quality.auroc > auroc
    assert quality.f > f


def test_large_classes_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    choose = crust.greedy_medoids

    def recording(distances: Float64s, weight: Float64s, n: int) -> tuple[Array, Float64s]:
        sizes.append(len(distances))
        return choose(distances, weight, n)

    whole = CRUST(coreset="facility-location").fit(X, NOISY.labels).score_samples(X, NOISY.labels)
    monkeypatch.setattr(crust, "_PARTITION_ROWS", 50)
    monkeypatch.setattr(crust, "greedy_medoids", recording)
    fitted = CRUST(coreset="facility-location").fit(X, NOISY.labels)
    assert max(sizes) <= 50 and sum(sizes) == len(X)
    scores = fitted.score_samples(X, NOISY.labels)
    assert roc_auc_score(RIGHT, scores) > 0.99
    assert np.corrcoef(scores, whole)[0, 1] > 0.98
    order = np.random.default_rng(0).permutation(len(X))
    again = CRUST(coreset="facility-location").fit(X[order], NOISY.labels[order])
    np.testing.assert_array_equal(np.sort(order[again.coreset_]), fitted.coreset_)


def test_all_rows_alike_need_no_more_memory_than_a_part() -> None:
    same, labels = np.ones((5000, 3)), np.arange(5000) % 2
    with pytest.warns(match="kept whole"):
        fitted = CRUST(coreset="facility-location").fit(same, labels)
    assert 2490 <= len(fitted.coreset_) <= 2500  # each part rounds down


def test_weights_count_as_copies() -> None:
    logits = LinearHead.fit(X, NOISY.labels, 10).logits(X)[:300]
    labels = NOISY.labels[:300]
    weight = np.random.default_rng(0).integers(0, 3, 300)
    fitted = CRUST(head=None, fraction=0.2, coreset="facility-location").fit(logits, labels, weight)
    assert (weight[fitted.coreset_] > 0).all()
    np.testing.assert_allclose(
        np.bincount(labels[fitted.coreset_], fitted.coreset_weight_), np.bincount(labels, weight), rtol=1e-12
    )


def test_like_half_of_its_class() -> None:
    verdict = CRUST(cut=FixedCut(at=0.5)).judge(X, NOISY.labels)
    np.testing.assert_array_equal(verdict.flagged, verdict.score <= 0.5)
    assert ((verdict.score >= 0) & (verdict.score <= 1)).all()


@pytest.mark.parametrize("fraction", [0, -0.5, 1.5, float("nan")])
def test_fraction_is_checked(fraction: float) -> None:
    with pytest.raises(InvalidOption, match="CRUST: fraction must be above 0 and at most 1"):
        CRUST(fraction=fraction).fit(X, Y)
