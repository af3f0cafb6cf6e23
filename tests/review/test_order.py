"""Which labels people look at first: the orders, and the list with labels that are not flagged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from eigenclean.cli.app import run as eigenclean
from eigenclean.errors import InvalidOption
from eigenclean.review import Review
from eigenclean.review.order import INFORMATIVE, MIXED, ORDERS, RANDOM, WORST, ordered_rows
from eigenclean.review.suspects import Suspects
from eigenclean.verdict import Verdict


def verdict_of(n: int, n_flagged: int) -> Verdict:
    rng = np.random.default_rng(1)
    p = np.where(np.arange(n) < n_flagged, 0.5 * rng.random(n), 0.5 + 0.5 * rng.random(n))
    zeros = np.zeros(n, dtype=int)
    return Verdict(
        ids=np.arange(n), labels=zeros, score=p, p_clean=p, flagged=p < 0.5, suggested=zeros,
        suggested_confidence=p, made_by="test",
    )  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n_flagged", [0, 7, 120, 400])
def test_every_flag_is_in_every_order_once(order: str, n_flagged: int) -> None:
    verdict = verdict_of(400, n_flagged)
    rows = ordered_rows(verdict, order)
    assert len(set(rows.tolist())) == len(rows) and set(np.flatnonzero(verdict.flagged)) <= set(rows.tolist())
    np.testing.assert_array_equal(rows, ordered_rows(verdict, order))  # the same each time
    n_others = len(rows) - n_flagged
    limits = {WORST: 0 if n_flagged else 40, MIXED: max(40 - n_flagged, n_flagged // 2)}  # 40: a tenth of the rows
    assert 0 <= n_others <= limits.get(order, max(100, n_flagged))
    if order in (INFORMATIVE, RANDOM) and n_flagged < 200:
        assert n_others > 0  # also where nothing is flagged


def test_what_comes_first() -> None:
    verdict = verdict_of(400, 120)
    p = verdict.p_clean
    assert np.all(np.diff(p[ordered_rows(verdict, WORST)]) >= 0)
    assert np.all(np.diff(np.abs(p[ordered_rows(verdict, INFORMATIVE)] - 0.5)) >= 0)
    assert abs(np.mean(verdict.flagged[ordered_rows(verdict, RANDOM)[:100]]) - 0.3) < 0.15
    mixed = ordered_rows(verdict, MIXED)
    assert mixed[:2].tolist() == verdict.suspects(2).tolist()
    assert 0.8 <= np.mean(verdict.flagged[mixed[:100]]) < 0.99
    with pytest.raises(InvalidOption, match=r"order .*worst"):
        ordered_rows(verdict, "best")


def test_where_nothing_is_flagged_the_most_doubtful_are_listed() -> None:
    verdict = verdict_of(400, 0)
    worst, mixed = ordered_rows(verdict, WORST), ordered_rows(verdict, MIXED)
    np.testing.assert_array_equal(worst, verdict.most_doubtful(40))
    assert len(mixed) == 40 and mixed[0] == worst[0]
    assert len(set(mixed.tolist()) & set(verdict.most_doubtful(40).tolist())) >= 36  # one of ten is random
    assert len(ordered_rows(verdict_of(5, 0), MIXED)) == 5


def test_few_flags_come_first_and_others_follow() -> None:
    verdict = verdict_of(400, 3)
    mixed = ordered_rows(verdict, MIXED)
    assert len(mixed) == 40 and mixed[:3].tolist() == verdict.suspects().tolist() == ordered_rows(verdict).tolist()
    assert Suspects.of(verdict, MIXED).note == (
        "Only 3 labels are flagged, so the most doubtful labels come after, 40 in all."
    )
    assert Suspects.of(verdict, WORST).note is None and Suspects.of(verdict_of(400, 120), MIXED).note is None
    assert Suspects.of(verdict_of(400, 0), WORST).note == (
        "No label is flagged: the list has 40 of the most doubtful labels."
    )


@pytest.mark.parametrize("order", ORDERS)
def test_what_people_decided_before_is_not_offered_again(order: str) -> None:
    verdict = verdict_of(400, 2)
    decided = np.zeros(400, dtype=bool)
    decided[verdict.most_doubtful(60)[2:]] = True  # not flagged, and more doubtful than all others
    rows = ordered_rows(verdict, order, decided=decided)
    assert not decided[rows].any() and set(verdict.suspects().tolist()) <= set(rows.tolist())
    assert order == WORST or len(rows) >= 36
    assert not decided[verdict.most_doubtful(50, decided=decided)].any()


def test_the_page_lists_labels_that_are_not_flagged(
    run: Path, serving: Callable[[Review], Any], open_page: Callable[..., Any]
) -> None:
    review = Review.open(run, order=MIXED)
    suspects = review.suspects
    flagged = suspects.verdict.flagged[suspects.rows]
    assert 0.8 <= flagged.mean() < 0.99 and review.explanation is not None
    assert not set(suspects.rows.tolist()) & set(review.explanation.near[review.explanation.near >= 0].tolist())
    page = open_page(serving(review).guard.link).page
    expect(page.locator("#shown")).to_have_text(f"{len(suspects)} suspects")
    expect(page.locator("#list")).to_have_attribute("aria-label", "Suspects, worst, doubtful and random ones")
    place = int(np.flatnonzero(~flagged)[0])
    for _ in range(place):
        page.keyboard.press("n")
    expect(page.locator("#change")).to_contain_text("not flagged: is it right?")
    expect(page.locator("[data-act=accept]")).to_be_disabled()
    page.keyboard.press("k")
    expect(page.locator("#progress-text")).to_contain_text("1 of ")
    expect(page.locator("#basis")).to_contain_text("0 found wrong, 1 right")
    assert review.patch().ids.tolist() == [suspects.ids[place]]
    review.close()


def test_an_order_that_is_none(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eigenclean(["review", str(run), "--order", "best", "--export", "x.html"]) == 2
    assert "order" in capsys.readouterr().err
