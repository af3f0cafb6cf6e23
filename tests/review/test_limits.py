"""Clients that never finish a request, never read the answer, or open connections without end."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eigenclean.review.limits import Limits
from eigenclean.review.serve import listen, make_server

LIMITS = Limits(request=0.4, idle=1, answer=0.4, connections=6, header_bytes=4096)
CHUNK = b"x" * (1 << 20)


class Server:
    """A server with small limits around an application that sends a megabyte as often as it may."""

    def __init__(self) -> None:
        self.requests = 0
        self.aborted = threading.Event()
        self._socket = listen(0)
        self.address = self._socket.getsockname()
        server: Any = make_server(self._answer, LIMITS)
        self._server = server
        self._thread = threading.Thread(target=server.run, args=([self._socket],), daemon=True)
        self._thread.start()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests += 1
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/endless":
            try:
                for _ in range(200):
                    await send({"type": "http.response.body", "body": CHUNK, "more_body": True})
                    if not self._server.server_state.connections:
                        break
            finally:
                self.aborted.set()
        await send({"type": "http.response.body", "body": b"ok"})

    @property
    def n_connections(self) -> int:
        return len(self._server.server_state.connections)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=60)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.stop()


def everything(connection: socket.socket) -> bytes:
    """What comes until the server closes; it must close."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        while received := connection.recv(1 << 16):
            answer += received
    return answer


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def answered(connection: socket.socket) -> None:
    """Send a request and read the whole answer."""
    connection.sendall(REQUEST)
    answer = b""
    while not answer.endswith(b"ok\r\n0\r\n\r\n"):
        received = connection.recv(1 << 16)
        assert received
        answer += received
    assert answer.startswith(b"HTTP/1.1 200")


HALVES = {
    "nothing": b"",
    "a line": b"GET / HTTP/1.1\r\n",
    "headers without end": b"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n",
    "half a body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
    "half a chunk": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf",
}


@pytest.mark.parametrize("name", HALVES)
def test_half_a_request_does_not_hold_a_connection(
    server: Server, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with server.connect() as connection:
        connection.sendall(HALVES[name])
        assert everything(connection).startswith(b"HTTP/1.1 408 ")
    until(lambda: server.n_connections == 0)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\n", HALVES["half a body"]], ids=["headers", "body"])
@pytest.mark.parametrize("first", [False, True], ids=["first request", "second request"])
def test_a_byte_now_and_then_does_not_help(server: Server, first: bool, start: bytes) -> None:
    """The slow loris: there is always something to read, and never a request."""
    n_sent = 0
    with server.connect() as connection:
        if first:
            answered(connection)
        connection.sendall(start)
        connection.settimeout(0.05)
        while n_sent < 400:
            n_sent += 1
            try:
                if not connection.recv(1 << 16):
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                break
            try:
                connection.sendall(b"x")
            except ConnectionError:
                break
    assert n_sent < 400
    until(lambda: server.n_connections == 0)


def test_an_idle_connection_is_closed_and_one_in_use_is_not(server: Server) -> None:
    with server.connect() as connection:
        for _ in range(4):  # longer in all than a single request may take
            answered(connection)
            time.sleep(0.15)
        assert everything(connection) == b""
    assert server.requests == 4


def test_who_does_not_read_the_answer_is_cut_off(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with server.connect() as connection:
        connection.sendall(REQUEST.replace(b"/ ", b"/endless "))
        assert server.aborted.wait(10)
        until(lambda: server.n_connections == 0)
    assert capfd.readouterr().err == ""


def test_the_number_of_connections_is_bounded(server: Server) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(server.connect()) for _ in range(LIMITS.connections)]
        until(lambda: server.n_connections == LIMITS.connections)
        for _ in range(10):
            with server.connect() as further:
                assert everything(further) == b""
        assert server.n_connections <= LIMITS.connections
        assert all(everything(connection).startswith(b"HTTP/1.1 408") for connection in held)
    with server.connect() as connection:
        answered(connection)


def test_headers_are_bounded(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with server.connect() as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 500_000)
        answer = everything(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert server.requests == 0 and capfd.readouterr().err == ""
