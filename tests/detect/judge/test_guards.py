"""The sentences that come with a verdict where labels alone cannot tell."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean.detect.judge import Judge
from eigenclean.detect.judge.guards import FitFacts, cautions
from eigenclean.scale.stream import judge_stream
from eigenclean.sources import open_source

QUIET = FitFacts(
    np.array(["a", "b", "c"]),
    np.array([100, 100, 100]),
    np.array([5.0, 5.0, 5.0]),
    (0.04, 0.06),
    log_likelihood=-0.3,
)


def test_an_ordinary_fit_has_no_caution() -> None:
    assert cautions(QUIET) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"log_likelihood": -1.098}, "do not predict the labels better than the sizes of the classes"),
        ({"wrong": np.array([45.0, 45.0, 45.0]), "noise_rate_range": (0.4, 0.46)}, "45 % of the labels look wrong"),
        ({"wrong": np.array([51.0, 0.0, 0.0]), "noise_rate_range": (0.1, 0.2)}, "of class 'a' look wrong"),
        ({"wrong": np.array([51.0, 60.0, 0.0]), "noise_rate_range": (0.3, 0.4)}, "of classes 'a', 'b' look wrong"),
        (
            {"counts": np.array([191, 9, 100]), "wrong": np.array([8.0, 1.0, 6.0])},
            "1 of 3 classes has fewer than 10 rows",
        ),
        ({"noise_rate_range": (0.0, 0.2)}, "up to 15 % more of the labels are open"),
        ({"views_left_out": ["neighbours", "trees"]}, "neighbours and trees were not consulted"),
    ],
)
def test_each_reason_has_its_sentence(change: dict[str, object], words: str) -> None:
    (sentence,) = cautions(replace(QUIET, **change))  # type: ignore[arg-type]
    assert words in sentence


def test_features_that_say_nothing_are_named() -> None:
    rng = np.random.default_rng(1)
    judge = Judge().fit(rng.standard_normal((400, 5)), rng.integers(3, size=400))
    assert any("do not predict the labels" in sentence for sentence in judge.cautions_)


def test_a_stream_names_the_views_it_has_not() -> None:
    verdict = judge_stream(open_source("digits")).verdict
    cautioned = dict(verdict.made_by)["cautions"]  # type: ignore[arg-type]
    assert any("neighbours and trees were not consulted" in sentence for sentence in cautioned)
    asked = Judge(views="linear,kernel").fit(*load_digits(return_X_y=True))
    assert not any("not consulted" in sentence for sentence in asked.cautions_)
