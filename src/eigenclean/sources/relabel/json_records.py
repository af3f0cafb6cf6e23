"""JSON files, one object per line or a list of objects: only the characters of the updated labels change."""

import gzip
import io
import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.recoded import compress_like
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog
from eigenclean.sources.tabular.dialect import GZIP
from eigenclean.sources.tabular.table import Table

_SPACE = re.compile(r"[ \t\n\r]*+")
_BOM = "\ufeff"
_DECODER = json.JSONDecoder()

Span = tuple[int, int]


def relabel_json(
    path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog, *, table: Table, column: str
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``update`` in that column of the table.

    ``column`` is a key of each object, or keys with points between them where an object is in an object.
    """
    with explain_read_errors(str(path), "JSON file"):
        stored = path.read_bytes()
        is_compressed = stored.startswith(GZIP)
        text = (gzip.decompress(stored) if is_compressed else stored).decode("utf-8")
        content = _edit(text, update, undo_log, column, name=str(path)).encode("utf-8")
    with open(out, "wb") as target:
        if is_compressed:
            compress_like(io.BytesIO(stored), io.BytesIO(content), target)
        else:
            target.write(content)


def _edit(text: str, update: LabelUpdate, undo_log: UndoLog, column: str, *, name: str) -> str:
    pieces, copied, ascii_only = [], 0, text.removeprefix(_BOM).isascii()
    rows = enumerate(start for start, _ in object_spans(text))
    for row, id, before, after in update:
        start = next((start for number, start in rows if number == row), None)
        span = None if start is None else _value_span(text, start, column)
        if span is None or not _spells(text[slice(*span)], before):
            raise InvalidData(
                f"{name}: row {row} must have the label {before!r} in {column!r}; "
                "it was changed meanwhile, try again"
            )
        cell = text[slice(*span)]
        new_cell = _to_cell(after, ascii_only)
        spelling = undo_log.pop_spelling(id, after)
        if spelling is not None and _spells(spelling, after):
            new_cell = spelling
        if _to_cell(before, ascii_only) != cell:  # reverting would not restore this cell
            undo_log.log_spelling(id, before, cell)
        pieces += [text[copied : span[0]], new_cell]
        copied = span[1]
    return "".join([*pieces, text[copied:]])


def object_spans(text: str) -> Iterator[Span]:
    """Where the objects of the rows begin and end."""
    at = _skip_space(text, len(_BOM) if text.startswith(_BOM) else 0)
    is_list = text[at : at + 1] == "["
    at = _skip_space(text, at + is_list)
    while text[at : at + 1] == "{":
        end = _value_end(text, at)
        yield at, end
        at = _skip_space(text, end)
        if is_list and text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)


def _value_span(text: str, start: int, column: str) -> Span | None:
    """Where the value of a key is in the object that begins at ``start``; of equal keys the last one counts."""
    span = None
    at = _skip_space(text, start + 1)
    while text[at : at + 1] == '"':
        key, at = scanstring(text, at + 1)
        at = _skip_space(text, _skip_space(text, at) + 1)
        end = _value_end(text, at)
        if key == column:
            span = at, end
        elif text[at] == "{" and column.startswith(f"{key}."):
            span = _value_span(text, at, column[len(key) + 1 :]) or span
        at = _skip_space(text, end)
        if text[at : at + 1] != ",":
            break
        at = _skip_space(text, at + 1)
    return span


def _value_end(text: str, start: int) -> int:
    end: int = _DECODER.raw_decode(text, start)[1]
    return end


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _spells(cell: str, label: Any) -> bool:
    """Whether the cell is one value that the reader takes for this label; a log may be somebody else's."""
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return False
    if isinstance(value, dict | list):
        return False
    if isinstance(label, str):  # among cells of several types, numbers and truth values are read as texts
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text in (label, label.strip()) or text.strip() == label
    return not isinstance(value, str) and value is not None and value == label


def _to_cell(label: Any, ascii_only: bool) -> str:
    return json.dumps(label, ensure_ascii=ascii_only)
