"""HOC: the noise rates of a data set from how often the labels of neighbours agree."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from eigenclean.arrays import Float64s, Ints

_THIRD_ORDER = 30  # up to this many classes, triples of labels are counted
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class Noise:
    """What was estimated.

    Attributes:
        transition: K x K, row i the chances of each given label when the true one is i.
        prior: K, the chance of each true label.
    """

    transition: Float64s
    prior: Float64s

    def p_right(self, given: Float64s) -> Float64s:
        """P(true = k | given = k) for each class, when ``given`` are the frequencies of the given labels.

        >>> Noise(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5])).p_right(np.array([0.55, 0.45])).round(3)
        array([0.818, 0.889])
        """
        right = np.diagonal(self.transition) * self.prior
        return np.asarray(right / np.maximum(given, 1e-300))


def estimate_noise(
    triples: Ints,
    n_classes: int,
    *,
    draws: int = 10,
    draw_size: int = 15_000,
    steps: int = 400,
    lr: float = 0.1,
    random_state: int | None = 0,
) -> Noise:
    """HOC (Zhu, Song, Liu; ICML 2021): T and p from consensus counts, without a single clean label.

    When a sample and its two nearest neighbours share their true class, their given labels are three independent
    draws of the same row of T: P(j) = Σᵢ pᵢ Tᵢⱼ, P(j, l) = Σᵢ pᵢ Tᵢⱼ Tᵢₗ, P(j, l, m) = Σᵢ pᵢ Tᵢⱼ Tᵢₗ Tᵢₘ. T and
    p, as softmaxes, are fitted to the three tables of frequencies by Adam on the sum of their Frobenius distances,
    from a T near the identity; the best of all steps is returned. With more than 30 classes the third table would
    have more cells than most data sets have rows, so that only the first two are used: T is then held by its start
    and by the agreement of pairs, which gives its diagonal but little of its asymmetry.

    Neighbours are found among all rows, once (the released code searches anew in every draw), and the start is not
    jittered.

    Args:
        triples: n x 3, the labels of each sample and of its nearest two neighbours as numbers 0..K-1.
        n_classes: K.
        draws: how many draws of rows are counted.
        draw_size: rows in each draw; with no more rows than this, all are counted once.
        steps: of Adam.
        lr: its learning rate.
        random_state: seed of the draws.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 10_000)
    >>> T = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> triples = (rng.random((10_000, 3)) > T[truth, :1]).astype(int)
    >>> bool(np.abs(estimate_noise(triples, 2).transition - T).max() < 0.03)
    True
    """
    counts = _consensus(triples, n_classes, draws, draw_size, np.random.default_rng(random_state))
    targets = [_Symmetric.of(count) for count in counts[: 3 if n_classes <= _THIRD_ORDER else 2]]
    logits = 5.0 * np.eye(n_classes + 1, n_classes) - 1.0  # the last row is p's, equal for all classes
    logits[-1] = 0.0
    first, second = np.zeros_like(logits), np.zeros_like(logits)
    least, best = np.inf, _softmax(logits)
    for step in range(1, steps + 1):
        chances = _softmax(logits)
        loss, slope = _loss(chances[:-1], chances[-1], targets)
        if loss < least:
            least, best = loss, chances
        slope = chances * (slope - np.vecdot(slope, chances)[:, None])  # through the softmax
        first = _BETAS[0] * first + (1 - _BETAS[0]) * slope
        second = _BETAS[1] * second + (1 - _BETAS[1]) * slope**2
        unbiased = first / (1 - _BETAS[0] ** step), second / (1 - _BETAS[1] ** step)
        logits = logits - lr * unbiased[0] / (np.sqrt(unbiased[1]) + _EPSILON)
    return Noise(best[:-1], best[-1])


def _consensus(triples: Ints, k: int, draws: int, size: int, rng: np.random.Generator) -> list[Float64s]:
    """Frequencies of labels, of pairs and (for few classes) of triples."""
    if len(triples) > size:
        weight = np.zeros(len(triples))
        for _ in range(draws):
            weight[rng.choice(len(triples), size, replace=False)] += 1.0
    else:
        weight = np.ones(len(triples))
    tables = []
    for order in (1, 2, 3) if k <= _THIRD_ORDER else (1, 2):
        cells = np.ravel_multi_index(tuple(triples[:, :order].T), (k,) * order)
        tables.append((np.bincount(cells, weight, k**order) / weight.sum()).reshape((k,) * order))
    return tables


@dataclass(frozen=True)
class _Symmetric:
    """A table averaged over the orders of its axes, as every model is, and the square of what that leaves out."""

    table: Float64s
    rest: float

    @classmethod
    def of(cls, table: Float64s) -> "_Symmetric":
        orders = list(permutations(range(table.ndim)))
        even = np.mean([np.transpose(table, order) for order in orders], axis=0)
        return cls(np.asarray(even), float(np.sum((table - even) ** 2)))


def _loss(T: Float64s, p: Float64s, targets: list[_Symmetric]) -> tuple[float, Float64s]:
    """The sum of Frobenius distances, and its slope with respect to the rows of T and, last, to p."""
    k = len(p)
    loss, by_T, by_p = 0.0, np.zeros((k, k)), np.zeros(k)
    powers = np.ones((k, 1))  # the products of the chances of all labels but the first, one row for each true class
    for order, target in enumerate(targets, start=1):
        apart = (p[:, None] * T).T @ powers - target.table.reshape(k, -1)
        distance = np.sqrt(np.sum(apart**2) + target.rest)
        loss += float(distance)
        if distance > 0:
            pulled = powers @ (apart.T / distance)  # row i: the table's slope against the chances of i
            by_T += order * p[:, None] * pulled  # all axes are alike
            by_p += np.vecdot(T, pulled)
        powers = (powers[:, :, None] * T[:, None, :]).reshape(k, -1) if order < len(targets) else powers
    return loss, np.vstack([by_T, by_p])


def _softmax(logits: Float64s) -> Float64s:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
