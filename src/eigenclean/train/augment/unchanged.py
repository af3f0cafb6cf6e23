"""No augmentation: for data where left and right matter, and for comparisons."""

from dataclasses import dataclass

import torch
from torch import Tensor

from eigenclean.train.augment.base import Augment


@dataclass(frozen=True)
class Unchanged(Augment):
    """Images as they are; nothing is drawn from the generator.

    >>> images = torch.ones(2, 1, 4, 4)
    >>> Unchanged()(images, torch.Generator()) is images
    True
    """

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """The given images."""
        return images
