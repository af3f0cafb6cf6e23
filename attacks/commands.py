"""Run a command of eigenclean in this process, and say which promises its outcome breaks."""

import hashlib
import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eigenclean.cli.app import run
from eigenclean.errors import EigencleanError

Action = Sequence[str] | Callable[[], object]  # a command line, or a call of the Python interface
LONGEST_SENTENCE = 1500
MOST_LINES = 6
_WARNING = re.compile(r"\.py:\d+: \w*Warning")
_PREFIX = "eigenclean: "


@dataclass(frozen=True)
class Outcome:
    """What a command did: exit code, and what it printed."""

    code: int
    out: str
    err: str


def execute(action: Action) -> Outcome:
    """Carry out an action; the Python interface ends like a command, so that both are judged alike."""
    with warnings.catch_warnings(), _captured() as captured:
        warnings.simplefilter("default")
        if callable(action):
            try:
                action()
                code = 0
            except EigencleanError as error:
                sentence = " ".join(str(error).split())  # a traceback shows it, and no terminal of ours
                sys.stderr.write(f"{_PREFIX}{''.join(c if c.isprintable() else '?' for c in sentence)}\n")
                code = 2
            except Exception as error:
                sys.stderr.write(f"{_PREFIX}unexpected {type(error).__name__}: {error}\n")
                code = 1
        else:
            code = run(action)
    return Outcome(code, *captured)


def broken_promises(outcome: Outcome, action: Action) -> list[str]:
    """A sentence for each promise about exit codes and messages that the outcome breaks."""
    broken = []
    may_fail = not callable(action) and action[0] == "check"  # exit code 1: too many labels are wrong
    unexpected = outcome.code not in (0, 2) and not (may_fail and outcome.code == 1)
    if unexpected or f"{_PREFIX}unexpected" in outcome.err:
        broken.append(f"exit code {outcome.code}: {outcome.err.strip()[-400:]}")
    if "Traceback" in outcome.out + outcome.err:
        broken.append(f"a traceback: {outcome.err.strip()[-400:]}")
    if _WARNING.search(outcome.err):
        broken.append(f"a warning with a line of code: {outcome.err.strip()[:300]}")
    if outcome.code == 2:
        broken += _broken_sentence(outcome)
    odd = [c for c in outcome.out + outcome.err if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    if odd:
        broken.append(f"control character {odd[0]!r} in the output")
    return broken


def _broken_sentence(outcome: Outcome) -> Iterator[str]:
    lines = outcome.err.splitlines()  # notes, such as files that were left out, come before the sentence
    sentences = [line for line in lines if line.startswith(_PREFIX)]
    if len(sentences) != 1 or lines[-1] != sentences[0] or len(lines) > MOST_LINES:
        yield f"exit code 2 with {len(lines)} lines instead of one sentence: {outcome.err[:300]!r}"
    elif len(lines[-1]) > LONGEST_SENTENCE:
        yield f"a sentence of {len(lines[-1])} characters"
    if outcome.out:
        yield f"exit code 2 after printing {outcome.out[:100]!r}"


def snapshot(folder: Path) -> dict[str, str]:
    """Every file and folder below ``folder`` with a hash of its content."""
    content = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            content[os.path.relpath(path, folder)] = _fingerprint(path)
    return content


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Names that appeared, vanished or changed between two snapshots."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def leftovers(names: Iterator[str] | Sequence[str] | dict[str, str]) -> list[str]:
    """Names of temporary files."""
    return [name for name in names if name.endswith((".tmp", ".old")) or "publication" in name]


def _fingerprint(path: str) -> str:
    if os.path.islink(path):
        return f"link to {os.readlink(path)}"
    if os.path.isdir(path):
        return "folder"
    if not os.path.isfile(path):
        return "special"
    with open(path, "rb") as file:
        return hashlib.blake2b(file.read(), digest_size=8).hexdigest()


@contextmanager
def _captured() -> Iterator[list[str]]:
    """Collect what goes to the file descriptors of standard output and error, whoever writes it."""
    captured: list[str] = []
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.flush()
    saved = [os.dup(descriptor) for descriptor in (1, 2)]
    files = [os.memfd_create(name) for name in ("out", "err")]
    try:
        for descriptor, file in zip((1, 2), files, strict=True):
            os.dup2(file, descriptor)
        yield captured
    finally:
        for stream in streams:
            stream.flush()
        for descriptor, old, file in zip((1, 2), saved, files, strict=True):
            os.dup2(old, descriptor)
            os.close(old)
            size = os.lseek(file, 0, os.SEEK_END)
            captured.append(os.pread(file, size, 0).decode("utf-8", "replace"))
            os.close(file)
