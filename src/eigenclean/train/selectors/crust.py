"""CRUST: the medoids of the gradients of each class are mostly clean (Mirzasoleiman et al., 2020)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eigenclean.arrays import ClassRows, Float64s, Ints, encode_labels
from eigenclean.detect.baselines.crust import greedy_medoids
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector

_BLOCK = 2000  # samples per distance matrix, which then takes at most 32 MB


@dataclass(frozen=True)
class Crust(Selector):
    """A coreset of each class by greedy facility location on the gradients of its samples.

    The gradient is taken with respect to the logits: softmax − one-hot, one row per sample. (The published method
    takes it one layer further down, which multiplies every row by the same matrix.) Classes too large
    for one distance matrix are divided into random blocks, each with its own medoids.

    Attributes:
        fraction: fraction of each class that is kept.
        radius: the weight of a medoid is the number of samples within this distance; None counts the samples that
            have it as their nearest medoid.
        seed: of the blocks of large classes.
    """

    fraction: float = 0.5
    radius: float | None = None
    seed: int = 0

    kind: ClassVar[str] = "crust"

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise InvalidOption(f"selector crust: fraction must be above 0 and at most 1, got {self.fraction}")
        if self.radius is not None and not self.radius > 0:
            raise InvalidOption(f"selector crust: radius must be above 0 or None, got {self.radius}")

    @property
    def needs(self) -> tuple[str, ...]:
        """The probabilities, which give the gradients."""
        return ("probabilities",)

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The medoids of every class, weighted by the number of samples they represent."""
        gradients = np.array(evidence.need("probabilities", by="selector crust"))
        classes, codes = encode_labels(evidence.labels)
        gradients[np.arange(len(codes)), codes] -= 1.0
        weight = np.zeros(len(codes))
        rng = np.random.default_rng([self.seed, epoch])
        groups = ClassRows.of(codes, len(classes))
        for k in range(len(classes)):
            for rows in _random_blocks(groups[k], rng):
                chosen, counts = self._medoids(gradients[rows])
                weight[rows[chosen]] = counts
        keep = weight > 0
        return Selection(keep, weight / weight[keep].mean() if keep.any() else weight)

    def _medoids(self, gradients: Float64s) -> tuple[Ints, Float64s]:
        distance, n_medoids = _distances(gradients), max(1, int(self.fraction * len(gradients)))
        chosen, sizes = greedy_medoids(distance, np.ones(len(gradients)), n_medoids)
        if self.radius is None:
            return chosen, sizes
        return chosen, (distance[:, chosen] <= self.radius).sum(axis=0).astype(np.float64)


def _distances(rows: Float64s) -> Float64s:
    squares = (rows**2).sum(axis=1)
    squared = squares[:, None] + squares - 2 * rows @ rows.T
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def _random_blocks(rows: Ints, rng: np.random.Generator) -> list[Ints]:
    if len(rows) <= _BLOCK:
        return [rows] if len(rows) else []
    return [np.sort(block) for block in np.array_split(rng.permutation(rows), -(-len(rows) // _BLOCK))]
