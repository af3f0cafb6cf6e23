"""Inputs of a classifier, checked and standardised: feature vectors or images."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, check_features, check_ids, check_labels, locate_labels
from eigenclean.errors import InvalidData
from eigenclean.sources import as_matrix, as_vector
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.train.data.images import ChannelFirstImages, as_images
from eigenclean.train.data.scaling import Scaling, image_scaling


@dataclass(frozen=True, eq=False)
class InputSpec:
    """Shape and standardisation of the inputs, from the training data.

    Attributes:
        shape: number of features, or channels, height and width.
        scaling: standardisation of the columns, or of the channels.
        augment: random augmentation of training images; None without.
    """

    shape: int | tuple[int, ...]
    scaling: Scaling
    augment: Any = None

    @classmethod
    def fit(cls, array: Array | ChannelFirstImages, scale: str, augment: Any = None) -> "InputSpec":
        """Measure checked inputs; ``scale`` says how images are standardised, see `image_scaling`."""
        if array.ndim == 2 and not isinstance(array, ChannelFirstImages):
            return cls(array.shape[1], Scaling.fit(array), augment)
        return cls(tuple(array.shape[1:]), image_scaling(array, scale), augment)

    @property
    def network_shape(self) -> int | tuple[int, ...]:
        """Shape of one input of the network: that of the transformed images."""
        if isinstance(self.shape, int) or self.augment is None:
            return self.shape
        import torch

        return tuple(self.augment.eval_transform(torch.zeros(1, *self.shape)).shape[1:])

    @property
    def are_images(self) -> bool:
        """Whether inputs are images."""
        return not isinstance(self.shape, int)

    def check(self, X: Any, *, by: str) -> Array | ChannelFirstImages:
        """``X`` as an array; `InvalidData` unless its shape is that of the training data."""
        return check_shape(as_inputs(X, by=by), self.shape, by=by)

    def pool(self, array: Array | ChannelFirstImages, codes: Ints, classes: Array, ids: Array | None = None) -> Any:
        """A pool of these samples; images are standardised batch by batch, features at once."""
        from eigenclean.train.data.pool import Pool

        if isinstance(array, ChannelFirstImages) or self.are_images:
            eval_transform = None if self.augment is None else self.augment.eval_transform
            return Pool.from_arrays(array, codes, classes, ids, self.scaling, eval_transform)
        return Pool.from_arrays(self.scaling(array), codes, classes, ids)

    def labelled_pool(self, samples: tuple[Any, Any], classes: Array, *, by: str) -> Any:
        """A pool of a pair (X, y) whose labels must be among the classes."""
        X, y = samples
        array = self.check(X, by=by)
        labels = check_labels(as_vector(y), by=by, n_rows=len(array))
        return self.pool(array, locate_labels(labels, classes, by=by), classes, check_ids(None, len(array), by=by))


def as_inputs(X: Any, *, by: str) -> Array | ChannelFirstImages:
    """Features as n x d or images as n x C x H x W, all finite; images in files are not read yet."""
    if isinstance(X, ChannelFirstImages):
        return X
    if isinstance(X, LazyImages):
        return ChannelFirstImages(X)
    if isinstance(X, np.ndarray) and (X.ndim > 2 or (X.dtype == object and X.ndim == 1)):
        return as_images(X, by=by)
    return check_features(as_matrix(X), by=by)


def check_shape(
    array: Array | ChannelFirstImages, shape: int | tuple[int, ...], *, by: str
) -> Array | ChannelFirstImages:
    """The array; `InvalidData` unless its rows have that shape."""
    given = tuple(array.shape[1:]) if array.ndim > 2 else int(array.shape[1])
    if given == shape:
        return array
    if isinstance(given, int) and isinstance(shape, int):  # the sentence of scikit-learn's estimators
        raise InvalidData(f"X has {given} features, but {by} is expecting {shape} features as input")
    raise InvalidData(f"{by}: fitted on {_describe(shape)}, got {_describe(given)}")


def take_rows(array: Array | ChannelFirstImages | LazyImages, rows: Any) -> Array | ChannelFirstImages:
    """The inputs of these rows; images in files are not read yet."""
    if isinstance(array, LazyImages):
        array = ChannelFirstImages(array)
    return array.take(rows) if isinstance(array, ChannelFirstImages) else np.asarray(array[rows])


def _describe(shape: int | tuple[int, ...]) -> str:
    return f"{shape} features" if isinstance(shape, int) else f"images of {' x '.join(map(str, shape))}"
