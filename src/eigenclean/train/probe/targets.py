"""What a classifier learns instead of the given labels: the labels as a verdict judges them, with weights."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints, locate_labels
from eigenclean.verdict import Verdict

_LEAST_WEIGHT = 1e-3  # of a row: classifiers that take logarithms or divide by weights need more than 0


@dataclass(frozen=True, eq=False)
class JudgedLabels:
    """A label and its probability for each row, and the given label with its own where that is another one.

    Attributes:
        codes: class of the label that replaces the given one where it was flagged, else of the given one.
        weight: probability that this label is right.
        given: class of the given label.
        given_weight: probability that the given label is right.
        n_classes: number of classes.
    """

    codes: Ints
    weight: Float64s
    given: Ints
    given_weight: Float64s
    n_classes: int

    @classmethod
    def of(cls, verdict: Verdict, classes: Array, trusted: Bools | None = None) -> "JudgedLabels":
        """From a verdict; labels of ``trusted`` rows are right, whatever it says."""
        given = locate_labels(verdict.labels, classes, by="verdict")
        codes = locate_labels(verdict.suggested, classes, by="verdict")
        weight = np.clip(verdict.suggested_confidence, _LEAST_WEIGHT, 1.0).astype(np.float64)
        given_weight = np.clip(verdict.p_clean, 0.0, 1.0).astype(np.float64)
        if trusted is not None:
            codes, weight = np.where(trusted, given, codes), np.where(trusted, 1.0, weight)
            given_weight = np.where(trusted, 1.0, given_weight)
        return cls(codes, weight, given, given_weight, len(classes))

    def soft(self) -> tuple[Float64s, Float64s]:
        """Shares of the classes in each row (n x K), and the weight of the row.

        A flagged row counts for both labels in proportion to their probabilities. The probability of all other
        classes only lowers its weight.
        """
        shares = np.zeros((len(self.codes), self.n_classes))
        rows = np.arange(len(self.codes))
        shares[rows, self.codes] = self.weight
        changed = np.flatnonzero(self.codes != self.given)
        shares[changed, self.given[changed]] = self.given_weight[changed]
        total = np.minimum(shares.sum(axis=1), 1.0)
        return shares / shares.sum(axis=1, keepdims=True), total
