"""Krippendorff's alpha: the textbook's example, what a library computes, and a slow loop over pairs."""

import itertools

import numpy as np
import pytest

from eigenclean.detect.annotators.agreement import krippendorff_alpha
from eigenclean.evidence import Annotations


def test_the_example_of_the_textbook() -> None:
    # Krippendorff (2011), Computing Krippendorff's alpha-reliability, section C: four observers, twelve units.
    a = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
    b = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
    c = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
    d = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]
    alpha = krippendorff_alpha(Annotations.from_matrix(list(zip(a, b, c, d, strict=True))))
    assert alpha == pytest.approx(0.743, abs=5e-4)


# The package krippendorff 0.9.0 gives these values for the level of measurement "nominal".
@pytest.mark.parametrize(
    ("seed", "alpha"), [(0, 0.28955395773025794), (1, 0.4081462729811669), (2, 0.36109578966721834)]
)
def test_the_same_as_a_library(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 4, 60)
    table = np.where(rng.random((60, 5)) < 0.6, right[:, None], rng.integers(0, 4, (60, 5)))
    table[rng.random((60, 5)) < 0.2] = -1
    assert krippendorff_alpha(Annotations.from_matrix(table)) == pytest.approx(alpha, abs=1e-12)


def slow_alpha(table: np.ndarray) -> float:
    units = [[label for label in row if label >= 0] for row in table.tolist()]
    units = [unit for unit in units if len(unit) > 1]
    values = [label for unit in units for label in unit]
    observed = sum(
        sum(a != b for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(values)
    pairs = list(itertools.permutations(values, 2))
    return float(1 - observed / (sum(a != b for a, b in pairs) / len(pairs)))


@pytest.mark.parametrize("seed", range(5))
def test_the_same_as_a_slow_loop(seed: int) -> None:
    table = np.random.default_rng(seed).integers(-1, 3, (20, 4))
    table[:, 0] = np.maximum(table[:, 0], 0)
    assert krippendorff_alpha(Annotations.from_matrix(table)) == pytest.approx(slow_alpha(table))


def test_not_defined_without_comparison_or_difference() -> None:
    assert krippendorff_alpha(Annotations.from_matrix(np.array([[0, -1], [-1, 1]]))) is None
    assert krippendorff_alpha(Annotations.from_matrix(np.array([[0, 0], [0, 0]]))) is None
