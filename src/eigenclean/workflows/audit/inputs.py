"""The arguments of `audit`, which name columns or are arrays themselves, as a source and its options."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from eigenclean.errors import InvalidOption
from eigenclean.sources import as_matrix, open_source
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.frames import is_frame
from eigenclean.sources.tabular.hf_objects import is_dataset
from eigenclean.workflows.options import SourceOptions

_ARRAYS = {"features": "features", "image": "images", "text": "texts", "label": "labels", "ids": "ids"}


@dataclass(frozen=True, eq=False)
class AuditInputs:
    """What the data are, and where in them labels and features are; see `eigenclean.audit`.

    Attributes:
        data: path, frame, data set, arrays; None if the other arguments are arrays.
        label: column of a table, or the labels.
        text: column of a table, or the texts.
        image: column of a table, or the images.
        features: columns of a table or patterns, or the features.
        ids: column of a table, or the ids.
        options: what else `open_source` is told.
    """

    data: Any = None
    label: Any = None
    text: Any = None
    image: Any = None
    features: Any = None
    ids: Any = None
    options: SourceOptions = field(default_factory=SourceOptions)

    def resolve(self) -> tuple[Any, SourceOptions]:
        """A source as `open_source` takes it, and its options."""
        data = self.data
        if isinstance(data, Mapping) and not is_dataset(data) and self._names_columns():
            with explain_read_errors("data", "dictionary of columns"):
                data = pa.table(dict(data))
        if isinstance(data, str | os.PathLike) or is_frame(data) or is_dataset(data):
            return self._table(data)
        return self._arrays(data), self.options

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _ARRAYS if getattr(self, name) is not None}

    def _names_columns(self) -> bool:
        return any(is_column(value) for value in self._given().values())

    def _table(self, data: Any) -> tuple[Any, SourceOptions]:
        """A table, in which names are columns; labels and features may be arrays beside it."""
        for name in ("text", "image", "ids"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InvalidOption(f"audit: {name} must name a column of the data, got {type(value).__name__}")
        by_column = isinstance(self.label, str)
        options = {
            **vars(self.options),
            "labels": None if by_column else self.label,
            "label_column": self.label if by_column else None,
            "text_column": self.text,
            "image_column": self.image,
            "id_column": self.ids,
        }
        if self.features is None or is_column(self.features):
            return data, SourceOptions(**{**options, "feature_columns": _columns(self.features)})
        source = open_source(data, **options, need_features=False)
        labels = source.labels if source.annotations is None else source.annotations
        arrays = {"labels": labels, "ids": source.ids, "images": source.images, "texts": source.texts}
        given = {name: value for name, value in arrays.items() if value is not None}
        return {"features": as_matrix(self.features), **given}, self.options

    def _arrays(self, data: Any) -> Any:
        """Arrays, given as the data or as the other arguments."""
        given = self._given()
        for name, value in given.items():
            if isinstance(value, str):
                raise InvalidOption(
                    f"audit: {name}={value!r} names a column, but the data are no table; give the values themselves"
                )
        arrays = {_ARRAYS[name]: value for name, value in given.items()}
        if data is None:
            return arrays
        if isinstance(data, tuple) and len(data) == 2:
            data = dict(zip(("features", "labels"), data, strict=True))
        elif not isinstance(data, Mapping):
            data = {"features": data} if arrays else data
        if not arrays:
            return data
        twice = [name for name in data if name in arrays]
        if twice:
            raise InvalidOption(f"audit: there are {twice[0]} both in the data and beside them; give them once")
        return {**data, **arrays}


def is_column(value: Any) -> bool:
    """Whether it is the name of a column, or a list of names."""
    is_list = isinstance(value, list | tuple) and bool(value) and all(isinstance(name, str) for name in value)
    return isinstance(value, str) or is_list


def _columns(value: Any) -> Sequence[str] | None:
    return [value] if isinstance(value, str) else value
