"""Random crops and horizontal flips: the standard augmentation for CIFAR."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.names import check_name
from eigenclean.train.augment.base import Augment, centre_crop, check_fraction, check_images, check_size, draw_flips

_BY = "augment crop-flip"
BORDERS = ("zero", "reflect")


@dataclass(frozen=True)
class CropFlip(Augment):
    """Pad each image, crop a random window of the given size, flip it horizontally with some probability.

    Attributes:
        pad: pixels to add on each side.
        size: side of the window; None for the size the images have.
        flip: probability of a horizontal flip.
        border: content of the padding: "zero" is black, "reflect" mirrors the image.

    >>> images = torch.arange(9.0).view(1, 1, 3, 3)
    >>> CropFlip(pad=1)(images, torch.Generator().manual_seed(2)).shape
    torch.Size([1, 1, 3, 3])
    """

    pad: int = 4
    size: int | None = None
    flip: float = 0.5
    border: str = "zero"

    def __post_init__(self) -> None:
        if not isinstance(self.pad, int) or self.pad < 0:
            raise InvalidOption(f"{_BY}: pad must be an integer of at least 0, got {self.pad!r}")
        check_size(self.size, by=_BY)
        check_fraction(self.flip, by=_BY, what="flip")
        check_name(self.border, BORDERS, by=_BY, what="border")

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Randomly cropped and flipped images."""
        n, channels, height, width = check_images(images, by=_BY)
        across, down = self.size or width, self.size or height
        if across > width + 2 * self.pad or down > height + 2 * self.pad:
            raise InvalidData(
                f"{_BY}: a window of {down} x {across} does not fit into images of {height} x {width} with "
                f"{self.pad} pixels on each side; open them with a larger resize, or take a smaller size"
            )
        tops = self._draw(n, height, down, generator).to(images.device)
        lefts = self._draw(n, width, across, generator).to(images.device)
        flips = draw_flips(n, self.flip, generator).to(images.device)
        rows = tops[:, None] + torch.arange(down, device=images.device)
        steps = torch.arange(across, device=images.device).expand(n, across)
        columns = lefts[:, None] + torch.where(flips[:, None], across - 1 - steps, steps)
        if self.border == "reflect":
            rows, columns = _mirrored(rows - self.pad, height), _mirrored(columns - self.pad, width)
        elif self.pad:
            images = functional.pad(images, (self.pad,) * 4)
            width += 2 * self.pad
        # A single gather is about three times as fast as indexing with four arrays.
        window = (rows[:, :, None] * width + columns[:, None, :]).view(n, 1, down * across).expand(n, channels, -1)
        return images.flatten(2).gather(2, window).view(n, channels, down, across)

    def eval_transform(self, images: Tensor) -> Tensor:
        """The centre crop; the images themselves if no size is set."""
        return images if self.size is None else centre_crop(images, self.size, by=_BY)

    def _draw(self, n: int, side: int, window: int, generator: torch.Generator) -> Tensor:
        places = side + 2 * self.pad - window + 1
        return torch.randint(places, (n,), generator=generator, device=generator.device)


def _mirrored(positions: Tensor, side: int) -> Tensor:
    """Positions outside 0 … side − 1, mirrored at the outermost pixels as often as needed."""
    period = max(2 * (side - 1), 1)
    folded = positions.remainder(period)
    return torch.minimum(folded, period - folded) if side > 1 else torch.zeros_like(positions)
