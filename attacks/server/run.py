"""Cases against the review server: single requests, connections that never end, many reviewers at once."""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacks import seeds
from attacks.children import in_child_or_fail
from attacks.record import Case
from attacks.server.client import Client, ReviewServer, decision, parsed, receive
from attacks.server.probes import PROBES, Probe

HALF_OPEN = 100  # connections; those beyond 128 are closed


def prepare(root: Path, names: set[str]) -> None:
    """Write a run with some dozen suspects."""
    in_child_or_fail(lambda: seeds.write_review_run(root), "server: build")


def cases(root: Path, scale: float, seed: int = 0) -> list[Case]:
    """Every probe once, or every n-th of them, and the slow and the crowded cases."""
    step = max(1, round(1 / scale))
    probed = [
        Case(f"server/{name}/{number}", ProbeCase(root, probe))
        for name, probes in PROBES.items()
        for number, probe in enumerate(probes())
        if number % step == 0
    ]
    several: list[tuple[str, Callable[[Served], list[str]]]] = [
        ("half-open", half_open),
        ("slow-head", slow_head),
        ("slow-body", slow_body),
        ("no-reader", no_reader),
        ("crowd", crowd),
        ("same-request", same_request),
    ]
    return probed + [Case(f"server/connections/{name}", ConnectionCase(root, attack)) for name, attack in several]


class Served:
    """A server for all cases of one child, a client that has access, and one that has none."""

    _current: "Served | None" = None

    def __init__(self, root: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="served-", dir=root))
        shutil.copytree(root / "run", self.folder / "run")
        self.server = ReviewServer(self.folder / "run", self.folder / "log")
        self.client = Client(self.server.port, self.server.link)
        self.other = Client(self.server.port)
        self.seen = len(self.server.printed())

    @classmethod
    def get(cls, root: Path) -> "Served":
        """The server of this process, started when it is first needed."""
        if cls._current is None:
            cls._current = cls(root)
        return cls._current

    def close(self) -> None:
        """End the server."""
        self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        type(self)._current = None

    def problems(self) -> list[str]:
        """What is wrong with the server after an attack: it prints, hangs, or has decisions of nobody."""
        problems = []
        printed = self.server.printed()[self.seen :]
        if printed:
            problems.append(f"the server printed {printed[-300:]!r}")
        self.seen += len(printed)
        status, _, content = self.client.ask("GET", "/api/changes?since=0")
        if status != 200:
            self.close()
            problems.append(f"the server answers its own page with status {status}")
        else:
            unsigned = [entry for entry in json.loads(content)["changes"] if entry["reviewer"] != "Ada"]
            problems += [f"a decision of nobody: {unsigned[0]}"] if unsigned else []
        return problems


@dataclass(frozen=True)
class ProbeCase:
    """One hostile request."""

    root: Path
    probe: Probe

    def __call__(self) -> Sequence[str]:
        """Send it; the answer must be a refusal, without a traceback or the content of a file."""
        served = Served.get(self.root)
        content = self.probe.content(served.client, served.other)
        answer = served.client.raw(content, finish=self.probe.finish)
        status, head, body = parsed(answer)
        broken = []
        if status not in self.probe.allowed:
            broken.append(f"answered with status {status}: {body[:200]!r}")
        if b"Traceback" in answer or b"root:" in body or b"SQLite format" in body:
            broken.append(f"the answer shows {body[:200]!r}")
        if status and "content-security-policy" not in head.lower() and status not in (400, 0):
            broken.append("an answer without the security headers")
        return [f"{self.probe.name[:100]}: {sentence}" for sentence in (*broken, *served.problems())]


@dataclass(frozen=True)
class ConnectionCase:
    """Several connections at once."""

    root: Path
    attack: Callable[[Served], list[str]]

    def __call__(self) -> Sequence[str]:
        """Carry it out against a server of its own."""
        served = Served(self.root)
        try:
            return [*self.attack(served), *served.problems()]
        finally:
            served.close()


