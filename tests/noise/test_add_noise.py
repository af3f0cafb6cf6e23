"""The functions around the noises: types, classes, names, messages."""

from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData, InvalidOption, MissingEvidence, TooFewSamples
from eigenclean.noise import add_noise, corrupt, make_noise, parse_noise
from eigenclean.noise.class_conditional import Pair, Symmetric

LABELS = np.arange(40) % 4


def test_an_unknown_kind_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(InvalidOption) as caught:
        add_noise(LABELS, "symetric")
    assert str(caught.value) == (
        "add_noise: kind must be one of asymmetric, human, instance, pair, symmetric, transition, "
        "got 'symetric'; did you mean 'symmetric'?"
    )


def test_an_unknown_option_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(InvalidOption, match="option must be one of exact, inclusive, got 'inclusiv'; did you mean"):
        add_noise(LABELS, inclusiv=False)


@pytest.mark.parametrize(("kind", "option"), [("transition", "matrix"), ("human", "path")])
def test_a_needed_option_is_asked_for(kind: str, option: str) -> None:
    with pytest.raises(InvalidOption, match=f"{kind} noise: the option {option} is needed"):
        add_noise(LABELS, kind)


def test_a_noise_brings_its_own_options() -> None:
    assert corrupt(LABELS, Pair(0.5), rate=0.1).rate == 0.5
    with pytest.raises(InvalidOption, match="has its options already, got also exact"):
        add_noise(LABELS, Pair(0.5), exact=False)


def test_features_are_asked_for() -> None:
    with pytest.raises(MissingEvidence, match="instance noise needs features"):
        add_noise(LABELS, "instance")


def test_classes_that_no_label_has_may_be_drawn() -> None:
    noisy = add_noise(np.zeros(1000, dtype=np.int8), "symmetric", 1.0, classes=[0, 1, 2, -7])
    assert set(noisy.tolist()) == {0, 1, 2, -7}
    assert noisy.dtype == np.int8


def test_classes_say_which_one_is_next() -> None:
    assert add_noise(["a", "b", "c"], "pair", 1.0, classes=["c", "a", "b"]).tolist() == ["b", "c", "a"]


def test_a_longer_name_is_not_cut_short() -> None:
    assert add_noise(["a", "a"], "pair", 1.0, classes=["a", "elephant"]).tolist() == ["elephant", "elephant"]


@pytest.mark.parametrize(
    ("labels", "classes", "error", "message"),
    [
        ([1, 5], [1, 2], InvalidData, "label 5 in row 1 is not among the classes 1, 2"),
        ([1, 2], ["1", "2"], InvalidOption, "classes have type <U1, labels int64"),
        ([1, 2], [1, 2, 2], InvalidOption, "must name each class once"),
        (np.array([1, 2], dtype=np.uint8), [1, 2, 300], InvalidOption, "do not fit the labels' type uint8"),
        (np.array([1, 2], dtype=np.uint8), [1, 2, -1], InvalidOption, "do not fit the labels' type uint8"),
        ([1, 1], None, TooFewSamples, "at least two classes are needed to make labels wrong, got only 1"),
        ([], None, TooFewSamples, "there are no labels"),
        ([[1, 2]], None, InvalidData, "one value per row"),
        (["a", None], None, InvalidData, "1 of 2 labels are missing"),
        ([0.5, 1.0], None, InvalidData, "labels must be classes"),
    ],
)
def test_what_cannot_be_spoiled_is_explained(
    labels: Any, classes: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        add_noise(labels, classes=classes)


@pytest.mark.parametrize("random_state", [-1, "seed", 0.5])
def test_a_seed_is_a_seed(random_state: Any) -> None:
    with pytest.raises(InvalidOption, match="random_state must be an integer from 0"):
        add_noise(LABELS, random_state=random_state)


def test_no_seed_differs_each_time() -> None:
    labels = np.arange(1000) % 10
    assert (add_noise(labels, random_state=None) != add_noise(labels, random_state=None)).any()


def test_kind_and_rate_in_one_word() -> None:
    assert parse_noise("symmetric:0.5") == Symmetric(0.5) == make_noise("symmetric", 0.5)
    assert parse_noise("pair: 1") == Pair(1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("symmetric", "as kind:rate, for example symmetric:0.5"),
        ("symmetric:half", "as kind:rate, for example symmetric:0.5"),
        ("symmetric:0.5:1", "as kind:rate, for example symmetric:0.5"),
        ("symmetric:1.5", "rate must be a number from 0 to 1, got 1.5"),
        ("symmetric:nan", "rate must be a number from 0 to 1, got nan"),
        ("symetric:0.5", "did you mean 'symmetric'"),
        ("human:0.5", "must be one of asymmetric, instance, pair, symmetric, got 'human'"),
        ("", "must be one of"),
    ],
)
def test_what_is_no_kind_and_rate_is_explained(text: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        parse_noise(text)
