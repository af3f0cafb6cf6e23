"""The evidence: given labels, and what detectors and selectors judge them by."""

from dataclasses import dataclass
from typing import Literal, get_args

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData, MissingEvidence
from eigenclean.evidence.annotations import Annotations
from eigenclean.evidence.verified import VerifiedLabels

EvidenceKind = Literal["features", "probabilities", "losses", "logits", "margins", "inputs"]
KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)


@dataclass(frozen=True)
class Evidence:
    """Given labels and everything that detectors may use to judge them; arrays in row order.

    Attributes:
        ids: one unique id per row.
        labels: the given labels, right or wrong.
        features: n x d, for detectors that use the geometry of the classes.
        probabilities: n x K, out-of-sample, columns in the order of the sorted classes.
        losses: n, the loss of the given label.
        logits: n x K.
        margins: n, the logit of the given label minus the largest other, averaged over the epochs of a training.
        inputs: n x d, the inputs of the network, if they are vectors.
        annotations: labels by several annotators, of which ``labels`` are the majority's.
        verified: what people decided about labels.
        groups: which rows belong together, such as those of one patient: they are judged by others only.

    >>> import numpy as np
    >>> Evidence(ids=np.arange(2), labels=np.array([0, 1])).need("features", by="FINE")
    Traceback (most recent call last):
        ...
    eigenclean.errors.MissingEvidence: FINE needs features, but only labels were given
    """

    ids: Array
    labels: Array
    features: Array | None = None
    probabilities: Float64s | None = None
    losses: Float64s | None = None
    logits: Float64s | None = None
    margins: Float64s | None = None
    inputs: Array | None = None
    annotations: Annotations | None = None
    verified: VerifiedLabels | None = None
    groups: Array | None = None

    def __post_init__(self) -> None:
        for name in ("ids", *KINDS, "annotations", "verified", "groups"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.labels):
                raise InvalidData(
                    f"evidence: {name} must have one row per label, "
                    f"got {len(values)} rows and {len(self.labels)} labels"
                )

    def __len__(self) -> int:
        return len(self.labels)

    def need(self, kind: str, *, by: str) -> Array:
        """The evidence of that kind, or `MissingEvidence` saying who needs it and what there is instead."""
        values: Array | None = getattr(self, kind)
        if values is None:
            available = [name for name in KINDS if getattr(self, name) is not None]
            raise MissingEvidence(f"{by} needs {kind}, but only {' and '.join(available) or 'labels'} were given")
        return values
