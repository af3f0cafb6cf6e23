"""Kinds of noise that only the benchmark plants: errors at class boundaries, and one class that is noisy."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.errors import MissingEvidence
from eigenclean.noise import Noise
from eigenclean_lab.bench.quality.neighbours import nearest_votes

_NEIGHBOURS = 15


@dataclass(frozen=True)
class Boundary(Noise):
    """The rows nearest to another class get its label: what people confuse, and the hardest errors to find.

    Nearest are those whose 15 nearest others vote least clearly for their class; the label becomes the class that
    has most votes of the others, or where there is none the one with the nearest mean.

    Attributes:
        rate: share of labels that end up wrong.
    """

    rate: float = 0.15

    @property
    def nominal_rate(self) -> float | None:
        """The share of wrong labels."""
        return self.rate

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows; rows that are equally near are chosen at random."""
        if features is None:
            raise MissingEvidence("boundary noise needs features, but only labels were given")
        rows, n_classes = np.arange(len(codes)), len(classes)
        votes = nearest_votes(features, codes, n_classes, _NEIGHBOURS)
        margin = votes[rows, codes].copy()
        votes[rows, codes] = -1.0
        margin -= votes.max(axis=1)
        chosen = np.lexsort((rng.random(len(codes)), margin))[: round(self.rate * len(codes))]
        # A distance adds less than one vote, so that it decides only where no other class has a vote.
        distance = _distances_to_means(features, codes, n_classes)[chosen]
        preference = votes[chosen] - 0.5 / _NEIGHBOURS * distance / distance.max(axis=1, keepdims=True)
        preference[np.arange(len(chosen)), codes[chosen]] = -np.inf
        noisy = codes.copy()
        noisy[chosen] = preference.argmax(axis=1)
        return noisy


@dataclass(frozen=True)
class OneClass(Noise):
    """Some rows of the largest class get the label of any other class; all other labels stay right.

    Attributes:
        share: of the rows of that class that get a wrong label.
    """

    share: float = 0.4

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        largest = int(np.bincount(codes, minlength=len(classes)).argmax())
        rows = np.flatnonzero(codes == largest)
        chosen = rng.permutation(rows)[: round(self.share * len(rows))]
        noisy = codes.copy()
        noisy[chosen] = (largest + rng.integers(1, len(classes), size=len(chosen))) % len(classes)
        return noisy


def _distances_to_means(features: Array, codes: Ints, n_classes: int) -> Array:
    means = np.array([features[codes == k].mean(axis=0) for k in range(n_classes)])
    return np.column_stack([np.linalg.norm(features - mean, axis=1) for mean in means])
