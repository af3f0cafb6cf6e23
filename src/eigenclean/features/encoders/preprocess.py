"""From an image of any size to the input of a network: size, crop, normalisation."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.sources.images.lazy import square

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_RESAMPLINGS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3}  # Pillow's own numbers


@dataclass(frozen=True)
class Preprocess:
    """How images become inputs.

    Attributes:
        size: side of the square in pixels; the shorter side is scaled to it, the middle of the longer one kept.
        mean: what to subtract from each channel, of pixels from 0 to 1.
        std: what to divide it by.
        resampling: nearest, bilinear, bicubic or lanczos.

    >>> from PIL import Image
    >>> Preprocess(size=32)(Image.new("RGB", (100, 50))).shape
    (32, 32, 3)
    """

    size: int = 224
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    resampling: str = "bicubic"

    def __post_init__(self) -> None:
        if type(self.size) is not int or not 1 <= self.size <= 4096:
            raise InvalidOption(f"encoder: size must be a number of pixels from 1 to 4096, got {self.size!r}")
        for name in ("mean", "std"):
            values = getattr(self, name)
            numbers = [values] * 3 if isinstance(values, int | float) else values
            if not isinstance(numbers, list | tuple) or len(numbers) != 3 or not all(map(_is_number, numbers)):
                raise InvalidOption(f"encoder: {name} must be a number or one for red, green, blue, got {values!r}")
            if name == "std" and not all(numbers):
                raise InvalidOption(f"encoder: std must not be 0, got {values!r}")
            object.__setattr__(self, name, tuple(float(number) for number in numbers))
        check_name(self.resampling, _RESAMPLINGS, by="encoder", what="resampling")

    def __call__(self, image: "Image") -> Array:
        """The image as size x size x 3 bytes; they are scaled to numbers later, a batch at a time."""
        return np.asarray(square(image, self.size, _RESAMPLINGS[self.resampling]))

    def about(self) -> dict[str, Any]:
        """All options as plain values: features of other options are cached apart."""
        return asdict(self)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
