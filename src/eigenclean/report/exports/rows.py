"""The rows of a verdict that are exported, with their texts or image files, and a writer of JSON lists."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Ints, row_chunks
from eigenclean.files import replacing
from eigenclean.sources import Source
from eigenclean.sources.images.files import ImageFiles
from eigenclean.verdict import Verdict

_CHUNK_ROWS = 1 << 14


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a verdict, with what there is to show of them.

    Attributes:
        verdict: all of it.
        rows: which ones, in the order in which they are wanted.
        source: the data that were judged; None when they are not there any more.
        images: folder that the ids are file names in; None unless they are.
    """

    verdict: Verdict
    rows: Ints
    source: Source | None = None
    images: Path | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """One dict per row: the columns of the verdict."""
        frame = self.verdict.to_frame()
        for chunk in row_chunks(len(self), 1, _CHUNK_ROWS):
            yield from frame.take(self.rows[chunk]).to_pylist()

    def table(self) -> pa.Table:
        """The columns of the verdict."""
        return self.verdict.to_frame().take(self.rows)

    @property
    def classes(self) -> list[str]:
        """All labels, given or suggested, as texts."""
        return [str(label) for label in np.unique(np.append(self.verdict.labels, self.verdict.suggested)).tolist()]

    def texts(self) -> list[str] | None:
        """One text per row, if the data have texts."""
        if self.source is None or self.source.texts is None:
            return None
        texts = self.source.texts
        return [texts[row] for row in self.rows.tolist()]

    def files(self) -> list[Path] | None:
        """One image file per row, if the images are files."""
        if self.images is not None:
            return [self.images / str(id) for id in self.verdict.ids[self.rows].tolist()]
        if self.source is None or not isinstance(self.source.images, ImageFiles):
            return None
        root, names = self.source.images.root, self.source.images.names
        return [root / names[row] for row in self.rows.tolist()]


def write_json_list(path: Path, items: Iterable[dict[str, Any]]) -> None:
    """Replace the file at ``path`` by a JSON list, atomically.

    Items are written one by one, a line each, so that a million of them need no memory.
    """
    with (
        replacing(path) as temporary,
        open(temporary, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
    ):
        file.write("[")
        for number, item in enumerate(items):
            file.write(",\n" if number else "\n")
            json.dump(item, file, ensure_ascii=False, allow_nan=False)
        file.write("\n]\n")
