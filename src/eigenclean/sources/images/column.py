"""Images in a column of a table: paths, encoded bytes, or both as Hugging Face stores them."""

from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.errors import InvalidData
from eigenclean.paths import check_relative
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.images.lazy import LazyImages


class ImageCells(LazyImages):
    """Encoded images in a column of bytes; those of a mapped Arrow file are read where they are.

    Args:
        column: the bytes.
        by: what to call the table.
        files: where to look for an image whose bytes are missing; None for nowhere.

    >>> ImageCells(pa.chunked_array([[b"GIF89a"]]), by="x.parquet").read(0)
    b'GIF89a'
    """

    def __init__(self, column: "pa.ChunkedArray[Any]", *, by: str, files: ImageFiles | None = None) -> None:
        super().__init__(by=by)
        self.by = by
        self._files = files
        self._column = column
        self._starts = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])

    def __len__(self) -> int:
        return len(self._column)

    def read(self, row: int) -> bytes:
        """The cell's bytes, or else those of its file; a missing image is empty."""
        chunk = int(np.searchsorted(self._starts, row, side="right")) - 1
        cell: Any = self._column.chunk(chunk)[row - int(self._starts[chunk])].as_py()
        if cell is None:
            return b"" if self._files is None else self._files.read(row)
        return bytes(cell)

    def title(self, row: int) -> str:
        """What error messages call the image: the table and the number of the row."""
        return f"{self.by}, row {row}"


def image_column(column: "pa.ChunkedArray[Any]", *, root: Path, by: str, follow_links: bool = False) -> LazyImages:
    """The images of a column: paths below ``root``, bytes, or a struct of ``bytes`` and ``path``.

    A link that leads out of ``root`` is an error when that image is read, unless ``follow_links`` says otherwise.
    """
    kind: Any = column.type
    if pa.types.is_struct(kind):
        fields = {field.name: number for number, field in enumerate(kind)}
        chunks: list[Any] = column.chunks
        encoded = _field(chunks, fields["bytes"], kind) if "bytes" in fields else None
        if encoded is not None and encoded.null_count == 0:
            return ImageCells(encoded, by=by)  # whatever its paths say: they may be of another machine
        if "path" in fields:
            files = _files(_field(chunks, fields["path"], kind), root, by, follow_links)
            return (
                files
                if encoded is None or encoded.null_count == len(encoded)
                else ImageCells(encoded, by=by, files=files)
            )
        if encoded is not None:
            return ImageCells(encoded, by=by)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return ImageCells(column, by=by)
    if str(kind) in ("string", "large_string", "string_view"):
        return _files(column, root, by, follow_links)
    raise InvalidData(
        f"{by}: images must be paths, encoded bytes or a struct of bytes and path, but the column holds {kind}"
    )


def _files(column: "pa.ChunkedArray[Any]", root: Path, by: str, follow_links: bool) -> ImageFiles:
    names = ["" if cell is None else str(cell) for cell in column.to_pylist()]
    below = np.array([_below(name, root, row, by) for row, name in enumerate(names)])
    return ImageFiles(root, below, follow_links=follow_links)


def _field(chunks: list[Any], number: int, kind: Any) -> "pa.ChunkedArray[Any]":
    return pa.chunked_array([chunk.field(number) for chunk in chunks], type=kind[number].type)


def _below(name: str, root: Path, row: int, by: str) -> str:
    """The path relative to ``root``, in which it must lie; a missing one is reported when the image is read."""
    if not name:
        return "(no path)"
    if PurePath(name).is_absolute() and ".." not in PurePath(name).parts:
        try:
            return PurePath(name).relative_to(root.absolute()).as_posix()
        except ValueError:
            raise InvalidData(
                f"{by}, row {row}: images must lie below {root.absolute()}, got {name!r}; say where they are with "
                "--image-root"
            ) from None
    return check_relative(name, by=f"{by}, row {row}")
