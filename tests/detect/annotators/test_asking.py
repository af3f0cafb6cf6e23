"""What to ask next: mutual information against a slow sum, and who gets the questions."""

import numpy as np
import pytest

from eigenclean.detect.annotators.asking import choose_questions, information
from eigenclean.detect.annotators.model import AnnotatorModel
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Annotations
from tests.detect.annotators.conftest import Crowd


def test_information_is_that_of_a_slow_sum() -> None:
    rng = np.random.default_rng(0)
    posterior, transition = rng.dirichlet(np.ones(3), 5), rng.dirichlet(np.ones(3), 3)
    for row, value in zip(posterior, information(posterior, transition), strict=True):
        predicted = row @ transition
        slow = sum(
            row[y] * transition[y, label] * np.log(transition[y, label] / predicted[label])
            for y in range(3)
            for label in range(3)
        )
        assert value == pytest.approx(slow)


def test_nobody_is_asked_twice_nor_much_more_than_others(crowd: Crowd) -> None:
    questions = choose_questions(AnnotatorModel.fit(crowd.annotations), 60)
    given = crowd.annotations
    assert len(questions) == 60 and len(set(questions.rows.tolist())) == 60
    assert (np.diff(questions.gain) <= 1e-12).all()
    known = set(zip(given.rows.tolist(), given.names[given.annotators].tolist(), strict=True))
    assert not known & set(zip(questions.rows.tolist(), questions.annotators.tolist(), strict=True))
    names, counts = np.unique(questions.annotators, return_counts=True)
    assert counts.max() <= 10
    assert not set(names.tolist()) & {"0", "2"}  # one guesses, one always says the same: nothing to learn


def test_somebody_new_where_all_have_answered() -> None:
    table = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]] * 5)
    questions = choose_questions(AnnotatorModel.fit(Annotations.from_matrix(table)), 3)
    assert questions.annotators.tolist() == ["", "", ""]
    assert set((questions.rows % 4).tolist()) <= {2, 3}


def test_a_number_of_questions_is_needed(crowd: Crowd) -> None:
    with pytest.raises(InvalidOption, match="--ask must be a whole number from 1, got 0"):
        choose_questions(AnnotatorModel.fit(crowd.annotations), 0)
