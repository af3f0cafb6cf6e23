"""CSV, TSV and plain text files: only the bytes of the updated labels change; quotes and line ends stay."""

import mmap
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.recoded import check_labels_fit, plain_copy, write_back
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog
from eigenclean.sources.tabular.columns import LABEL_NAMES
from eigenclean.sources.tabular.delimited import CsvTable
from eigenclean.sources.tabular.table import Table

_BOM = b"\xef\xbb\xbf"
_COPY_BYTES = 1 << 20


def relabel_csv(
    path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog, *, table: Table, column: str
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``update`` in that column of the table."""
    assert isinstance(table, CsvTable)
    dialect, index = table.dialect, table.schema.names.index(column)
    if dialect.is_plain:
        _rewrite(path, out, update, undo_log, column=index, delimiter=dialect.delimiter)
        return
    check_labels_fit(update, dialect, path)
    with open(path, "rb") as file, open(out, "wb") as target, tempfile.TemporaryFile(dir=out.parent) as edited:
        with explain_read_errors(str(path), "CSV file"), plain_copy(file, dialect, out.parent) as copy:
            _rewrite_files(
                copy, edited, update, undo_log, column=index, delimiter=dialect.delimiter, name=str(path)
            )
        edited.seek(0)
        write_back(edited, target, dialect, file)


def relabel_label_csv(path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog) -> None:
    """Write a copy of a CSV file that holds labels alone, perhaps below a header, to ``out``."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        header = file.readline().strip().strip('"').strip().lower() in LABEL_NAMES
    _rewrite(path, out, update, undo_log, column=0, header=header)


def relabel_lines(path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog) -> None:
    """Write a copy of a text file with one label per line to ``out``; spaces and line ends stay."""
    with explain_read_errors(str(path), "text file"):
        lines = path.read_bytes().decode("utf-8").splitlines(keepends=True)
        for row, id, before, after in update:
            match = re.fullmatch(r"(\ufeff?\s*)(.*?)(\s*)", lines[row], re.DOTALL)
            assert match is not None
            if match[2] != str(before):
                undo_log.log_spelling(id, before, match[2])
            spelling = undo_log.pop_spelling(id, after)
            text = str(after)
            if spelling is not None and spelling[:1] != '"' and _spells(spelling.encode(), after):
                text = spelling
            if text.splitlines() != [text.strip()]:
                raise InvalidData(f"{path} has one label per line, so it cannot hold the label {text!r}")
            lines[row] = f"{match[1]}{text}{match[3]}"
        out.write_bytes("".join(lines).encode("utf-8"))


def _rewrite(
    path: Path,
    out: Path,
    update: LabelUpdate,
    undo_log: UndoLog,
    *,
    column: int,
    delimiter: str = ",",
    header: bool = True,
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``update`` in that column (counted from 0).

    Rows are those that the reader sees: empty lines do not count, line breaks in quotes end no row.
    """
    with open(path, "rb") as file, open(out, "wb") as target:
        _rewrite_files(
            file, target, update, undo_log, column=column, delimiter=delimiter, header=header, name=str(path)
        )


def _rewrite_files(
    file: IO[bytes],
    target: IO[bytes],
    update: LabelUpdate,
    undo_log: UndoLog,
    *,
    column: int,
    delimiter: str,
    header: bool = True,
    name: str,
) -> None:
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        _edit(content, file, target, update, undo_log, column, delimiter.encode(), header, name=name)
    finally:
        content.close()


def _edit(
    content: mmap.mmap,
    file: IO[bytes],
    target: IO[bytes],
    update: LabelUpdate,
    undo_log: UndoLog,
    column: int,
    delimiter: bytes,
    header: bool,
    *,
    name: str,
) -> None:
    copied, current_row = 0, -1 - header
    spans = _cell_spans(content, column, delimiter)
    for row, id, before, after in update:
        start = end = -1
        while current_row < row:
            span = next(spans, None)
            if span is None:
                raise InvalidData(f"{name} has fewer rows than were read; it was changed meanwhile, try again")
            start, end = span
            current_row += 1
        cell = content[start:end]
        if not _spells(cell, before):
            raise InvalidData(
                f"{name}: row {row} must have the label {before!r}, but its cell is {cell[:60]!r}; "
                "it was changed meanwhile, or its quotes are unusual"
            )
        quoted = cell.startswith(b'"')
        new_cell = _to_cell(after, quoted, delimiter)
        spelling = undo_log.pop_spelling(id, after)
        if spelling is not None and _is_cell_of(spelling.encode(), after, delimiter):
            new_cell = spelling.encode()
        if _to_cell(before, new_cell.startswith(b'"'), delimiter) != cell:  # reverting would not restore this cell
            undo_log.log_spelling(id, before, cell.decode())
        file.seek(copied)
        _copy(file, target, start - copied)
        target.write(new_cell)
        copied = end
    file.seek(copied)
    shutil.copyfileobj(file, target, _COPY_BYTES)


def row_spans(content: mmap.mmap, delimiter: bytes) -> Iterator[tuple[int, int]]:
    """First and last byte offsets of the rows, with their line ends; the first one is the header."""
    for row in _rows(content, 0, delimiter):
        yield row.start(1), row.end()


def _cell_spans(content: mmap.mmap, column: int, delimiter: bytes) -> Iterator[tuple[int, int]]:
    """First and last byte offsets of the column's cells, row by row."""
    for row in _rows(content, column, delimiter):
        yield row.span(1)


def _rows(content: mmap.mmap, column: int, delimiter: bytes) -> Iterator[re.Match[bytes]]:
    """The rows; group 1 is the cell of the column."""
    comma = re.escape(delimiter)
    # As Arrow reads: a quote is special at the start of a cell only, and what follows the closing quote belongs
    # to the cell as well. Possessive quantifiers, so that no file can cause backtracking.
    cell = rb'(?:"(?:[^"]|"")*+"?[^%b\r\n]*+|[^"%b\r\n][^%b\r\n]*+|)' % (comma, comma, comma)
    before = rb"(?:%b%b){%d}" % (cell, comma, column)
    row = re.compile(rb"[\r\n]*+(?!\Z)%b(%b)(?:%b%b)*+(?:\r\n?|\n|\Z)" % (before, cell, comma, cell))
    start = len(_BOM) if content[: len(_BOM)] == _BOM else 0
    while (match := row.match(content, start)) is not None:
        yield match
        start = match.end()


def _spells(cell: bytes, label: object) -> bool:
    """Whether the reader would take the cell for this label."""
    text = _from_cell(cell)
    if isinstance(label, str):
        return text in (label, label.strip()) or text.strip() == label
    try:
        number = float(text)
        return number == label
    except ValueError:
        return text.strip().lower() == str(label).lower()


def _is_cell_of(cell: bytes, label: object, delimiter: bytes) -> bool:
    """Whether the bytes are one cell that spells the label: the log may be damaged, or somebody else's."""
    outside = re.sub(rb'^"(?:[^"]|"")*+"', b"", cell)
    return _spells(cell, label) and not any(mark in outside for mark in (b"\r", b"\n", delimiter))


def _from_cell(cell: bytes) -> str:
    if not cell.startswith(b'"'):
        return cell.decode("utf-8", "replace")
    inside = re.match(rb'"((?:[^"]|"")*+)"?(.*)', cell, re.DOTALL)
    assert inside is not None
    return (inside[1].replace(b'""', b'"') + inside[2]).decode("utf-8", "replace")


def _to_cell(label: object, quoted: bool, delimiter: bytes) -> bytes:
    text = ("true" if label else "false") if isinstance(label, bool) else str(label)
    cell = text.encode("utf-8")
    if quoted or any(mark in cell for mark in (b'"', b"\r", b"\n", delimiter)):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def _copy(source: IO[bytes], target: IO[bytes], count: int) -> None:
    while count > 0:
        chunk = source.read(min(count, _COPY_BYTES))
        if not chunk:
            return
        target.write(chunk)
        count -= len(chunk)
