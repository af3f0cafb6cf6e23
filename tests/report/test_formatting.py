"""Formats: a number is near what it stands for and fits its place; any name of a user can be printed."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.report import fixed_percent, percent, plain, short
from eigenclean.report.formatting import (
    THIN,
    between,
    compact,
    count,
    in_ten,
    isolate,
    percent_number,
    plural,
    probability,
    score,
    tick_percent,
)

SHARES = st.floats(0, 1)


def value_of(text: str) -> float:
    """The number in a text such as '< 0.1 %'."""
    match = re.search(r"\d+(\.\d+)?", text)
    assert match is not None
    return float(match.group())


@given(share=SHARES)
def test_a_percentage_is_near_the_share(share: float) -> None:
    text = percent(share)
    assert text.endswith(f"{THIN}%") and " " not in text and len(text) <= 7
    shown = value_of(text)
    if text.startswith("<"):
        assert 0 < share < 0.001 and shown == 0.1
    elif text.startswith(">"):
        assert 0.995 <= share < 1 and shown == 99
    else:
        assert abs(shown - 100 * share) <= (0.05 if share < 0.0995 else 0.5) + 1e-9
    assert percent_number(share) + f"{THIN}%" == text


@given(shares=st.lists(SHARES, min_size=2, max_size=20))
def test_a_larger_share_never_looks_smaller(shares: list[float]) -> None:
    shown = [value_of(percent(share)) - 0.01 * percent(share).startswith("<") for share in sorted(shares)]
    assert all(a <= b + 1e-9 for a, b in pairwise(shown))


@given(share=SHARES)
def test_only_certain_shares_are_0_or_100(share: float) -> None:
    assert (percent(share) == f"0{THIN}%") == (share == 0)
    assert (percent(share) == f"100{THIN}%") == (share == 1)
    assert probability(share) not in (f"0{THIN}%", f"100{THIN}%")


@given(share=SHARES)
def test_ticks_and_tables_keep_their_digits(share: float) -> None:
    assert value_of(fixed_percent(share)) == pytest.approx(100 * share, abs=0.0501)
    assert re.fullmatch(r"\d+\.\d %", fixed_percent(share))
    assert float(tick_percent(share).removesuffix(f"{THIN}%")) == pytest.approx(100 * share, rel=0.006)


@given(low=SHARES, high=SHARES)
def test_an_interval_has_one_sign(low: float, high: float) -> None:
    text = between(low, high)
    assert text.count("%") == 1 and text == f"{percent(low).removesuffix(f'{THIN}%')} to {percent(high)}"


@given(number=st.integers(0, 10**12))
def test_digits_are_grouped_in_threes(number: int) -> None:
    text = count(number)
    assert int(text.replace(THIN, "")) == number
    assert all(len(group) == 3 for group in text.split(THIN)[1:])
    assert plural(number, "class", "classes") == f"{text} {'class' if number == 1 else 'classes'}"


@given(number=st.integers(0, 99 * 10**6))
def test_compact_numbers_fit_five_characters_and_are_near(number: int) -> None:
    text = compact(number)
    assert len(text) <= 5
    factor = {"k": 1e3, "M": 1e6}.get(text[-1], 1)
    assert float(text.rstrip("kM")) * factor == pytest.approx(number, rel=0.06, abs=0.5)


@pytest.mark.parametrize(
    ("share", "words"), [(0, "hardly any"), (0.05, "about 0 in 10"), (0.5, "about 5 in 10"), (0.95, "nearly all")]
)
def test_shares_in_words(share: float, words: str) -> None:
    assert in_ten(share) == words


@given(value=st.floats(-1e300, 1e300))
def test_scores_keep_three_digits(value: float) -> None:
    assert float(score(value)) == pytest.approx(value, rel=0.006, abs=5.01e-4 if abs(value) >= 0.001 else 0)


@settings(max_examples=60)
@given(value=st.text(st.characters(exclude_categories=()), max_size=80), limit=st.integers(1, 50))
def test_any_text_is_one_printable_line(value: str, limit: int) -> None:
    line = plain(value, limit)
    assert line == "(blank)" or 0 < len(line) <= limit
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in line)
    line.encode("utf-8")
    assert plain(line, max(limit, 7)) == line  # nothing is left to change


@given(value=st.text(max_size=80), limit=st.integers(1, 60))
def test_short_texts_stay_and_long_ones_end_with_an_ellipsis(value: str, limit: int) -> None:
    cut = short(value, limit)
    assert len(cut) <= limit
    assert cut == value if len(value) <= limit else cut.endswith("…") and value.startswith(cut[:-1])


def test_direction_marks_cannot_leave_a_name() -> None:
    assert plain("\u202egnp.exe") == "\ufffdgnp.exe"
    assert isolate("קט")[0] == "\u2068"
    assert isolate("cat") == "cat"


def test_small_and_large() -> None:
    assert (score(0.0), score(-0.25), score(1e9)) == ("0.000", "-0.250", "1e+09")
