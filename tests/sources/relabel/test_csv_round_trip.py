"""CSV: only label cells change, and taking the patch back gives the same bytes."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import InvalidData
from eigenclean.patch import Patch
from eigenclean.sources import open_source
from eigenclean.sources.relabel import apply_patch, reviewed_labels

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6).filter(
    lambda text: text.strip() != "" and not text.startswith("\ufeff")
)


def relabelled(path: Path, changes: dict[int, Any], **options: Any) -> Patch:
    source = open_source(path, **options)
    records = [
        {
            "id": source.ids[row].item(),
            "decision": "relabel",
            "old": source.labels[row].item(),
            "new": new,
            "data_hash": source.data_hash(),
        }
        for row, new in changes.items()
    ]
    return Patch.from_records(records)


def there_and_back(path: Path, changes: dict[int, Any], **options: Any) -> tuple[bytes, bytes, bytes]:
    """The bytes before, with the patch, and after it was taken back."""
    patch = relabelled(path, changes, **options)
    before = path.read_bytes()
    apply_patch(open_source(path, **options), patch, path, path)
    between = path.read_bytes()
    known = reviewed_labels(open_source(path, **options), patch).labels.tolist()
    assert [known[row] for row in changes] == list(changes.values())
    apply_patch(open_source(path, **options), patch, path, path, revert=True)
    assert not path.with_name(path.name + ".undo.json").exists()
    return before, between, path.read_bytes()


@st.composite
def tables(draw: Any) -> tuple[bytes, str, dict[int, str], int]:
    """A CSV file in any style, its delimiter, new labels for some rows, the column of the labels."""
    delimiter, end = draw(st.sampled_from([",", "\t"])), draw(st.sampled_from(["\n", "\r\n"]))
    place = draw(st.integers(0, 2))
    n_rows = draw(st.integers(2, 6))

    def cell(text: str) -> str:
        if draw(st.booleans()) or text[0] == '"' or any(mark in text for mark in (delimiter, "\r", "\n")):
            return '"' + text.replace('"', '""') + '"'
        return text

    rows = [["f", "note"]] + [[str(draw(st.integers(0, 9))), draw(words)] for _ in range(n_rows)]
    labels = [draw(words) for _ in range(n_rows)]
    for row, label in zip(rows, ["label", *labels], strict=True):
        row.insert(place, label)
    blank = draw(st.booleans())
    lines = [delimiter.join(map(cell, row)) for row in rows]
    text = (end * (1 + blank)).join(lines) + draw(st.sampled_from(["", end, end * 2]))
    rows_to_change = draw(st.sets(st.integers(0, n_rows - 1), min_size=1))
    changes = {row: draw(words) for row in rows_to_change}
    changes = {row: new if new != labels[row] else f"{new}!" for row, new in changes.items()}
    bom = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return bom + text.encode(), delimiter, changes, place


@settings(max_examples=60)
@given(example=tables())
def test_any_file(
    example: tuple[bytes, str, dict[int, str], int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    content, delimiter, changes, place = example
    path = tmp_path_factory.mktemp("csv") / ("x.csv" if delimiter == "," else "x.tsv")
    path.write_bytes(content)
    names: dict[str, Any] = {"label_column": "label", "feature_columns": "f"}
    # Columns of what looks like numbers are read as numbers: their labels are other ones.
    labels = open_source(path, **names).labels
    if labels.dtype.kind != "U":
        return
    before, between, after = there_and_back(path, changes, **names)
    assert after == before == content

    def read(data: bytes) -> list[list[str]]:
        rows = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter)
        return [row for row in rows if row]

    expected = read(before)
    for row, label in changes.items():
        expected[row + 1][place] = label
    assert read(between) == expected


@pytest.mark.parametrize(
    ("content", "changes", "between"),
    [
        ("f,label\n1,cat\n2,dog\n", {0: "dog"}, "f,label\n1,dog\n2,dog\n"),
        ('f,label\r\n1,"cat"\r\n2,dog', {0: "dog", 1: "cat"}, 'f,label\r\n1,"dog"\r\n2,cat'),
        ("label,f\ncat,1\ndog,2\n", {1: "a, b"}, 'label,f\ncat,1\n"a, b",2\n'),
        (
            'label,f,t\ncat,1,"x\ny"\n\ndog,2,"a ""b"""\n',
            {1: "cat"},
            'label,f,t\ncat,1,"x\ny"\n\ncat,2,"a ""b"""\n',
        ),
        ('label,f,t\ncat,1,5" pipe\ndog,2,z\n', {1: "cat"}, 'label,f,t\ncat,1,5" pipe\ncat,2,z\n'),
        ('label,f\n"ca"t,1\ndog,2\n', {0: "dog"}, 'label,f\n"dog",1\ndog,2\n'),
        ("f,label\n1,1.0\n2,2.0\n", {0: 2}, "f,label\n1,2\n2,2.0\n"),
        ("f,label\n1, 1\n2,+2\n3,1\n", {0: 3}, None),
        ("f,label\n1,true\n2,FALSE\n", {1: True}, "f,label\n1,true\n2,true\n"),
        ("f,label\n1,007\n2,8\n", {0: "8", 1: "007"}, "f,label\n1,8\n2,007\n"),
        ("id,f,label\n01,1,a\n02,2,b\n", {1: "a"}, "id,f,label\n01,1,a\n02,2,a\n"),
    ],
)
def test_styles(content: str, changes: dict[int, Any], between: str | None, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode())
    if between is None:  # "+2" is no number, so these are texts
        with pytest.raises(InvalidData, match="labels must be all integers or all strings"):
            relabelled(path, changes)
        return
    before, applied, after = there_and_back(path, changes)
    assert applied == between.encode() and after == before


def test_bytes_of_other_columns_need_not_be_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"f,note,label\n1,\xe9t\xe9,cat\n2,\xff,dog\n")
    before, between, after = there_and_back(path, {1: "cat"})
    assert between == b"f,note,label\n1,\xe9t\xe9,cat\n2,\xff,cat\n" and after == before


def test_two_patches_come_off_in_reverse_order(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("f,label\n1,cat\n2,dog\n")
    before = path.read_bytes()
    first = relabelled(path, {0: "a, b"})
    apply_patch(open_source(path), first, path, path)
    second = relabelled(path, {0: "dog", 1: "cat"})
    apply_patch(open_source(path), second, path, path)
    with pytest.raises(InvalidData, match="is not what the patch was made for"):
        apply_patch(open_source(path), first, path, path, revert=True)
    apply_patch(open_source(path), second, path, path, revert=True)
    apply_patch(open_source(path), first, path, path, revert=True)
    assert path.read_bytes() == before


def test_a_copy_leaves_the_file_alone_and_keeps_its_mode(tmp_path: Path) -> None:
    path, out = tmp_path / "x.csv", tmp_path / "new" / "y.csv"
    path.write_text("f,label\n1,cat\n2,dog\n")
    path.chmod(0o600)
    apply_patch(open_source(path), relabelled(path, {0: "dog"}), path, out)
    assert path.read_text() == "f,label\n1,cat\n2,dog\n" and out.read_text() == "f,label\n1,dog\n2,dog\n"
    assert out.stat().st_mode & 0o777 == 0o600
