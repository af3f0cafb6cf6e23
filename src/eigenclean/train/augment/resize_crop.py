"""Random windows of any size and shape, brought to one size: for photographs."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from eigenclean.errors import InvalidOption
from eigenclean.train.augment.base import Augment, centre_crop, check_images, check_share, check_size, flipped

_BY = "augment resize-crop"
_TRIES = 10  # then the middle of the image is taken, as everyone does it


@dataclass(frozen=True)
class ResizeCrop(Augment):
    """Cut a random window out of each image, stretch it to the wanted size, turn some of them left to right.

    The stretching is bilinear, without smoothing: windows are never much larger than the result.

    Attributes:
        size: side of the result; None for the size the images have.
        smallest: the window has at least this share of the image's area.
        largest: and at most this one.
        ratio: width / height of the window is at most this, and at least its inverse.
        flip: share of the images that are turned.

    >>> ResizeCrop(size=5)(torch.rand(2, 3, 8, 8), torch.Generator().manual_seed(0)).shape
    torch.Size([2, 3, 5, 5])
    """

    size: int | None = None
    smallest: float = 0.08
    largest: float = 1.0
    ratio: float = 4 / 3
    flip: float = 0.5

    def __post_init__(self) -> None:
        check_size(self.size, by=_BY)
        check_share(self.flip, by=_BY, what="flip")
        if not 0 < self.smallest <= self.largest <= 1:
            raise InvalidOption(
                f"{_BY}: smallest and largest must be shares of the area with 0 < smallest <= largest <= 1, "
                f"got {self.smallest} and {self.largest}"
            )
        if not self.ratio >= 1:
            raise InvalidOption(f"{_BY}: ratio must be at least 1, got {self.ratio}")

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """The images, varied; bytes become floating-point numbers."""
        n, _, height, width = check_images(images, by=_BY)
        top, left, tall, wide = self.windows(n, height, width, generator).unbind(dim=1)
        turned = flipped(n, self.flip, generator)
        rows = _positions(top, tall, self.size or height)
        columns = _positions(left, wide, self.size or width)
        columns = torch.where(turned[:, None], columns.flip(1), columns)
        # Positions in pixels as grid_sample wants them: −1 and 1 are the outer edges of the image.
        rows, columns = (2 * rows + 1) / height - 1, (2 * columns + 1) / width - 1
        shape = (n, rows.shape[1], columns.shape[1])
        grid = torch.stack((columns[:, None, :].expand(shape), rows[:, :, None].expand(shape)), dim=-1)
        pixels = images if images.is_floating_point() else images.float()
        grid = grid.to(images.device, pixels.dtype)
        return functional.grid_sample(pixels, grid, "bilinear", "border", align_corners=False)

    def eval_transform(self, images: Tensor) -> Tensor:
        """The middle of the images, in the size of the varied ones."""
        return images if self.size is None else centre_crop(images, self.size, by=_BY)

    def windows(self, n: int, height: int, width: int, generator: torch.Generator) -> Tensor:
        """Top, left, height and width of n windows, in whole pixels."""

        def draw(shape: tuple[int, ...]) -> Tensor:
            return torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64)

        area = (self.smallest + (self.largest - self.smallest) * draw((n, _TRIES))) * height * width
        ratio = torch.exp((2 * draw((n, _TRIES)) - 1) * math.log(self.ratio))
        wide = torch.sqrt(area * ratio).round().long()
        tall = torch.sqrt(area / ratio).round().long()
        fits = (wide > 0) & (wide <= width) & (tall > 0) & (tall <= height)
        first = fits.long().argmax(dim=1, keepdim=True)  # of equal values the first
        found = fits.any(dim=1)
        tall = torch.where(found, tall.gather(1, first)[:, 0], min(height, round(width * self.ratio)))
        wide = torch.where(found, wide.gather(1, first)[:, 0], min(width, round(height * self.ratio)))
        places = torch.stack((height - tall + 1, width - wide + 1), dim=1)
        corner = (draw((n, 2)) * places).long().minimum(places - 1)
        middle = (places - 1) // 2
        corner = torch.where(found[:, None], corner, middle)
        return torch.stack((corner[:, 0], corner[:, 1], tall, wide), dim=1)


def _positions(start: Tensor, length: Tensor, size: int) -> Tensor:
    """Where ``size`` evenly spaced pixels of each window lie; never outside the window."""
    steps = torch.arange(size, device=start.device, dtype=torch.float64) + 0.5
    inside = steps * (length[:, None] / size) - 0.5
    return start[:, None] + inside.clamp(min=0).minimum(length[:, None] - 1.0)
