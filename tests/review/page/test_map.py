"""The map on the review page: selecting on it filters the list, with a server and in the single file."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from eigenclean.arrays import Array
from eigenclean.cli.app import run as eigenclean
from eigenclean.errors import InvalidData
from eigenclean.review import Review

OpenPage = Callable[..., Any]
MARGIN = 14


def positions(points: dict[str, Any]) -> Array:
    """What the page reads, y downwards."""
    x, y = (np.frombuffer(base64.b64decode(points[name]), "<u2") / 65_535 for name in "xy")
    return np.column_stack([x, 1 - y])


def half_is_selected(page: Page, points: dict[str, Any]) -> list[int]:
    """Draw a lasso around the left half of the map; the positions of the suspects in it, as they are expected."""
    canvas = page.get_by_role("application")
    expect(canvas).to_be_focused()
    box = canvas.bounding_box()
    assert box is not None
    at = MARGIN + positions(points) * (np.array([box["width"], box["height"]]) - 2 * MARGIN)
    widest = np.sort(at[:, 0])
    gap = len(widest) // 2 + int(np.argmax(np.diff(widest[len(widest) // 2 : len(widest) // 2 + 40])))
    middle = float(widest[gap] + widest[gap + 1]) / 2  # between two dots
    page.get_by_role("button", name="Lasso").click()
    bottom = box["height"]  # the path does not begin in a corner, because the corners of the map are round
    corners = [
        (0, bottom / 2),
        (0, 0),
        (middle, 0),
        (middle, bottom),
        (0, bottom),
    ]
    places = [(box["x"] + max(1, x), box["y"] + min(bottom - 1, max(1, y))) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=3)
    page.mouse.up()
    return [int(i) for i in np.flatnonzero(at[: points["n_suspects"], 0] < middle)]


def filtered(page: Page, expected: list[int], n: int) -> None:
    expect(page.locator("#shown")).to_have_text(f"{len(expected)} of {n} suspects")
    expect(page.locator("#list [role=option]").first).to_have_id(f"row-{expected[0]}")
    expect(page.locator(".map-status")).to_contain_text(f"{len(expected)} suspects in the list.")


def test_the_selection_filters_the_list(
    opened: Review, serving: Callable[[Review], Any], open_page: OpenPage
) -> None:
    server = serving(opened)
    page = open_page(server.guard.link).page
    expect(page.locator("#change")).to_be_visible()
    page.keyboard.press("l")
    points, n = opened.map_points(), len(opened.suspects)
    assert points is not None and points["n_suspects"] == n and points["n_points"] == 700
    expected = half_is_selected(page, points)
    assert 0 < len(expected) < n
    filtered(page, expected, n)
    expect(page.locator("#actions")).to_be_hidden()
    page.keyboard.press("k")  # nobody decides about a dot
    page.keyboard.press("g")
    expect(page.locator("#select-all")).to_contain_text(str(len(expected)))  # with the other views, too
    assert opened.decisions() == []
    page.get_by_role("button", name="Selected on the map: clear").click()
    expect(page.locator("#shown")).to_have_text(f"{n} suspects")

    # A click on a dot opens the suspect.
    page.get_by_role("button", name="Map", exact=True).click()
    page.get_by_role("button", name="Lasso").click()
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    size = np.array([box["width"], box["height"]]) - 2 * MARGIN
    at = MARGIN + positions(points) * size
    apart = np.linalg.norm(at[:n, None] - at[None], axis=2)
    apart[np.arange(n), np.arange(n)] = np.inf
    lonely = int(apart.min(axis=1).argmax())
    page.mouse.click(box["x"] + at[lonely][0], box["y"] + at[lonely][1])
    expect(page.locator("#suspect")).to_be_visible()
    expect(page.locator("#list")).to_have_attribute("aria-activedescendant", f"row-{lonely}")


def test_the_single_file_has_the_map(run: Path, open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "review.html"
    assert eigenclean(["review", str(run), "--export", str(file), "--most", "60", "--order", "worst"]) == 0
    page = open_page(file.as_uri(), viewport={"width": 390, "height": 800}).page
    expect(page.locator("#change")).to_be_visible()
    page.get_by_role("button", name="Map", exact=True).click()
    review = Review.open(run)
    points = review.map_points(60)
    review.close()
    assert points is not None and points["n_suspects"] == 60 and points["n_points"] == 700
    expected = half_is_selected(page, points)
    expect(page.locator(".map-status")).to_contain_text(f"{len(expected)} suspects in the list.")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="List").click()
    filtered(page, expected, 60)


def test_without_the_data_there_is_no_map(
    run: Path, serving: Callable[[Review], Any], open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = Review.open(run, source="gone.npz")
    assert review.map_points() is None and not review.describe()["map"]
    server = serving(review)
    server.enter()
    assert server.ask("GET", "/api/map")[0] == 404
    page = open_page(server.guard.link).page
    expect(page.locator("#change")).to_be_visible()
    expect(page.locator("#view-map")).to_be_hidden()
    page.keyboard.press("l")
    expect(page.locator("#suspect")).to_be_visible()
    review.close()


def test_data_that_vanish_after_the_start_are_a_sentence(
    opened: Review, serving: Callable[[Review], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> None:
        raise InvalidData("digits.npz cannot be read")

    server = serving(opened)
    server.enter()
    monkeypatch.setattr(type(opened), "map_points", gone)
    status, _, content = server.ask("GET", "/api/map")
    assert status == 409 and b"digits.npz cannot be read" in content
