"""What a format's writer is given: the labels to write, and an undo log of how the old ones were spelled.

Nearly always there is nothing to log. But a CSV cell may say ``1.0``, or ``cat`` where the new label needs quotes,
and an array of texts may be wider than its longest one. ``FILE.undo.json`` keeps that, so that reverting a patch
restores the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.files import parse_json, write_json

_CELLS, _TYPES = "cells", "types"


@dataclass(frozen=True, eq=False)
class LabelUpdate:
    """New labels for some rows, in ascending order of the rows.

    Attributes:
        rows: positions in the data.
        ids: ids of these rows.
        before: labels that are stored now.
        after: labels to store instead.
    """

    rows: Ints
    ids: Array
    before: Array
    after: Array

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """One (row, id, label before, label after) for each row."""
        columns = (self.rows, self.ids, self.before, self.after)
        return zip(*(column.tolist() for column in columns), strict=True)


class UndoLog:
    """Spellings of cells by (id, label), and types that a label array had before it was widened."""

    def __init__(self, cells: Mapping[tuple[Any, Any], str] | None = None, types: Sequence[str] = ()) -> None:
        self._cells: dict[tuple[Any, Any], str] = dict(cells or {})
        self.types = list(types)  # the most recent one last
        self._loaded = (dict(self._cells), list(self.types))

    @classmethod
    def load(cls, path: Path) -> "UndoLog":
        """The log beside the file ``path``; empty when there is none, or it is damaged."""
        if undo_log_path(path).is_symlink():  # we write none: it may lead out of the folder
            return cls()
        try:
            record = parse_json(undo_log_path(path).read_text(encoding="utf-8"))
            cells = {(entry["id"], entry["label"]): str(entry["cell"]) for entry in record[_CELLS]}
            "".join(cells.values()).encode()  # ValueError for what no text file can hold
            return cls(cells, [np.dtype(str(kind)).str for kind in record[_TYPES]])
        except (OSError, ValueError, KeyError, TypeError):
            return cls()  # only spellings are lost: the labels themselves are in the patch

    def pop_spelling(self, id: Any, label: Any) -> str | None:
        """How that label of that row was spelled, if it was logged; the entry is removed."""
        return self._cells.pop((id, label), None)

    def log_spelling(self, id: Any, label: Any, cell: str) -> None:
        """Record how a label is spelled that is about to be replaced."""
        self._cells[id, label] = cell

    def save(self, path: Path, *, ahead_of_data: bool = False) -> None:
        """Write the log of the file ``path``, or remove it when it is empty.

        ``ahead_of_data`` is for the moment before the file itself is replaced: entries that were popped are written
        too, because after a crash the old file still needs them.
        """
        cells, types = self._cells, self.types
        if ahead_of_data:
            cells, types = {**self._loaded[0], **cells}, max(self._loaded[1], types, key=len)
        if not cells and not types:
            undo_log_path(path).unlink(missing_ok=True)
            return
        entries = [{"id": id, "label": label, "cell": cell} for (id, label), cell in cells.items()]
        write_json(undo_log_path(path), {_CELLS: entries, _TYPES: types})


def undo_log_path(path: Path) -> Path:
    """Where the log of the file ``path`` is."""
    return path.with_name(f"{path.name}.undo.json")
