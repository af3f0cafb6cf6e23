"""Sources from objects in memory, and labels that are not in the source."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.annotated import annotation_matrix, split_annotations
from eigenclean.sources.arrays.items import is_item_dataset, item_arrays
from eigenclean.sources.arrays.memory import MemorySource, check_texts
from eigenclean.sources.arrays.numpy_files import read_labels
from eigenclean.sources.base import Source
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.raw import LabelSource, TextSource
from eigenclean.sources.tabular.columns import ColumnOptions
from eigenclean.sources.tabular.frames import FrameTable, as_matrix, as_vector, is_mixed_frame
from eigenclean.sources.tabular.shards import shard_files
from eigenclean.sources.tabular.source import open_table

_ARRAYS = ("features", "labels", "ids", "images", "texts")


def open_arrays(source: Any, labels: Array | None, *, need_features: bool) -> Source:
    """A pair of features and labels, a dict of arrays, or features alone, as a source."""
    if isinstance(source, Mapping):
        arrays = dict(source)
    elif is_item_dataset(source):
        arrays = item_arrays(source)
    elif isinstance(source, tuple) and len(source) == 2:
        arrays = dict(zip(("features", "labels"), source, strict=True))
    else:
        arrays = {"features": source}
    unknown = [key for key in arrays if key not in _ARRAYS]
    has_contents = any(arrays.get(key) is not None for key in ("features", "images", "texts"))
    if not has_contents and annotation_matrix(arrays.get("labels")) is not None:
        need_features = False  # several annotators can be compared by their labels alone
    if unknown or (need_features and not has_contents):
        raise InvalidData(
            f"arrays: a dict must have 'features', 'images' or 'texts' and may have 'labels' and 'ids', "
            f"got {', '.join(map(repr, arrays)) or 'nothing'}"
        )
    if labels is None and arrays.get("labels") is None:
        raise InvalidData("arrays: there are no labels; give a pair (features, labels), or labels=...")
    if labels is None:
        annotations, labels = split_annotations(arrays["labels"])
        if annotations is not None:
            opened = open_arrays({**arrays, "labels": None}, labels, need_features=need_features)
            opened.annotations = annotations
            return opened
        labels = as_vector(arrays["labels"])
    ids, texts = (None if arrays.get(key) is None else as_vector(arrays[key]) for key in ("ids", "texts"))
    images = arrays.get("images")
    if images is not None and not isinstance(images, LazyImages):
        images = as_vector(images)
    if not has_contents:
        return LabelSource("arrays", labels, ids=ids)
    if set(arrays) <= {"features", "labels"} and is_mixed_frame(arrays.get("features")):
        return open_table(FrameTable(arrays["features"]), ColumnOptions(), labels=labels)
    if arrays.get("features") is not None:
        return MemorySource("arrays", as_matrix(arrays["features"]), labels, ids=ids, images=images, texts=texts)
    if images is not None:
        return ImageSource("arrays", images, labels, ids=ids, texts=texts)
    assert texts is not None
    return TextSource("arrays", check_texts(texts, len(texts), by="arrays"), labels, ids=ids)


def load_labels(labels: Any) -> Any:
    """Labels from an object in memory, a file, or a folder of files whose labels follow each other."""
    if not isinstance(labels, str | os.PathLike):
        return labels
    path = Path(labels)
    if not os.path.isdir(path):
        return read_labels(path)
    arrays = [read_labels(file) for file in shard_files(path, [".npy", ".txt", ".csv"])]
    if not arrays:
        raise InvalidData(f"the folder {path} has no label files (.npy, .txt or .csv)")
    return np.concatenate(arrays)
