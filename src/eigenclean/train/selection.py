"""What one network may learn from."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.errors import InvalidData
from eigenclean.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Selection:
    """The samples to learn from, in the order of the whole data set.

    Attributes:
        keep: True for the samples that are learned from.
        weight: how much each counts; only those of kept samples matter.
        target: what to learn instead of the given labels: n class numbers or n x K probabilities.
        verdict: the verdict behind it, when a detector has made it.

    >>> Selection.everything(3).fraction
    1.0
    """

    keep: Bools
    weight: Float64s
    target: Array | None = None
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        for name, values in (("weight", self.weight), ("target", self.target), ("verdict", self.verdict)):
            if values is not None and len(values) != len(self.keep):
                raise InvalidData(
                    f"selection: {name} must have one row per sample, got {len(values)} for {len(self.keep)}"
                )

    def __len__(self) -> int:
        return len(self.keep)

    @classmethod
    def everything(cls, n_samples: int) -> "Selection":
        """All samples, all alike."""
        return cls(np.ones(n_samples, dtype=bool), np.ones(n_samples))

    @property
    def rows(self) -> Ints:
        """Positions of the kept samples."""
        return np.flatnonzero(self.keep)

    @property
    def fraction(self) -> float:
        """Share of samples that are kept."""
        return float(np.mean(self.keep)) if len(self) else 0.0
