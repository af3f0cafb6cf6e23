"""Runs what the pages show. `python docs/examples.py` puts the real output where the shown one has gone stale.

A page is a Markdown file. Its ``python`` and ``console`` blocks run in order, in one temporary folder and (Python)
one namespace. What a page shows must be what comes out, with ``...`` for anything:

* a ``text`` block directly below a ``python`` block is what that block prints;
* lines below a ``$ command`` are what the command prints; ``console exit=2`` says that the last command fails so;
* a ``yaml`` block must be YAML, and the ``eigenclean`` commands in its ``run`` steps must succeed;
* ``text approx`` and ``console approx`` are for what a trained network had a part in: words must be the same,
  numbers similar, because no two processors round alike and training makes that visible.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("python", "console", "text", "yaml")
# Lines about work that takes more than ten seconds, which depends on the machine.
_PROGRESS = re.compile(
    r"^[^\n]*: (?:\d+ of \d+ \w+, )?\d+ %(?:, [\d.]+ \w+/s)?(?:, about \d+ s left)?\n", re.MULTILINE
)
# Only these may be shown without being run, and only where a newcomer or a contributor reads them: they fetch the
# project or set it up, or they are the very run that runs these examples.
SHOWN_ONLY = ("make demo", "make test", "make setup", "make check", "make bench", "make docs")
SHOWN_ONLY_STARTS = ("pip install ", "git clone ", "cd eigenclean")
SHOWN_ONLY_IN = ("README.md", "CONTRIBUTING.md")

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
_CHECKER = doctest.OutputChecker()
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_WIDTH = "100"
# For small data more threads only get in the way of each other.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class BadPage(Exception):
    """A page has a block that nobody could run or check."""


@dataclass
class Block:
    """A fenced block: its language, the rest of the info string, its lines without indent, and where it stands."""

    language: str
    info: str
    lines: list[str]
    start: int  # index of the first line inside the fence
    indent: int
    follows: "Block | None" = None  # the block directly above, with nothing but blank lines between


@dataclass(frozen=True)
class Stale:
    """Shown output that is not what came out: lines ``start`` to ``stop`` of the page should be ``lines``."""

    start: int
    stop: int
    lines: list[str]
    complaint: str


def pages() -> list[Path]:
    """Every page with examples."""
    outside = [ROOT / name for name in SHOWN_ONLY_IN]
    return [path for path in [*outside, *sorted((ROOT / "docs").rglob("*.md"))] if path.exists()]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order.

    >>> [block.lines for block in blocks("~\\n```python\\nx = 1\\n```\\n")]
    [['x = 1']]
    """
    lines, number, last, last_end = text.splitlines(), 0, None, 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        indent, ticks = len(opening["indent"]), opening["ticks"]
        closing = next((n for n in range(number + 1, len(lines)) if lines[n].strip() == ticks), None)
        if closing is None:
            raise BadPage(f"line {number + 1}: this block is never closed")
        between = any(line.strip() for line in lines[last_end:number])
        language, _, info = opening["info"].strip().partition(" ")
        inside = [line[indent:] for line in lines[number + 1 : closing]]
        block = Block(language, info.strip(), inside, number + 1, indent, None if between else last)
        last, last_end, number = block, closing + 1, closing + 1
        yield block


def check_page(path: Path) -> list[Stale]:
    """Run a page; return where it shows something else than what came out. Failing code raises."""
    text, stale = path.read_text(encoding="utf-8"), list[Stale]()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), threadpool_limits(1):
        for block in blocks(text):
            where = f"{path.name}, line {block.start}"
            if block.language == "python":
                printed = _run_python(block, path, namespace)
            elif block.language == "console":
                stale += _check_console(block, where, shown_only=path.name in SHOWN_ONLY_IN)
            elif block.language == "yaml":
                _check_yaml(block, where)
            elif block.language == "text" and block.follows is not None and block.follows.language == "python":
                if not matches(block.lines, printed, approx=block.info == "approx"):
                    stale.append(_replace(block, 0, len(block.lines), printed, where))
            else:
                raise BadPage(
                    f"{where}: a block must be python, console, yaml, or text directly below python, "
                    f"got {block.language or 'no language'!r}"
                )
    return stale


def matches(shown: Sequence[str], printed: str, *, approx: bool = False) -> bool:
    """Whether output is what a page shows, with ``...`` for anything and any white space for white space.

    >>> matches(["took ... s"], "took 0.3 s\\n"), matches(["1"], "2"), matches(["97 %"], "96 %", approx=True)
    (True, False, True)
    """
    if approx:
        return _similar("\n".join(shown).strip(), printed.strip())
    return _CHECKER.check_output("\n".join(shown).strip() + "\n", printed.strip() + "\n", _FLAGS)


