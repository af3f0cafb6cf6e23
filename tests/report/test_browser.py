"""The page in a real browser: it runs nothing foreign, asks for nothing, and fits a phone."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from eigenclean.report import write_report
from eigenclean.report.sections import map as section
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]


class Watched:
    """An open report, and everything it did that it should not."""

    def __init__(self, browser: Browser, file: Path, **context: Any) -> None:
        self.context = browser.new_context(**context)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.context.route("**/*", self._record)
        self.page.goto(file.as_uri())

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def _record(self, route: Route) -> None:
        if not route.request.url.startswith("data:"):
            self.requests.append(route.request.url)
        route.continue_() if route.request.url.startswith("file:") else route.abort()


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    opened: list[Watched] = []

    def _open(verdict: Verdict, arguments: dict[str, Any] | None = None, **context: Any) -> Watched:
        file = write_report(tmp_path / "report.html", verdict, **(arguments or {}))
        opened.append(Watched(browser, file, **context))
        return opened[-1]

    yield _open
    for watched in opened:
        assert watched.complaints == []
        assert watched.requests == [(tmp_path / "report.html").as_uri()]
        watched.context.close()


def _everything(verdict: Verdict) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "features": rng.standard_normal((len(verdict), 6)),
        "images": rng.integers(0, 255, (len(verdict), 8, 8), dtype=np.uint8),
        "run": {"source": "pets.npz", "command": "eigenclean detect pets.npz --seed 0"},
        "quality": {"noisy_precision": 0.9, "noisy_recall": 0.8},
    }


def test_hostile_strings_run_nothing(
    open_report: Callable[..., Watched], hostile: tuple[Verdict, dict[str, Any]]
) -> None:
    verdict, arguments = hostile
    page = open_report(verdict, arguments).page
    page.get_by_role("button", name="Show all").click()
    for element in page.locator("summary, .map-classes button").all():
        element.click()
    assert page.locator("script").count() == 1
    assert page.locator("img[src=x], [onerror], [onmouseover], b b").count() == 0
    assert "<script>alert(1)</script>" in page.locator("#suspects").inner_text()
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth === 8)")


@pytest.mark.parametrize("kind", ["table", "pictures", "texts"])
def test_it_fits_a_phone(
    open_report: Callable[..., Watched], hostile: tuple[Verdict, dict[str, Any]], kind: str
) -> None:
    verdict, arguments = hostile
    arguments = {
        **arguments,
        **{"table": {"images": None, "texts": None}, "pictures": {}, "texts": {"images": None}}[kind],
    }
    page = open_report(verdict, arguments, viewport={"width": 390, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    sizes = (
        "[...document.querySelectorAll('p, li, td, dd, dt')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(page.evaluate(sizes)) >= 12


def test_a_matrix_of_few_classes_is_not_blown_up(open_report: Callable[..., Watched], make: Make) -> None:
    scale = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
    for n_classes in (2, 3, 5, 10):
        page = open_report(make(n=400, n_classes=n_classes), viewport={"width": 1280, "height": 900}).page
        assert 1 <= page.locator("svg.heatmap").evaluate(scale) <= 2.1


def test_intervals_of_classes_end_on_their_scale(open_report: Callable[..., Watched], make: Make) -> None:
    page = open_report(make(n=400, n_classes=4)).page
    ends = page.locator("svg.bar .range").evaluate_all(
        "lines => lines.map(line => parseFloat(line.getAttribute('x2')))"
    )
    assert len(ends) == 4 and sorted(ends)[-2] < 100
    assert max(ends) == 100  # the longest is the end of the scale


def test_dark_follows_the_system_and_the_button(open_report: Callable[..., Watched], make: Make) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = open_report(make(), color_scheme="light").page
    dark = open_report(make(), color_scheme="dark").page
    colours = light.evaluate(background), dark.evaluate(background)
    assert colours[0] != colours[1]
    light.get_by_role("button", name="light and dark").click()
    assert light.evaluate(background) == colours[1]
    light.get_by_role("button", name="light and dark").click()
    assert light.evaluate(background) == colours[0]
    dark.emulate_media(media="print")
    assert dark.evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("kind", ["cards", "table"])
def test_search_and_filter(open_report: Callable[..., Watched], make: Make, kind: str) -> None:
    verdict = make(n=400, ids=np.array([f"img-{i:04d}" for i in range(400)]))
    page = open_report(verdict, _everything(verdict) if kind == "cards" else {}).page
    visible = page.locator(".suspect[data-given]:visible")
    expect(visible).to_have_count(24)
    page.get_by_role("button", name="Show all 60").click()
    expect(visible).to_have_count(60)
    expect(page.get_by_role("button", name="Show all 60")).to_be_hidden()
    worst = verdict.suspects(60)
    page.get_by_role("searchbox").fill(f"IMG-{worst[7]:04d}")
    expect(visible).to_have_count(1)
    page.get_by_role("searchbox").fill("no such thing")
    expect(visible).to_have_count(0)
    expect(page.locator("#shown")).to_have_text("no suspect matches")
    page.get_by_role("searchbox").fill("")
    page.get_by_role("combobox").select_option(label="2")
    expect(visible).to_have_count(int((verdict.labels[worst] == 2).sum()))


def test_a_lasso_on_the_map_filters_the_list(open_report: Callable[..., Watched], make: Make) -> None:
    verdict = make(n=400, ids=np.array([f"img-{i:04d}" for i in range(400)]))
    cluster = np.arange(400) % 3
    features = np.eye(3)[cluster] + 0.01 * np.random.default_rng(0).standard_normal((400, 3))
    page = open_report(verdict, {"features": features}).page
    visible = page.locator(".suspect[data-given]:visible")
    worst = verdict.suspects(60)
    page.locator("#plane canvas").first.scroll_into_view_if_needed()
    box = page.locator("#plane canvas").first.bounding_box()
    assert box is not None
    inside = np.flatnonzero(cluster == cluster[worst[0]])
    shown = json.loads(page.locator("#plane").get_attribute("data-map") or "")
    steps = np.column_stack([np.frombuffer(base64.b64decode(shown[name]), "<u2") / 65_535 for name in "xy"])
    place = steps[0] * [1, -1] + [0, 1]  # the worst suspect; y grows downwards
    x = box["x"] + 14 + place[0] * (box["width"] - 28)
    y = box["y"] + 14 + place[1] * (box["height"] - 28)
    left, right = max(box["x"] + 1, x - 60), min(box["x"] + box["width"] - 1, x + 60)
    top, bottom = max(box["y"] + 1, y - 60), min(box["y"] + box["height"] - 1, y + 60)
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom)):
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    expected = [f"img-{row:04d}" for row in worst if row in inside]
    assert 0 < len(expected) < 60
    expect(visible).to_have_count(len(expected))
    assert [row.locator("td").first.inner_text() for row in visible.all()] == expected
    flagged = int(verdict.flagged[inside].sum())
    more = ", because it has the worst alone; `eigenclean review` has all" if len(expected) < flagged else ""
    expect(page.locator(".map-status")).to_have_text(
        f"Selected: {len(inside)} samples, {flagged} suspects among them. "
        f"The list below shows {len(expected)} of them{more}."
    )
    page.get_by_role("button", name="Selected on the map: clear").click()
    expect(visible).to_have_count(24)
    page.locator("#plane canvas").first.press("Enter")  # the whole map
    expect(visible).to_have_count(60)


def test_the_map_has_the_colours_of_the_page(open_report: Callable[..., Watched], make: Make) -> None:
    verdict = make(n=100)
    page = open_report(verdict, _everything(verdict), color_scheme="light").page
    corner = """() => {
      const canvas = document.querySelector("#plane canvas"), copy = document.createElement("canvas");
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      return "rgb(" + context.getImageData(2, 2, 1, 1).data.slice(0, 3).join(", ") + ")";
    }"""
    card = "getComputedStyle(document.querySelector('.map-frame')).backgroundColor"
    light = page.evaluate(corner)
    assert light == page.evaluate(card)
    page.get_by_role("button", name="light and dark").click()
    page.wait_for_function(f"light => ({corner})() !== light", arg=light)
    assert page.evaluate(corner) == page.evaluate(card)
    page.emulate_media(media="print")
    page.wait_for_function(f"light => ({corner})() === light", arg=light)  # drawn in a later frame


def test_a_map_that_cannot_be_read_leaves_the_rest_of_the_page(
    open_report: Callable[..., Watched], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(section, "encode", lambda *_: {"n_points": 9, "x": "AAAA", "y": "", "given": ""})
    verdict = make(n=100)
    page = open_report(verdict, _everything(verdict)).page
    expect(page.locator("#plane")).to_have_text("There is no map: the map cannot be read.")
    page.get_by_role("combobox").select_option(label="2")
    expect(page.locator(".suspect[data-given]:visible")).to_have_count(
        int((verdict.labels[verdict.suspects(60)] == 2).sum())
    )


def test_the_command_can_be_copied(open_report: Callable[..., Watched], make: Make) -> None:
    verdict = make()
    page = open_report(verdict, _everything(verdict), permissions=["clipboard-read", "clipboard-write"]).page
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "eigenclean detect pets.npz --seed 0"


def test_without_script_everything_is_there(open_report: Callable[..., Watched], make: Make) -> None:
    verdict = make(n=400)
    page = open_report(verdict, _everything(verdict), java_script_enabled=False).page
    expect(page.locator(".suspect[data-given]:visible")).to_have_count(60)
    expect(page.locator("#search")).to_be_hidden()
    expect(page.locator("#map")).to_contain_text("The map needs JavaScript")


@pytest.mark.parametrize("n_flagged", [0, 3])
def test_tiny_reports_open(open_report: Callable[..., Watched], make: Make, n_flagged: int) -> None:
    page = open_report(make(n=3, n_classes=2, flagged=np.arange(3) < n_flagged)).page
    expect(page.get_by_role("heading", level=1)).to_contain_text(
        "3 labels look" if n_flagged else "None of the 3 labels is surely wrong"
    )
