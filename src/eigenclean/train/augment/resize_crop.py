"""Random crops of any size and aspect ratio, resized to one size: the standard augmentation for photographs."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from eigenclean.errors import InvalidOption
from eigenclean.train.augment.base import Augment, centre_crop, check_fraction, check_images, check_size, draw_flips

_BY = "augment resize-crop"
_TRIES = 10  # then the centre crop is taken, as in torchvision


@dataclass(frozen=True)
class ResizeCrop(Augment):
    """Crop a random window, resize it to the given size, flip it horizontally with some probability.

    The resizing is bilinear without antialiasing: windows are never much larger than the result.

    Attributes:
        size: side of the result; None for the size the images have.
        smallest: least area of the window, as a fraction of the image.
        largest: largest area of the window.
        ratio: width / height of the window is at most this, and at least its inverse.
        flip: probability of a horizontal flip.

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
        check_fraction(self.flip, by=_BY, what="flip")
        if not 0 < self.smallest <= self.largest <= 1:
            raise InvalidOption(
                f"{_BY}: smallest and largest must be shares of the area with 0 < smallest <= largest <= 1, "
                f"got {self.smallest} and {self.largest}"
            )
        if not self.ratio >= 1:
            raise InvalidOption(f"{_BY}: ratio must be at least 1, got {self.ratio}")

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Randomly cropped, resized and flipped images; bytes become floating-point numbers."""
        n, _, height, width = check_images(images, by=_BY)
        top, left, heights, widths = self.windows(n, height, width, generator).unbind(dim=1)
        flips = draw_flips(n, self.flip, generator)
        rows = _positions(top, heights, self.size or height)
        columns = _positions(left, widths, self.size or width)
        columns = torch.where(flips[:, None], columns.flip(1), columns)
        # Positions in pixels as grid_sample expects them: −1 and 1 are the outer edges of the image.
        rows, columns = (2 * rows + 1) / height - 1, (2 * columns + 1) / width - 1
        shape = (n, rows.shape[1], columns.shape[1])
        grid = torch.stack((columns[:, None, :].expand(shape), rows[:, :, None].expand(shape)), dim=-1)
        pixels = images if images.is_floating_point() else images.float()
        grid = grid.to(images.device, pixels.dtype)
        return functional.grid_sample(pixels, grid, "bilinear", "border", align_corners=False)

    def eval_transform(self, images: Tensor) -> Tensor:
        """The centre crop; the images themselves if no size is set."""
        return images if self.size is None else centre_crop(images, self.size, by=_BY)

    def windows(self, n: int, height: int, width: int, generator: torch.Generator) -> Tensor:
        """Top, left, height and width of n windows, in whole pixels."""

        def draw(shape: tuple[int, ...]) -> Tensor:
            return torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64)

        area = (self.smallest + (self.largest - self.smallest) * draw((n, _TRIES))) * height * width
        ratio = torch.exp((2 * draw((n, _TRIES)) - 1) * math.log(self.ratio))
        widths = torch.sqrt(area * ratio).round().long()
        heights = torch.sqrt(area / ratio).round().long()
        fits = (widths > 0) & (widths <= width) & (heights > 0) & (heights <= height)
        first = fits.long().argmax(dim=1, keepdim=True)  # argmax gives the first of equal values
        has_fit = fits.any(dim=1)
        heights = torch.where(has_fit, heights.gather(1, first)[:, 0], min(height, round(width * self.ratio)))
        widths = torch.where(has_fit, widths.gather(1, first)[:, 0], min(width, round(height * self.ratio)))
        places = torch.stack((height - heights + 1, width - widths + 1), dim=1)
        corner = (draw((n, 2)) * places).long().minimum(places - 1)
        middle = (places - 1) // 2
        corner = torch.where(has_fit[:, None], corner, middle)
        return torch.stack((corner[:, 0], corner[:, 1], heights, widths), dim=1)


def _positions(start: Tensor, length: Tensor, size: int) -> Tensor:
    """Where ``size`` evenly spaced pixels of each window lie; never outside the window."""
    steps = torch.arange(size, device=start.device, dtype=torch.float64) + 0.5
    inside = steps * (length[:, None] / size) - 0.5
    return start[:, None] + inside.clamp(min=0).minimum(length[:, None] - 1.0)
