"""Classes as numbers: given ones first, then those that are only suggested, against a loop over the rows."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigenclean.report.class_index import ClassIndex
from eigenclean.verdict import Verdict

ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("abcdefg"), st.booleans()), min_size=1, max_size=30
)


def make(rows: list[tuple[str, str, bool]]) -> Verdict:
    labels, suggested, flagged = (np.array(column) for column in zip(*rows, strict=True))
    n = len(rows)
    return Verdict(
        ids=np.arange(n), labels=labels, score=np.zeros(n), p_clean=np.full(n, 0.5), flagged=flagged,
        suggested=suggested, suggested_confidence=np.ones(n),
    )  # fmt: skip


@given(rows=ROWS)
def test_numbers_and_names_belong_together(rows: list[tuple[str, str, bool]]) -> None:
    index = ClassIndex.of(make(rows))
    assert len(set(index.names)) == len(index.names)
    assert index.names[: index.n_given] == sorted({given for given, _, _ in rows})
    assert [index.names[code] for code in index.given] == [given for given, _, _ in rows]
    assert index.flagged.tolist() == [number for number, row in enumerate(rows) if row[2]]
    assert [index.names[code] for code in index.suggested] == [suggested for _, suggested, flag in rows if flag]
    only_suggested = {suggested for _, suggested, flag in rows if flag} - {given for given, _, _ in rows}
    assert set(index.names[index.n_given :]) == only_suggested


@given(rows=ROWS)
def test_counts_are_those_of_a_loop(rows: list[tuple[str, str, bool]]) -> None:
    index = ClassIndex.of(make(rows))
    weights = np.arange(len(rows), dtype=np.float64)
    expected: dict[str, Any] = {name: [0, 0, 0.0] for name in index.names[: index.n_given]}
    for number, (label, _, flagged) in enumerate(rows):
        expected[label][0] += 1
        expected[label][1] += flagged
        expected[label][2] += number
    counted = zip(
        index.count_given(), index.count_given(index.flagged), index.count_given(weights=weights), strict=True
    )
    assert [list(row) for row in counted] == list(expected.values())
