"""The application behind the page: its endpoints, JSON in and out, one form of error."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from eigenclean.errors import EigencleanError
from eigenclean.review.actions.again import JudgingAgain
from eigenclean.review.actions.export import export_patch
from eigenclean.review.images import LARGE, SMALL
from eigenclean.review.requests import (
    PAGE_SIZE,
    read_body,
    read_changes,
    read_chunk,
    read_column,
    read_number,
    read_positions,
    read_row,
    read_text,
)
from eigenclean.review.run import Review
from eigenclean.review.single_page import page_files
from eigenclean.review.store import Outcome

_MAX_ENTRIES = 5000  # of an action that was undone; the page asks for the others as changes
_NO_IMAGE = "there is no such image in this run"
logger = logging.getLogger(__name__)

MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make_app(
    review: Review,
    *,
    reviewer: str,
    commands: Sequence[str] | None = None,
    judge_again: Callable[[Review], Review] | None = None,
) -> ASGIApp:
    """The application; ``reviewer`` signs the decisions unless the page sends another name.

    ``commands`` are what to type after an export. ``judge_again`` judges the run anew with its decisions and opens
    it.
    """
    app = Starlette(
        routes=_Endpoints(review, reviewer, commands, judge_again).routes(),
        exception_handlers={HTTPException: _http_error, Exception: _internal_error},
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except ClientDisconnect:
            pass
        except Exception:
            # It was answered by `_internal_error`; Starlette raises it again, and uvicorn would print a traceback.
            logger.debug("a request failed", exc_info=True)

    return answer


class _Endpoints:
    """One method per address.

    Methods that are not coroutines run in a thread each, so that a slow image does not delay a decision.
    """

    def __init__(
        self,
        review: Review,
        reviewer: str,
        commands: Sequence[str] | None = None,
        judge_again: Callable[[Review], Review] | None = None,
    ) -> None:
        self._commands = commands
        self._reviewer = reviewer
        self._files = page_files()
        self._again = None if judge_again is None else JudgingAgain(lambda: self._show(judge_again(self._review)))
        self._show(review)

    def _show(self, review: Review) -> None:
        """Serve this run from now on; it and its suspects change only when it is judged again."""
        page = {"reviewer": self._reviewer, "page_size": PAGE_SIZE, "judges_again": self._again is not None}
        self._run_json = json.dumps({**review.describe(), **page})
        self._review = review

    def routes(self) -> list[Route]:
        def get(path: str, endpoint: Callable[..., Any]) -> Route:
            return Route(path, endpoint, methods=["GET"])

        return [
            get("/", self.page),
            get("/favicon.ico", self.icon),
            get("/page/{name}", self.file),
            get("/api/run", self.run),
            get("/api/suspects", self.suspects),
            get("/api/items", self.items),
            get("/api/groups", self.groups),
            get("/api/map", self.map),
            get("/api/changes", self.changes),
            get("/api/patch", self.patch),
            get("/picture/{key}/{row}", self.large_image),
            get("/small/{key}/{row}", self.small_image),
            Route("/api/decisions", self.decide, methods=["POST"]),
            Route("/api/undo", self.undo, methods=["POST"]),
            Route("/api/export", self.export, methods=["POST"]),
            Route("/api/judge", self.judge, methods=["POST"]),
        ]

    def page(self, request: Request) -> Response:
        return Response(self._files["index.html"], media_type=MEDIA_TYPES[".html"])

    def icon(self, request: Request) -> Response:
        return Response(self._files["icon.svg"], media_type=MEDIA_TYPES[".svg"])

    def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._files:
            raise HTTPException(404, "there is no such file")
        return Response(self._files[name], media_type=MEDIA_TYPES[name[name.rindex(".") :]])

    def run(self, request: Request) -> Response:
        # Read before the decisions: what is recorded in between is sent twice rather than lost.
        seq, typed = self._review.store.last_seq(), json.dumps(self._review.labels().typed)
        return _json_text(f'{{"run": {self._run_json}, "typed": {typed}, "seq": {seq}}}')

    def suspects(self, request: Request) -> Response:
        return _json(self._review.suspect_columns(read_chunk(request, len(self._review.suspects))))

    def items(self, request: Request) -> Response:
        positions = read_positions(request, len(self._review.suspects))
        items, signatures = self._review.items(positions), self._review.signatures(positions)
        return _json([{**item, "signed": signed} for item, signed in zip(items, signatures, strict=True)])

    def groups(self, request: Request) -> Response:
        table = self._review.table
        return _json(self._review.groups(read_column(request, 0 if table is None else len(table.columns))))

    def map(self, request: Request) -> Response:
        try:
            points = self._review.map_points()
        except EigencleanError as error:  # the data may have been removed since the start
            raise HTTPException(409, str(error)) from None
        if points is None:
            raise HTTPException(404, "there are no features to place the samples by")
        return _json(points)

    def changes(self, request: Request) -> Response:
        since = read_number(request, "since")
        entries = self._review.store.since(since, _MAX_ENTRIES)
        seq = entries[-1].seq if entries else since
        more = len(entries) == _MAX_ENTRIES
        review = self._review
        judging = {
            "key": review.suspects.key,
            "since_verdict": review.n_since_verdict(),
            **({} if self._again is None else self._again.state()),
        }
        return _json({"changes": review.entries_for_page(entries), "seq": seq, "more": more, "judging": judging})

    def patch(self, request: Request) -> Response:
        try:
            patch = self._review.patch()
        except EigencleanError as error:
            raise HTTPException(409, str(error)) from None
        return StreamingResponse(
            _chunks(patch.lines()),
            media_type="application/jsonl",
            headers={"Content-Disposition": 'attachment; filename="patch.jsonl"'},
        )

    def judge(self, request: Request) -> Response:
        if self._again is None:
            raise HTTPException(409, "this page cannot judge again; run `eigenclean detect` with the same --out")
        self._again.start()
        return _json(self._again.state())

    def export(self, request: Request) -> Response:
        try:
            return _json(export_patch(self._review, self._commands))
        except EigencleanError as error:
            raise HTTPException(409, str(error)) from None

    def large_image(self, request: Request) -> Response:
        return self._image(request, LARGE)

    def small_image(self, request: Request) -> Response:
        return self._image(request, SMALL)

    async def decide(self, request: Request) -> Response:
        body = await read_body(request)
        review = self._review  # another one when it is judged again meanwhile
        if body.get("key", review.suspects.key) != review.suspects.key:
            raise HTTPException(409, "the run was judged again, so the page is loaded anew")
        changes = read_changes(body.get("decisions"), review.suspects, review.labels())
        reviewer, action, request_id = self._signed_by(body), read_text(body, "action"), read_text(body, "request")
        outcome = await run_in_threadpool(
            review.store.record, changes, reviewer=reviewer, action=action, request=request_id
        )
        return self._outcome(outcome)

    async def undo(self, request: Request) -> Response:
        body = await read_body(request)
        reviewer, request_id = self._signed_by(body), read_text(body, "request")
        return self._outcome(
            await run_in_threadpool(
                self._review.store.undo, reviewer=reviewer, request=request_id, most=_MAX_ENTRIES
            )
        )

    def _outcome(self, outcome: Outcome) -> Response:
        for_page = self._review.entries_for_page
        entries, conflicts = for_page(outcome.entries), for_page(outcome.conflicts)
        return _json({"entries": entries, "conflicts": conflicts, "n": max(len(entries), outcome.n_undone)})

    def _image(self, request: Request, side: int) -> Response:
        row, images = read_row(request), self._review.images
        if row is None or images is None or request.path_params["key"] != self._review.suspects.key:
            raise HTTPException(404, _NO_IMAGE)
        image = images.get(row, side)
        if image is None:
            raise HTTPException(404, _NO_IMAGE)
        # The key in the address changes with the run, so a cached image is never out of date.
        headers = {"Cache-Control": "private, max-age=86400, immutable"}
        content, media_type = image
        return Response(content, media_type=media_type, headers=headers)

    def _signed_by(self, body: dict[str, Any]) -> str:
        return read_text(body, "reviewer", self._reviewer).strip() or self._reviewer


def _chunks(lines: Iterable[str]) -> Iterator[bytes]:
    """The lines, some at a time: each chunk of an answer has its cost."""
    remaining = iter(lines)
    while chunk := "".join(islice(remaining, 1000)):
        yield chunk.encode("utf-8")


def _json(content: Any) -> Response:
    return _json_text(json.dumps(content))  # ASCII, so that halves of surrogate pairs in a text are no error


def _json_text(text: str) -> Response:
    return Response(text, media_type="application/json")


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def _internal_error(request: Request, error: Exception) -> Response:
    if isinstance(error, EigencleanError):  # a full disk, for example: the page tries again until it is mended
        return JSONResponse({"error": str(error)}, 503)
    return JSONResponse({"error": f"unexpected {type(error).__name__}"}, 500)
