"""Limits on connections: no client holds one for long without sending a whole request or reading the answer."""

import asyncio
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_TIMEOUT = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 36\r\n\r\nThe request did not arrive in time.\n"
)


@dataclass(frozen=True)
class Limits:
    """Limits on time, connections and headers of one client.

    Attributes:
        request: seconds until a request must have arrived, headers and body, counted from its first byte, or from
            the connection for the first request.
        idle: seconds that a connection may wait for its next request.
        answer: seconds that a client may stop reading an answer.
        connections: how many may be open at once; further ones are closed.
        header_bytes: length of the request line and headers.
    """

    request: float = 20.0
    idle: int = 10
    answer: float = 30.0
    connections: int = 128
    header_bytes: int = 1 << 15


def limited_protocol(limits: Limits) -> type[H11Protocol]:
    """The HTTP protocol of uvicorn with these limits, for ``uvicorn.Config(http=...)``.

    uvicorn itself ends idle connections only after their first request, and waits for ever for the rest of one.
    """

    class LimitedProtocol(H11Protocol):
        _request_timer: asyncio.TimerHandle | None = None
        _answer_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.abort()
            else:
                self._request_timer = self.loop.call_later(limits.request, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timers()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            try:
                super().data_received(data)
            except Exception:  # asyncio would print a traceback: bytes out of place must not fill a terminal
                self.transport.abort()
                return
            if not self._is_waiting():
                self._cancel_request_timer()
            elif self._request_timer is None:  # counted from the first byte: a byte now and then does not help
                self._request_timer = self.loop.call_later(limits.request, self._give_up)

        def on_response_complete(self) -> None:
            self._cancel_request_timer()  # from here uvicorn's own timer for idle connections counts
            super().on_response_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._answer_timer is None:
                self._answer_timer = self.loop.call_later(limits.answer, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._answer_timer is not None:
                self._answer_timer.cancel()
                self._answer_timer = None

        def send_400_response(self, msg: str) -> None:
            if self.cycle is not None:  # its answer would come after this one, which h11 does not allow
                self.cycle.disconnected = True
            super().send_400_response(msg)

        def _is_waiting(self) -> bool:
            """Whether there is more to come before the application can answer."""
            return self.cycle is None or self.cycle.more_body or self.cycle.response_complete

        def _give_up(self) -> None:
            if not self.transport.is_closing() and (self.cycle is None or not self.cycle.response_started):
                self.transport.write(_TIMEOUT)
            self.transport.close()

        def _cancel_request_timer(self) -> None:
            if self._request_timer is not None:
                self._request_timer.cancel()
                self._request_timer = None

        def _stop_timers(self) -> None:
            self._cancel_request_timer()
            if self._answer_timer is not None:
                self._answer_timer.cancel()
                self._answer_timer = None

    return LimitedProtocol
