"""The samples of a training run as tensors on one device, from which batches are taken by index."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.train.data.images import ChannelFirstImages
from eigenclean.train.data.scaling import Scaling, max_pixel


@dataclass(frozen=True, eq=False)
class Pool:
    """Inputs and given labels of a data set; the true labels are not known here.

    Attributes:
        inputs: n x …; images as n x C x H x W, bytes or numbers, or in files.
        codes: class number of each given label.
        classes: the class labels, by class number.
        ids: id of each row.
        mean: subtracted from each channel of images; None for inputs that are not standardised here.
        scale: divisor of each channel.
        eval_transform: deterministic transform of images for evaluation, such as a centre crop.
        trusted: mask of the labels that a person has confirmed; None when there are none.
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
    def from_arrays(
        cls,
        inputs: Array | ChannelFirstImages,
        codes: Ints,
        classes: Array,
        ids: Array | None = None,
        scaling: Scaling | None = None,
        eval_transform: Callable[[Tensor], Tensor] | None = None,
    ) -> "Pool":
        """A pool of NumPy arrays, which are not copied where torch can share their memory.

        >>> Pool.from_arrays(np.zeros((2, 3), np.float32), np.array([1, 0]), np.array(["cat", "dog"])).labels
        array(['dog', 'cat'], dtype='<U3')
        """
        rows = np.arange(len(codes)) if ids is None else ids
        code_tensor = torch.from_numpy(codes.astype(np.int64))
        stored = inputs if isinstance(inputs, ChannelFirstImages) else _tensor(inputs)
        if scaling is None:
            return cls(stored, code_tensor, classes, rows)
        unit = max_pixel(inputs)
        mean, scale = (
            torch.from_numpy(unit * value).float()[:, None, None] for value in (scaling.mean, scaling.scale)
        )
        return cls(stored, code_tensor, classes, rows, mean, scale, eval_transform)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def labels(self) -> Array:
        """The given labels."""
        return np.asarray(self.classes[self.codes.cpu().numpy()])

    def raw(self, rows: Tensor | slice) -> Tensor:
        """The inputs of these rows as floating-point numbers, neither augmented nor standardised."""
        if isinstance(self.inputs, ChannelFirstImages):
            index = rows if isinstance(rows, slice) else rows.cpu().numpy()
            return torch.from_numpy(self.inputs[index]).to(self.codes.device).float()
        inputs = self.inputs[rows]
        return inputs if inputs.is_floating_point() else inputs.float()

    def scaled(self, inputs: Tensor) -> Tensor:
        """These raw inputs, standardised as the network takes them."""
        return inputs if self.mean is None or self.scale is None else (inputs - self.mean) / self.scale

    def eval_inputs(self, rows: Tensor | slice) -> Tensor:
        """The inputs of these rows for evaluation: not augmented, standardised."""
        raw = self.raw(rows)
        return self.scaled(raw if self.eval_transform is None else self.eval_transform(raw))

    def to(self, device: torch.device) -> "Pool":
        """The same pool on that device."""
        inputs = self.inputs if isinstance(self.inputs, ChannelFirstImages) else self.inputs.to(device)
        mean, scale = (None if value is None else value.to(device) for value in (self.mean, self.scale))
        trusted = None if self.trusted is None else self.trusted.to(device)
        return replace(self, inputs=inputs, codes=self.codes.to(device), mean=mean, scale=scale, trusted=trusted)

    def with_trusted(self, mask: Bools) -> "Pool":
        """The same pool with the labels marked in ``mask`` confirmed by a person."""
        return replace(self, trusted=torch.from_numpy(mask.copy()) if mask.any() else None)

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
    """A tensor as float64 array: detectors compute in double precision."""
    doubles: Float64s = values.double().cpu().numpy()
    return doubles


def _tensor(array: Array) -> Tensor:
    # Read-only arrays (memory maps) are copied: torch warns of them, although nothing here writes to them.
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.cpu().contiguous().numpy().reshape(-1).view(np.uint8).data
