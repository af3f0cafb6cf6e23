"""The single file: no server, nothing loaded, the same keys, a patch that fits."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from eigenclean.cli.app import run as eigenclean
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.single_page import single_page

OpenPage = Callable[..., Any]
WORST = ["--order", "worst"]


def judged(page: Page, n: int) -> None:
    expect(page.locator("#progress-text")).to_contain_text(f"{n} of ")


@pytest.fixture
def file(run: Path, tmp_path: Path) -> Path:
    assert (
        eigenclean(["review", str(run), "--export", str(tmp_path / "review.html"), "--reviewer", "Ada", *WORST])
        == 0
    )
    return tmp_path / "review.html"


def test_the_same_keys_and_a_patch(file: Path, run: Path, open_page: OpenPage, tmp_path: Path) -> None:
    watched = open_page(file.as_uri())
    page = watched.page
    judged(page, 0)
    for n, key in enumerate("aakrta", start=1):
        page.keyboard.press(key)
        judged(page, n)
    page.keyboard.press("u")
    judged(page, 5)
    page.keyboard.press("o")
    page.keyboard.press("Enter")
    judged(page, 6)
    page.reload()
    judged(page, 6)
    page.keyboard.press("u")
    judged(page, 5)
    page.keyboard.press("g")
    page.locator("#filter-state").select_option("open")
    page.get_by_role("button", name="Select all").click()
    page.keyboard.press("a")
    review = Review.open(run)
    judged(page, len(review.suspects))
    page.keyboard.press("u")
    judged(page, 5)
    assert page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    waiting.value.save_as(tmp_path / "patch.jsonl")
    patch, suspects = Patch.load(tmp_path / "patch.jsonl"), review.suspects
    rows = suspects.rows[:5]
    assert patch.decision.tolist() == ["relabel", "relabel", "keep", "remove", "unsure"]
    np.testing.assert_array_equal(patch.ids, suspects.verdict.ids[rows])
    np.testing.assert_array_equal(patch.old, suspects.verdict.labels[rows])
    np.testing.assert_array_equal(patch.new[:2], suspects.verdict.suggested[rows[:2]])
    np.testing.assert_allclose(patch.score, suspects.verdict.p_clean[rows], atol=1e-4)
    assert patch.data_hash == review.data_hash and set(patch.reviewer.tolist()) == {"Ada"}
    assert {request.partition(":")[0] for request in watched.requests} <= {"file", "data", "blob"}
    assert review.store.history() == []  # what is decided in a file stays in the browser
    review.close()


def test_two_tabs_see_each_other(file: Path, open_page: OpenPage) -> None:
    first = open_page(file.as_uri())
    judged(first.page, 0)
    second = open_page(file.as_uri(), beside=first)
    judged(second.page, 0)
    second.page.keyboard.press("k")
    judged(second.page, 1)
    first.page.bring_to_front()
    judged(first.page, 1)


def test_hostile_strings_run_nothing(mails: Path, open_page: OpenPage, tmp_path: Path) -> None:
    run = shutil.copytree(mails / "run", tmp_path / "run")
    assert eigenclean(["review", str(run), "--export", str(tmp_path / "review.html"), *WORST]) == 0
    page = open_page((tmp_path / "review.html").as_uri()).page
    judged(page, 0)
    page.keyboard.press("a")
    judged(page, 1)
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.locator(".map-classes")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("img, [onerror], [onmouseover]").count() == 0
    assert page.locator("script").count() == 2
    assert "<script>alert(1)</script>" in page.locator("body").inner_text()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    waiting.value.save_as(tmp_path / "patch.jsonl")
    patch = Patch.load(tmp_path / "patch.jsonl")
    review = Review.open(run)
    assert patch.ids.tolist() == [review.suspects.ids[0]]
    assert patch.old.tolist() == [review.suspects.verdict.labels[review.suspects.rows[0]]]
    review.close()


def test_large_numbers_keep_their_digits(run: Path, open_page: OpenPage, tmp_path: Path) -> None:
    from eigenclean.verdict import Verdict

    verdict = Verdict.load(run)
    shifted = Verdict(
        ids=verdict.ids + 2**60 + 1,
        labels=verdict.labels + 2**59 + 1,
        suggested=verdict.suggested + 2**59 + 1,
        **{name: getattr(verdict, name) for name in ("score", "p_clean", "flagged", "suggested_confidence")},
    )
    (run / "manifest.json").unlink()  # it describes the verdict as it was
    shifted.save(run / "verdict.parquet")
    assert eigenclean(["review", str(run), "--export", str(tmp_path / "review.html"), "--most", "3", *WORST]) == 0
    page = open_page((tmp_path / "review.html").as_uri()).page
    judged(page, 0)
    expect(page.locator("#shown")).to_have_text("3 suspects")
    page.keyboard.press("a")
    judged(page, 1)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    waiting.value.save_as(tmp_path / "patch.jsonl")
    patch, worst = Patch.load(tmp_path / "patch.jsonl"), shifted.suspects(1)
    assert (patch.ids[0], patch.old[0], patch.new[0]) == (
        shifted.ids[worst[0]],
        shifted.labels[worst[0]],
        shifted.suggested[worst[0]],
    )


def test_it_holds_what_it_shows_and_no_more(opened: Review) -> None:
    page = single_page(opened, reviewer="Ada", most=7)
    data: Any = json.loads(
        re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[0]
    )
    suspects = data["suspects"]
    assert len(data["items"]) == data["run"]["n"] == len(suspects["row"]) == len(suspects["id"]) == 7
    assert not {"state", "label", "base", "signed"} & (set(suspects) | set(data["items"][0]))  # no decisions
    near = {neighbour["row"] for item in data["items"] for side in item["near"] for neighbour in side}
    assert {int(row) for row in data["images"]} == near | set(suspects["row"])
    assert data["run"]["rest"]["n"] == len(opened.suspects.verdict) - 7
    assert "src=" not in page.replace('id="data"', "") and "href=" not in page.replace('href="#stage"', "")
    for content in data["images"].values():
        assert base64.b64decode(content.partition(",")[2])[:4] == b"\x89PNG"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_the_same(file: Path, open_page: OpenPage, scheme: str) -> None:
    page = open_page(file.as_uri(), color_scheme=scheme, viewport={"width": 390, "height": 844}).page
    judged(page, 0)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
