"""Run cases in forked children with bounds on memory and time; a child that dies is a violation of its case.

The parent imports everything once and computes nothing, so a fork is cheap and no library has started threads that
a fork would lose. A child runs several cases, one after the other, and reports each over a pipe. When it dies, the
case that it had begun gets the blame and a new child goes on with the next one.
"""

import json
import os
import resource
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from attacks.record import Case

Report = tuple[Case, list[str]]
_MODULES = (
    *(
        f"eigenclean.workflows.{name}"
        for name in ("check", "detect", "embedding", "export", "noisy_copy", "review")
    ),
    *(f"eigenclean.workflows.{name}" for name in ("score", "self_test", "train")),
    "eigenclean.features.encoders.torch_function",
    "eigenclean.train.storage.model_files",
    "eigenclean.report.html",
    "eigenclean.review.serve",
    "distributed",
    "pyarrow.csv",
)


@dataclass(frozen=True)
class Limits:
    """Bounds of one case.

    Attributes:
        memory: bytes that a child may map beyond what it has at its start.
        cpu: CPU seconds of one case.
        wall: seconds without a report after which a child counts as stuck; generous, because other programs may be
            running.
        batch: cases per child.
    """

    memory: int = 2 << 30
    cpu: int = 15
    wall: float = 90.0
    batch: int = 25


class _Child:
    """A forked process that works through a batch of cases."""

    def __init__(self, cases: Sequence[Case], limits: Limits) -> None:
        self.cases = list(cases)
        self.limits = limits
        self.current: Case | None = None
        self._rest = b""
        read_end, write_end = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read_end)
            _work(self.cases, limits, write_end)
        os.close(write_end)
        os.set_blocking(read_end, False)
        self.pipe = read_end
        self.heard = time.monotonic()

    def reports(self) -> Iterator[Report]:
        """Reports that have arrived since the last call."""
        with suppress(BlockingIOError):
            while chunk := os.read(self.pipe, 1 << 16):
                self._rest += chunk
                self.heard = time.monotonic()
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            number, sentences = json.loads(line)
            case = self.cases[number]
            self.current = case if sentences is None else None
            if sentences is not None:
                yield case, sentences

    def is_stuck(self) -> bool:
        """Whether it has been silent for too long."""
        return time.monotonic() - self.heard > self.limits.wall

    def end(self) -> int:
        """Close the pipe, kill what is left of the child and its own children, and return its wait status."""
        os.close(self.pipe)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return os.waitpid(self.pid, 0)[1]


def import_everything() -> None:
    """Import what the children will need, so that none of them has to; nothing is computed."""
    from PIL import Image

    from eigenclean.detect.judge import repeats

    Image.init()
    for name in _MODULES:
        import_module(name)
    # Few rows are assigned to folds once, not five times: that is only slower for thousands of small cases.
    repeats.REPEATED_ROWS = 1


def run_cases(cases: Sequence[Case], limits: Limits | None = None, jobs: int = 1) -> Generator[Report, None, None]:
    """Carry out the cases in ``jobs`` children at a time and yield each with what it broke."""
    limits = limits or Limits()
    waiting = [list(cases[start : start + limits.batch]) for start in range(0, len(cases), limits.batch)]
    waiting.reverse()
    children: dict[int, _Child] = {}
    with selectors.DefaultSelector() as selector:
        while waiting or children:
            while waiting and len(children) < jobs:
                child = _Child(waiting.pop(), limits)
                children[child.pipe] = child
                selector.register(child.pipe, selectors.EVENT_READ)
            selector.select(timeout=0.5)
            for pipe, child in list(children.items()):
                yield from child.reports()
                ended = not _is_alive(child.pid)  # its own children may still hold the pipe
                if not ended and not child.is_stuck():
                    continue
                if ended:
                    yield from child.reports()
                stuck = child.is_stuck()
                selector.unregister(pipe)
                del children[pipe]
                status = child.end()
                if child.current is not None:
                    yield child.current, [f"no answer for {limits.wall:.0f} s" if stuck else _death(status, limits)]
                    rest = child.cases[child.cases.index(child.current) + 1 :]
                    if rest:
                        waiting.append(rest)


def _is_alive(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _death(status: int, limits: Limits) -> str:
    if not os.WIFSIGNALED(status):
        return f"the process ended with exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    if number == signal.SIGXCPU:
        return f"more than {limits.cpu} CPU seconds"
    return f"the process was killed by {signal.Signals(number).name}"


def _work(cases: Sequence[Case], limits: Limits, pipe: int) -> None:
    """The child: never returns."""
    code = 1
    try:
        os.setsid()  # so that the parent can end what the child starts
        reopen_streams()
        bound_memory(limits.memory)
        for number, case in enumerate(cases):
            _bound_cpu(limits.cpu)
            _tell(pipe, number, None)
            _tell(pipe, number, _carried_out(case))
        code = 0
    finally:
        os._exit(code)


def _carried_out(case: Case) -> list[str]:
    try:
        return list(case.attack())
    except Exception:
        return ["the attack itself failed: " + traceback.format_exc().replace("\n", " | ")[-1500:]]


def _tell(pipe: int, number: int, sentences: list[str] | None) -> None:
    content = json.dumps([number, sentences]).encode() + b"\n"
    while content:
        content = content[os.write(pipe, content) :]


def bound_memory(more: int) -> None:
    """Let this process map at most ``more`` bytes beyond what it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))


def _bound_cpu(seconds: int) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + seconds + 1, hard))


def reopen_streams() -> None:
    """Make Python's standard streams those of the file descriptors again; a test runner may have replaced them."""
    sys.stdout = open(1, "w", encoding="utf-8", errors="strict", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def in_child(work: Callable[[], object], *, wall: float = 300.0) -> int:
    """Run a function in a forked child and return its wait status; the parent's libraries stay untouched."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            reopen_streams()
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(code)
    end = time.monotonic() + wall
    while _is_alive(pid):
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return os.waitpid(pid, 0)[1]


def silence() -> None:
    """Send what this process prints to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def in_child_or_fail(work: Callable[[], None], what: str) -> None:
    """Do something in a forked child that must succeed; what it prints goes nowhere."""

    def quietly() -> None:
        silence()
        work()

    if in_child(quietly):
        raise RuntimeError(f"{what} failed, though nothing was attacked yet")
