"""Data sets of items, as PyTorch has them: ``dataset[i]`` is a pair of an input and a label."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.images.column import ImageCells
from eigenclean.sources.images.display import brightness, channels_last, encoded, stretched


def is_item_dataset(value: Any) -> bool:
    """Whether it has a length and items, and is no array, list or dictionary.

    >>> is_item_dataset([1, 2]), is_item_dataset({"features": []}), is_item_dataset(np.eye(2))
    (False, False, False)
    """
    if isinstance(value, list | tuple | str | bytes | Mapping) or hasattr(value, "__array__"):
        return False
    return hasattr(value, "__getitem__") and hasattr(value, "__len__")


def item_arrays(dataset: Any) -> dict[str, Any]:
    """All items as arrays: ``labels``, and ``features``, ``images`` or ``texts``.

    Inputs of one axis are features; those of two or three axes and pictures of Pillow are images. Floating-point
    images are stretched to bytes. Numbers of classes become names where the data set has ``classes``.

    >>> class Items:
    ...     classes = ["cat", "dog"]
    ...     def __len__(self): return 2
    ...     def __getitem__(self, i): return np.eye(2)[i], i
    >>> arrays = item_arrays(Items())
    >>> arrays["labels"].tolist(), arrays["features"].shape
    (['cat', 'dog'], (2, 2))
    """
    by = type(dataset).__name__
    inputs, labels = [], []
    for row in range(len(dataset)):
        item = dataset[row]
        if not isinstance(item, tuple | list) or len(item) < 2:
            raise InvalidData(f"{by}: an item must be a pair of an input and a label, got {type(item).__name__}")
        inputs.append(item[0])
        labels.append(_label(item[1], row, by=by))
    named = _class_names(np.asarray(labels), getattr(dataset, "classes", None))
    if not inputs:
        raise InvalidData(f"{by} has no items")
    if isinstance(inputs[0], str):
        return {"texts": np.array([str(text) for text in inputs], dtype=np.str_), "labels": named}
    arrays = [_pixels(value) for value in inputs]
    if all(array.ndim <= 1 for array in arrays):
        if len({array.shape for array in arrays}) > 1:
            raise InvalidData(f"{by}: inputs must have equally many numbers; these are not features yet")
        return {"features": np.stack([np.atleast_1d(array) for array in arrays]), "labels": named}
    return {"images": _images(arrays, by=by), "labels": named}


def _images(arrays: list[Array], *, by: str) -> Any:
    """One array of bytes, or encoded images where their sizes differ."""
    images = [channels_last(array, by=by) for array in arrays]
    between = None if all(image.dtype == np.uint8 for image in images) else brightness(images)
    pixels = [stretched(image, between) for image in images]
    if len({image.shape for image in pixels}) == 1:
        return np.stack(pixels)
    cells = [encoded(image, max(image.shape[:2]))[0] for image in pixels]
    return ImageCells(pa.chunked_array([pa.array(cells, pa.binary())]), by=by)


def _pixels(value: Any) -> Array:
    if hasattr(value, "getbands"):  # a picture of Pillow; those with a palette hold numbers of colours
        value = value if value.mode in ("L", "RGB", "RGBA") else value.convert("RGB")
    if hasattr(value, "detach"):  # a tensor, perhaps on another device
        value = value.detach().cpu()
    return np.asarray(value)


def _label(value: Any, row: int, *, by: str) -> Any:
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    if isinstance(value, int | str | np.integer):
        return value
    raise InvalidData(f"{by}: labels must be one number or text each, got {type(value).__name__} in item {row}")


def _class_names(labels: Array, classes: Any) -> Array:
    names = list(classes) if isinstance(classes, list | tuple) else []
    if labels.dtype.kind not in "iu" or not names or not all(isinstance(name, str) for name in names):
        return labels
    if labels.min(initial=0) < 0 or labels.max(initial=0) >= len(names):
        return labels
    return np.array(names)[labels]
