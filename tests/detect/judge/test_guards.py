"""The sentences that come with a verdict where labels alone cannot tell."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from eigenclean.arrays import Array
from eigenclean.detect.judge import Judge
from eigenclean.detect.judge import judge as judge_module
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.em import fit_noise_model
from eigenclean.detect.judge.guards import FitFacts, cautions
from eigenclean.detect.judge.view_agreement import comparable_rates, estimates_by_view
from eigenclean.scale.stream import judge_stream
from eigenclean.sources import open_source

QUIET = FitFacts(
    np.array(["a", "b", "c"]),
    np.array([100, 100, 100]),
    np.array([5.0, 5.0, 5.0]),
    (0.04, 0.06),
)


def test_an_ordinary_fit_has_no_caution() -> None:
    assert cautions(QUIET) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"predicts": False}, "do not predict the labels better than the sizes of the classes"),
        ({"wrong": np.array([45.0, 45.0, 45.0]), "noise_rate_range": (0.4, 0.46)}, "45 % of the labels look wrong"),
        ({"wrong": np.array([51.0, 0.0, 0.0]), "noise_rate_range": (0.1, 0.2)}, "of class 'a' look wrong"),
        ({"wrong": np.array([51.0, 60.0, 0.0]), "noise_rate_range": (0.3, 0.4)}, "of classes 'a', 'b' look wrong"),
        (
            {"counts": np.array([191, 9, 100]), "wrong": np.array([8.0, 1.0, 6.0])},
            "1 of 3 classes has fewer than 10 rows",
        ),
        ({"noise_rate_range": (0.0, 0.2)}, "up to 15 % more of the labels are open"),
        (
            {"view_rates": {"linear": 0.22, "kernel": 0.19, "trees": 0.3}},
            "by kernel alone 19 % of the labels are wrong, by trees alone 30 %",
        ),
        ({"views_left_out": ["neighbours", "trees"]}, "neighbours and trees were not consulted"),
    ],
)
def test_each_reason_has_its_sentence(change: dict[str, object], words: str) -> None:
    (sentence,) = cautions(replace(QUIET, **change))  # type: ignore[arg-type]
    assert words in sentence


LARGER = [pytest.param(n, k, marks=pytest.mark.slow) for n, k in ((300, 2), (1500, 3))]


@pytest.mark.filterwarnings("ignore:Judge.*kept whole")  # all labels are equally right
@pytest.mark.parametrize(("n", "k"), [(100, 2), (300, 3), (200, 10), *LARGER])
def test_features_that_say_nothing_are_named_and_no_label_is_called_wrong(n: int, k: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        judge = Judge(views="linear,kernel,neighbours")
        verdict = judge.fit_judge(rng.standard_normal((n, 4)), rng.integers(k, size=n))
        assert any("do not predict the labels" in sentence for sentence in judge.cautions_)
        assert verdict.n_flagged == 0
        low, high = judge.noise_rate_range_
        assert low < 0.01 and high > 0.3  # nothing is known


def test_features_that_say_little_are_believed() -> None:
    """Two classes that overlap widely, with a few hundred rows."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    judge = Judge(views="linear,kernel").fit(rng.standard_normal((400, 3)) + labels[:, None], labels)
    assert not any("do not predict the labels" in sentence for sentence in judge.cautions_)


def test_a_stream_names_the_views_it_has_not() -> None:
    verdict = judge_stream(open_source("digits")).verdict
    cautioned = dict(verdict.made_by)["cautions"]  # type: ignore[arg-type]
    assert any("neighbours and trees were not consulted" in sentence for sentence in cautioned)
    asked = Judge(views="linear,kernel").fit(*load_digits(return_X_y=True))
    assert not any("not consulted" in sentence for sentence in asked.cautions_)


class TestViewsAlone:
    def scores(self, rate: float, n: int = 3000) -> tuple[Array, Array]:
        """Scores of three well separated classes, and labels of which a share is wrong."""
        rng = np.random.default_rng(0)
        right = rng.integers(3, size=n)
        table = np.eye(3)[right] * 6 + rng.normal(size=(n, 3))
        moved = (right + rng.integers(1, 3, n)) % 3
        return table, np.where(rng.random(n) < rate, moved, right)

    def test_each_view_finds_the_rate_that_its_scores_show(self) -> None:
        table, given = self.scores(0.2)
        noise = np.random.default_rng(1).normal(size=table.shape)
        candidates = CandidateBlocks.single(Candidates.from_tables([table, table + noise], given))
        estimates = estimates_by_view(["first", "second"], fit_noise_model(candidates), candidates)
        assert [estimates[name].noise_rate for name in ("first", "second")] == pytest.approx([0.2, 0.2], abs=0.03)
        assert estimates["first"].log_likelihood > estimates["second"].log_likelihood

    def test_a_view_that_explains_little_has_no_say(self) -> None:
        table, given = self.scores(0.2)
        nonsense = np.random.default_rng(1).normal(size=table.shape)
        candidates = CandidateBlocks.single(Candidates.from_tables([table, nonsense], given))
        estimates = estimates_by_view(["good", "bad"], fit_noise_model(candidates), candidates)
        assert list(comparable_rates(estimates)) == ["good"]

    def test_views_that_disagree_widen_the_range(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = load_wine(return_X_y=True)
        quiet = Judge(views="linear,kernel").fit(X, y)
        assert not any("disagree" in sentence for sentence in quiet.cautions_)
        monkeypatch.setattr(judge_module, "comparable_rates", lambda _: {"linear": 0.0, "kernel": 0.5})
        judge = Judge(views="linear,kernel").fit(X, y)
        assert any("views of the features disagree" in sentence for sentence in judge.cautions_)
        assert judge.noise_rate_range_[1] == 0.5
