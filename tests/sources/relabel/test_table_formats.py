"""CSV in other encodings and compressed, JSON and Excel: a patch changes its cells and nothing else."""

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.patch import Patch
from eigenclean.sources import open_source
from eigenclean.sources.relabel import apply_patch
from eigenclean.sources.relabel.excel import _cells, _written
from eigenclean.sources.relabel.recoded import compress_like

N = 60
ROWS: list[dict[str, Any]] = [
    {"width": i / 7, "city": ("Köln", "Malmö", "Łódź")[i % 3], "label": ("ja", "nein")[i // 2 % 2]}
    for i in range(N)
]


def delimited(separator: str, end: str = "\n") -> str:
    lines = [separator.join(ROWS[0]), *(separator.join(str(cell) for cell in row.values()) for row in ROWS)]
    return end.join(lines) + end


def named_gzip(content: bytes) -> bytes:
    """As the command gzip writes it, with a name, a time and fields that nobody uses."""
    target = io.BytesIO()
    with gzip.GzipFile("x.csv", "wb", fileobj=target, mtime=1e9, compresslevel=6) as file:
        file.write(content)
    packed = target.getvalue()
    return (
        packed[:3]
        + bytes([packed[3] | 4 | 16])
        + packed[4:10]
        + b"\x03\0abc"
        + packed[10:16]
        + b"said\0"
        + packed[16:]
    )


LINES = "\n".join(json.dumps(row) for row in ROWS)
FILES: dict[str, tuple[str, bytes]] = {
    "semicolon": ("x.csv", delimited(";").encode()),
    "tab in a csv": ("x.csv", delimited("\t").encode()),
    "mark of UTF-8": ("x.csv", b"\xef\xbb\xbf" + delimited(",").encode()),
    "UTF-16, little": ("x.csv", b"\xff\xfe" + delimited(";", "\r\n").encode("utf-16-le")),
    "UTF-16, big": ("x.tsv", b"\xfe\xff" + delimited("\t").encode("utf-16-be")),
    "gzip": ("x.csv.gz", gzip.compress(delimited(",").encode(), mtime=5)),
    "gzip with a name": ("x.tsv.gz", named_gzip(delimited("\t").encode())),
    "gzip of UTF-16": ("x.csv.gz", gzip.compress(b"\xff\xfe" + delimited(",").encode("utf-16-le"), mtime=5)),
    "gzip of Latin-1": (
        "x.csv.gz",
        gzip.compress(delimited(",").replace("Łódź", "Lódz").encode("latin-1"), mtime=1),
    ),
    "json lines": ("x.jsonl", LINES.encode()),
    "json lines, compressed": ("x.jsonl.gz", gzip.compress(LINES.encode(), mtime=5)),
    "json lines with gaps": ("x.jsonl", LINES.replace("\n", "\r\n\n").encode() + b"\n\n"),
    "json": ("x.json", json.dumps(ROWS, indent=1, ensure_ascii=False).encode()),
    "json with a mark": ("x.json", b"\xef\xbb\xbf" + json.dumps(ROWS).encode()),
    "json, compressed": ("x.json.gz", gzip.compress(json.dumps(ROWS).encode(), mtime=0)),
}


def patch_of(path: Path, changes: dict[int, Any], **options: Any) -> Patch:
    source = open_source(path, **options)
    return Patch.from_records(
        [
            {
                "id": row,
                "decision": "relabel",
                "old": source.labels[row].item(),
                "new": new,
                "data_hash": source.data_hash(),
            }
            for row, new in changes.items()
        ]
    )


def plain(content: bytes) -> str:
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content.decode(encoding)
    return content.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("kind", FILES)
def test_only_the_cells_change_and_reverting_restores_every_byte(kind: str, tmp_path: Path) -> None:
    name, content = FILES[kind]
    path = tmp_path / name
    path.write_bytes(content)
    patch = patch_of(path, {0: "nein", 2: "ja, doch", 59: "Jörg"})
    apply_patch(open_source(path), patch, path, path)
    labels = [row["label"] for row in ROWS]
    labels[0], labels[2], labels[59] = "nein", "ja, doch", "Jörg"
    assert open_source(path).labels.tolist() == labels
    before, after = plain(content), plain(path.read_bytes())
    for old, new in (('"', ""), ("nein", ""), ("ja, doch", ""), ("ja", ""), ("J\\u00f6rg", ""), ("Jörg", "")):
        before, after = before.replace(old, new), after.replace(old, new)
    assert before.replace("J\udcf6rg", "") == after.replace("J\udcf6rg", "")
    apply_patch(open_source(path), patch, path, path, revert=True)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["UTF-16, little", "gzip", "json", "json lines, compressed"])
def test_copies_have_the_same_kind(kind: str, tmp_path: Path) -> None:
    name, content = FILES[kind]
    path = tmp_path / name
    path.write_bytes(content)
    source, patch = open_source(path), patch_of(path, {0: "nein"})
    apply_patch(source, patch, path, tmp_path / f"new-{name}")
    assert open_source(tmp_path / f"new-{name}").labels[0] == "nein" and path.read_bytes() == content
    suffix = "".join(path.suffixes)
    with pytest.raises(InvalidOption, match=rf"can be written as \{suffix} or \.npy"):
        apply_patch(source, patch, path, tmp_path / "new.other")


def test_cells_of_json_in_any_spelling(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lines = [
        '{"w": 1.5, "in" : { "label":"ca\\u0074", "x": {"label": 7}}, "note": "{\\"label\\": 1}"}',
        '{"in": {"label": "dog"}, "w": [1, {"label": 2}]}',
        '  {"w": null, "in": {"label"\t:\t"cat"}}  ',
    ]
    path.write_text("\n".join(lines))
    options: dict[str, Any] = {"label_column": "in.label", "need_features": False}
    patch = patch_of(path, {0: "dog", 2: "bird"}, **options)
    apply_patch(open_source(path, **options), patch, path, path)
    expected = [lines[0].replace('"ca\\u0074"', '"dog"'), lines[1], lines[2].replace('"cat"', '"bird"')]
    assert path.read_text() == "\n".join(expected)
    apply_patch(open_source(path, **options), patch, path, path, revert=True)
    assert path.read_text() == "\n".join(lines)


def test_numbers_and_truth_values_of_json(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    rows = ",\n".join(f'{{"w": {i}, "label": {i % 2}, "label": {i % 3}}}' for i in range(N))  # the last one counts
    path.write_text(f"[{rows}]")
    patch = patch_of(path, {4: 0})
    apply_patch(open_source(path), patch, path, path)
    assert path.read_text().splitlines()[4] == '{"w": 4, "label": 0, "label": 0},'
    path.write_text("\n".join(f'{{"w": {i}, "label": {str(i % 2 == 0).lower()}}}' for i in range(N)))
    patch = patch_of(path, {4: False})
    apply_patch(open_source(path), patch, path, path)
    assert path.read_text().splitlines()[4] == '{"w": 4, "label": false}'


def test_a_log_of_somebody_else_cannot_write_anything_but_the_label(tmp_path: Path) -> None:
    name, content = FILES["json"]
    path = tmp_path / name
    path.write_bytes(content)
    for cell in ('"ja", "width": 7', '{"a": "ja"}', '["ja"]', "ja", '"x"'):
        log = {"cells": [{"id": 2, "label": "ja", "cell": cell}], "types": []}
        path.with_name("x.json.undo.json").write_text(json.dumps(log))
        patch = patch_of(path, {2: "ja"})
        apply_patch(open_source(path), patch, path, path)
        assert json.loads(path.read_text())[2] == {**ROWS[2], "label": "ja"}
        path.write_bytes(content)


def test_a_header_that_is_gone_is_one_sentence() -> None:
    with pytest.raises(InvalidData, match="a gzip file must begin with its header"):
        compress_like(io.BytesIO(b"no"), io.BytesIO(b"x"), io.BytesIO())


FORMULA = b'<c r="C8" t="str"><f>IF(1,&quot;ja&quot;)</f><v>ja</v></c>'


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """A file with an empty row, a style, a formula, a second sheet and an entry that openpyxl would drop."""
    openpyxl: Any = pytest.importorskip("openpyxl", reason="needs the excel extra")
    book = openpyxl.Workbook()
    book.active.append([])
    for row in [list(ROWS[0]), *(list(row.values()) for row in ROWS)]:
        book.active.append(row)
    book.active["C3"].font = openpyxl.styles.Font(bold=True)
    book.create_sheet("other").append(["ja", "label"])
    book.save(tmp_path / "plain.xlsx")
    contents = entries(tmp_path / "plain.xlsx")
    sheet = contents["xl/worksheets/sheet1.xml"]
    cell = sheet[(start := sheet.index(b'<c r="C8"')) : sheet.index(b"</c>", start) + 4]
    contents["xl/worksheets/sheet1.xml"] = sheet.replace(cell, FORMULA)
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, "xl/media/picture.png": b"not to be lost"}.items():
            archive.writestr(name, content)
    (tmp_path / "plain.xlsx").unlink()
    return tmp_path / "x.xlsx"


def entries(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def test_excel_changes_cells_of_the_first_sheet(workbook: Path) -> None:
    path, before = workbook, entries(workbook)
    patch = patch_of(path, {0: "nein", 2: "Jörg <&>"})
    apply_patch(open_source(path), patch, path, path)
    changed = open_source(path)
    labels = [row["label"] for row in ROWS]
    labels[0], labels[2] = "nein", "Jörg <&>"
    assert changed.labels.tolist() == labels
    after = entries(path)
    assert list(after) == list(before)
    assert [name for name in after if after[name] != before[name]] == ["xl/worksheets/sheet1.xml"]
    openpyxl: Any = pytest.importorskip("openpyxl")
    assert openpyxl.load_workbook(path).active["C3"].font.bold
    apply_patch(changed, patch, path, path, revert=True)
    assert entries(path) == before


def test_excel_refuses_formulas_and_what_xml_cannot_hold(workbook: Path) -> None:
    content = workbook.read_bytes()
    for row, label, sentence in ((5, "nein", "in cell C8 is computed by a formula"), (0, "a\x01b", "cannot hold")):
        with pytest.raises(InvalidData, match=sentence):
            apply_patch(open_source(workbook), patch_of(workbook, {row: label}), workbook, workbook)
        assert workbook.read_bytes() == content and list(workbook.parent.iterdir()) == [workbook]


def test_cells_without_places_and_with_prefixes() -> None:
    sheet = (
        b'<?xml version="1.0" encoding="UTF-8"?><x:worksheet xmlns:x="main"><x:sheetData>'
        b"<x:row><x:c><x:v>1</x:v></x:c><x:c t='s' s='3'><x:v>0</x:v></x:c></x:row>"
        b'<x:row r="4"><x:c r="B4"/></x:row></x:sheetData></x:worksheet>'
    )
    cells = _cells(sheet, "B")
    assert sorted(cells) == [1, 4]
    assert (cells[1].kind, cells[1].inside) == ("s", b"<x:v>0</x:v>")
    assert sheet[cells[4].start : cells[4].end] == b'<x:c r="B4"/>'
    assert _written(cells[1], "a", None, name="x") == (
        b'<x:c s="3" t="inlineStr"><x:is><x:t xml:space="preserve">a</x:t></x:is></x:c>'
    )
    assert _written(cells[4], 7, None, name="x") == b'<x:c r="B4"><x:v>7</x:v></x:c>'
    assert _written(cells[4], True, cells[1], name="x") == b'<x:c r="B4" t="s"><x:v>0</x:v></x:c>'
    with pytest.raises(ValueError, match="document type"):
        _cells(b"<!DOCTYPE x><worksheet/>", "A")
