"""HOC: the noise rates of a data set from how often the labels of neighbours agree."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from eigenclean.arrays import Float64s, Ints
from eigenclean.seeds import tagged_generator

_THIRD_ORDER = 30  # up to this many classes, triples of labels are counted
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class NoiseEstimate:
    """The transition matrix and the class prior of a data set with noisy labels.

    Attributes:
        transition: K x K, row i the probabilities of the given labels when the true one is i.
        prior: K, the probability of each true label.
    """

    transition: Float64s
    prior: Float64s

    def p_right(self, given: Float64s) -> Float64s:
        """P(true = k | given = k) for each class, when ``given`` are the frequencies of the given labels.

        >>> noise = NoiseEstimate(np.array([[0.9, 0.1], [0.2, 0.8]]), prior=np.array([0.5, 0.5]))
        >>> noise.p_right(np.array([0.55, 0.45])).round(3)
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
) -> NoiseEstimate:
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
    counts = _consensus(triples, n_classes, draws, draw_size, tagged_generator(random_state, "triples"))
    targets = [_SymmetrisedTable.of(count) for count in counts[: 3 if n_classes <= _THIRD_ORDER else 2]]
    logits = 5.0 * np.eye(n_classes + 1, n_classes) - 1.0  # the last row is p's, equal for all classes
    logits[-1] = 0.0
    mean, mean_square = np.zeros_like(logits), np.zeros_like(logits)  # Adam's moments of the gradient
    lowest, best = np.inf, _softmax(logits)
    for step in range(1, steps + 1):
        probabilities = _softmax(logits)
        loss, gradient = _loss(probabilities[:-1], probabilities[-1], targets)
        if loss < lowest:
            lowest, best = loss, probabilities
        gradient = probabilities * (gradient - np.vecdot(gradient, probabilities)[:, None])  # through the softmax
        mean = _BETAS[0] * mean + (1 - _BETAS[0]) * gradient
        mean_square = _BETAS[1] * mean_square + (1 - _BETAS[1]) * gradient**2
        unbiased = mean / (1 - _BETAS[0] ** step), mean_square / (1 - _BETAS[1] ** step)
        logits = logits - lr * unbiased[0] / (np.sqrt(unbiased[1]) + _EPSILON)
    return NoiseEstimate(best[:-1], best[-1])


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
class _SymmetrisedTable:
    """A table averaged over the orders of its axes, and the squared norm of the rest.

    The model's tables are symmetric in their axes, so the rest adds a constant to every squared distance.
    """

    table: Float64s
    rest: float

    @classmethod
    def of(cls, table: Float64s) -> "_SymmetrisedTable":
        orders = list(permutations(range(table.ndim)))
        symmetric = np.mean([np.transpose(table, order) for order in orders], axis=0)
        return cls(np.asarray(symmetric), float(np.sum((table - symmetric) ** 2)))


def _loss(T: Float64s, p: Float64s, targets: list[_SymmetrisedTable]) -> tuple[float, Float64s]:
    """The sum of Frobenius distances, and its gradient with respect to the rows of T and, last, to p."""
    k = len(p)
    loss, by_T, by_p = 0.0, np.zeros((k, k)), np.zeros(k)
    powers = np.ones((k, 1))  # products of the probabilities of all labels but the first, a row for each true class
    for order, target in enumerate(targets, start=1):
        residual = (p[:, None] * T).T @ powers - target.table.reshape(k, -1)
        distance = np.sqrt(np.sum(residual**2) + target.rest)
        loss += float(distance)
        if distance > 0:
            by_axis = powers @ (residual.T / distance)  # row i: the gradient by one axis of true class i
            by_T += order * p[:, None] * by_axis  # the same for all axes
            by_p += np.vecdot(T, by_axis)
        powers = (powers[:, :, None] * T[:, None, :]).reshape(k, -1) if order < len(targets) else powers
    return loss, np.vstack([by_T, by_p])


def _softmax(logits: Float64s) -> Float64s:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
