"""The interface of augmentations: images and a random generator in, augmented images out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from eigenclean.errors import InvalidData, InvalidOption


@dataclass(frozen=True)
class Augment(ABC):
    """Augments each image of a batch independently, without a loop over images; its fields are its options.

    Pixels may have any scale and type, where zero is black. Random numbers are drawn on the generator's device, so
    a seed gives the same result on every device.
    """

    @abstractmethod
    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Augmented copies of the images (n x C x H x W)."""

    def eval_transform(self, images: Tensor) -> Tensor:
        """The deterministic transform for evaluation; its images have the size of the augmented ones."""
        return images


def check_images(images: Tensor, *, by: str) -> tuple[int, int, int, int]:
    """The shape of the images; `InvalidData` when they are something else."""
    if images.ndim != 4:
        raise InvalidData(f"{by}: images must be n x channels x height x width, got shape {tuple(images.shape)}")
    n, channels, height, width = images.shape
    return n, channels, height, width


def check_fraction(value: float, *, by: str, what: str) -> None:
    """Raise `InvalidOption` unless ``value`` is from 0 to 1."""
    if not 0 <= value <= 1:
        raise InvalidOption(f"{by}: {what} must be from 0 to 1, got {value}")


def check_size(size: int | None, *, by: str) -> None:
    """Raise `InvalidOption` unless ``size`` is a number of pixels, or None."""
    if size is not None and (not isinstance(size, int) or size < 1):
        raise InvalidOption(f"{by}: size must be an integer of at least 1, or None, got {size!r}")


def centre_crop(images: Tensor, size: int, *, by: str) -> Tensor:
    """The middle ``size`` x ``size`` pixels, a view.

    >>> centre_crop(torch.arange(16).view(1, 1, 4, 4), 2, by="augment").tolist()
    [[[[5, 6], [9, 10]]]]
    """
    _, _, height, width = check_images(images, by=by)
    if min(height, width) < size:
        raise InvalidData(
            f"{by}: images must have at least {size} x {size} pixels, got {height} x {width}; "
            "open them with a larger resize, or take a smaller size"
        )
    top, left = (height - size + 1) // 2, (width - size + 1) // 2
    return images[:, :, top : top + size, left : left + size]


def draw_flips(n: int, probability: float, generator: torch.Generator) -> Tensor:
    """A mask of the images to flip horizontally."""
    return torch.rand(n, generator=generator, device=generator.device) < probability
