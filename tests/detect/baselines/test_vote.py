"""The vote: log-odds averaged over the members, those that keep a class whole excepted."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean.detect import detector
from eigenclean.detect.baselines.vote import Vote
from eigenclean.errors import EigencleanWarning, InvalidOption
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
NOISY = corrupt(Y, "symmetric", 0.2, random_state=1)
FAST = ("fine-relative", "knn")


def test_the_score_is_the_mean_of_the_log_odds() -> None:
    verdict = Vote(members=FAST).judge(X, NOISY.labels)
    total = np.zeros(len(X))
    for name in FAST:
        p = np.clip(detector(name).judge(X, NOISY.labels).p_clean, 1e-6, 1 - 1e-6)
        total += np.log(p / (1 - p))
    np.testing.assert_allclose(verdict.score, total / 2)
    np.testing.assert_allclose(verdict.p_clean, 1 / (1 + np.exp(-total / 2)))
    assert isinstance(verdict.made_by, dict)
    assert verdict.made_by["members"] == list(FAST)


def test_a_single_member_decides_as_it_does_alone() -> None:
    alone, vote = detector("knn").judge(X, NOISY.labels), Vote(members="knn").judge(X, NOISY.labels)
    np.testing.assert_allclose(vote.p_clean, alone.p_clean, atol=1e-6)
    np.testing.assert_array_equal(vote.suggested, alone.suggested)
    np.testing.assert_allclose(vote.suggested_confidence, alone.suggested_confidence, atol=1e-5)


def test_the_first_member_that_flags_suggests() -> None:
    vote = Vote(members=FAST).judge(X, NOISY.labels)
    members = [detector(name).judge(X, NOISY.labels) for name in FAST]
    for i in np.flatnonzero(vote.flagged):
        first = next(member for member in members if member.flagged[i])
        assert vote.suggested[i] == first.suggested[i]


def test_a_member_that_keeps_a_class_whole_abstains() -> None:
    few = (Y != 3) | (np.cumsum(Y == 3) <= 5)  # too few for the neighbours, enough for the judge
    small = Y[few] == 3
    vote = Vote(members=("judge", "knn")).fit(X[few], Y[few])
    assert vote._has_vote()[:, 3].tolist() == [True, False]
    judge = vote.members_[0].p_clean(X[few], Y[few])
    np.testing.assert_allclose(vote.p_clean(X[few], Y[few])[small], judge[small], atol=1e-5)


def test_a_class_that_all_keep_whole_is_kept_whole() -> None:
    few = (Y != 3) | (np.cumsum(Y == 3) <= 5)
    with pytest.warns(EigencleanWarning, match="Vote: class 3 kept whole") as caught:
        verdict = Vote(members="knn,simifeat").judge(X[few], Y[few])
    assert len(caught) == 1  # the members keep quiet
    assert (verdict.p_clean[Y[few] == 3] == 1).all()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ((), "at least one"),
        ("", "at least one"),
        ("judge, nkn", "did you mean 'knn'"),
        (("judge", ""), "must be one of"),
    ],
)
def test_bad_members(members: Any, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        Vote(members=members).fit(X, Y)


@pytest.mark.slow
def test_digits() -> None:
    quality = score_verdict(Vote().judge(X, NOISY.labels), NOISY.truth)
    assert quality.f > 0.98
    assert quality.auroc is not None and quality.auroc > 0.995
    assert Vote().judge(X, Y).flagged.mean() < 0.02
