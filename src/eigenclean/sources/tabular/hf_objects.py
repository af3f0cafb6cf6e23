"""Data sets of Hugging Face's ``datasets`` library in memory, by their methods: the library is not imported."""

import sys
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.errors import InvalidData
from eigenclean.sources.images.source import choose_split
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.columns import is_image_struct
from eigenclean.sources.tabular.frames import FrameTable

_LIBRARY = "datasets"


def is_dataset(value: Any) -> bool:
    """Whether it is a ``Dataset``, ``IterableDataset`` or a dictionary of them by split.

    >>> is_dataset({"train": [1, 2]}), is_dataset([1, 2])
    (False, False)
    """
    return any(kind.__module__.split(".")[0] == _LIBRARY for kind in type(value).__mro__)


def dataset_table(dataset: Any, *, split: str | None = None) -> FrameTable:
    """The rows of a data set as a table; of a dictionary of splits those of one split, by default "train"."""
    if isinstance(dataset, Mapping):
        dataset = dataset[choose_split(split, list(dataset), by=type(dataset).__name__)]
    elif split is not None:
        choose_split(split, [], by=type(dataset).__name__)
    name = type(dataset).__name__
    if not hasattr(dataset, "__len__"):
        raise InvalidData(
            f"{name}: a data set that is streamed cannot be judged; load it without streaming=True, or save it and "
            "give the folder"
        )
    with explain_read_errors(name, "data set"):
        rows: pa.Table = dataset.with_format("arrow")[:]
        return FrameTable(_with_images(rows), name=name)


def _with_images(rows: pa.Table) -> pa.Table:
    """The table with the bytes of all images: a data set may hold paths anywhere on the disk instead."""
    images = [field.name for field in rows.schema if is_image_struct(field.type)]
    missing = any(pc.struct_field(rows.column(name), "bytes").null_count for name in images)
    if not missing:
        return rows
    embedded: pa.Table = sys.modules[f"{_LIBRARY}.table"].embed_table_storage(rows)
    return embedded
