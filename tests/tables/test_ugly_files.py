"""Hand-made files as people have them: separators, decimal commas, encodings, compression, JSON, mixed cells."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eigenclean.errors import InvalidData, MissingExtra
from eigenclean.patch import Patch
from eigenclean.sources import Source, open_source
from eigenclean.sources.relabel import apply_patch
from eigenclean.tables.encoding import fit_encoding

N = 60
RNG = np.random.default_rng(3)
WIDTH = RNG.normal(5, 2, N).round(3).tolist()
CITY = [("Köln", "Malmö", "Łódź")[i % 3] for i in range(N)]
LABEL = [("ja", "nein")[i // 2 % 2] for i in range(N)]
ROWS: list[dict[str, Any]] = [
    {"width": w, "city": c, "label": y} for w, c, y in zip(WIDTH, CITY, LABEL, strict=True)
]
ROWS[4]["width"] = None


def delimited(separator: str, decimal: str = ".", *, bom: str = "", end: str = "\n") -> str:
    lines = [separator.join(("width", "city", "label"))]
    for row in ROWS:
        width = "" if row["width"] is None else str(row["width"]).replace(".", decimal)
        lines.append(separator.join((width, row["city"], row["label"])))
    return bom + end.join(lines) + end


LATIN = delimited(";", ",").replace("Łódź", "Lodz")
FILES: dict[str, tuple[str, bytes]] = {
    "comma": ("x.csv", delimited(",").encode()),
    "semicolon": ("x.csv", delimited(";").encode()),
    "semicolon and decimal comma": ("x.csv", delimited(";", ",").encode()),
    "tab in a csv": ("x.csv", delimited("\t", ",").encode()),
    "bar": ("x.csv", delimited("|").encode()),
    "tsv": ("x.tsv", delimited("\t").encode()),
    "comma in a tsv": ("x.tsv", delimited(",").encode()),
    "mark of UTF-8": ("x.csv", delimited(",", bom="\ufeff").encode()),
    "ends of Windows": ("x.csv", delimited(";", ",", end="\r\n").encode()),
    "UTF-16": ("x.csv", delimited(";", ",").encode("utf-16")),
    "gzip": ("x.csv.gz", gzip.compress(delimited(";", ",").encode())),
    "gzip of a tsv": ("x.TSV.gz", gzip.compress(delimited("\t").encode())),
    "json lines": ("x.jsonl", "\n".join(json.dumps(row) for row in ROWS).encode()),
    "json lines, compressed": ("x.jsonl.gz", gzip.compress("\n".join(json.dumps(row) for row in ROWS).encode())),
    "json": ("x.json", json.dumps(ROWS, indent=1, ensure_ascii=False).encode()),
    "json with a mark": ("x.json", b"\xef\xbb\xbf" + json.dumps(ROWS).encode()),
    "json lines called json": ("x.json", "\n".join(json.dumps(row) for row in ROWS).encode()),
}


@pytest.fixture
def expected() -> Source:
    return open_source(pa.Table.from_pylist(ROWS))


@pytest.mark.parametrize("kind", FILES)
def test_the_same_table_in_every_dress(kind: str, tmp_path: Path, expected: Source) -> None:
    name, content = FILES[kind]
    (tmp_path / name).write_bytes(content)
    source = open_source(tmp_path / name)
    np.testing.assert_allclose(source.features(), expected.features(), atol=1e-12)
    assert source.labels.tolist() == LABEL
    assert source.data_hash() == expected.data_hash()
    assert source.encoding is not None and expected.encoding is not None
    assert source.encoding.sentence() == expected.encoding.sentence()


@pytest.mark.parametrize("kind", ["semicolon and decimal comma", "UTF-16", "gzip"])
def test_files_that_are_streamed(
    kind: str, tmp_path: Path, expected: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eigenclean.sources.opening.ONE_PASS_BYTES", 0)
    name, content = FILES[kind]
    (tmp_path / name).write_bytes(content)
    source = open_source(tmp_path / name)
    blocks = np.concatenate(list(source.blocks(7)))
    np.testing.assert_allclose(blocks, expected.features(), atol=1e-12)
    assert source.data_hash() == expected.data_hash()


def test_bytes_that_are_no_utf8_are_latin1(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(LATIN.encode("latin-1"))
    encoding = open_source(tmp_path / "x.csv").encoding
    assert encoding is not None and "city = Malmö" in encoding.feature_names
    by_city = open_source(tmp_path / "x.csv", label_column="city")
    change = {"id": 1, "decision": "relabel", "old": "Malmö", "data_hash": by_city.data_hash()}
    path = tmp_path / "x.csv"
    with pytest.raises(InvalidData, match="read as Latin-1, which cannot hold the label 'Łódź'; save the"):
        apply_patch(by_city, Patch.from_records([{**change, "new": "Łódź"}]), path, path)
    assert path.read_bytes() == LATIN.encode("latin-1") and list(tmp_path.iterdir()) == [path]
    apply_patch(by_city, Patch.from_records([{**change, "new": "Köln"}]), path, path)
    assert path.read_bytes() == LATIN.replace("Malmö", "Köln", 1).encode("latin-1")


def test_cells_of_several_types_in_json(tmp_path: Path) -> None:
    rows = [
        {"a": ("7", 7.5, None, True)[i % 4], "in": {"b": i % 5, "c": {"d": i % 3}}, "label": i % 2}
        for i in range(80)
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = open_source(tmp_path / "x.jsonl")
    assert source.encoding is not None
    assert sorted(source.encoding.columns) == ["a", "in.b", "in.c.d"]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    np.testing.assert_allclose(open_source(tmp_path / "x.json").features(), source.features())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.json", b"[1, 2]", "must hold one JSON object per row"),
        ("x.json", b'{"a": ', "not a readable JSON file"),
        ("x.jsonl", b'{"a": 1, "label": 2}\n{"a": ', "not a readable JSON file"),
        ("x.jsonl", b"", "is not a readable JSON file|has no"),
        ("x.json", b"[" * 9999, "nested too deeply"),
        ("x.jsonl", b"\xff\xfe\x00", "not a readable JSON file"),
        ("x.csv.gz", b"no gzip", "not a readable CSV file"),
        ("x.csv.gz", gzip.compress(b"a,label\n1,2\n", mtime=0)[:-9], "not a readable CSV file"),
        ("x.json", b"[]", "has no"),
    ],
)  # fmt: skip
def test_bad_files_are_one_sentence(name: str, content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData, match=sentence) as caught:
        open_source(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_folder_of_json_lines(tmp_path: Path) -> None:
    numbers = [{"f0": float(i), "f1": float(i % 3), "label": i % 2} for i in range(40)]
    for number in range(2):
        lines = "\n".join(map(json.dumps, numbers[20 * number : 20 * number + 20]))
        (tmp_path / f"{number}.jsonl").write_text(lines)
    assert open_source(tmp_path).features().tolist() == [[row["f0"], row["f1"]] for row in numbers]
    pq.write_table(pa.Table.from_pylist(numbers), tmp_path / "0.parquet")  # then they are somebody's records
    assert len(open_source(tmp_path)) == 40


def test_the_first_sheet_of_an_excel_file(tmp_path: Path, expected: Source) -> None:
    openpyxl: Any = pytest.importorskip("openpyxl", reason="needs the excel extra")
    path, book = tmp_path / "x.xlsx", openpyxl.Workbook()
    for row in [["width", "city", "label"], *([row["width"], row["city"], row["label"]] for row in ROWS), []]:
        book.active.append(row)
    book.create_sheet("other").append(["nothing"])
    book.save(path)
    source = open_source(path)
    np.testing.assert_allclose(source.features(), expected.features(), atol=1e-12)
    assert source.labels.tolist() == LABEL and source.data_hash() == expected.data_hash()
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InvalidData, match="is not a readable Excel file"):
        open_source(path)


def test_excel_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"x\.xlsx needs openpyxl, .*eigenclean\[excel\]"):
        open_source(tmp_path / "x.xlsx")


def test_texts_that_are_not_utf_8_are_named() -> None:
    """A Parquet file is checked when it is read; a column that other shards have as texts is not."""
    offsets, content = np.arange(41, dtype=np.int32), b"\xff" * 40
    broken = pa.Array.from_buffers(pa.string(), 40, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(content)])
    table = pa.table({"size": np.arange(40) % 7 + 0.5, "kind": broken})
    with pytest.raises(InvalidData, match=r"the column 'kind' cannot be read: .*UTF8.*; leave it out"):
        fit_encoding(table.to_batches, table.schema)
