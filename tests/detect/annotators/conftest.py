from typing import NamedTuple

import numpy as np
import pytest

from eigenclean.arrays import Array, Float64s
from eigenclean.evidence import Annotations


class Crowd(NamedTuple):
    """Labels of simulated annotators, who label one to five rows of those with these true classes."""

    annotations: Annotations
    truth: Array
    transitions: Float64s


def simulate(n: int, transitions: Float64s, seed: int = 0, most: int = 5) -> Crowd:
    rng = np.random.default_rng(seed)
    n_annotators, k = transitions.shape[:2]
    truth = rng.integers(0, k, n)
    table = np.full((n, n_annotators), -1)
    for row in range(n):
        for annotator in rng.choice(n_annotators, rng.integers(1, most + 1), replace=False):
            table[row, annotator] = rng.choice(k, p=transitions[annotator, truth[row]])
    return Crowd(Annotations.from_matrix(table), truth, transitions)


@pytest.fixture(scope="session")
def crowd() -> Crowd:
    """12 annotators of 4 classes; of the first three one guesses, one is contrary and one always says the same."""
    rng = np.random.default_rng(1)
    k = 4
    transitions = np.empty((12, k, k))
    for annotator, right in enumerate(rng.uniform(0.6, 0.95, 12)):
        transitions[annotator] = (1 - right) / (k - 1)
        np.fill_diagonal(transitions[annotator], right)
    transitions[0] = 1 / k
    transitions[1] = 0.04 / k + 0.96 * np.roll(np.eye(k), 1, axis=1)
    transitions[2] = np.eye(k)[[2] * k]
    return simulate(2500, transitions)
