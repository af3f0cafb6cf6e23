"""Sources from objects in memory, and labels that are not in the source."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData
from eigenclean.evidence import Annotations
from eigenclean.sources.annotated import annotation_matrix
from eigenclean.sources.arrays.items import is_item_dataset, item_arrays
from eigenclean.sources.arrays.memory import MemorySource, check_texts
from eigenclean.sources.arrays.numpy_files import read_labels
from eigenclean.sources.base import Source
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.raw import LabelSource, TextSource
from eigenclean.sources.tabular.columns import ColumnOptions
from eigenclean.sources.tabular.frames import FrameTable, as_matrix, as_vector, is_frame, is_mixed_frame, to_table
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
        annotations = annotation_matrix(arrays["labels"])
        if annotations is not None:
            return _open_annotated(arrays, annotations, need_features=need_features)
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


def _open_annotated(arrays: dict[str, Any], annotations: Annotations, *, need_features: bool) -> Source:
    """Arrays with labels of several annotators; rows without any are left out, and the others keep their ids."""
    labelled, n_rows = np.flatnonzero(annotations.per_row > 0), annotations.n_rows
    arrays = {key: value for key, value in arrays.items() if key != "labels" and value is not None}
    if 0 < len(labelled) < n_rows:
        annotations = annotations.take(labelled)
        arrays = {key: _rows_of(key, value, labelled, n_rows) for key, value in arrays.items()}
    annotations.check(by="labels")
    opened = open_arrays(arrays, annotations.majority, need_features=need_features)
    if len(labelled) < n_rows and "ids" not in arrays:
        opened.ids = labelled
    opened.annotations, opened.n_unlabelled = annotations, n_rows - len(labelled)
    return opened


def _rows_of(key: str, values: Any, rows: Ints, n_rows: int) -> Any:
    """These rows of features, ids, texts or images, of which there must be as many as rows of labels."""
    if isinstance(values, LazyImages):
        raise InvalidData("labels: every image must have a label by some annotator; leave out the others")
    if is_mixed_frame(values):
        taken: Any = to_table(values)
        n = taken.num_rows
    else:
        taken = as_matrix(values) if key == "features" else as_vector(values)
        n = len(taken)
    if n != n_rows:
        raise InvalidData(f"arrays: there are {n} rows of {key}, but {n_rows} rows of labels")
    return taken.take(rows) if is_frame(taken) else taken[rows]


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
