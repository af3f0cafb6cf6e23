"""The noise model of several annotators: P(y | x) times one transition matrix for each, fitted by EM.

With the labels l_a of the annotators a of a row: P(y | x, l) ∝ P(y | x) Π_a T_a[y, l_a]. P(y | x) comes from the
judge, which saw the majority's labels of other rows; without features or probabilities it is the share of each
class, and the model is that of Dawid and Skene (1979).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_expit, logsumexp

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.annotators.transitions import PriorStrengths, fit_transitions
from eigenclean.evidence import Annotations

MAX_ITERATIONS = 200
_TOLERANCE = 1e-6  # of the mean log-likelihood
_STRENGTHS_EVERY = 5  # iterations after which the strengths of the prior are estimated again
_FLOOR = 1e-6  # smallest P(y | x): no label of many annotators can be excluded by features alone


@dataclass(frozen=True, eq=False)
class AnnotatorModel:
    """The fitted model.

    Attributes:
        annotations: the labels.
        log_joint: log P(y, labels | x), n x K.
        transitions: T, annotators x right x given.
        log_likelihood: mean over the rows.
    """

    annotations: Annotations
    log_joint: Float64s
    transitions: Float64s
    log_likelihood: float

    @classmethod
    def fit(cls, annotations: Annotations, class_probabilities: Array | None = None) -> "AnnotatorModel":
        """EM from the shares of the annotators' labels.

        Args:
            annotations: the labels.
            class_probabilities: P(y | x), n x K with the classes of the annotations; None learns one share for each
                class.
        """
        k, a = len(annotations.classes), len(annotations.names)
        # Entry (a·K + l, i): annotator a gave row i the label l. Sums over labels are products with it.
        given = csr_array(
            (np.ones(len(annotations.rows)), (annotations.annotators * k + annotations.codes, annotations.rows)),
            shape=(a * k, annotations.n_rows),
        )
        by_row = given.T.tocsr()
        learns_shares = class_probabilities is None
        log_prior = np.zeros((1, k)) if class_probabilities is None else _log_floored(class_probabilities)
        posterior = annotations.label_counts.toarray() / annotations.per_row[:, None]
        if not learns_shares:
            posterior = posterior + np.exp(log_prior)
            posterior /= posterior.sum(axis=1, keepdims=True)
        strengths: PriorStrengths | None = None
        previous = -np.inf
        for iteration in range(MAX_ITERATIONS):
            counts = np.asarray(given @ posterior).reshape(a, k, k).transpose(0, 2, 1)
            transitions, strengths = fit_transitions(
                counts, None if iteration % _STRENGTHS_EVERY == 0 else strengths
            )
            if learns_shares:
                log_prior = np.log((posterior.sum(axis=0) + 1.0) / (len(posterior) + k))[None, :]
            likelihoods = np.log(transitions.transpose(0, 2, 1).reshape(a * k, k))
            log_joint = log_prior + np.asarray(by_row @ likelihoods)
            log_evidence = logsumexp(log_joint, axis=1, keepdims=True)
            posterior = np.exp(log_joint - log_evidence)
            log_likelihood = float(log_evidence.mean())
            if abs(log_likelihood - previous) < _TOLERANCE:
                break
            previous = log_likelihood
        return cls(annotations, np.asarray(log_joint - log_evidence), transitions, log_likelihood)

    @property
    def posterior(self) -> Float64s:
        """P(y | x, all labels), n x K."""
        return np.asarray(np.exp(self.log_joint))

    def log_odds(self, codes: Ints) -> Float64s:
        """log P(y = code) / P(y ≠ code) of one class for each row; it still ranks rows that round to 0 or 1."""
        others = self.log_joint.copy()
        rows = np.arange(len(codes))
        right, others[rows, codes] = others[rows, codes], -np.inf
        return np.asarray(right - logsumexp(others, axis=1))

    @property
    def p_right(self) -> Float64s:
        """For each label of an annotator, the probability that it is right."""
        return np.asarray(np.exp(self.log_joint[self.annotations.rows, self.annotations.codes]))

    def suggest(self, codes: Ints, rows: Ints) -> tuple[Ints, Float64s]:
        """For these rows the best class other than ``codes``, and its probability given that that is wrong."""
        others = self.log_joint[rows]
        others[np.arange(len(rows)), codes[rows]] = -np.inf
        best = others.argmax(axis=1)
        share = others[np.arange(len(rows)), best] - logsumexp(others, axis=1)
        return best.astype(np.intp), np.exp(share)


def _log_floored(probabilities: Array) -> Float64s:
    values = np.asarray(probabilities, dtype=np.float64) + _FLOOR
    return np.asarray(np.log(values / values.sum(axis=1, keepdims=True)))


def probability(log_odds: Float64s) -> Float64s:
    """Log-odds as probabilities.

    >>> probability(np.array([0.0])).tolist()
    [0.5]
    """
    return np.asarray(np.exp(log_expit(log_odds)))
