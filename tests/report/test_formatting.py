"""Whatever users call their classes, it can be printed."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from eigenclean.report.formatting import isolate, percent, plain, plural, probability, score


@given(st.text(st.characters(exclude_categories=()), max_size=80), st.integers(1, 50))
def test_any_text_becomes_one_printable_line(text: str, most: int) -> None:
    line = plain(text, most)
    assert line == "(blank)" or 0 < len(line) <= most
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in line)
    line.encode("utf-8")


@given(st.floats(0, 1))
def test_percent_is_short_and_ordered(share: float) -> None:
    assert len(percent(share)) <= 7
    assert probability(share)[:-2] not in ("0", "100")


def test_direction_marks_cannot_leave_a_name() -> None:
    assert plain("\u202egnp.exe") == "\ufffdgnp.exe"
    assert isolate("קט")[0] == "\u2068"
    assert isolate("cat") == "cat"


def test_small_and_large() -> None:
    assert plural(0, "label") == "0 labels"
    assert (score(0.0), score(-0.25), score(1e9)) == ("0.000", "-0.250", "1e+09")
