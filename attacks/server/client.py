"""A review server in a child process, and a client that can send anything."""

import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from attacks.kill.operations import Operations

SECONDS = 20.0  # for an answer; generous, because other programs may be running
_MOMENT = 0.3


class ReviewServer:
    """`eigenclean review` in a forked child, which ends with the process group of its parent at the latest.

    Args:
        run: the folder of the run.
        log: file for what the server prints.
        kill_after: number of the operation on files after which the server kills itself.
    """

    def __init__(self, run: Path, log: Path, kill_after: int | None = None) -> None:
        self.log = log
        read_end, write_end = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read_end)
            _serve(run, log, write_end, kill_after)
        os.close(write_end)
        ready, _, _ = select.select([read_end], [], [], 6 * SECONDS)
        self.link = os.read(read_end, 1 << 12).decode() if ready else ""
        os.close(read_end)

    @property
    def started(self) -> bool:
        """Whether it has announced its link; a server that is killed early never does."""
        return self.link != ""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.link.split(":")[2].split("/")[0])

    def kill(self) -> None:
        """As kill -9 does."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def printed(self) -> str:
        """What it has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""


def _serve(run: Path, log: Path, pipe: int, kill_after: int | None) -> None:
    """The child: never returns."""
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, 1)
        os.dup2(file, 2)
        from attacks.children import reopen_streams
        from eigenclean.review import Review
        from eigenclean.workflows.review import serve_page

        reopen_streams()
        with Operations(kill_after).watched():
            serve_page(Review.open(run), announce=lambda link: _announce(pipe, link), port=0, reviewer="Ada")
    except BaseException as error:
        os.write(2, f"the server ended: {error!r}\n".encode())
    finally:
        os._exit(0)


def _announce(pipe: int, link: str) -> None:
    with suppress(OSError):  # later links have no reader
        os.write(pipe, link.encode())


class Client:
    """Sends requests as the page does, or any bytes at all.

    Args:
        port: of the server.
        link: opens the page; without it the client is a stranger.
    """

    def __init__(self, port: int, link: str = "") -> None:
        self.port = port
        self.cookie = ""
        if link:
            status, head, _ = self.ask("GET", "/?" + link.partition("?")[2])
            if status != 200:
                raise ConnectionError(f"the link was answered with status {status}")
            cookies = [line for line in head.splitlines() if line.lower().startswith("set-cookie:")]
            self.cookie = cookies[0].partition(":")[2].partition(";")[0].strip()

    @property
    def host(self) -> str:
        """The address as a browser names it."""
        return f"127.0.0.1:{self.port}"

    def connect(self, seconds: float = SECONDS) -> socket.socket:
        """A new connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)

    def raw(self, content: bytes, *, finish: bool = False) -> bytes:
        """Send these bytes and return everything that comes back until the server closes or stops talking.

        ``finish`` tells the server after a moment of silence that nothing more will come.
        """
        with self.connect() as connection:
            answer = b""
            with suppress(OSError):
                connection.sendall(content)
            if finish:
                connection.settimeout(_MOMENT)
                answer = receive(connection)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
            return answer + receive(connection)

    def request(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> bytes:
        """The bytes of a request with the headers of the page; some may be replaced, or left out by None."""
        usual: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None, "Connection": "close"}
        if method not in ("GET", "HEAD"):
            usual |= {
                "Origin": f"http://{self.host}",
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
            }
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in usual.items() if value is not None]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return head.encode("latin-1", "replace") + body

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> tuple[int, str, bytes]:
        """Status, head and content of the answer; status 0 when there is none."""
        return parsed(self.raw(self.request(method, path, body, **headers)))

    def post(self, path: str, record: Any) -> tuple[int, Any]:
        """Send JSON as the page does; status and JSON of the answer."""
        status, _, content = self.ask("POST", path, json.dumps(record).encode())
        try:
            return status, json.loads(content)
        except ValueError:
            return status, None


def receive(connection: socket.socket) -> bytes:
    """Everything until the other side closes, resets or is silent for too long."""
    content = b""
    with suppress(OSError):
        while chunk := connection.recv(1 << 16):
            content += chunk
    return content


def parsed(answer: bytes) -> tuple[int, str, bytes]:
    """Status, head and content."""
    head, _, content = answer.partition(b"\r\n\r\n")
    words = head.split()
    status = int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit() else 0
    return status, head.decode("latin-1"), content


def decision(item: int, n: int, base: int = 0) -> dict[str, Any]:
    """A request with one decision about a suspect; ``n`` makes it another request each time."""
    change = {"item": item, "state": ("keep", "unsure", "remove")[n % 3], "label": None, "base": base}
    return {"decisions": [change], "action": f"action-{n}", "request": f"request-{n}", "reviewer": "Ada"}
