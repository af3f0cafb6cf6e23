"""Review as a workflow: the page as a file, decisions as a patch, and serving until the server ends."""

import shutil
import stat
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.patch import Patch
from eigenclean.review import Review, serve
from eigenclean.review.store import Change
from eigenclean.workflows import serve_page, write_page, write_patch

LINK = "http://127.0.0.1:1/?token=secret"


@pytest.fixture(scope="module")
def explained(judged_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run in which suspects and trusted samples have been compared, once for all tests."""
    folder = shutil.copytree(judged_data.with_name("run"), tmp_path_factory.mktemp("explained") / "run")
    Review.open(folder).close()
    return Path(folder)


@pytest.fixture
def opened(explained: Path, tmp_path: Path) -> Iterator[Review]:
    review = Review.open(shutil.copytree(explained, tmp_path / "run"))
    yield review
    review.close()


def decide(review: Review, *states: str) -> None:
    """Decide about the first suspects."""
    verdict = review.suspects.verdict
    for number, state in enumerate(states):
        row = int(review.suspects.rows[number])
        label = verdict.suggested[row].item() if state == "relabel" else None
        change = Change(verdict.ids[row].item(), verdict.labels[row].item(), state, label)
        review.store.record([change], reviewer="Ada", request=f"request {number}", action=f"action {number}")


def test_the_patch_holds_the_decisions(opened: Review, tmp_path: Path) -> None:
    decide(opened, "keep", "relabel", "remove")
    written = write_patch(opened, tmp_path / "patch.jsonl")
    loaded = Patch.load(tmp_path / "patch.jsonl")
    assert loaded.counts() == written.counts() == {"relabel": 1, "keep": 1, "remove": 1, "unsure": 0}
    verdict, rows = opened.suspects.verdict, opened.suspects.rows[:3]
    assert set(loaded.ids.tolist()) == set(verdict.ids[rows].tolist())
    assert loaded.new[loaded.is_("relabel")].tolist() == [verdict.suggested[rows[1]].item()]
    assert set(loaded.reviewer.tolist()) == {"Ada"}


def test_without_decisions_there_is_no_patch(opened: Review, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="no decisions"):
        write_patch(opened, tmp_path / "patch.jsonl")
    assert not (tmp_path / "patch.jsonl").exists()


@pytest.mark.parametrize("limit", [1, 3, 10_000])
def test_the_page_holds_the_worst_suspects(opened: Review, tmp_path: Path, limit: int) -> None:
    n = len(opened.suspects)
    assert write_page(opened, tmp_path / "page.html", max_suspects=limit) == min(n, limit)
    page = (tmp_path / "page.html").read_text()
    ids = opened.suspects.verdict.ids[opened.suspects.rows].tolist()
    shown = [f'"{id}"' in page for id in ids]
    assert all(shown[: min(n, limit)]) and not any(shown[limit:])


@pytest.mark.parametrize(("name", "limit"), [("page.pdf", 5), ("page", 5), ("page.html", 0)])
def test_a_page_that_cannot_be_written_is_refused(opened: Review, tmp_path: Path, name: str, limit: int) -> None:
    with pytest.raises(InvalidOption, match=r"--export|--most"):
        write_page(opened, tmp_path / name, max_suspects=limit)
    assert not (tmp_path / name).exists()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Replaces the server by functions to run while it serves; the last one may raise."""
    actions: list[Callable[[], None]] = []

    def fake(review: Review, *, port: Any, reviewer: Any, announce: Any, ready: Any, **options: Any) -> None:
        announce(LINK)
        ready(LINK)
        for action in actions:
            action()

    monkeypatch.setattr(serve, "serve", fake)
    return actions


def test_serving_counts_what_is_decided(opened: Review, server: list[Callable[[], None]]) -> None:
    links, messages = list[str](), list[str]()
    server.append(lambda: decide(opened, "keep", "unsure"))
    assert serve_page(opened, announce=links.append, notify=messages.append) == 2
    assert links == [LINK]
    assert len(messages) == 1 and str(opened.store.path) in messages[0] and "secret" not in messages[0]


def test_the_browser_gets_the_link_by_a_private_file(
    opened: Review, server: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    redirect = opened.folder / "open-review.html"
    redirect.write_text("left behind by a killed server")

    def look() -> None:
        assert stat.S_IMODE(redirect.stat().st_mode) == 0o600
        assert LINK in redirect.read_text()

    server.append(look)
    serve_page(opened, announce=lambda link: None, browser=True)
    assert addresses == [redirect.resolve().as_uri()] and not redirect.exists()


def test_the_file_is_removed_when_the_server_fails(opened: Review, server: list[Callable[[], None]]) -> None:
    (opened.folder / "open-review.html").write_text("")

    def fail() -> None:
        raise OSError("no socket")

    server.append(fail)
    with pytest.raises(OSError, match="no socket"):
        serve_page(opened, announce=lambda link: None)
    assert not (opened.folder / "open-review.html").exists()
