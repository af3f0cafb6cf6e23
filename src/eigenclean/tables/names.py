"""What the names of columns say: identifiers, and columns that are one matrix."""

import re
from collections import Counter
from collections.abc import Sequence

_ROW_NAMES = frozenset(("", "unnamed: 0", "index", "rownames", "row_names", "rowname", "row", "__index_level_0__"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STRONG = frozenset(("id", "ids", "uid", "uuid", "guid", "rowid"))
_WEAK = frozenset(("no", "nr", "num", "number", "key", "idx", "index", "serial"))
_NUMBERED = re.compile(r"^(.*?)[\s_.\-\[(]*(\d+)[\])]?$")


def is_row_name(name: str) -> bool:
    """Whether the column is the row number or row name that pandas or R writes beside the data.

    >>> is_row_name(""), is_row_name("Unnamed: 0"), is_row_name("width")
    (True, True, False)
    """
    return name.strip().lower() in _ROW_NAMES


def names_identifier(name: str, *, weak: bool = False) -> bool:
    """Whether the last word of the name says identifier; ``weak`` also takes words such as "number".

    >>> [names_identifier(name) for name in ("customer_id", "customerId", "ID", "paid", "humid", "order_no")]
    [True, True, True, False, False, False]
    >>> names_identifier("order_no", weak=True), names_identifier("n_rooms", weak=True)
    (True, False)
    """
    words = _WORDS.findall(name)
    last = words[-1].lower() if words else ""
    return last in _STRONG or (weak and last in _WEAK)


def is_numbered_family(names: Sequence[str]) -> bool:
    """Whether the names differ only by a number, such as f0, f1, f2: the columns of one matrix.

    >>> is_numbered_family(["f0", "f1", "f2"]), is_numbered_family(["pixel_0_0", "pixel_0_1", "pixel_1_0"])
    (True, True)
    >>> is_numbered_family(["width", "height"]), is_numbered_family(["a1", "b2"])
    (False, False)
    """
    stems = {_stem(name) for name in names}
    return len(names) > 1 and len(stems) == 1 and None not in stems


def numbered_columns(names: Sequence[str]) -> set[str]:
    """The columns that share their name, but for a number, with another one.

    >>> sorted(numbered_columns(["x1", "x2", "age", "address1"]))
    ['x1', 'x2']
    """
    stems = [_stem(name) for name in names]
    counts = Counter(stems)
    return {name for name, stem in zip(names, stems, strict=True) if stem is not None and counts[stem] > 1}


def _stem(name: str) -> str | None:
    match = _NUMBERED.match(name)
    return None if match is None else re.sub(r"\d+", "0", match[1])
