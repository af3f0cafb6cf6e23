"""Standardisation of inputs: of the columns of features, of the channels of images."""

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
UNIT = "unit"  # pixels from 0 to 1, for networks that standardise them themselves
_SAMPLE_SIZE = 10_000  # images; their mean agrees with that of all images to three digits


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and scale of each column or channel.

    >>> Scaling.fit(np.array([[0.0, 5.0], [2.0, 5.0]]))(np.array([[4.0, 5.0]]))
    array([[3., 0.]], dtype=float32)
    """

    mean: Float64s
    scale: Float64s

    @classmethod
    def fit(cls, features: Array) -> "Scaling":
        """Mean and standard deviation of each column, chunk by chunk; the scale of a constant column is 1."""
        scaler = StandardScaler()
        for chunk in row_chunks(len(features), features.shape[1] * 8):
            scaler.partial_fit(features[chunk].astype(np.float64, copy=False))
        return cls(np.asarray(scaler.mean_), np.asarray(scaler.scale_))

    def __call__(self, features: Array) -> Array:
        """The standardised rows as float32."""
        scaled = np.empty(features.shape, dtype=np.float32)
        for chunk in row_chunks(len(features), features.shape[1] * 8):
            scaled[chunk] = (features[chunk] - self.mean) / self.scale
        return scaled


def image_scaling(images: Array | ChannelFirstImages, method: str = MEASURED) -> Scaling:
    """Mean and deviation of each channel of n x C x H x W images: measured, by a name from `CONSTANTS`, or "unit".

    They are for pixels from 0 to 1. Images stay as they are in memory and are scaled batch by batch.

    >>> image_scaling(np.full((4, 1, 2, 2), 255, dtype=np.uint8)).mean
    array([1.])
    >>> image_scaling(np.zeros((4, 1, 2, 2), dtype=np.uint8), "cifar10")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: scale 'cifar10' is for images of 3 channels, got 1; take 'measured'
    """
    check_name(method, (MEASURED, UNIT, *CONSTANTS), by="recipe", what="scale")
    channels = images.shape[1]
    if method == UNIT:
        return Scaling(np.zeros(channels), np.ones(channels))
    if method != MEASURED:
        mean, deviation = (np.array(values) for values in CONSTANTS[method])
        if channels != len(mean):
            raise InvalidData(
                f"scale {method!r} is for images of {len(mean)} channels, got {channels}; take {MEASURED!r}"
            )
        return Scaling(mean, deviation)
    step = max(1, len(images) // _SAMPLE_SIZE)
    sample = images[::step]
    sums = np.zeros((2, channels))
    for chunk in row_chunks(len(sample), sample[0].size * 8):
        pixels = sample[chunk] / max_pixel(images)
        sums += [pixels.sum(axis=(0, 2, 3)), (pixels**2).sum(axis=(0, 2, 3))]
    mean, square = sums / (len(sample) * sample.shape[2] * sample.shape[3])
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    return Scaling(mean, np.where(deviation > 1e-6, deviation, 1.0))


def max_pixel(images: Array | ChannelFirstImages) -> float:
    """Value of the brightest pixel: 255 for bytes, 1 for floating-point images."""
    return 255.0 if images.dtype == np.uint8 else 1.0
