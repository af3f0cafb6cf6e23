"""The map on a page of its own in a real browser, with points of a test."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from eigenclean.arrays import Array
from eigenclean.assets import asset_files, bundle
from eigenclean.sample_map import encode

WIDTH, HEIGHT, MARGIN = 640, 400, 14
_START = """([data, labels]) => {
  globalThis.chosen = [];
  globalThis.picked = [];
  globalThis.redraws = 0;
  const put = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (...given) {
    redraws += 1;
    return put.apply(this, given);
  };
  globalThis.map = new modules["map_view.js"].SampleMap(document.getElementById("host"), data, {
    labels, describe: (point) => [`point ${point}`], onPick: (point) => picked.push(point),
    onSelect: (marks) => { chosen.push(marks === null ? null : [...marks.keys()].filter((at) => marks[at])); },
  });
}"""


@pytest.fixture
def show(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page with a map of these points; whatever it complains about is a failure at the end."""
    pages: list[Page] = []
    complaints: list[str] = []
    files = asset_files("eigenclean.sample_map")
    script = bundle(files, "map_view.js").replace("const modules", "globalThis.modules")
    size = (
        f"body {{ margin: 0 }} #host {{ width: {WIDTH + 2}px }} .map-frame {{ flex: none; height: {HEIGHT + 2}px }}"
    )
    colours = "--card: #ffffff; --ink: #000000; --soft: #777777; --flag: #ff0000; --keep-ink: #0000ff"

    def _show(points: Array, given: Array, n_suspects: int, **context: Any) -> Page:
        page = browser.new_page(**context)
        pages.append(page)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.set_content(f"<style>{files['map.css']} :root {{ {colours} }} {size}</style><div id=host></div>")
        page.add_script_tag(content=script)
        labels = [f"class {code}" for code in range(int(np.max(given)) + 1)]
        page.evaluate(_START, [{**encode(points, given), "n_suspects": n_suspects}, labels])
        page.wait_for_function("redraws > 0")
        return page

    yield _show
    for page in pages:
        page.close()
    assert complaints == []
