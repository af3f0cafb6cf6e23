"""How labels were written, where the label alone does not tell: kept beside the file, so that it can be put back.

Nearly always there is nothing to keep. But a CSV cell may say ``1.0``, or ``cat`` where the new label needs quotes,
and an array of texts may be wider than its longest one. Then ``FILE.undo.json`` remembers, and reverting gives the
same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenclean.files import write_json

_CELLS, _TYPES = "cells", "types"


class Undo:
    """Spellings of cells by (id, label), and types of arrays."""

    def __init__(self, cells: Mapping[tuple[Any, Any], str] | None = None, types: Sequence[str] = ()) -> None:
        self._cells: dict[tuple[Any, Any], str] = dict(cells or {})
        self._types = list(types)
        self._before = (dict(self._cells), list(self._types))

    @classmethod
    def beside(cls, path: Path) -> "Undo":
        """What was kept for that file; nothing when there is no such record, or it cannot be understood."""
        try:
            record = json.loads(_place(path).read_text(encoding="utf-8"))
            cells = {(one["id"], one["label"]): str(one["cell"]) for one in record[_CELLS]}
            return cls(cells, [str(kind) for kind in record[_TYPES]])
        except (OSError, ValueError, KeyError, TypeError):
            return cls()  # a spelling is a nicety; the labels are in the patch

    def spelling(self, id: Any, label: Any) -> str | None:
        """How that label of that row was written, if it is known; forgotten once asked for."""
        return self._cells.pop((id, label), None)

    def keep_spelling(self, id: Any, label: Any, cell: str) -> None:
        """Remember it."""
        self._cells[id, label] = cell

    def types(self) -> list[str]:
        """Types that the labels had before they were widened, the last one last."""
        return self._types

    def save(self, path: Path, *, before: bool = False) -> None:
        """Write the record for the file ``path``, or remove it when there is nothing to remember.

        ``before`` the file itself is replaced, what was asked for is still needed: it is written too.
        """
        cells, types = self._cells, self._types
        if before:
            cells, types = {**self._before[0], **cells}, max(self._before[1], types, key=len)
        if not cells and not types:
            _place(path).unlink(missing_ok=True)
            return
        lines = [{"id": id, "label": label, "cell": cell} for (id, label), cell in cells.items()]
        write_json(_place(path), {_CELLS: lines, _TYPES: types})


def _place(path: Path) -> Path:
    return path.with_name(f"{path.name}.undo.json")
