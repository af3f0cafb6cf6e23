"""Samples that belong to none of the classes: found where they are, not invented where there are none."""

from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.open_set.evidence import LabelPredictions, flat_rows, label_agreement
from eigenclean.detect.judge.row_maps import PrincipalComponents
from eigenclean.detect.judge.unit_rows import RowNormalizer
from eigenclean.detect.judge.verified import judge_verified
from eigenclean.evidence import VerifiedLabels
from eigenclean.verdict import Verdict

N_CLASSES = 6


def quick_judge() -> Judge:
    return Judge(views="linear,neighbours", n_repeats=1, rounds=5)


def blobs(n: int = 1000, seed: int = 0) -> tuple[Float64s, Ints]:
    rng = np.random.default_rng(seed)
    centres = 4.0 * rng.standard_normal((N_CLASSES + 2, 10))
    y = rng.integers(N_CLASSES + 2, size=n)
    return centres[y] + rng.standard_normal((n, 10)), y


def with_strangers(seed: int = 0) -> tuple[Float64s, Ints, Bools, Bools]:
    """Rows of six classes with 5 % flips, and 10 % rows of two clusters with labels at random."""
    rng = np.random.default_rng(seed)
    X, y = blobs(seed=seed)
    stranger = y >= N_CLASSES
    dropped = np.flatnonzero(stranger)[100:]
    X, y = np.delete(X, dropped, axis=0), np.delete(y, dropped)
    stranger = y >= N_CLASSES
    flipped = ~stranger & (rng.random(len(y)) < 0.05)
    given = np.where(flipped, (y + 1 + rng.integers(N_CLASSES - 1, size=len(y))) % N_CLASSES, y)
    given[stranger] = rng.integers(N_CLASSES, size=stranger.sum())
    return X, given, stranger, flipped


@pytest.fixture(scope="module")
def data() -> tuple[Float64s, Ints, Bools, Bools]:
    return with_strangers()


@pytest.fixture(scope="module")
def judge(data: tuple[Float64s, Ints, Bools, Bools]) -> Judge:
    return quick_judge().fit(*data[:2])


@pytest.fixture(scope="module")
def verdict(data: tuple[Float64s, Ints, Bools, Bools], judge: Judge) -> Verdict:
    return judge.judge(*data[:2])


def test_samples_of_no_class_are_found_and_to_be_removed(
    data: tuple[Float64s, Ints, Bools, Bools], verdict: Verdict
) -> None:
    _, given, stranger, flipped = data
    assert verdict.is_none[stranger].mean() >= 0.9
    assert stranger[verdict.is_none].mean() >= 0.9
    assert verdict.n_none == verdict.is_none.sum() == verdict.summary()["n_none"]
    assert verdict.flagged[verdict.is_none].all()
    assert set(verdict.suggested_action[verdict.is_none]) == {"remove"}
    assert (verdict.suggested[verdict.is_none] == given[verdict.is_none]).all()
    assert verdict.flagged[flipped].mean() >= 0.8
    relabelled = flipped & ~verdict.is_none & verdict.flagged
    assert set(verdict.suggested_action[relabelled]) == {"relabel"}
    assert verdict.noise_rate == pytest.approx((stranger | flipped).mean(), abs=0.02)


def test_probabilities_of_no_class_and_of_right_add_up(verdict: Verdict) -> None:
    p_none = verdict.none_probability
    assert p_none is not None and ((p_none >= 0) & (p_none <= 1)).all()
    assert (verdict.p_clean + p_none <= 1 + 1e-9).all()
    assert 0.8 < p_none.max() <= 0.95
    other = verdict.flagged & (verdict.suggested != verdict.labels)
    assert (verdict.p_clean + p_none + verdict.suggested_confidence)[other].max() <= 1 + 1e-6


def test_rows_are_scored_again_as_in_fit(data: tuple[Float64s, Ints, Bools, Bools], judge: Judge) -> None:
    X, given, *_ = data
    fitted = quick_judge().fit_judge(X, given)
    np.testing.assert_allclose(judge.score_samples(X, given), fitted.score, atol=1e-3)
    low, high = judge.noise_rate_range_
    assert low <= fitted.noise_rate + 0.01 and fitted.noise_rate <= high + 0.01
    assert judge.n_none_clusters_ >= 2


def test_members_of_clusters_are_more_rows_than_those_called(
    data: tuple[Float64s, Ints, Bools, Bools], judge: Judge, verdict: Verdict
) -> None:
    X, given, stranger, _ = data
    component = judge.none_component
    assert component is not None
    rows, clusters = component.members(X, given, 0.1)
    assert (
        np.isin(np.flatnonzero(verdict.is_none), rows).all()
        and np.isin(np.flatnonzero(stranger), rows).mean() > 0.9
    )
    assert set(clusters.tolist()) <= set(range(component.n_clusters))
    assert len(component.members(X, given, 1.1)[0]) == 0