def half_open(served: Served) -> list[str]:
    """Many connections that say nothing, or only begin to speak: the page still works, and they end."""
    with ExitStack() as stack:
        connections = []
        for number in range(HALF_OPEN):
            connection = stack.enter_context(served.other.connect(seconds=1.0))
            if number % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
            connections.append(connection)
        status, _, _ = served.client.ask("GET", "/api/run")
        if status != 200:
            return [f"with {HALF_OPEN} silent connections the page is answered with status {status}"]
        return _still_open(connections, seconds=45.0)


def slow_head(served: Served) -> list[str]:
    """A header that comes byte by byte: it is cut off."""
    with served.other.connect(seconds=1.0) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        return _dripped(connection, b"X-A: 1\r\n", seconds=60.0)


def slow_body(served: Served) -> list[str]:
    """A body that comes byte by byte, of somebody who has access: it is cut off."""
    with served.client.connect(seconds=1.0) as connection:
        connection.sendall(served.client.request("POST", "/api/decisions", b"", Content_Length="1000"))
        return _dripped(connection, b" ", seconds=60.0)


def no_reader(served: Served) -> list[str]:
    """Requests whose answers nobody reads do not keep others waiting."""
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(served.client.connect(seconds=1.0))
            connection.sendall(served.client.request("GET", "/api/run", Connection="keep-alive") * 5)
        status, _, _ = served.client.ask("GET", "/api/run")
    return [] if status == 200 else [f"while nobody reads, the page is answered with status {status}"]


def crowd(served: Served) -> list[str]:
    """Eight reviewers decide at the same time: every decision that was confirmed is there, in one history."""
    confirmed: dict[str, int] = {}
    failed: list[str] = []

    def decide(worker: int) -> None:
        for n in range(15):
            record: Any = decision(worker * 4 + n % 4, 100 * worker + n, base=1 << 30)
            status, content = served.client.post("/api/decisions", record)
            if status != 200:
                failed.append(f"status {status} for a decision among others")
            for entry in (content or {}).get("entries", []):
                confirmed[record["request"]] = entry["seq"]

    threads = [threading.Thread(target=decide, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _, _, content = served.client.ask("GET", "/api/changes?since=0")
    history = [entry["seq"] for entry in json.loads(content)["changes"]]
    lost = set(confirmed.values()) - set(history)
    problems = failed[:1]
    if lost or len(set(history)) != len(history) or not confirmed:
        problems.append(f"{len(confirmed)} confirmed, {len(history)} in the history, {len(lost)} lost")
    return problems


def same_request(served: Served) -> list[str]:
    """One request that is sent eight times at once counts once."""
    record = decision(0, 1)
    body = json.dumps(record).encode()
    connections = [served.client.connect() for _ in range(8)]
    for connection in connections:
        connection.sendall(served.client.request("POST", "/api/decisions", body))
    statuses = [parsed(receive(connection))[0] for connection in connections]
    for connection in connections:
        connection.close()
    _, _, content = served.client.ask("GET", "/api/changes?since=0")
    history = json.loads(content)["changes"]
    if len(history) != 1 or set(statuses) != {200}:
        return [f"one request, sent eight times, made {len(history)} entries, statuses {statuses}"]
    return []


def _still_open(connections: list[Any], seconds: float) -> list[str]:
    """A sentence if connections live longer than that."""
    end = time.monotonic() + seconds
    waiting = list(connections)
    while waiting and time.monotonic() < end:
        time.sleep(0.5)
        waiting = [connection for connection in waiting if not _is_closed(connection)]
    return [f"{len(waiting)} half-open connections live longer than {seconds:.0f} s"] if waiting else []


def _is_closed(connection: Any) -> bool:
    connection.setblocking(False)
    try:
        return not connection.recv(1 << 16)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _dripped(connection: Any, drop: bytes, seconds: float) -> list[str]:
    """Send a drop every half second; the other side must end this before the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            connection.setblocking(True)
            connection.sendall(drop)
        except OSError:
            return []
        time.sleep(0.5)
        if _is_closed(connection):
            return []
    return [f"a connection that sends {drop!r} every half second lives longer than {seconds:.0f} s"]
