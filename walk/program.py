"""Commands of the program in a folder: what they print, how long they take, and what they say comes next."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT = 600  # seconds that a command may take
LINK_TIMEOUT = 120  # seconds until the review page is served
_LINK = re.compile(r"http://\S+")


class Broken(Exception):
    """A step of the walk did not do what it should; the message says which and how."""


@dataclass
class Times:
    """Seconds of each step, in order."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure what happens inside as one step."""
        started = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - started, 2)


@dataclass(frozen=True)
class Program:
    """The program, in a folder in which nothing else is."""

    folder: Path

    def __call__(self, *words: str) -> str:
        """Run a command to its end; return the command that it says comes next, "" if it says none."""
        done = subprocess.run(
            [sys.executable, "-m", "eigenclean", *words],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        if done.returncode:
            raise Broken(f"`eigenclean {shlex.join(words)}` ended with {done.returncode}: {done.stderr.strip()}")
        return next_command(done.stderr + done.stdout)

    @contextmanager
    def review(self, run: str) -> Iterator[str]:
        """Serve the review page of a run; gives the link that opens it. It must end well when it is stopped."""
        served = subprocess.Popen(
            [sys.executable, "-m", "eigenclean", "review", run, "--no-browser", "--port", "0"],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert served.stdout is not None
        watchdog = threading.Timer(LINK_TIMEOUT, served.kill)
        watchdog.start()
        try:
            printed = ""
            for line in served.stdout:
                printed += line
                link = _LINK.search(line)
                if link is not None:
                    break
            else:
                raise Broken(f"`eigenclean review {run}` gave no link: {printed.strip()}")
            watchdog.cancel()
            yield link[0]
            served.send_signal(signal.SIGINT)  # as Ctrl-C does
            rest, _ = served.communicate(timeout=30)
            if "are judged" not in rest:
                raise Broken(f"`eigenclean review {run}` did not count the decisions at its end: {rest.strip()}")
        finally:
            watchdog.cancel()
            served.kill()
            served.communicate()

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "EIGENCLEAN_CACHE": str(self.folder / ".features")}


def next_command(printed: str) -> str:
    """The command after "Next:", without the name of the program.

    >>> next_command("5 of 178 labels look wrong\\nNext: eigenclean review run\\n")
    'review run'
    """
    commands = re.findall(r"^Next: eigenclean (.*)$", printed, flags=re.MULTILINE)
    return commands[-1].strip() if commands else ""
