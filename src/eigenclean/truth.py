"""The clean labels, when they are known: for noise models and quality measures, never for detectors or training.

Import rules keep this module away from everything that learns or judges.
"""

import os
from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidData
from eigenclean.files import replacing


@dataclass(frozen=True)
class Truth:
    """The right label of every row, in row order.

    >>> truth = Truth(np.array([0, 1, 1]))
    >>> truth.is_clean(np.array([0, 0, 1]))
    array([ True, False,  True])
    >>> round(truth.noise_rate(np.array([0, 0, 1])), 3)
    0.333
    """

    labels: Array

    def __len__(self) -> int:
        return len(self.labels)

    def is_clean(self, given: Array) -> Bools:
        """True where the given label is the right one."""
        if len(given) != len(self.labels):
            raise InvalidData(f"truth has {len(self.labels)} labels, but {len(given)} labels were given")
        if (given.dtype.kind in "US") != (self.labels.dtype.kind in "US"):
            raise InvalidData(f"truth has labels of type {self.labels.dtype}, but type {given.dtype} was given")
        return np.asarray(given == self.labels)

    def noise_rate(self, given: Array) -> float:
        """Share of given labels that are wrong."""
        return 1.0 - float(np.mean(self.is_clean(given))) if len(self) else 0.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the labels as ``.npy``, atomically."""
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.save(file, self.labels, allow_pickle=False)
