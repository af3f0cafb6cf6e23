"""The samples that a network is trained on."""

from dataclasses import dataclass, replace

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.errors import InvalidData
from eigenclean.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Selection:
    """The samples to train on, one entry per sample of the whole data set.

    Attributes:
        keep: mask of the samples whose labels are trained on.
        weight: weight of each sample in the loss; only those of kept samples matter.
        target: replaces the given labels: n class numbers or n x K probabilities.
        verdict: the verdict it was derived from, when a detector has made it.
        rest: mask of the samples that semi-supervised steps use without labels; None for all that are not kept.

    >>> Selection.all_samples(3).fraction
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
    def all_samples(cls, n_samples: int) -> "Selection":
        """All samples with weight 1."""
        return cls(np.ones(n_samples, dtype=bool), np.ones(n_samples))

    def expanded(self, rows: Ints, n_samples: int) -> "Selection":
        """A selection made from a subset of rows as one of the whole data set; the other samples are not used.

        >>> whole = Selection(np.array([True, False]), np.ones(2)).expanded(np.array([1, 3]), 5)
        >>> whole.keep.tolist(), whole.rest.tolist()
        ([False, True, False, False, False], [False, False, False, True, False])
        """
        keep, rest, weight = np.zeros(n_samples, dtype=bool), np.zeros(n_samples, dtype=bool), np.ones(n_samples)
        keep[rows], rest[rows], weight[rows] = self.keep, ~self.keep, self.weight
        target = None
        if self.target is not None:
            target = np.zeros((n_samples, *self.target.shape[1:]), dtype=self.target.dtype)
            target[rows] = self.target
        return Selection(keep, weight, target, rest=rest)

    def with_trusted(self, trusted: Bools, codes: Ints) -> "Selection":
        """The same selection with ``trusted`` samples kept, with weight 1 and their given labels as targets.

        A person has confirmed these labels, so no selector may drop or change them.

        >>> selection = Selection(np.array([False, True]), np.ones(2))
        >>> selection.with_trusted(np.array([True, False]), np.array([0, 1])).keep
        array([ True,  True])
        """
        target = self.target
        if target is not None:
            confirmed = codes if target.ndim == 1 else np.eye(target.shape[1], dtype=target.dtype)[codes]
            target = np.where(trusted if target.ndim == 1 else trusted[:, None], confirmed, target).astype(
                target.dtype
            )
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
        """Fraction of samples that are kept."""
        return float(np.mean(self.keep)) if len(self) else 0.0