def _similar(shown: str, printed: str) -> bool:
    pieces = re.split(r"(\.\.\.|\s+|\d+(?:\.\d+)?)", shown)
    pattern = "".join(map(_as_pattern, pieces))
    match = re.fullmatch(pattern, printed, flags=re.DOTALL)
    if match is None:
        return False
    pairs = zip((piece for piece in pieces if piece[:1].isdigit()), match.groups(), strict=True)
    return all(abs(float(a) - float(b)) <= 0.15 * float(a) + (0.05 if "." in a else 3) for a, b in pairs)


def _as_pattern(piece: str) -> str:
    if piece == "...":
        return ".*?"
    if piece[:1].isdigit():
        return r"(\d+(?:\.\d+)?)"
    return r"\s+" if piece and not piece.strip() else re.escape(piece)


def refresh(path: Path) -> int:
    """Put the real output into the page; return how many places were stale."""
    stale, lines = check_page(path), path.read_text(encoding="utf-8").splitlines()
    for place in reversed(stale):
        lines[place.start : place.stop] = place.lines
    if stale:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(stale)


def _run_python(block: Block, path: Path, namespace: dict[str, Any]) -> str:
    source = "\n" * block.start + "\n".join(block.lines)  # so that a traceback names the line of the page
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, str(path), "exec"), namespace)
    return printed.getvalue()


def _check_console(block: Block, where: str, *, shown_only: bool) -> list[Stale]:
    starts = [n for n, line in enumerate(block.lines) if line.startswith("$ ")]
    if not starts or starts[0] != 0:
        raise BadPage(f"{where}: a console block must begin with a command, `$ ...`")
    expected_code = int(block.info.removeprefix("exit=")) if block.info.startswith("exit=") else 0
    stale = []
    for start, stop in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        below = start + 1
        while below < stop and block.lines[below].startswith("> "):
            below += 1
        command = "\n".join([block.lines[start][2:], *(line[2:] for line in block.lines[start + 1 : below])])
        shown = block.lines[below:stop]
        bare = command.partition(" #")[0].strip()
        if bare in SHOWN_ONLY or bare.startswith(SHOWN_ONLY_STARTS):
            if not shown_only:
                raise BadPage(f"{where}: `{command}` cannot be run here, so only {SHOWN_ONLY_IN} may show it")
            continue
        code, printed = _run_command(command)
        if code != (expected_code if stop == len(block.lines) else 0):
            raise BadPage(f"{where}: `{command}` ended with exit code {code} and said\n{printed}")
        if any(line.strip() for line in shown) and not matches(shown, printed, approx=block.info == "approx"):
            stale.append(_replace(block, below, stop, printed, where))
    return stale


def _check_yaml(block: Block, where: str) -> None:
    """A workflow or a configuration: it must be readable, and our commands in it must work."""
    try:
        record = import_module("yaml").safe_load("\n".join(block.lines))
    except Exception as error:
        raise BadPage(f"{where}: this is not YAML: {error}") from None
    jobs = record.get("jobs", {}).values() if isinstance(record, dict) else ()
    steps = [step for job in jobs for step in job.get("steps", [])]
    for command in [step["run"] for step in steps if str(step.get("run", "")).startswith("eigenclean ")]:
        code, printed = _run_command(command)
        if code:
            raise BadPage(f"{where}: `{command}` ended with exit code {code} and said\n{printed}")


def _run_command(command: str) -> tuple[int, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {
        **os.environ,
        "PATH": path,
        "COLUMNS": _WIDTH,
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "EIGENCLEAN_CACHE": str(Path(".features").resolve()),  # a page knows nothing of what others embedded
        **_ONE_THREAD,
    }
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.returncode, _PROGRESS.sub("", done.stdout)


def _replace(block: Block, start: int, stop: int, printed: str, where: str) -> Stale:
    steady = re.sub(r"\b\d+\.\d+ s\b", "... s", printed)  # nobody's machine is as fast as another
    steady = re.sub(r'"seconds": [\d.e-]+', '"seconds": ...', steady)
    lines = [" " * block.indent + line.rstrip() if line.strip() else "" for line in steady.strip("\n").splitlines()]
    shown = "\n".join(block.lines[start:stop])
    return Stale(
        block.start + start, block.start + stop, lines, f"{where} shows\n{shown}\nbut this came out\n{printed}"
    )


def main(names: Sequence[str]) -> int:
    """Refresh the pages of those names, or all."""
    for path in [Path(name).resolve() for name in names] or pages():
        number = refresh(path)
        if number:
            sys.stdout.write(f"{path}: {number} refreshed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
