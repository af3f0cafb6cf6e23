"""All samples, in one place: a tensor on the device, from which batches are taken by index."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.train.data.images import ChannelFirstImages
from eigenclean.train.data.scaling import Scaling, unit_of


@dataclass(frozen=True, eq=False)
class Pool:
    """Inputs and given labels of the whole data set; nothing here knows the right ones.

    Attributes:
        inputs: n x …; images as n x C x H x W, bytes or numbers, or in files.
        codes: class number of each given label.
        classes: the classes as the user knows them.
        ids: id of each row.
        mean: what to subtract from each channel of images; None leaves inputs alone.
        scale: what to divide it by.
        eval_transform: what is done to images that are not varied, such as cutting out the middle.
        trusted: True for labels that people have confirmed, whatever a selector says; None when there are none.
    """

    inputs: Tensor | ChannelFirstImages
    codes: Tensor
    classes: Array
    ids: Array
    mean: Tensor | None = None
    scale: Tensor | None = None
    eval_transform: Callable[[Tensor], Tensor] | None = None
    trusted: Tensor | None = None

    @classmethod
    def of(
        cls,
        inputs: Array | ChannelFirstImages,
        codes: Ints,
        classes: Array,
        ids: Array | None = None,
        scaling: Scaling | None = None,
        eval_transform: Callable[[Tensor], Tensor] | None = None,
    ) -> "Pool":
        """A pool of NumPy arrays; the inputs are taken over without a copy where torch can.

        >>> Pool.of(np.zeros((2, 3), np.float32), np.array([1, 0]), np.array(["cat", "dog"])).labels
        array(['dog', 'cat'], dtype='<U3')
        """
        rows = np.arange(len(codes)) if ids is None else ids
        numbers = torch.from_numpy(codes.astype(np.int64))
        held = inputs if isinstance(inputs, ChannelFirstImages) else _tensor(inputs)
        if scaling is None:
            return cls(held, numbers, classes, rows)
        unit = unit_of(inputs)
        mean, scale = (
            torch.from_numpy(unit * value).float()[:, None, None] for value in (scaling.mean, scaling.scale)
        )
        return cls(held, numbers, classes, rows, mean, scale, eval_transform)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def labels(self) -> Array:
        """The given labels as the user knows them."""
        return np.asarray(self.classes[self.codes.cpu().numpy()])

    def raw(self, rows: Tensor | slice) -> Tensor:
        """Some inputs as they are, as floating-point numbers."""
        if isinstance(self.inputs, ChannelFirstImages):
            wanted = rows if isinstance(rows, slice) else rows.cpu().numpy()
            return torch.from_numpy(self.inputs[wanted]).to(self.codes.device).float()
        inputs = self.inputs[rows]
        return inputs if inputs.is_floating_point() else inputs.float()

    def scaled(self, inputs: Tensor) -> Tensor:
        """What `raw` gave, on the scale that networks see."""
        return inputs if self.mean is None or self.scale is None else (inputs - self.mean) / self.scale

    def take(self, rows: Tensor | slice) -> Tensor:
        """Some inputs as networks see them when nothing is varied."""
        raw = self.raw(rows)
        return self.scaled(raw if self.eval_transform is None else self.eval_transform(raw))

    def to(self, device: torch.device) -> "Pool":
        """The same pool on that device."""
        inputs = self.inputs if isinstance(self.inputs, ChannelFirstImages) else self.inputs.to(device)
        mean, scale = (None if value is None else value.to(device) for value in (self.mean, self.scale))
        trusted = None if self.trusted is None else self.trusted.to(device)
        return replace(self, inputs=inputs, codes=self.codes.to(device), mean=mean, scale=scale, trusted=trusted)

    def trusting(self, rows: Bools) -> "Pool":
        """The same pool with labels that people have confirmed in those rows."""
        return replace(self, trusted=torch.from_numpy(rows.copy()) if rows.any() else None)

    def digest(self) -> str:
        """A fingerprint of inputs and labels."""
        digest = blake2b(repr((tuple(self.inputs.shape), str(self.inputs.dtype))).encode(), digest_size=16)
        digest.update(_bytes(self.codes))
        if self.trusted is not None:
            digest.update(_bytes(self.trusted))
        digest.update(
            self.inputs.digest().encode() if isinstance(self.inputs, ChannelFirstImages) else _bytes(self.inputs)
        )
        return digest.hexdigest()


def as_doubles(values: Tensor) -> Float64s:
    """A tensor as NumPy doubles, the precision detectors decide in."""
    doubles: Float64s = values.double().cpu().numpy()
    return doubles


def _tensor(array: Array) -> Tensor:
    # torch warns of arrays that may not be written to (mapped files), though nothing here writes to them.
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.cpu().contiguous().numpy().reshape(-1).view(np.uint8).data
