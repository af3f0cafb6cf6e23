"""CRUST: samples whose gradients are central in their class are mostly clean (Mirzasoleiman et al., 2020)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from eigenclean.arrays import ClassRows, Float64s, Ints, encode_labels, row_chunks
from eigenclean.detect.baselines.crust import CORESETS, greedy_medoids
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.names import check_name
from eigenclean.seeds import tagged_generator
from eigenclean.train.network_evidence import NetworkEvidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector

_REFERENCES = 10_000  # samples that distances are summed over
_BLOCK = 2000  # samples per distance matrix, which then takes at most 32 MB


@dataclass(frozen=True)
class Crust(Selector):
    """A coreset of each class, chosen by the gradients of its samples.

    The gradient of the loss is taken with respect to the features, (softmax − one-hot) W for a last layer with
    weights W; where that layer is not known, with respect to the logits.

    The released code keeps the samples with the largest sums of similarities to their class, all with weight 1;
    that is the default, because the published numbers come from it. The paper describes facility location: medoids,
    weighted by the samples that they represent.

    Attributes:
        fraction: fraction of each class that is kept.
        radius: for facility location, the weight of a medoid is the number of samples within this distance; None
            counts the samples that have it as their nearest medoid.
        seed: of the random blocks, or of the random sample, of classes that are too large for all distances.
        coreset: "row-sums" or "facility-location".
    """

    fraction: float = 0.5
    radius: float | None = None
    seed: int = 0
    coreset: Literal["row-sums", "facility-location"] = "row-sums"

    kind: ClassVar[str] = "crust"

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise InvalidOption(f"selector crust: fraction must be above 0 and at most 1, got {self.fraction}")
        if self.radius is not None and not self.radius > 0:
            raise InvalidOption(f"selector crust: radius must be above 0 or None, got {self.radius}")
        check_name(self.coreset, CORESETS, by="selector crust", what="coreset")
        if self.radius is not None and self.coreset == "row-sums":
            raise InvalidOption("selector crust: radius weights medoids, which need coreset='facility-location'")

    @property
    def needs(self) -> tuple[str, ...]:
        """The gradients; probabilities give those with respect to the logits."""
        return ("gradients",)

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The coreset of every class; medoids are weighted by the number of samples they represent."""
        classes, codes = encode_labels(evidence.labels)
        gradients = _gradients(evidence, codes)
        weight = np.zeros(len(codes))
        rng = tagged_generator([self.seed, epoch], "blocks")
        groups = ClassRows.of(codes, len(classes))
        for k in range(len(classes)):
            if self.coreset == "row-sums":
                weight[_central_rows(gradients, groups[k], self.fraction, rng)] = 1.0
                continue
            for rows in _random_blocks(groups[k], rng):
                chosen, counts = self._medoids(gradients[rows])
                weight[rows[chosen]] = counts
        keep = weight > 0
        return Selection(keep, weight / weight[keep].mean() if keep.any() else weight)

    def _medoids(self, gradients: Float64s) -> tuple[Ints, Float64s]:
        distance, n_medoids = _distances(gradients, gradients), max(1, int(self.fraction * len(gradients)))
        chosen, sizes = greedy_medoids(distance, np.ones(len(gradients)), n_medoids)
        if self.radius is None:
            return chosen, sizes
        return chosen, (distance[:, chosen] <= self.radius).sum(axis=0).astype(np.float64)


def _gradients(evidence: Evidence, codes: Ints) -> Float64s:
    if isinstance(evidence, NetworkEvidence) and evidence.gradients is not None:
        return evidence.gradients
    gradients: Float64s = np.array(evidence.need("probabilities", by="selector crust"))
    gradients[np.arange(len(codes)), codes] -= 1.0
    return gradients


def _central_rows(gradients: Float64s, rows: Ints, fraction: float, rng: np.random.Generator) -> Ints:
    """The rows of a class with the smallest sums of distances, that is the largest sums of similarities.

    Distances are summed over all rows of the class, or over a random sample of a very large one.
    """
    reference = rows if len(rows) <= _REFERENCES else np.sort(rng.permutation(rows)[:_REFERENCES])
    sums = np.empty(len(rows))
    for chunk in row_chunks(len(rows), 8 * len(reference)):
        sums[chunk] = _distances(gradients[rows[chunk]], gradients[reference]).sum(axis=1)
    return rows[np.argsort(sums, kind="stable")[: max(1, int(fraction * len(rows)))]]


def _distances(a: Float64s, b: Float64s) -> Float64s:
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def _random_blocks(rows: Ints, rng: np.random.Generator) -> list[Ints]:
    if len(rows) <= _BLOCK:
        return [rows] if len(rows) else []
    return [np.sort(block) for block in np.array_split(rng.permutation(rows), -(-len(rows) // _BLOCK))]
