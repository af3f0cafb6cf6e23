"""The page for everybody: contrast, light and dark, phones, screen readers, the keyboard alone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.review.page.test_page import expect_current, judged

OpenPage = Callable[..., Any]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(served: Any, open_page: OpenPage, scheme: str) -> None:
    page = open_page(served.guard.link, color_scheme=scheme).page
    judged(page, 0)
    page.keyboard.press("a")
    judged(page, 1)
    expect(page.locator("#alignment li").first).to_be_visible()
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) > 40
    assert [(words, round(ratio, 2)) for words, ratio in ratios if ratio < 4.5] == []


CONTRAST = """() => {
  const light = (rgb) => rgb.map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const result = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const aside = ".hear, option, kbd, .skip, .row:not(.open), :disabled";
    if (!node.data.trim() || !element.checkVisibility() || element.closest(aside)) continue;
    let behind = element, colour = [0, 0, 0, 0];
    while (behind) {
      colour = parse(getComputedStyle(behind).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) break;
      behind = behind.parentElement;
    }
    const [a, b] = [light(parse(getComputedStyle(element).color).slice(0, 3)), light(colour.slice(0, 3))];
    result.push([node.data.trim().slice(0, 30), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
  }
  return result;
}"""


def test_light_and_dark_follow_the_system_and_the_button(served: Any, open_page: OpenPage) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = open_page(served.guard.link, color_scheme="light").page
    dark = open_page(served.guard.link, color_scheme="dark").page
    for page in (light, dark):
        judged(page, 0)  # the style sheet is there when the page is
    colours = light.evaluate(background), dark.evaluate(background)
    assert colours[0] != colours[1]
    light.get_by_role("button", name="light and dark").click()
    assert light.evaluate(background) == colours[1]
    light.reload()
    assert light.evaluate(background) == colours[1]  # it remembers


def test_it_fits_a_phone(served: Any, open_page: OpenPage) -> None:
    page = open_page(served.guard.link, viewport={"width": 390, "height": 844}, has_touch=True).page
    judged(page, 0)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for button in page.locator("#actions button").all():
        box = button.bounding_box()
        assert box is not None and box["height"] >= 44 and box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert box["y"] + box["height"] <= 844
    page.get_by_role("button", name="Accept").tap()
    judged(page, 1)
    expect(page.locator("#rail")).to_be_hidden()
    page.get_by_role("button", name="List").tap()
    page.locator("#list [data-item='3']").tap()
    expect(page.locator("#rail")).to_be_hidden()
    expect_current(page, 3)
    page.get_by_role("button", name="Grid").tap()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_screen_reader_is_told_everything(served: Any, open_page: OpenPage) -> None:
    review = served.review
    page = open_page(served.guard.link).page
    judged(page, 0)
    suspects = review.suspects
    description = f"given {suspects.labels[suspects.given[0]]}, suggested {suspects.labels[suspects.suggested[0]]}"
    option = page.get_by_role("option", name=description).first
    assert option.get_attribute("aria-posinset") == "1"
    assert option.get_attribute("aria-setsize") == str(len(suspects))
    assert option.get_attribute("aria-selected") == "true"
    for role, name in (
        ("listbox", "Suspects, worst first"),
        ("progressbar", "Judged"),
        ("toolbar", "Decide"),
        ("region", "Suspect"),
        ("region", "Alignment with the classes"),
        ("combobox", "State"),
        ("searchbox", "Search by id"),
    ):
        expect(page.get_by_role(role, name=name, exact=True).first).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator("#live")).to_contain_text("Saved: relabelled")
    expect(page.locator("#live")).to_contain_text("Suspect 2 of")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select, img')].filter((e) => e.checkVisibility() && "
        "!(e.textContent.trim() || e.ariaLabel || e.alt !== undefined || e.labels?.length)).length"
    )
    assert unnamed == 0


def test_everything_is_reached_by_tab(served: Any, open_page: OpenPage) -> None:
    page = open_page(served.guard.link).page
    judged(page, 0)
    page.evaluate("document.activeElement.blur(); document.body.focus()")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.dataset.act || ''"))
    for name in (
        "view-grid",
        "export",
        "theme",
        "help",
        "filter-pair",
        "filter-id",
        "list",
        "keep",
        "accept",
        "undo",
        "next",
    ):
        assert name in reached
