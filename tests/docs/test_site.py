"""The site builds without a warning, documents everything that is public, and needs no other host."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from playwright.sync_api import Page, expect, sync_playwright

import eigenclean
from eigenclean.detect import DETECTORS
from eigenclean.detect.cuts import CUTS
from eigenclean.noise import NOISES

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"-?\d+\.?\d*")


# Building the site and drawing its pictures takes two minutes: `make test-all`.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Reader(HTMLParser):
    """Collects the text of a page, the ids, and what the browser would fetch by itself."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.text, self.ids, self.fetched = "", set[str](), list[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        if tag != "a":
            names = ("src", "srcset", "href", "data", "poster")
            self.fetched += [given[name] or "" for name in names if name in given]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(site: Path, page: str) -> Reader:
    return Reader(site / f"{page}.html")


def test_every_command_is_documented_with_all_its_options(site: Path, hooks: ModuleType) -> None:
    names = [name for name, _ in hooks.commands()]
    assert {"eigenclean", "eigenclean detect", "eigenclean bench detect"} <= set(names)
    for name, command in hooks.commands():
        page = read(site, f"reference/cli/{(*name.split(), 'index')[1]}")
        shown = " ".join(page.text.split())
        assert name == "eigenclean" or name.replace(" ", "-") in page.ids
        assert command.help, f"{name} has no help"
        for parameter in command.params:
            if getattr(parameter, "hidden", False):  # an old name, accepted for one release
                continue
            assert parameter.help, f"{name}: {parameter.name} has no help"
            if not getattr(parameter, "hidden", False):  # old names of options still work, but are not shown
                assert " ".join(parameter.help.replace("`", "").split()) in shown
                assert parameter.param_type_name == "argument" or parameter.opts[0] in page.text


def test_the_pages_of_commands_say_what_help_says(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eigenclean", "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    listed = re.findall(r"^  (\w+)  ", done.stdout.partition("Commands:")[2], flags=re.MULTILINE)
    assert listed
    for name in listed:
        assert f"eigenclean-{name}" in read(site, f"reference/cli/{name}").ids
    index = read(site, "reference/cli/index").text
    assert all(f"\n{name}: " in index for name in listed) and "..." not in index.partition("Commands")[2]


def test_every_public_name_is_documented(site: Path, hooks: ModuleType) -> None:
    index, page = read(site, "reference/python/index"), read(site, "reference/python/eigenclean")
    for name in eigenclean.__all__:
        assert f"eigenclean.{name}" in page.text and f"eigenclean.{name}" in index.text, name
    for names in hooks.python_modules().values():
        for name in names:
            assert name in index.text and (site / "reference" / "python" / f"{name}.html").exists()


@contextmanager
def browser_page(width: int = 1280) -> Iterator[Page]:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    assert executable, "please install chromium or google-chrome"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.set_default_timeout(120_000)  # long pages, on a machine that runs other tests too
        yield page
        browser.close()


def test_the_search_works_from_a_folder(site: Path) -> None:
    """Opened as files: no server, no other host."""
    asked: list[str] = []
    with browser_page() as page:
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "howto" / "patch.html").as_uri())
        page.locator(".md-search__input").click()
        page.keyboard.type("annotators")
        result = page.locator(".md-search-result__link").first
        expect(result).to_be_visible(timeout=30_000)
        assert "documents" in page.locator(".md-search-result__meta").inner_text()
        result.click()
        expect(page.locator("h1")).to_be_visible()
        assert page.url.startswith("file:") and ".html" in page.url
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in asked)


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_a_phone_and_a_desktop(site: Path, width: int) -> None:
    """No page is wider than the window, and no picture is broken."""
    with browser_page(width) as page:
        for path in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # that one is for servers
            page.goto(path.as_uri())
            name = path.relative_to(site)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
            assert page.evaluate(broken) == [], name


def test_the_table_of_quality_is_seen_as_a_whole(site: Path) -> None:
    with browser_page() as page:
        page.goto((site / "explanation" / "quality.html").as_uri())
        table = page.locator(".md-typeset__scrollwrap").first
        assert table.locator("th").count() > 10
        assert table.evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize(
    ("page", "names"),
    [("detectors", DETECTORS), ("cuts", CUTS), ("noises", NOISES)],
    ids=lambda value: str(value)[:9],
)
def test_everything_that_can_be_chosen_is_documented(site: Path, page: str, names: dict[str, type]) -> None:
    read_page = read(site, f"reference/{page}")
    for name, kind in names.items():
        assert f"name-{name}" in read_page.ids
        assert f"{kind.__module__}.{kind.__qualname__}" in read_page.ids


def test_decisions_and_changelog_are_in_the_site(site: Path) -> None:
    for record in (ROOT / "docs" / "decisions").glob("[0-9]*.md"):
        assert (site / "decisions" / f"{record.stem}.html").exists(), record
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "Unreleased" in read(site, "changelog").text or "Unreleased" not in changes


def test_the_site_fetches_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        away = [link for link in Reader(page).fetched if re.match(r"(?i)(https?:)?//", link)]
        assert not away, f"{page.relative_to(site)} would fetch {away}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_scripts_stay_out_of_the_site(site: Path) -> None:
    assert not list(site.rglob("*.py"))
    assert "console exit" not in "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))


@pytest.fixture(scope="session")
def drawn(pictures: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    pictures.draw(folder)
    return folder


def test_pictures_show_what_the_code_computes(drawn: Path) -> None:
    for path in drawn.iterdir():
        kept = ROOT / "docs" / "img" / path.name
        again = f"{path.name} is out of date: run python docs/pictures.py"
        then, now = _visible(kept), _visible(path)
        assert _words(then) == _words(now), again
        if _made_by(kept) != _made_by(path):
            continue  # another matplotlib draws other lines
        old, new = ([float(n) for n in NUMBER.findall(text)] for text in (then, now))
        assert len(old) == len(new), again
        np.testing.assert_allclose(new, old, atol=0.1, err_msg=again)  # points; processors round differently


def test_pictures_are_the_same_every_time(pictures: ModuleType, drawn: Path, tmp_path: Path) -> None:
    pictures.draw(tmp_path)
    for path in drawn.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_every_picture_is_shown_somewhere(pictures: ModuleType) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert all(f"img/{name}" in pages for name in pictures.PICTURES)


def test_doctests_in_docstrings_are_shown_as_code(site: Path, docstrings: ModuleType) -> None:
    assert docstrings.fence("Words, >>> not a prompt.") == "Words, >>> not a prompt."
    for page in ("reference/python/eigenclean", "reference/cuts", "reference/noises"):
        assert "<blockquote>" not in (site / f"{page}.html").read_text(encoding="utf-8")


def _visible(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return re.sub(r'(?:id|xlink:href|clip-path)="[^"]*"', "", text.partition("</metadata>")[2])


def _words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)<", svg)


def _made_by(path: Path) -> str:
    return "".join(re.findall(r"Matplotlib v[\d.]+", path.read_text(encoding="utf-8"))[:1])
