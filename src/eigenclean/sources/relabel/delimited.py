"""CSV and TSV files: only the bytes of the changed cells change; quotes, line ends and everything else stay."""

import mmap
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from eigenclean.errors import InvalidData
from eigenclean.sources.relabel.change import Change
from eigenclean.sources.relabel.undo import Undo

_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 20


def relabel_csv(
    path: Path, out: Path, change: Change, undo: Undo, *, column: int, delimiter: str = ",", header: bool = True
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``change`` in that column (counted from 0).

    Rows are those that the reader sees: empty lines do not count, line breaks in quotes end no row.
    """
    with open(path, "rb") as file, open(out, "wb") as target:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            _edit(content, file, target, change, undo, column, delimiter.encode(), header, name=str(path))
        finally:
            content.close()


def _edit(
    content: mmap.mmap,
    file: IO[bytes],
    target: IO[bytes],
    change: Change,
    undo: Undo,
    column: int,
    delimiter: bytes,
    header: bool,
    *,
    name: str,
) -> None:
    wanted = zip(
        change.rows.tolist(), change.ids.tolist(), change.before.tolist(), change.after.tolist(), strict=True
    )
    done, at = 0, -1 - header
    spans = _cells(content, column, delimiter)
    for row, id, before, after in wanted:
        start = end = -1
        while at < row:
            span = next(spans, None)
            if span is None:
                raise InvalidData(f"{name} has fewer rows than were read; it was changed meanwhile, try again")
            start, end = span
            at += 1
        cell = content[start:end]
        if not _says(cell, before):
            raise InvalidData(
                f"{name}: row {row} must have the label {before!r}, but its cell is {cell[:60]!r}; "
                "it was changed meanwhile, or its quotes are unusual"
            )
        quoted = cell.startswith(b'"')
        spelling = undo.spelling(id, after)
        text = _written(after, quoted, delimiter) if spelling is None else spelling.encode()
        if _written(before, text.startswith(b'"'), delimiter) != cell:  # taking it back would not give this cell
            undo.keep_spelling(id, before, cell.decode())
        file.seek(done)
        _copy(file, target, start - done)
        target.write(text)
        done = end
    file.seek(done)
    shutil.copyfileobj(file, target, _PIECE)


def _cells(content: mmap.mmap, column: int, delimiter: bytes) -> Iterator[tuple[int, int]]:
    """Where the cells of the column begin and end, row by row."""
    comma = re.escape(delimiter)
    # As Arrow reads: a quote is special at the start of a cell only, and what follows the closing quote belongs
    # to the cell as well. Possessive, so that no file can make it try twice.
    cell = rb'(?:"(?:[^"]|"")*+"?[^%b\r\n]*+|[^"%b\r\n][^%b\r\n]*+|)' % (comma, comma, comma)
    before = rb"(?:%b%b){%d}" % (cell, comma, column)
    row = re.compile(rb"[\r\n]*+(?!\Z)%b(%b)(?:%b%b)*+(?:\r\n?|\n|\Z)" % (before, cell, comma, cell))
    start = len(_BOM) if content[: len(_BOM)] == _BOM else 0
    while (found := row.match(content, start)) is not None:
        yield found.span(1)
        start = found.end()


def _says(cell: bytes, label: object) -> bool:
    text = _read(cell)
    if isinstance(label, str):
        return text in (label, label.strip()) or text.strip() == label
    try:
        number = float(text)
        return number == label
    except ValueError:
        return text.strip().lower() == str(label).lower()


def _read(cell: bytes) -> str:
    if not cell.startswith(b'"'):
        return cell.decode("utf-8", "replace")
    inside = re.match(rb'"((?:[^"]|"")*+)"?(.*)', cell, re.DOTALL)
    assert inside is not None
    return (inside[1].replace(b'""', b'"') + inside[2]).decode("utf-8", "replace")


def _written(label: object, quoted: bool, delimiter: bytes) -> bytes:
    text = ("true" if label else "false") if isinstance(label, bool) else str(label)
    cell = text.encode("utf-8")
    if quoted or any(mark in cell for mark in (b'"', b"\r", b"\n", delimiter)):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def _copy(source: IO[bytes], target: IO[bytes], count: int) -> None:
    while count > 0:
        piece = source.read(min(count, _PIECE))
        if not piece:
            return
        target.write(piece)
        count -= len(piece)
