"""Numbers, labels and ids as short printable text."""

import json
import unicodedata
from typing import Any

THIN = "\u202f"  # narrow no-break space: groups digits in every language, never breaks a line
# Bidirectional control characters in a name would reorder the text next to it.
_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")


def count(number: float) -> str:
    """A whole number in groups of three digits.

    >>> count(1797).replace(THIN, " ")
    '1 797'
    """
    return f"{round(number):,}".replace(",", THIN)


def compact(number: float) -> str:
    """A whole number in at most five characters, for narrow places.

    >>> compact(9999), compact(12_345), compact(1_250_000), compact(999_999)
    ('9999', '12k', '1.2M', '1.0M')
    """
    if number < 9999.5:
        return f"{number:.0f}"
    return f"{number / 1e3:.0f}k" if number < 999_500 else f"{number / 1e6:.1f}M"


def percent(share: float) -> str:
    """A share in percent, rounded for reading: one decimal below 10 %, none above.

    >>> [percent(share).replace(THIN, " ") for share in (0, 0.0004, 0.042, 0.2293, 0.9999, 1)]
    ['0 %', '< 0.1 %', '4.2 %', '23 %', '> 99 %', '100 %']
    """
    return f"{percent_number(share)}{THIN}%"


def percent_number(share: float) -> str:
    """The number in `percent`, for places where the sign stands elsewhere.

    >>> percent_number(0.042), percent_number(0.2293)
    ('4.2', '23')
    """
    if 0 < share < 0.001:
        return f"<{THIN}0.1"
    if 0.995 <= share < 1:
        return f">{THIN}99"
    return f"{100 * share:.1f}".removesuffix(".0") if share < 0.0995 else f"{100 * share:.0f}"


def tick_percent(share: float) -> str:
    """A share in percent for an axis or the end of a curve: three digits, without zeros at the end.

    >>> [tick_percent(share).replace(THIN, " ") for share in (0.00001, 0.025, 0.9123, 1)]
    ['0.001 %', '2.5 %', '91.2 %', '100 %']
    """
    return f"{100 * share:.3g}{THIN}%"


def fixed_percent(share: float) -> str:
    """A share in percent with exactly one decimal, for tables and consoles.

    >>> fixed_percent(0.2345), fixed_percent(0)
    ('23.4 %', '0.0 %')
    """
    return f"{100 * share:.1f} %"


def between(low: float, high: float) -> str:
    """An interval of shares, with one percent sign.

    >>> between(0.042, 0.2293).replace(THIN, " ")
    '4.2 to 23 %'
    """
    return f"{percent_number(low)} to {percent(high)}"


def probability(value: float) -> str:
    """A probability in percent that is never shown as 0 or 100: a detector is never certain.

    >>> [probability(value).replace(THIN, " ") for value in (0.0, 0.931, 1.0)]
    ['< 0.1 %', '93 %', '> 99 %']
    """
    return percent(min(max(value, 1e-4), 1 - 1e-4))


def in_ten(share: float) -> str:
    """A share in words.

    >>> in_ten(0.88), in_ten(0.97), in_ten(0.02)
    ('about 9 in 10', 'nearly all', 'hardly any')
    """
    if share >= 0.95:
        return "nearly all"
    return f"about {round(10 * share)} in 10" if share >= 0.05 else "hardly any"


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """The number with its noun.

    >>> plural(1, "label"), plural(2, "class", "classes")
    ('1 label', '2 classes')
    """
    return f"{count(number)} {singular if number == 1 else plural_form or singular + 's'}"


def plain(value: Any, max_length: int = 500) -> str:
    r"""Any label, id or text as one printable line that can be written as UTF-8.

    >>> plain("a\tb\x00\ud800"), plain(b"caf\xc3\xa9"), plain(7), plain("  ")
    ('a b\ufffd\ufffd', 'café', '7', '(blank)')
    """
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = " ".join(text[: 4 * max_length].split())
    if not text.isascii() or not text.isprintable():
        text = "".join(_safe(letter) for letter in text)
    return short(text, max_length) or "(blank)"


def short(text: str, max_length: int) -> str:
    """The text, cut to ``max_length`` characters with an ellipsis.

    >>> short("a long label", 6)
    'a lon…'
    """
    return text if len(text) <= max_length else text[: max_length - 1].rstrip() + "…"


def isolate(name: str) -> str:
    """The name between Unicode isolates, so that right-to-left letters do not reorder the sentence around it."""
    return name if name.isascii() else f"\u2068{name}\u2069"


def setting(value: Any) -> str:
    """The value of a parameter as one line.

    >>> setting("official"), setting(None), setting({"tol": 0.001})
    ('official', 'none', '{"tol": 0.001}')
    """
    if value is None:
        return "none"
    return plain(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))


def score(value: float) -> str:
    """A raw score with three digits behind the point, unless it is too small or too large for that.

    >>> score(0.8), score(-1234.5), score(0.00012)
    ('0.800', '-1.23e+03', '0.00012')
    """
    return f"{value:.3f}" if value == 0 or 0.001 <= abs(value) < 1000 else f"{value:.3g}"


def _safe(letter: str) -> str:
    return "\ufffd" if letter in _BIDI or unicodedata.category(letter) in ("Cc", "Cs") else letter


def none_sentence(n_none: int) -> str:
    """What the report and the console say about samples that belong to no class; "" if there are none.

    >>> none_sentence(1)
    '1 sample probably belongs to none of the classes; the suggestion is to remove it.'
    """
    if n_none == 0:
        return ""
    if n_none == 1:
        return "1 sample probably belongs to none of the classes; the suggestion is to remove it."
    return f"{count(n_none)} samples probably belong to none of the classes; the suggestion is to remove them."
