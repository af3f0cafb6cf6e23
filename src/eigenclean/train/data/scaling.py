"""Inputs on one scale, as networks like them: columns of features, channels of images."""

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from eigenclean.arrays import Array, Float64s, row_chunks
from eigenclean.errors import InvalidData
from eigenclean.names import check_name
from eigenclean.train.data.images import ChannelFirstImages

# Mean and deviation of each channel, for pixels from 0 to 1, as the papers have them.
CONSTANTS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    "cifar100": ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)),
    "cifar100-dividemix": ((0.507, 0.487, 0.441), (0.267, 0.256, 0.276)),
    "clothing1m": ((0.6959, 0.6537, 0.6371), (0.3113, 0.3192, 0.3214)),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
MEASURED = "measured"
_ENOUGH = 10_000  # images whose mean is that of all of them to three digits


@dataclass(frozen=True, eq=False)
class Scaling:
    """What to subtract from each column and what to divide it by.

    >>> Scaling.of(np.array([[0.0, 5.0], [2.0, 5.0]]))(np.array([[4.0, 5.0]]))
    array([[3., 0.]], dtype=float32)
    """

    mean: Float64s
    scale: Float64s

    @classmethod
    def of(cls, features: Array) -> "Scaling":
        """Learn from these rows, a piece at a time; a constant column is not stretched."""
        scaler = StandardScaler()
        for part in row_chunks(len(features), features.shape[1] * 8):
            scaler.partial_fit(features[part].astype(np.float64, copy=False))
        return cls(np.asarray(scaler.mean_), np.asarray(scaler.scale_))

    def __call__(self, features: Array) -> Array:
        """The rows on that scale, as float32."""
        scaled = np.empty(features.shape, dtype=np.float32)
        for part in row_chunks(len(features), features.shape[1] * 8):
            scaled[part] = (features[part] - self.mean) / self.scale
        return scaled


def image_scaling(images: Array | ChannelFirstImages, how: str = MEASURED) -> Scaling:
    """Mean and deviation of each channel of n x C x H x W images: measured, or by a name from `CONSTANTS`.

    They are for pixels from 0 to 1. Images stay as they are in memory and are scaled batch by batch.

    >>> image_scaling(np.full((4, 1, 2, 2), 255, dtype=np.uint8)).mean
    array([1.])
    >>> image_scaling(np.zeros((4, 1, 2, 2), dtype=np.uint8), "cifar10")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: scale 'cifar10' is for images of 3 channels, got 1; take 'measured'
    """
    check_name(how, (MEASURED, *CONSTANTS), by="recipe", what="scale")
    channels = images.shape[1]
    if how != MEASURED:
        mean, deviation = (np.array(values) for values in CONSTANTS[how])
        if channels != len(mean):
            raise InvalidData(
                f"scale {how!r} is for images of {len(mean)} channels, got {channels}; take {MEASURED!r}"
            )
        return Scaling(mean, deviation)
    step = max(1, len(images) // _ENOUGH)
    seen = images[::step]
    sums = np.zeros((2, channels))
    for part in row_chunks(len(seen), seen[0].size * 8):
        pixels = seen[part] / unit_of(images)
        sums += [pixels.sum(axis=(0, 2, 3)), (pixels**2).sum(axis=(0, 2, 3))]
    mean, square = sums / (len(seen) * seen.shape[2] * seen.shape[3])
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    return Scaling(mean, np.where(deviation > 1e-6, deviation, 1.0))


def unit_of(images: Array | ChannelFirstImages) -> float:
    """What the brightest pixel is: 255 for bytes, 1 for numbers."""
    return 255.0 if images.dtype == np.uint8 else 1.0
