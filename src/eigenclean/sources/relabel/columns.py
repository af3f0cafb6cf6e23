"""Label columns of Arrow tables, with some labels replaced and the type of the column kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData
from eigenclean.sources.relabel.update import LabelUpdate


class LabelColumn:
    """Replaces labels in a column that is rewritten chunk by chunk.

    Args:
        update: which rows get which labels.
        kind: type of the column.
        name: what to call the data in messages.
        class_names: names of the classes when the column holds their numbers.
        dictionary: all values of a dictionary-encoded column, None for others; new labels are added at its end.
    """

    def __init__(
        self,
        update: LabelUpdate,
        kind: pa.DataType,
        *,
        name: str,
        class_names: Sequence[str] | None = None,
        dictionary: Any = None,
    ) -> None:
        self._rows = update.rows
        self._kind = kind
        inner: Any = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
        self._values = to_arrow(update.after, inner, class_names, name=name)
        self._dictionary = None if dictionary is None else _extended(dictionary, self._values)

    def replace(self, chunk: "pa.Array[Any]", start: int) -> "pa.Array[Any]":
        """The chunk that begins at row ``start``, with its new labels."""
        first, last = np.searchsorted(self._rows, (start, start + len(chunk)))
        positions: Ints = self._rows[first:last] - start
        decoded: Any = chunk
        if isinstance(chunk, pa.DictionaryArray):
            decoded = chunk.dictionary_decode()
        if len(positions):
            mask = np.zeros(len(chunk), dtype=bool)
            mask[positions] = True
            values = self._values.slice(first, last - first)
            kind = decoded.type
            if str(kind) == "string_view":  # Arrow cannot replace these
                decoded, values = decoded.cast(pa.string()), values.cast(pa.string())
            decoded = pc.replace_with_mask(decoded, pa.array(mask), values).cast(kind)
        if isinstance(chunk, pa.DictionaryArray):
            dictionary = chunk.dictionary if self._dictionary is None else self._dictionary
            indices = pc.index_in(decoded, value_set=dictionary).cast(self._kind.index_type)  # type: ignore[attr-defined]
            return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=chunk.type.ordered)
        result: pa.Array[Any] = decoded
        return result


def to_arrow(labels: Array, kind: pa.DataType, class_names: Sequence[str] | None, *, name: str) -> Any:
    """The labels as values of a column of that type; `InvalidData` when it cannot hold them."""
    values: Any = pa.array(labels.tolist())
    if class_names is not None:
        numbers = {label: number for number, label in enumerate(class_names)}
        unknown = [label for label in labels.tolist() if label not in numbers]
        if unknown:
            raise InvalidData(
                f"{name} has a fixed list of {len(class_names)} classes, and {unknown[0]!r} is not among them; "
                "add it to the data set's features first"
            )
        values = pa.array([numbers[label] for label in labels.tolist()], pa.int64())
    try:
        return values.cast(kind)
    except pa.ArrowException:
        raise InvalidData(
            f"{name}: the label column holds {kind}, which cannot be {_first_misfit(values, kind)!r}"
        ) from None


def _first_misfit(values: Any, kind: pa.DataType) -> Any:
    for value in values:
        try:
            value.cast(kind)
        except pa.ArrowException:
            return value.as_py()
    return values[0].as_py()


def _extended(dictionary: Any, values: Any) -> Any:
    distinct = pc.unique(values)
    new = distinct.filter(pc.invert(pc.is_in(distinct, value_set=dictionary)))
    return pa.concat_arrays([dictionary, new.cast(dictionary.type)]) if len(new) else dictionary