def test_new_rows_of_the_same_kind_are_none_too(judge: Judge) -> None:
    rng = np.random.default_rng(0)
    centres = 4.0 * rng.standard_normal((N_CLASSES + 2, 10))  # as in `blobs`
    y = np.repeat(np.arange(N_CLASSES + 2), 20)
    X = centres[y] + np.random.default_rng(5).standard_normal((len(y), 10))
    result = judge.judge(X, y % N_CLASSES).is_none
    assert result[y >= N_CLASSES].mean() >= 0.9
    assert result[y < N_CLASSES].mean() <= 0.02


def test_the_order_of_rows_and_the_names_of_classes_do_not_matter(
    data: tuple[Float64s, Ints, Bools, Bools], verdict: Verdict
) -> None:
    X, given, *_ = data
    order = np.random.default_rng(3).permutation(len(X))
    names = np.array(["f", "b", "d", "a", "c", "e"])
    other = quick_judge().judge(X[order], names[given[order]])
    assert other.none_probability is not None and verdict.none_probability is not None
    assert (other.is_none == verdict.is_none[order]).mean() >= 0.995


def _overlapping() -> tuple[Array, Ints]:
    rng = np.random.default_rng(1)
    y = rng.integers(5, size=1500)
    return 1.2 * rng.standard_normal((5, 2))[y] + rng.standard_normal((1500, 2)), y


def _half_wrong() -> tuple[Array, Ints]:
    X, y = blobs()
    rng = np.random.default_rng(2)
    return X, np.where(rng.random(len(y)) < 0.5, rng.integers(8, size=len(y)), y)


def _useless_columns() -> tuple[Array, Ints]:
    X, y = blobs(900)
    return np.hstack([X[:, :4], 4 * np.random.default_rng(3).standard_normal((900, 40))]), y


def _only_noise() -> tuple[Array, Ints]:
    rng = np.random.default_rng(4)
    return rng.standard_normal((600, 8)), rng.integers(6, size=600)


@pytest.mark.parametrize("make", [blobs, _overlapping, _half_wrong, _useless_columns, _only_noise])
def test_without_such_samples_none_is_called(make: Any) -> None:
    verdict = quick_judge().judge(*make())
    assert verdict.none_probability is None and verdict.n_none == 0
    assert set(verdict.suggested_action) <= {"keep", "relabel"}
    assert "none_probability" not in verdict.to_frame().column_names


def test_views_without_neighbours_do_not_look_for_them(data: tuple[Float64s, Ints, Bools, Bools]) -> None:
    judge = Judge(views="linear", n_repeats=1)
    assert judge.judge(*data[:2]).none_probability is None
    assert judge.n_none_clusters_ == 0


def test_what_people_decided_is_not_called_none(data: tuple[Float64s, Ints, Bools, Bools]) -> None:
    X, given, stranger, _ = data
    first, second = np.flatnonzero(stranger)[:2].tolist()
    decisions = [(first, "keep", int(given[first]), None), (second, "remove", int(given[second]), None)]
    verified = VerifiedLabels.match(np.arange(len(given)), given, decisions)
    verdict = judge_verified(quick_judge(), X, given, verified)
    assert verdict.n_none > 50
    assert not verdict.is_none[[first, second]].any() and not verdict.flagged[[first, second]].any()


def test_label_agreement_is_without_bias() -> None:
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    votes = rng.multinomial(15, shares, size=20_000).astype(np.float64)
    agreement = label_agreement(votes)
    assert agreement.mean() == pytest.approx((shares**2).sum(), abs=0.002)
    assert flat_rows(votes, shares, 15).mean() == pytest.approx(0.98, abs=0.015)
    assert not flat_rows(np.array([[15.0, 0.0, 0.0]]), shares, 15).any()


def test_labels_at_random_are_not_predicted() -> None:
    rng = np.random.default_rng(0)
    right = rng.integers(5, size=2000)
    probabilities = np.full((5, 2000), 0.05)
    probabilities[right, np.arange(2000)] = 0.8
    given = np.where(np.arange(2000) < 1000, right, rng.integers(5, size=2000))
    predictions = LabelPredictions(probabilities, given, np.full(5, 0.2), 0.8)
    assert predictions.predicted_share(np.arange(1000)) == pytest.approx(1.0)
    assert predictions.predicted_share(np.arange(500, 1500), errors=0.0) == pytest.approx(0.5, abs=0.05)
    assert predictions.look_random(np.arange(1000, 2000)) and not predictions.look_random(np.arange(500, 1500))


def test_principal_components_keep_distances() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 20))
    base = RowNormalizer.of(X)
    rows = PrincipalComponents.of(base, X, 4)
    assert rows.n_columns == 4
    np.testing.assert_allclose(
        np.linalg.norm(rows.apply(X, np.arange(9)), axis=1), np.linalg.norm(base.apply(X[:9]), axis=1)
    )
    assert PrincipalComponents.of(base, X, 20).n_columns == 20
