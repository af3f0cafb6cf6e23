"""All samples, in one place: a tensor on the device, from which batches are taken by index."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eigenclean.arrays import Array, Float64s, Ints


@dataclass(frozen=True, eq=False)
class Pool:
    """Inputs and given labels of the whole data set; nothing here knows the right ones.

    Attributes:
        inputs: n x ….
        codes: class number of each given label.
        labels: the given labels as the user knows them.
        ids: id of each row.
        n_classes: number of classes.
    """

    inputs: Tensor
    codes: Tensor
    labels: Array
    ids: Array
    n_classes: int

    @classmethod
    def of(cls, inputs: Array, codes: Ints, classes: Array, ids: Array | None = None) -> "Pool":
        """A pool of NumPy arrays; the inputs are taken over without a copy where torch can.

        >>> Pool.of(np.zeros((2, 3), np.float32), np.array([1, 0]), np.array(["cat", "dog"])).labels
        array(['dog', 'cat'], dtype='<U3')
        """
        rows = np.arange(len(codes)) if ids is None else ids
        numbers = torch.from_numpy(codes.astype(np.int64))
        return cls(torch.from_numpy(inputs), numbers, classes[codes], rows, len(classes))

    def __len__(self) -> int:
        return len(self.codes)

    def to(self, device: torch.device) -> "Pool":
        """The same pool on that device."""
        return Pool(self.inputs.to(device), self.codes.to(device), self.labels, self.ids, self.n_classes)


def as_doubles(values: Tensor) -> Float64s:
    """A tensor as NumPy doubles, the precision detectors decide in."""
    doubles: Float64s = values.double().cpu().numpy()
    return doubles
