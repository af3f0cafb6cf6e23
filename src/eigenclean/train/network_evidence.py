"""What a network in training tells about its samples beyond what detectors take."""

from dataclasses import dataclass

from eigenclean.arrays import Float64s
from eigenclean.evidence import Evidence


@dataclass(frozen=True)
class NetworkEvidence(Evidence):
    """Evidence with gradients, which only the network itself can give.

    Attributes:
        gradients: n x K, of the loss of each given label with respect to the features, in coordinates that keep
            all distances (see `eigenclean.train.loop.gradients`).
    """

    gradients: Float64s | None = None
