"""Mutations of text formats: CSV, compressed or not, lists of names, JSON and JSON lines."""

import gzip
import json
import random
from collections.abc import Iterator
from typing import Any

from attacks.fuzz.mutations import Mutation

ODD_TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ufeff",
    "\u202egnp.exe",
    "\ud800",
    "\udc80\udcff",
    "é" * 3,
    "e\u0301",
    "😀",
    "\x1b[2J\x1b[31m",
    "\u2028",
    "\x85",
    "../../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "%s%n",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-400",
    "-0",
    "0x10",
    "1_000",
    "9" * 400,
    "1e308",
    "-1e308",
    "1e19",
    "1e-200",
    "NULL",
    "null",
    "None",
    "true",
    '"',
    '""',
    "'",
    "x" * 100_000,
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1 << 31,
    1 << 63,
    -(1 << 63) - 1,
    10**400,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    [],
    [[]],
    {},
    {"a": {}},
    [None] * 3,
    *ODD_TEXTS,
)


def replace_cell(content: bytes, rng: random.Random) -> bytes:
    """Put something odd into one cell, raw or quoted."""
    lines = _lines(content)
    row = rng.randrange(len(lines))
    cells = lines[row].split(b",")
    text = rng.choice(ODD_TEXTS)
    if rng.random() < 0.5:
        text = '"' + text.replace('"', '""') + '"'
    cells[rng.randrange(len(cells))] = text.encode("utf-8", "surrogatepass")
    lines[row] = b",".join(cells)
    return b"\n".join(lines)


def replace_column(content: bytes, rng: random.Random) -> bytes:
    """Put the same odd text into every cell of one column."""
    lines = _lines(content)
    column, text = rng.randrange(max(1, lines[0].count(b",") + 1)), rng.choice(ODD_TEXTS)
    changed = []
    for line in lines[1:]:
        cells = line.split(b",")
        cells[min(column, len(cells) - 1)] = text.encode("utf-8", "surrogatepass")
        changed.append(b",".join(cells))
    return b"\n".join([lines[0], *changed])


def ragged_rows(content: bytes, rng: random.Random) -> bytes:
    """Add or drop cells of some rows."""
    lines = _lines(content)
    for _ in range(rng.randint(1, 4)):
        row = rng.randrange(len(lines))
        lines[row] = (
            lines[row] + b",1" * rng.randint(1, 3) if rng.random() < 0.5 else lines[row].rpartition(b",")[0]
        )
    return b"\n".join(lines)


def shuffle_lines(content: bytes, rng: random.Random) -> bytes:
    """Exchange lines, the head perhaps among them."""
    lines = _lines(content)
    rng.shuffle(lines)
    return b"\n".join(lines)


def repeat_lines(content: bytes, rng: random.Random) -> bytes:
    """Repeat some lines: ids are no longer unique."""
    lines = _lines(content)
    return b"\n".join(lines + rng.choices(lines, k=rng.randint(1, 30)))


def other_separator(content: bytes, rng: random.Random) -> bytes:
    """Another separator, or another end of lines."""
    old, new = rng.choice(
        ((b",", b";"), (b",", b"\t"), (b",", b"|"), (b"\n", b"\r\n"), (b"\n", b"\r"), (b"\n", b"\0"))
    )
    return content.replace(old, new)


def open_quote(content: bytes, rng: random.Random) -> bytes:
    """A quote that nothing closes."""
    at = rng.randrange(len(content) + 1)
    return content[:at] + b'"' + content[at:]


def many_columns(content: bytes, rng: random.Random) -> bytes:
    """Many more columns of numbers, with equal or with different names."""
    lines, n = _lines(content), rng.choice((50, 500, 3000))
    head = b",".join([lines[0], *((b"x" if n == 50 else b"x%d" % i) for i in range(n))])
    return b"\n".join([head, *(line + b",1.5" * n for line in lines[1:])])


def odd_json_value(content: bytes, rng: random.Random) -> bytes:
    """Replace one value somewhere in the document by an odd one."""
    record, places = _parsed(content)
    if not places:
        return _dumped(rng.choice(ODD_VALUES))
    holder, key = rng.choice(places)
    holder[key] = rng.choice(ODD_VALUES)
    return _dumped(record)


def drop_json_value(content: bytes, rng: random.Random) -> bytes:
    """Leave one entry out."""
    record, places = _parsed(content)
    if places:
        holder, key = rng.choice(places)
        del holder[key]
    return _dumped(record)


def extra_json_key(content: bytes, rng: random.Random) -> bytes:
    """Add an entry with an odd name."""
    record, places = _parsed(content)
    holders = [holder for holder, _ in places if isinstance(holder, dict)]
    if holders:
        rng.choice(holders)[rng.choice(ODD_TEXTS)] = rng.choice(ODD_VALUES)
    return _dumped(record)


def deep_json(content: bytes, rng: random.Random) -> bytes:
    """A value nested deeper than any parser's stack."""
    depth = rng.choice((500, 5_000, 200_000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nested = opening * depth + b"1" + closing * depth
    record, places = _parsed(content)
    if not places or rng.random() < 0.3:
        return nested
    holder, key = rng.choice(places)
    holder[key] = "@nested@"
    return _dumped(record).replace(b'"@nested@"', nested)


def long_number(content: bytes, rng: random.Random) -> bytes:
    """An integer of more digits than Python is willing to convert."""
    record, places = _parsed(content)
    if not places:
        return b"1" * 5_000
    holder, key = rng.choice(places)
    holder[key] = "@digits@"
    return _dumped(record).replace(b'"@digits@"', b"1" * rng.choice((30, 5_000)))


def of_each_line(mutate: Mutation) -> Mutation:
    """The same mutation for one line of a file of JSON lines."""

    def mutated(content: bytes, rng: random.Random) -> bytes:
        lines = content.split(b"\n")
        row = rng.randrange(max(1, len(lines) - 1))
        lines[row] = mutate(lines[row], rng)
        return b"\n".join(lines)

    mutated.__name__ = mutate.__name__
    return mutated


def of_compressed(mutate: Mutation) -> Mutation:
    """The mutation of what a gzip file holds, compressed again."""

    def mutated(content: bytes, rng: random.Random) -> bytes:
        return gzip.compress(mutate(gzip.decompress(content), rng), mtime=0)

    mutated.__name__ = mutate.__name__
    return mutated


CSV: tuple[Mutation, ...] = (
    replace_cell,
    replace_cell,
    replace_cell,
    replace_column,
    replace_column,
    ragged_rows,
    shuffle_lines,
    repeat_lines,
    other_separator,
    open_quote,
    many_columns,
)
COMPRESSED_CSV: tuple[Mutation, ...] = tuple(map(of_compressed, CSV))
JSON: tuple[Mutation, ...] = (
    odd_json_value,
    odd_json_value,
    odd_json_value,
    odd_json_value,
    drop_json_value,
    drop_json_value,
    extra_json_key,
    deep_json,
    long_number,
)
JSON_LINES: tuple[Mutation, ...] = (*map(of_each_line, JSON), shuffle_lines, repeat_lines)


def _lines(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n")


def _parsed(content: bytes) -> tuple[Any, list[tuple[Any, Any]]]:
    record = json.loads(content)
    return record, list(_places(record))


def _places(record: Any) -> Iterator[tuple[Any, Any]]:
    """Every entry of the document as the dict or list that holds it, and its key."""
    entries = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    for key, value in entries:
        yield record, key
        yield from _places(value)


def _dumped(record: Any) -> bytes:
    return json.dumps(record).encode("utf-8", "surrogatepass")
