"""What one network may learn from."""

from dataclasses import dataclass, replace

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
        rest: which of the others lend their inputs to steps that use such samples; None for all of them.

    >>> Selection.everything(3).fraction
    1.0
    """

    keep: Bools
    weight: Float64s
    target: Array | None = None
    verdict: Verdict | None = None
    rest: Bools | None = None

    def __post_init__(self) -> None:
        for name in ("weight", "target", "verdict", "rest"):
            values = getattr(self, name)
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

    def placed(self, rows: Ints, n_samples: int) -> "Selection":
        """The selection among some rows of a data set, as one of all: the other samples are not used at all.

        >>> part = Selection(np.array([True, False]), np.ones(2)).placed(np.array([1, 3]), 5)
        >>> part.keep.tolist(), part.rest.tolist()
        ([False, True, False, False, False], [False, False, False, True, False])
        """
        keep, rest, weight = np.zeros(n_samples, dtype=bool), np.zeros(n_samples, dtype=bool), np.ones(n_samples)
        keep[rows], rest[rows], weight[rows] = self.keep, ~self.keep, self.weight
        target = None
        if self.target is not None:
            target = np.zeros((n_samples, *self.target.shape[1:]), dtype=self.target.dtype)
            target[rows] = self.target
        return Selection(keep, weight, target, rest=rest)

    def trusting(self, trusted: Bools, codes: Ints) -> "Selection":
        """The same, but with those samples kept in full and learned as labelled: people have said what they are.

        >>> Selection(np.array([False, True]), np.ones(2)).trusting(np.array([True, False]), np.array([0, 1])).keep
        array([ True,  True])
        """
        target = self.target
        if target is not None:
            sure = codes if target.ndim == 1 else np.eye(target.shape[1], dtype=target.dtype)[codes]
            target = np.where(trusted if target.ndim == 1 else trusted[:, None], sure, target).astype(target.dtype)
        return replace(
            self,
            keep=self.keep | trusted,
            weight=np.where(trusted, 1.0, self.weight),
            target=target,
            rest=None if self.rest is None else self.rest & ~trusted,
        )

    @property
    def rows(self) -> Ints:
        """Positions of the kept samples."""
        return np.flatnonzero(self.keep)

    @property
    def fraction(self) -> float:
        """Share of samples that are kept."""
        return float(np.mean(self.keep)) if len(self) else 0.0
