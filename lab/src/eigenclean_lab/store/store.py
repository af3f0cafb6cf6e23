"""Files of cells: read whole, changed in memory, replaced whole, in an order that does not depend on the run."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.files import write_text
from eigenclean_lab.store.cell import Cell

Order = Callable[[Cell], Any]


class Store:
    """The cells of one file.

    A file whose name ends in ``.jsonl`` has one cell on each line. Any other is a JSON document whose list
    ``cells`` has one cell on each line, so that a new measurement is one changed line in both.

    Args:
        path: the file; it need not exist yet.
        command: the command that writes such files, for error messages.
        order: sort key of the cells in the file.
    """

    def __init__(self, path: Path, command: str, order: Order = lambda cell: cell.identity) -> None:
        self.path, self.command, self.order = path, command, order

    def at(self, folder: Path) -> "Store":
        """The store of the same kind of cells in another folder."""
        return Store(folder / self.path.name, self.command, self.order)

    def read(self) -> list[Cell]:
        """The cells of earlier runs; none if there is no file."""
        if not self.path.is_file():
            return []
        try:
            text = self.path.read_text(encoding="utf-8")
            if self._has_lines:
                records = [json.loads(line) for line in text.splitlines() if line.strip()]
            else:
                records = json.loads(text)["cells"]
            return [Cell.from_record(record) for record in records]
        except (ValueError, KeyError, TypeError, OSError):
            raise InvalidData(f"{self.path} is not a file of `eigenclean {self.command}`; move it away") from None

    def add(self, cells: Iterable[Cell]) -> None:
        """Add cells to the file; a cell replaces the one of the same task and seed."""
        self.write([*self.read(), *cells])

    def write(self, cells: Iterable[Cell]) -> None:
        """Replace the file atomically; of cells with the same task and seed the last one is kept."""
        latest = {cell.identity: cell for cell in cells}
        lines = [
            json.dumps(cell.to_record(), ensure_ascii=False, allow_nan=False)
            for cell in sorted(latest.values(), key=self.order)
        ]
        if self._has_lines:
            text = "".join(f"{line}\n" for line in lines)
        else:
            text = '{"cells": [\n' + ",\n".join(lines) + "\n]}\n"
        write_text(self.path, text)

    @property
    def _has_lines(self) -> bool:
        return self.path.suffix == ".jsonl"
