"""Labels that do not exist yet: typed on the page, in the history and the patch, refused where they cannot be."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from eigenclean.cli.app import run as eigenclean
from eigenclean.errors import InvalidData
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.suspects import Suspects
from eigenclean.review.typed_labels import TypedLabels
from eigenclean.verdict import Verdict

OpenPage = Callable[..., Any]


def judged(page: Page, n: int) -> None:
    expect(page.locator("#progress-text")).to_contain_text(f"{n} of ")


def type_label(page: Page, text: str) -> None:
    page.keyboard.press("o")
    page.keyboard.type(text)
    expect(page.locator("#chooser-list [role=option]").last).to_contain_text("New label")
    page.keyboard.press("ArrowUp")  # the last option, also where others contain the text
    page.keyboard.press("Enter")


def labels_of(*labels: Any, are_folders: bool = False) -> TypedLabels:
    given = np.array(labels)
    n = len(given)
    verdict = Verdict(
        ids=np.arange(n), labels=given, score=np.zeros(n), p_clean=np.zeros(n), flagged=np.ones(n, dtype=bool),
        suggested=given, suggested_confidence=np.zeros(n), made_by="test",
    )  # fmt: skip
    return TypedLabels(Suspects.of(verdict), are_folders=are_folders)


def test_codes_follow_the_history() -> None:
    labels = labels_of("cat", "dog")
    assert [labels.code(text) for text in ('"emu"', '"dog"', '"ant"', '"emu"', None)] == [2, 1, 3, 2, -1]
    assert labels.typed == ["emu", "ant"] and labels.is_typed(2) and not labels.is_typed(1)
    assert labels.code("7") is None and labels.code("true") is None and labels.code("[") is None
    assert labels_of(1, 2).code("7") == 2 and labels_of(1, 2).code("true") is None
    assert labels_of(True, False).kind is None and labels_of(True, False).code("7") is None


@pytest.mark.parametrize(
    ("labels", "text", "sentence"),
    [
        (labels_of("a", "b"), "  ", "one line of 1 to 200"),
        (labels_of("a", "b"), "x" * 201, "one line of 1 to 200"),
        (labels_of("a", "b"), "x\ny", "one line"),
        (labels_of("a", "b"), "\ud800", "UTF-8"),
        (labels_of(1, 2), "cat", "whole numbers, which 'cat' is not"),
        (labels_of(1, 2), str(1 << 63), "whole numbers"),
        (labels_of(True, False), "2", "fixed set"),
        (labels_of("a", "b", are_folders=True), "x/y", "names of folders"),
        (labels_of("a", "b", are_folders=True), "..", "names of folders"),
        (labels_of("a", "b", are_folders=True), "_removed", "names of folders"),
    ],
)
def test_what_cannot_be_a_label(labels: TypedLabels, text: str, sentence: str) -> None:
    with pytest.raises(InvalidData, match=sentence):
        labels.parse(text)


def test_a_typed_label_is_saved_offered_again_and_exported(
    opened: Review, serving: Callable[[Review], Any], open_page: OpenPage
) -> None:
    served = serving(opened)
    first = open_page(served.guard.link)
    page = first.page
    judged(page, 0)
    type_label(page, "12")
    judged(page, 1)
    assert opened.patch().to_records()[0]["new"] == 12
    beside = open_page(f"http://{served.host}/", beside=first).page  # opened when the label is there already
    judged(beside, 1)
    page.keyboard.press("o")
    page.keyboard.type("12")
    expect(page.locator("#chooser-list [role=option]")).to_have_count(1)  # now it is a label like others
    page.keyboard.press("Enter")
    judged(page, 2)
    beside.bring_to_front()
    judged(beside, 2)
    beside.keyboard.press("p")
    expect(beside.locator("#meta .badge")).to_have_text("relabelled 12")
    page.bring_to_front()
    type_label(page, "-3")
    judged(page, 3)
    page.keyboard.press("u")
    judged(page, 2)
    page.reload()
    judged(page, 2)
    page.keyboard.press("o")
    page.keyboard.type("-3")  # undone, but it was typed
    expect(page.locator("#chooser-list [role=option]")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    page.keyboard.type("cat")  # these labels are numbers
    expect(page.locator("#chooser-list")).to_have_text("There is no such label.")
    assert opened.patch().new.tolist() == [12, 12]
    status, _, content = _ask_as(page, served, {"item": 5, "state": "relabel", "label": "cat", "base": 0})
    assert status == 400 and "whole numbers" in content
    given = str(opened.suspects.labels[opened.suspects.given[5]])
    status, _, content = _ask_as(page, served, {"item": 5, "state": "relabel", "label": given, "base": 0})
    assert status == 400 and "another one than the given" in content


def _ask_as(page: Page, served: Any, decision: dict[str, Any]) -> tuple[int, Any, str]:
    cookies = "; ".join(f"{c['name']}={c['value']}" for c in page.context.cookies())
    body = {"decisions": [decision], "action": "x", "request": "x", "reviewer": "Eve"}
    status, headers, content = served.ask("POST", "/api/decisions", body, {"Cookie": cookies})
    return status, headers, content.decode()


@pytest.mark.slow
def test_a_typed_label_in_a_single_file(mails: Path, open_page: OpenPage, tmp_path: Path) -> None:
    run = shutil.copytree(mails / "run", tmp_path / "run")
    assert eigenclean(["review", str(run), "--export", str(tmp_path / "review.html")]) == 0
    page = open_page((tmp_path / "review.html").as_uri()).page
    judged(page, 0)
    type_label(page, "<b>new</b>")
    judged(page, 1)
    page.reload()
    judged(page, 1)
    page.keyboard.press("o")
    page.keyboard.type("<b>new")
    expect(page.locator("#chooser-list [role=option]")).to_have_count(2)  # the label, and what was typed
    page.keyboard.press("Enter")
    judged(page, 2)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    waiting.value.save_as(tmp_path / "patch.jsonl")
    assert Patch.load(tmp_path / "patch.jsonl").new.tolist() == ["<b>new</b>"] * 2
    assert page.locator("b:has-text('new')").count() == 0
