"""How to tell samples of no class: similar samples have labels that look random, and no view predicts them.

A row of a class has neighbours of mostly the same label; near a boundary, neighbours of two or three classes.
Among rows that belong to no class, labels are drawn from all classes. Rows in such a neighbourhood are only seeds:
classes that overlap, features that say little and many wrong labels look alike. What decides is whether the views
together predict the labels of these rows, out of sample, better than chance.
"""

from typing import NamedTuple

import numpy as np

from eigenclean.arrays import Bools, Float64s, Floats, Ints

FLAT_DEVIATIONS = 2.5  # a neighbourhood is flat up to so many standard deviations above labels drawn at random
MAX_PREDICTED = 0.15  # of the labels of samples of no class, at most this share may be predicted


def label_agreement(votes: Float64s) -> Float64s:
    """P(two random neighbours have the same label), for each row of an n x K table of counts, without bias.

    >>> label_agreement(np.array([[4.0, 0.0], [2.0, 2.0]])).round(3)
    array([1.   , 0.333])
    """
    n = votes.sum(axis=1)
    pairs = (votes * np.maximum(votes - 1.0, 0.0)).sum(axis=1)
    return np.asarray(pairs / np.maximum(n * (n - 1.0), 1.0))


def flat_rows(votes: Float64s, shares: Float64s, n_neighbours: int) -> Bools:
    """Rows whose neighbours agree no more than labels that are drawn at random from the ``shares`` of the classes.

    The limit is so many standard deviations of that U-statistic above its mean.

    >>> flat_rows(np.array([[9.0, 0, 1, 0], [3, 2, 2, 3]]), np.full(4, 0.25), 10)
    array([False,  True])
    """
    second, third = float((shares**2).sum()), float((shares**3).sum())
    k = n_neighbours
    variance = (4.0 * (k - 2) * (third - second**2) + 2.0 * (second - second**2)) / (k * (k - 1))
    return np.asarray(label_agreement(votes) <= second + FLAT_DEVIATIONS * np.sqrt(max(variance, 0.0)))


class LabelPredictions(NamedTuple):
    """How well the views predict the given labels.

    Attributes:
        probabilities: K x n, P(y | x), each from the labels of other rows.
        given: n, the given classes.
        shares: of the classes among the given labels.
        level: mean P of the given label of rows that are no seeds.
    """

    probabilities: Floats
    given: Ints
    shares: Float64s
    level: float

    @property
    def chance(self) -> float:
        """Mean P of a given label that is drawn from the shares of the classes."""
        return float(self.shares @ self.shares)

    def predicted_share(self, rows: Ints, errors: float = 1.0) -> float:
        """An upper estimate of the share of these rows whose labels are predicted as well as those of other rows.

        The mean P of the given labels is compared with what labels at random would have, which does not depend on
        how sure the views are of themselves. So many standard ``errors`` are added.
        """
        given = self.probabilities[self.given[rows], rows].astype(np.float64)
        chance = float((self.shares @ self.probabilities[:, rows]).mean())
        mean, error = float(given.mean()), float(given.std() / np.sqrt(len(rows)))
        return (mean + errors * error - chance) / max(self.level - chance, 1e-9)

    def look_random(self, rows: Ints) -> bool:
        """Whether hardly any of the labels of these rows is predicted."""
        return self.predicted_share(rows) <= MAX_PREDICTED
