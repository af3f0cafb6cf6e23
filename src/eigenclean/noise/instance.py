"""Instance-dependent noise: flip probability and wrong class depend on the sample."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, ClassRows, Float64s, Ints, check_features, row_chunks
from eigenclean.errors import InvalidData, MissingEvidence
from eigenclean.noise.base import RatedNoise, check_share, pick_columns


@dataclass(frozen=True)
class Instance(RatedNoise):
    """The generator of CORES²: a random linear map of the features gives the distribution of the wrong class.

    On raw pixels one or two classes receive nearly all flips, because the logits are in the thousands;
    ``standardise`` avoids that. Raw is the default because published results use it.

    Attributes:
        rate: mean p of the samples' flip rates, which are normal around it and truncated to [0, 1]; near 0 or
            1 that shifts the true rate inwards. 0 means no noise.
        spread: standard deviation of the flip rates.
        standardise: give each feature mean 0 and standard deviation 1 first.
        per_class: one random map for each right class (as SimiFeat does) instead of one for all.

    >>> x, y = np.eye(4)[[0, 1, 2, 3] * 50], np.array([0, 1, 2, 3] * 50)
    >>> noisy = Instance(0.4).apply(y, np.arange(4), np.random.default_rng(0), features=x)
    >>> float(np.mean(noisy != y))
    0.38
    """

    spread: float = 0.1
    standardise: bool = False
    per_class: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.spread, by=self.name, what="spread")

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        if features is None:
            raise MissingEvidence("instance noise needs features, but only labels were given")
        table = np.asanyarray(features)
        # Images are flattened to rows of pixels.
        table = check_features(table.reshape(len(table), -1) if table.ndim > 2 else table, by="instance noise")
        if len(table) != len(codes):
            raise InvalidData(
                f"instance noise: {len(codes)} labels need as many rows of features, got {len(table)}"
            )
        if self.rate == 0:
            return codes.copy()
        rates = _flip_rates(len(codes), self.rate, self.spread, rng)
        quantiles = rng.random(len(codes))
        shift, scale = _mean_and_deviation(table) if self.standardise else (0.0, 1.0)
        noisy = np.empty_like(codes)
        groups = ClassRows.of(codes, len(classes)) if self.per_class else [np.arange(len(codes))]
        for k in range(len(groups)):
            weights = rng.standard_normal((table.shape[1], len(classes)))
            for chunk in row_chunks(len(groups[k]), 8 * (table.shape[1] + 2 * len(classes))):
                rows = groups[k][chunk]
                logits = ((table[rows] - shift) / scale) @ weights
                noisy[rows] = pick_columns(_label_distribution(logits, codes[rows], rates[rows]), quantiles[rows])
        return noisy


def _label_distribution(logits: Float64s, codes: Ints, rates: Float64s) -> Float64s:
    """P(given label): 1 - rate for the right class, the rest by softmax of the logits, which are overwritten."""
    rows = np.arange(len(codes))
    logits[rows, codes] = -np.inf
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits, out=logits)
    p *= (rates / p.sum(axis=1))[:, None]
    p[rows, codes] = 1 - rates
    return p


def _flip_rates(n_rows: int, rate: float, spread: float, rng: np.random.Generator) -> Float64s:
    rates = rng.normal(rate, spread, size=n_rows)
    outside = np.flatnonzero((rates < 0) | (rates > 1))
    while len(outside):  # at least a third of the draws is inside, so this ends after a few steps
        rates[outside] = rng.normal(rate, spread, size=len(outside))
        outside = outside[(rates[outside] < 0) | (rates[outside] > 1)]
    return rates


def _mean_and_deviation(table: Array) -> tuple[Float64s, Float64s]:
    chunks = list(row_chunks(len(table), 8 * table.shape[1]))
    mean = sum((table[chunk].sum(axis=0, dtype=np.float64) for chunk in chunks), np.zeros(table.shape[1])) / len(
        table
    )
    squares = sum((np.square(table[chunk] - mean).sum(axis=0) for chunk in chunks), np.zeros(table.shape[1]))
    deviation = np.sqrt(squares / len(table))
    return mean, np.where(deviation > 0, deviation, 1.0)  # a constant feature is only centred
