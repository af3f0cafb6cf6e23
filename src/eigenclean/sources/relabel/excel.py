"""Excel files: only cells of the label column change, in the XML of the first sheet.

Saving with openpyxl would lose what it does not know: charts, images, macros. So the archive is copied entry by
entry, and in the sheet only the text of the updated cells is replaced. A new label is written like another cell of
the column that has it already, which mostly is a number of a shared text; else it is written into the cell itself.
"""

import posixpath
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog
from eigenclean.sources.tabular.excel import ExcelTable
from eigenclean.sources.tabular.table import Table

_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_TAG = re.compile(rb"""<[^\s>/]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*+\s*/?>""")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass
class _Cell:
    """A cell of the sheet: where its element is, its attributes, and what is between its tags.

    Attributes:
        tag: name of the element, perhaps with a prefix.
        attributes: as they are written.
        start: first byte of the element.
        end: the byte after it.
        inside: bytes between its tags.
        has_formula: whether its value is computed.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    end: int = 0
    inside: bytes = b""
    has_formula: bool = False

    @property
    def kind(self) -> str | None:
        return self.attributes.get("t")


def relabel_excel(
    path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog, *, table: Table, column: str
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``update`` in that column of the first sheet."""
    assert isinstance(table, ExcelTable)
    letters = _letters(table.schema.names.index(column))
    labels = table.read([column]).column(0).to_pylist()
    with explain_read_errors(str(path), "Excel file"), zipfile.ZipFile(path) as archive:
        sheet = _first_sheet(archive)
        content = archive.read(sheet)
        cells = _cells(content, letters)
        examples = {label: cells.get(n) for n, label in zip(table.row_numbers, labels, strict=True)}
        edited = _edit(content, cells, examples, table, update, letters, name=str(path))
        with zipfile.ZipFile(out, "w") as target:
            target.comment = archive.comment
            for entry in archive.infolist():
                target.writestr(entry, edited if entry.filename == sheet else archive.read(entry))


def _edit(
    content: bytes,
    cells: Mapping[int, _Cell],
    examples: Mapping[Any, _Cell | None],
    table: ExcelTable,
    update: LabelUpdate,
    letters: str,
    *,
    name: str,
) -> bytes:
    pieces, copied = [], 0
    for row, _, before, after in update:
        number = table.row_numbers[row]
        cell = cells.get(number)
        if cell is None or cell.has_formula:
            reason = "is computed by a formula" if cell is not None else "is not there"
            raise InvalidData(
                f"{name}: the label {before!r} in cell {letters}{number} {reason}, so it cannot be replaced; "
                "write the labels to a file of their own with --out labels.npy"
            )
        pieces += [content[copied : cell.start], _written(cell, after, examples.get(after), name=name)]
        copied = cell.end
    return b"".join([*pieces, content[copied:]])


def _written(cell: _Cell, label: Any, example: _Cell | None, *, name: str) -> bytes:
    """The element of a cell with another label, in the same style."""
    example = None if example is not None and example.has_formula else example
    if example is not None:
        kind, inside = example.kind, example.inside
    elif isinstance(label, bool):
        kind, inside = "b", f"<v>{int(label)}</v>".encode()
    elif isinstance(label, int):
        kind, inside = None, f"<v>{label}</v>".encode()
    else:
        if _NO_XML.search(label):
            raise InvalidData(f"{name}: the label {label!r} has characters that an Excel file cannot hold")
        kind, inside = "inlineStr", f'<is><t xml:space="preserve">{escape(label)}</t></is>'.encode()
    prefix = cell.tag.rpartition("c")[0].encode()
    if prefix and example is None:
        inside = re.sub(rb"<(/?)(v|is|t)\b", rb"<\1" + prefix + rb"\2", inside)
    attributes = {key: value for key, value in cell.attributes.items() if key != "t"} | (
        {"t": kind} if kind else {}
    )
    written = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{cell.tag}{written}>".encode() + inside + f"</{cell.tag}>".encode()


def _cells(content: bytes, letters: str) -> dict[int, _Cell]:
    """The cells of a column by the number of their row."""
    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    cells: dict[int, _Cell] = {}
    state: dict[str, Any] = {"row": 0, "column": 0, "cell": None}

    def start(tag: str, attributes: list[str]) -> None:
        values = dict(zip(attributes[::2], attributes[1::2], strict=True))
        name = tag.rpartition(":")[2]
        if name == "row":
            state["row"], state["column"] = int(values.get("r", state["row"] + 1)), 0
        elif name == "c":
            place = values.get("r", f"{_letters(state['column'])}{state['row']}").rstrip("0123456789")
            state["column"] = _column_number(place) + 1
            state["cell"] = None
            if place == letters:
                state["cell"] = cells[state["row"]] = _Cell(tag, values, parser.CurrentByteIndex)
        elif name == "f" and state["cell"] is not None:
            state["cell"].has_formula = True

    def end(tag: str) -> None:
        cell = state["cell"]
        if tag.rpartition(":")[2] != "c" or cell is None:
            return
        opening = _TAG.match(content, cell.start)
        if opening is None:
            raise ValueError(f"cell {cell.attributes.get('r')} of its sheet is written in an unusual way")
        cell.end = opening.end()
        if not opening[0].endswith(b"/>"):
            cell.inside = content[opening.end() : parser.CurrentByteIndex]
            cell.end = content.index(b">", parser.CurrentByteIndex) + 1
        state["cell"] = None

    def refuse(*_: Any) -> None:
        raise ValueError("its sheet has a document type declaration")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(content, True)
    if not content[:100].lstrip(b"\xef\xbb\xbf").startswith(b"<") or b"utf-16" in content[:100].lower():
        raise ValueError("its sheet is not UTF-8")
    return cells


def _first_sheet(archive: zipfile.ZipFile) -> str:
    """The name of the entry of the first worksheet, as the workbook says."""
    relations = {relation.get("Id"): relation for relation in ET.fromstring(archive.read(_RELATIONS))}
    for element in ET.fromstring(archive.read(_WORKBOOK)).iter():
        if element.tag.rpartition("}")[2] != "sheet":
            continue
        identifier = next((value for key, value in element.items() if key.endswith("}id")), None)
        relation = relations.get(identifier)
        if relation is not None and str(relation.get("Type")).endswith("/worksheet"):
            target = str(relation.get("Target"))
            return target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
    raise ValueError("it has no sheet")


def _letters(number: int) -> str:
    """The name of a column, counted from 0.

    >>> _letters(0), _letters(25), _letters(26), _letters(701), _letters(702)
    ('A', 'Z', 'AA', 'ZZ', 'AAA')
    """
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(65 + digit) + letters
    return letters


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
