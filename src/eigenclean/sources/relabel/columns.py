"""Label columns of Arrow tables, with some labels replaced and the type of the column kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData
from eigenclean.sources.relabel.change import Change


class LabelColumn:
    """Puts the labels of a change into pieces of a column, as these come along.

    Args:
        change: which rows get which labels.
        kind: type of the column.
        names: names of the classes when the column holds their numbers.
        words: all that the column's dictionary has in it, when it has one; new labels are added at its end.
        name: what to call the data in messages.
    """

    def __init__(
        self, change: Change, kind: pa.DataType, *, name: str, names: Sequence[str] | None = None, words: Any = None
    ) -> None:
        self._rows = change.rows
        self._kind = kind
        inner: Any = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
        self._values = stored(change.after, inner, names, name=name)
        self._words = None if words is None else _with(words, self._values)

    def replaced(self, piece: "pa.Array[Any]", start: int) -> "pa.Array[Any]":
        """The piece that begins at row ``start``, with its new labels."""
        first, last = np.searchsorted(self._rows, (start, start + len(piece)))
        at: Ints = self._rows[first:last] - start
        plain: Any = piece
        if isinstance(piece, pa.DictionaryArray):
            plain = piece.dictionary_decode()
        if len(at):
            mask = np.zeros(len(piece), dtype=bool)
            mask[at] = True
            values = self._values.slice(first, last - first)
            kind = plain.type
            if str(kind) == "string_view":  # Arrow cannot replace these
                plain, values = plain.cast(pa.string()), values.cast(pa.string())
            plain = pc.replace_with_mask(plain, pa.array(mask), values).cast(kind)
        if isinstance(piece, pa.DictionaryArray):
            words = piece.dictionary if self._words is None else self._words
            indices = pc.index_in(plain, value_set=words).cast(self._kind.index_type)  # type: ignore[attr-defined]
            return pa.DictionaryArray.from_arrays(indices, words, ordered=piece.type.ordered)
        result: pa.Array[Any] = plain
        return result


def stored(labels: Array, kind: pa.DataType, names: Sequence[str] | None, *, name: str) -> Any:
    """The labels as values of a column of that type; `InvalidData` when it cannot hold them."""
    values: Any = pa.array(labels.tolist())
    if names is not None:
        numbers = {label: number for number, label in enumerate(names)}
        unknown = [label for label in labels.tolist() if label not in numbers]
        if unknown:
            raise InvalidData(
                f"{name} has a fixed list of {len(names)} classes, and {unknown[0]!r} is not among them; "
                "add it to the data set's features first"
            )
        values = pa.array([numbers[label] for label in labels.tolist()], pa.int64())
    try:
        return values.cast(kind)
    except pa.ArrowException:
        raise InvalidData(
            f"{name}: the label column holds {kind}, which cannot be {_first_bad(values, kind)!r}"
        ) from None


def _first_bad(values: Any, kind: pa.DataType) -> Any:
    for value in values:
        try:
            value.cast(kind)
        except pa.ArrowException:
            return value.as_py()
    return values[0].as_py()


def _with(words: Any, values: Any) -> Any:
    more = pc.unique(values).filter(pc.invert(pc.is_in(pc.unique(values), value_set=words)))
    return pa.concat_arrays([words, more.cast(words.type)]) if len(more) else words
