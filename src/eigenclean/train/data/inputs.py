"""What a classifier is given, made ready for its network: feature vectors or images, labels as numbers."""

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
    """The form of the inputs, learned from the training data.

    Attributes:
        shape: number of features, or channels, height and width.
        scaling: of columns, or of channels.
        augment: how images are varied; None if they are not.
    """

    shape: int | tuple[int, ...]
    scaling: Scaling

    augment: Any = None

    @classmethod
    def of(cls, array: Array | ChannelFirstImages, scale: str, augment: Any = None) -> "InputSpec":
        """Learn from checked inputs; ``scale`` says what images are standardised by."""
        if array.ndim == 2 and not isinstance(array, ChannelFirstImages):
            return cls(array.shape[1], Scaling.of(array), augment)
        return cls(tuple(array.shape[1:]), image_scaling(array, scale), augment)

    @property
    def seen(self) -> int | tuple[int, ...]:
        """The shape that networks see: of the varied images."""
        if isinstance(self.shape, int) or self.augment is None:
            return self.shape
        import torch

        return tuple(self.augment.eval_transform(torch.zeros(1, *self.shape)).shape[1:])

    @property
    def are_images(self) -> bool:
        """Whether inputs are images."""
        return not isinstance(self.shape, int)

    def checked(self, X: Any, *, by: str) -> Array | ChannelFirstImages:
        """Inputs of the same form, or a sentence."""
        array = as_inputs(X, by=by)
        shape = tuple(array.shape[1:]) if array.ndim > 2 else int(array.shape[1])
        if shape != self.shape:
            raise InvalidData(f"{by}: fitted on {_words(self.shape)}, got {_words(shape)}")
        return array

    def pool(self, array: Array | ChannelFirstImages, codes: Ints, classes: Array, ids: Array | None = None) -> Any:
        """The samples as networks see them; images are scaled batch by batch, features at once."""
        from eigenclean.train.data.pool import Pool

        if isinstance(array, ChannelFirstImages) or self.are_images:
            eval_transform = None if self.augment is None else self.augment.eval_transform
            return Pool.of(array, codes, classes, ids, self.scaling, eval_transform)
        return Pool.of(self.scaling(array), codes, classes, ids)

    def labelled(self, given: Any, classes: Array, *, by: str) -> Any:
        """A pool of a pair (X, y) whose labels are among the classes."""
        X, y = given
        array = self.checked(X, by=by)
        labels = check_labels(as_vector(y), by=by, n_rows=len(array))
        return self.pool(array, locate_labels(labels, classes, by=by), classes, check_ids(None, len(array), by=by))


def as_inputs(X: Any, *, by: str) -> Array | ChannelFirstImages:
    """Features as n x d, images as n x C x H x W, finite; those in files stay there."""
    if isinstance(X, ChannelFirstImages):
        return X
    if isinstance(X, LazyImages):
        return ChannelFirstImages(X)
    if isinstance(X, np.ndarray) and (X.ndim > 2 or (X.dtype == object and X.ndim == 1)):
        return as_images(X, by=by)
    return check_features(as_matrix(X), by=by)


def take_rows(array: Array | ChannelFirstImages | LazyImages, rows: Any) -> Array | ChannelFirstImages:
    """Some of the inputs; those in files stay there."""
    if isinstance(array, LazyImages):
        array = ChannelFirstImages(array)
    return array.only(rows) if isinstance(array, ChannelFirstImages) else np.asarray(array[rows])


def _words(shape: int | tuple[int, ...]) -> str:
    return f"{shape} features" if isinstance(shape, int) else f"images of {' x '.join(map(str, shape))}"
