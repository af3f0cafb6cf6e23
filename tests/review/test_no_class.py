"""Samples that belong to none of the classes, in the review: a filter, the suggestion, and accepting it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from eigenclean.review import Review
from eigenclean.review.suspects import NO_CLASS
from eigenclean.verdict import Verdict

N_NONE = 3


@pytest.fixture
def with_none(run: Path) -> Iterator[Review]:
    """The digits run, whose second to fourth suspect belong to no class."""
    verdict = Verdict.load(run)
    rows = verdict.suspects()[1 : 1 + N_NONE]
    p_none, suggested = np.zeros(len(verdict)), verdict.suggested.copy()
    p_none[rows], suggested[rows] = 0.97, verdict.labels[rows]
    (run / "manifest.json").unlink()
    replace(verdict, none_probability=p_none, suggested=suggested).save(run / "verdict.parquet")
    review = Review.open(run)
    yield review
    review.close()


def test_the_page_gets_their_probability(with_none: Review) -> None:
    suspects = with_none.suspects
    assert suspects.suggested[:5].tolist().count(NO_CLASS) == N_NONE
    columns = suspects.columns(slice(0, 5))
    assert columns["suggested"][1:4] == [NO_CLASS] * N_NONE
    assert columns["confidence"][1:4] == [0.97] * N_NONE


def test_they_are_filtered_and_accepting_removes_them(
    with_none: Review, serving: Callable[[Review], Any], open_page: Callable[..., Any]
) -> None:
    page = open_page(serving(with_none).guard.link).page
    n = len(with_none.suspects)
    page.locator("#filter-pair").select_option("some")
    expect(page.locator("#shown")).to_contain_text(f"{n - N_NONE} of ")
    page.locator("#filter-pair").select_option("none")
    expect(page.locator("#shown")).to_contain_text(f"{N_NONE} of ")
    expect(page.locator("#change")).to_contain_text("none of the classes")
    expect(page.locator("#change")).to_contain_text("97")
    expect(page.locator("[data-act=accept]")).to_contain_text("Accept: remove")
    page.keyboard.press("a")
    expect(page.locator("#progress-text")).to_contain_text("1 of ")
    expect(page.locator("#live")).to_contain_text("Saved")
    assert [(d["item"], d["state"]) for d in with_none.decisions() if d["state"] != "open"] == [(1, "remove")]
