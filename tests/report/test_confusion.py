"""The transition matrix: the detector's own, or one counted from flags, against slow loops."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenclean.report import render, summarize
from eigenclean.report.class_index import ClassIndex
from eigenclean.report.sections.confusion import transition_matrix
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]


def _verdict(labels: Any, suggested: Any, **made_by: Any) -> Verdict:
    labels, suggested = np.asarray(labels), np.asarray(suggested)
    flagged = labels != suggested
    p = np.where(flagged, 0.1, 0.9)
    return Verdict(np.arange(len(labels)), labels, p, p, flagged, suggested, 1 - p, {"method": "me", **made_by})


@given(rows=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8)), min_size=1, max_size=80))
def test_without_the_detectors_own_it_is_counted_from_the_flags(rows: list[tuple[int, int]]) -> None:
    labels, suggested = zip(*rows, strict=True)
    counted = transition_matrix(ClassIndex.of(_verdict(labels, suggested)), None)
    pairs, right = Counter((s, g) for g, s in rows), Counter(suggested)
    involved = sorted({label for pair in pairs if pair[0] != pair[1] for label in pair})
    if not involved:
        assert counted is None
        return
    assert counted is not None
    assert counted["by_detector"] is False
    assert sorted(counted["labels"]) == [str(label) for label in involved]
    for i, y in enumerate(counted["labels"]):
        for j, given_label in enumerate(counted["labels"]):
            if right[int(y)]:
                expected = pairs[int(y), int(given_label)] / right[int(y)]
                assert counted["rates"][i][j] == pytest.approx(expected, abs=1e-4)


def _matrix(k: int, rate: float) -> list[list[float]]:
    """Every class loses ``rate`` to the next, and a trifle to all others, as an estimate does."""
    matrix = (1 - rate - 1e-4 * (k - 2)) * np.eye(k) + rate * np.roll(np.eye(k), 1, axis=1)
    matrix[matrix == 0] = 1e-4
    return [[float(value) for value in row] for row in matrix]


def test_the_detectors_own_is_shown_as_it_is_without_its_dust(make: Make) -> None:
    verdict = make(n=900, n_classes=6, made_by={"method": "judge", "transition": _matrix(6, 0.2)})
    shown = summarize(verdict)["confusion"]["transition"]
    assert shown["by_detector"] is True
    assert shown["labels"] == list("012345")
    rates = np.array(shown["rates"])
    np.testing.assert_allclose(np.diag(rates), 0.8 - 4e-4)
    np.testing.assert_allclose(rates[np.arange(6), (np.arange(6) + 1) % 6], 0.2)
    assert np.count_nonzero(rates) == 12  # 0.0001 of 150 labels is no label
    assert "as the detector estimates it" in render(summarize(verdict))


def test_of_many_classes_the_most_frequent_errors_are_shown(make: Make) -> None:
    matrix = np.array(_matrix(77, 0.02))
    for right, given_label in ((10, 40), (41, 3), (76, 0)):
        matrix[right, right] -= 0.3
        matrix[right, given_label] += 0.3
    verdict = make(n=7700, n_classes=77, rate=0.0, labels=np.arange(7700) % 77,
                   made_by={"method": "judge", "transition": matrix.tolist()})  # fmt: skip
    shown = summarize(verdict)["confusion"]["transition"]
    assert len(shown["labels"]) == 20
    assert shown["n_hidden"] == 57
    assert {"10", "40", "41", "3", "76", "0"} <= set(shown["labels"])
    place = {label: number for number, label in enumerate(shown["labels"])}
    assert shown["rates"][place["10"]][place["40"]] == pytest.approx(0.3001)
    assert shown["rates"][place["41"]][place["41"]] == pytest.approx(matrix[41, 41], abs=1e-4)


@pytest.mark.parametrize(
    "matrix",
    [
        None,
        "nonsense",
        [[1.0]],
        [[1.0, 0.0], [0.0]],
        [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 9.0]],
        [[1.5, -0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[float("nan")] * 3] * 3,
        _matrix(4, 0.2),
    ],
    ids=["none", "text", "small", "ragged", "sums", "negative", "nan", "other classes"],
)
def test_what_is_no_transition_matrix_of_these_classes_is_not_believed(make: Make, matrix: Any) -> None:
    verdict = make(n_classes=3, made_by={"method": "me", "transition": matrix})
    summary = summarize(verdict)
    assert (
        summary["confusion"]["transition"] == summarize(make(n_classes=3, made_by="me"))["confusion"]["transition"]
    )
    assert summary["confusion"]["transition"]["by_detector"] is False
    assert "if every suggestion is right" in render(summary)
    json.dumps(summary["confusion"]["transition"], allow_nan=False)


def test_nothing_moved_nothing_shown(make: Make) -> None:
    clean = make(flagged=np.zeros(300, dtype=bool))
    page = render(summarize(clean))
    assert summarize(clean)["confusion"]["transition"] is None
    assert "What is taken for what" not in page
    assert '<a href="#confusion">' not in page
    still = make(
        made_by={"method": "judge", "transition": np.eye(5).tolist()}
    )  # flags, but a matrix without errors
    assert summarize(still)["confusion"]["transition"] is None
    assert "Top confusions among the flags" in render(summarize(still))
