"""How a CSV file is written, found from its beginning: separator, decimal mark, encoding, compression."""

import codecs
import csv
import gzip
import io
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from eigenclean.sources.read_errors import explain_read_errors

_SAMPLE_BYTES = 1 << 20
_SAMPLE_ROWS = 50
_SEPARATORS = (",", ";", "\t", "|")
GZIP = b"\x1f\x8b"
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+\s*")
_POINT_NUMBER = re.compile(r"\s*[+-]?\d+\.\d+\s*")


@dataclass(frozen=True)
class Dialect:
    """What the reader of a CSV file must know.

    Attributes:
        delimiter: what separates the cells of a line.
        decimal_point: what separates the digits of a number.
        encoding: of the text.
        is_compressed: the file is compressed by gzip.
        line_bytes: size of the first two lines.
    """

    delimiter: str = ","
    decimal_point: str = "."
    encoding: str = "utf-8"
    is_compressed: bool = False
    line_bytes: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether the bytes of the file are its text as UTF-8."""
        return self.encoding == "utf-8" and not self.is_compressed


def read_dialect(path: Path, *, name: str, default: str = ",") -> Dialect:
    """The dialect of a file; ``default`` is the separator where the lines do not tell."""
    with explain_read_errors(name, "CSV file"):
        with open(path, "rb") as file:
            is_compressed = file.read(2) == GZIP
        with gzip.open(path, "rb") if is_compressed else open(path, "rb") as content:
            sample = content.read(_SAMPLE_BYTES)
        encoding = find_encoding(sample)
        text = codecs.getincrementaldecoder(encoding)("replace").decode(sample).removeprefix("\ufeff")
    line_bytes = sum(len(line) for line in islice(io.BytesIO(sample), 2))
    delimiter = find_separator(text, default)
    return Dialect(delimiter, find_decimal_point(text, delimiter), encoding, is_compressed, line_bytes)


def find_encoding(sample: bytes) -> str:
    """UTF-16 where a mark says so, UTF-8 where the bytes are valid, else Latin-1, in which all bytes are.

    >>> find_encoding("né".encode()), find_encoding("été".encode("latin-1")), find_encoding("né".encode("utf-16"))
    ('utf-8', 'latin-1', 'utf-16')
    """
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character may be cut
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def find_separator(text: str, default: str = ",") -> str:
    r"""The separator that occurs in the header and as often in the lines below it.

    >>> find_separator("a;b;label\n1,5;2;x\n0,5;3;y"), find_separator("label\nx")
    (';', ',')
    """
    best, best_score = default, (0.0, 0)
    for separator in (default, *(other for other in _SEPARATORS if other != default)):
        widths = [len(cells) for cells in _rows(text, separator)]
        if not widths or widths[0] < 2:
            continue
        score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        # Another one than the suffix says must fit every line; the default may have a bad line.
        if separator == default or (score[0] == 1.0 and score > best_score):
            best, best_score = separator, score
            if separator == default and score[0] > 0.5:
                break
    return best


def find_decimal_point(text: str, delimiter: str) -> str:
    r"""A comma where numbers have one and none has a point; it cannot be the separator then.

    >>> find_decimal_point("a;label\n1,5;x", ";"), find_decimal_point("a;label\n1.5;x", ";")
    (',', '.')
    """
    if delimiter == ",":
        return "."
    cells = [cell for row in _rows(text, delimiter)[1:] for cell in row]
    has_comma = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    return "," if has_comma and not any(_POINT_NUMBER.fullmatch(cell) for cell in cells) else "."


def _rows(text: str, separator: str) -> list[list[str]]:
    """The first rows; the last one of a text that may be cut is left out."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        first = [cells for cells in islice(rows, _SAMPLE_ROWS + 1) if cells]
    except csv.Error:  # a cell that is too long for Python's reader, or bytes that are no text
        return []
    return first[:-1] if len(first) > 2 else first
