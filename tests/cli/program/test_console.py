"""The console: progress as bars, the library's warnings as notes, tables that keep their numbers whole."""

import json
import warnings
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress, Task

from eigenclean.cli import console as module
from eigenclean.cli.console import mention, print_json, print_whole, say, table, working
from eigenclean.errors import EigencleanWarning
from eigenclean.progress import track
from eigenclean.workflows.progress.display import Bars, LogLines, NotebookBars, Rate


def test_results_and_messages_are_apart_and_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    long = "[bold]" + "word " * 60 + "[/bold]"
    say(long)
    mention("note " + long)
    out, err = capsys.readouterr()
    assert (out, err) == (f"{long}\n", f"note {long}\n")


def test_control_characters_are_escaped_and_spaces_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x00b\x1b[2J\u202e\u00a0c")
    mention("\x07")
    assert capsys.readouterr() == ("a\\x00b\\x1b[2J\\u202e\u00a0c\n", "\\x07\n")


def test_json_is_one_document_without_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "Überraschung", "share": 0.5})
    out = capsys.readouterr().out
    assert json.loads(out) == {"name": "Überraschung", "share": 0.5} and "Ü" in out
    with pytest.raises(ValueError, match="Out of range"):
        print_json({"share": float("nan")})


def test_our_warnings_are_notes_and_others_stay_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="somebody else's"), working():
        for _ in range(2):
            warnings.warn("few samples", EigencleanWarning, stacklevel=1)
        warnings.warn("somebody else's", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: few samples\nnote: few samples\n"


def test_the_former_way_to_warn_comes_back() -> None:
    before = warnings.showwarning
    with pytest.raises(RuntimeError), working():
        assert warnings.showwarning is not before
        raise RuntimeError
    assert warnings.showwarning is before


def test_bars_follow_the_work() -> None:
    progress = Progress(console=Console(file=StringIO()))
    bars = Bars(progress)
    handle = bars.begin_counting("embedding", 10, "images")
    bars.advance(handle, 4)
    assert (progress.tasks[0].completed, progress.tasks[0].total, progress.tasks[0].fields) == (
        4,
        10,
        {"unit": "images"},
    )
    other = bars.begin("judging", 3)
    bars.end(handle)
    assert [task.id for task in progress.tasks] == [other]


@pytest.mark.parametrize(
    ("speed", "unit", "text"),
    [
        (None, "images", ""),
        (3.25, None, ""),
        (3.25, "images", "4 of 10 images, 3.2/s"),
        (25.4, "texts", "4 of 10 texts, 25/s"),
    ],
)
def test_a_rate_is_shown_for_work_that_is_counted(
    monkeypatch: pytest.MonkeyPatch, speed: float | None, unit: str | None, text: str
) -> None:
    progress = Progress(console=Console(file=StringIO()))
    fields: dict[str, Any] = {} if unit is None else {"unit": unit}
    progress.add_task("work", total=10, completed=4, **fields)
    monkeypatch.setattr(Task, "speed", property(lambda task: speed))
    assert Rate().render(progress.tasks[0]).plain == text


def test_without_a_terminal_there_are_no_bars(capsys: pytest.CaptureFixture[str]) -> None:
    with working():
        assert list(track([1, 2, 3], "counting")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")


def test_a_wide_table_is_not_broken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(module, "console", Console(width=30, highlight=False))
    wide = table(None, "name", *(f"column {i}" for i in range(8)))
    wide.add_row("row", *(f"{i}.123456789" for i in range(8)))
    print_whole(wide)
    header, row = capsys.readouterr().out.splitlines()
    assert row.split() == ["row", *(f"{i}.123456789" for i in range(8))]
    assert header.split("  ")[0].strip() == "name"


def test_a_sentence_is_one_short_line_whatever_it_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    from eigenclean.cli.app import _say

    _say("label '\x1b[2J\0\u202e\ud800' in\nrow 3")
    assert capsys.readouterr().err == "eigenclean: label '\\x1b[2J\\x00\\u202e\\ud800' in row 3\n"
    _say("a" * 40_000_000 + " is too long")
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 1100 and line.endswith("is too long")


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_long_work_without_a_terminal_writes_lines_with_a_rate() -> None:
    clock, lines = Clock(), list[str]()
    log = LogLines(lines.append, clock)
    images, other = log.begin_counting("embedding", 1000, "images"), log.begin("judging", 4)
    for _ in range(25):
        clock.now += 1.0
        log.advance(images, 20)
    log.advance(other, 1)
    log.end(images)
    log.end(other)
    assert lines == [
        "embedding: 200 of 1000 images, 20 %, 20 images/s, about 40 s left",
        "embedding: 400 of 1000 images, 40 %, 20 images/s, about 30 s left",
        "judging: 25 %, about 75 s left",
    ]


def test_a_notebook_shows_bars_that_vanish() -> None:
    clock, shown = Clock(), list[str]()
    bars = NotebookBars(shown.append, clock)
    handle = bars.begin("<b>work", 4)
    for _ in range(4):
        clock.now += 0.15
        bars.advance(handle, 1)
    bars.end(handle)
    assert len(shown) == 3
    assert 'value="0.250"' in shown[0] and "&lt;b&gt;work" in shown[0]
    assert shown[-1] == ""
