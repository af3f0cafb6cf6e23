"""The shape of one input: a number of features, or channels x height x width."""

import math
from collections.abc import Sequence

from eigenclean.errors import InvalidData

Shape = int | Sequence[int]


def n_values(shape: Shape) -> int:
    """Number of values in one input.

    >>> n_values(5), n_values((3, 4, 4))
    (5, 48)
    """
    return shape if isinstance(shape, int) else math.prod(shape)


def image_shape(shape: Shape, *, by: str, smallest: int = 1) -> tuple[int, int, int]:
    """Channels, height and width of one image; `InvalidData` for anything else.

    >>> image_shape(64, by="net resnet34")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: net resnet34: needs images (channels x height x width), got vectors of 64
    features; give images, or take the net linear or mlp
    """
    if isinstance(shape, int):
        raise InvalidData(
            f"{by}: needs images (channels x height x width), got vectors of {shape} features; "
            "give images, or take the net linear or mlp"
        )
    if len(shape) != 3 or shape[0] < 1 or min(shape[1:]) < smallest:
        raise InvalidData(
            f"{by}: an image must be channels x height x width with sides of at least {smallest}, "
            f"got {' x '.join(map(str, shape)) or 'nothing'}"
        )
    channels, height, width = shape
    return channels, height, width
