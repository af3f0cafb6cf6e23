"""The review page as one file: its assets, bundled, with all data inside."""

import base64
import hashlib
import json
import re
from typing import Any

from eigenclean.assets import asset_files, bundle
from eigenclean.errors import EigencleanError
from eigenclean.review.images import SampleImages
from eigenclean.review.run import Review

MAX_SUSPECTS = 1000  # by default; with photographs this is some tens of megabytes
_SUSPECT_SIDE, _NEIGHBOUR_SIDE = 384, 112  # pixels
_LINKED_FILES = re.compile(r"<!-- files -->.*<!-- /files -->", re.DOTALL)
_STYLES = ("review.css", "map.css")


def page_files() -> dict[str, str]:
    """The content of each file of the page by name, with those of the map."""
    return asset_files("eigenclean.review") | asset_files("eigenclean.sample_map")


def single_page(review: Review, *, reviewer: str, most: int = MAX_SUSPECTS) -> str:
    """One HTML file with the ``most`` worst suspects. It loads nothing, stores decisions in the browser and exports
    them as a patch.
    """
    files = page_files()
    style, script = "\n".join(files[name].strip() for name in _STYLES), bundle(files, "main.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    data = (
        f'<script type="application/json" id="data">{_embeddable_json(_page_data(review, reviewer, most))}</script>'
    )
    page = _LINKED_FILES.sub(lambda _: head, files["index.html"])
    return page.replace("</body>", f'{data}\n<script type="module">{script}</script>\n</body>')


def _page_data(review: Review, reviewer: str, most: int) -> dict[str, Any]:
    n = min(most, len(review.suspects))
    items = review.items(range(n))
    images = {} if review.images is None else _image_uris(review.images, items)
    points = _points(review, n)
    return {
        "run": {**review.describe(n), "reviewer": reviewer, "map": points is not None},
        "suspects": review.suspects.columns(slice(0, n)),  # without decisions: they stay in the run's folder
        "items": items,
        "images": images,
        "groups": _groups(review, n),
        "map": points,
    }


def _groups(review: Review, n: int) -> list[dict[str, Any]]:
    """For each column of a table, the groups that its filter offers."""
    columns = () if review.table is None else review.table.columns
    return [review.groups(number, n) for number in range(len(columns))]


def _points(review: Review, n: int) -> dict[str, Any] | None:
    """The map, unless the features are gone: the page does without it."""
    try:
        return review.map_points(n)
    except EigencleanError:
        return None


def _image_uris(images: SampleImages, items: list[dict[str, Any]]) -> dict[int, str]:
    """Images of the suspects and of their neighbours as data URIs, by row."""
    suspects = {item["row"] for item in items}
    neighbours = {neighbour["row"] for item in items for side in item["near"] for neighbour in side}
    uris: dict[int, str] = {}
    for row in sorted(suspects | neighbours):
        image = images.get(row, _SUSPECT_SIDE if row in suspects else _NEIGHBOUR_SIDE)
        assert image is not None
        content, media_type = image
        uris[row] = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    return uris


def _embeddable_json(data: dict[str, Any]) -> str:
    """JSON that cannot close the script element it is embedded in, whatever a text contains."""
    return json.dumps(data).replace("<", "\\u003c")


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
