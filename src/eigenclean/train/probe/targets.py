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
        posterior: probabilities of all classes (n x K), where they are known.
    """

    codes: Ints
    weight: Float64s
    given: Ints
    given_weight: Float64s
    n_classes: int
    posterior: Float64s | None = None

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
        classes only lowers its weight, unless it is known how it is shared among them.
        """
        if self.posterior is not None:
            return self.posterior, np.ones(len(self.codes))
        shares = np.zeros((len(self.codes), self.n_classes))
        rows = np.arange(len(self.codes))
        shares[rows, self.codes] = self.weight
        changed = np.flatnonzero(self.codes != self.given)
        shares[changed, self.given[changed]] = self.given_weight[changed]
        total = np.minimum(shares.sum(axis=1), 1.0)
        return shares / shares.sum(axis=1, keepdims=True), total

    def reconsidered(self, probabilities: Float64s) -> "JudgedLabels":
        """The same given labels, judged by P(class | features) of classifiers that did not learn from the row.

        How often a class was given which label follows from the labels as judged so far: the transition matrix.
        With it, P(right label | features, given label) is proportional to P(class | features) P(given | class).
        Labels that are certainly right, such as those that people confirmed, stay.
        """
        shares, weight = self.soft()
        counts = np.full((self.n_classes, self.n_classes), _LEAST_WEIGHT)
        np.add.at(counts.T, self.given, shares * weight[:, None])
        transition = counts / counts.sum(axis=1, keepdims=True)
        posterior = probabilities * transition[:, self.given].T
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
        certain = self.given_weight >= 1.0
        posterior[certain] = np.eye(self.n_classes)[self.given[certain]]
        rows, codes = np.arange(len(posterior)), posterior.argmax(axis=1)
        weight = np.clip(posterior[rows, codes], _LEAST_WEIGHT, 1.0)
        return JudgedLabels(
            codes, weight, self.given, posterior[rows, self.given], self.n_classes, posterior=posterior
        )
