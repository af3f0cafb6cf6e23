"""Pictures of the gallery of tutorials: `python docs/thumbnails.py [NAME ...]` draws docs/img/tutorial-NAME.png.

A picture shows an output of the notebook as it is kept: its first audit, otherwise its first table.
"""

import runpy
import shutil
import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

_NOTEBOOKS = runpy.run_path(str(Path(__file__).with_name("notebooks.py")))
IMAGES = Path(__file__).resolve().parent / "img"
WIDTH, HEIGHT = 640, 360  # shown at about half of that
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
PAGE = """<!doctype html><meta charset="utf-8"><style>html {{ color-scheme: light; background: #fff; }}
body {{ margin: 0; padding: 14px 18px; font: 15px/1.4 "DejaVu Sans", sans-serif; }} p {{ margin: 6px 0; }}
table {{ border-collapse: collapse; }} th, td {{ padding: 3px 10px; text-align: right; }}
thead th {{ border-bottom: 1px solid #999; }} tbody tr:nth-child(odd) {{ background: #f4f4f4; }}
.eigenclean-audit:has(.pictures) table {{ display: none; }}</style>{body}"""


def body(notebook: Mapping[str, Any]) -> str:
    """The output that stands for a notebook, as HTML."""
    outputs = [output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", ())]
    shown = ["".join(data["text/html"]) for data in outputs if "text/html" in data]
    return next((html for html in shown if "eigenclean-audit" in html), shown[0])


def draw(page: Page, name: str) -> Path:
    """Draw the picture of a tutorial; colours are reduced, because a page shows all of them."""
    page.set_content(PAGE.format(body=body(_NOTEBOOKS["read"](name))))
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    path = IMAGES / f"tutorial-{name}.png"
    picture.save(path, optimize=True)
    return path


def main(names: list[str]) -> None:
    """Draw the pictures of these tutorials, or of all."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        for name in names or _NOTEBOOKS["names"]():
            path = draw(page, name)
            sys.stdout.write(f"{path}: {path.stat().st_size} bytes\n")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
