"""The application behind the page: its endpoints, JSON in and out, one form of error."""

import json
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from eigenclean.errors import EigencleanError
from eigenclean.review.images import LARGE, SMALL
from eigenclean.review.requests import read_body, read_changes, read_number, read_positions, read_text
from eigenclean.review.run import Review
from eigenclean.review.single_page import page_files
from eigenclean.review.store import Outcome

MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make_app(review: Review, *, reviewer: str) -> Starlette:
    """The application; ``reviewer`` signs the decisions unless the page sends another name."""
    return Starlette(
        routes=_Endpoints(review, reviewer).routes(),
        exception_handlers={HTTPException: _http_error, Exception: _internal_error},
    )


class _Endpoints:
    """One method per address.

    Methods that are not coroutines run in a thread each, so that a slow image does not delay a decision.
    """

    def __init__(self, review: Review, reviewer: str) -> None:
        self._review = review
        self._reviewer = reviewer
        self._files = page_files()
        # The suspects never change while the server runs: a hundred thousand are encoded once.
        self._run_json = json.dumps({**review.describe(), "reviewer": reviewer})

    def routes(self) -> list[Route]:
        def get(path: str, endpoint: Callable[..., Any]) -> Route:
            return Route(path, endpoint, methods=["GET"])

        return [
            get("/", self.page),
            get("/favicon.ico", self.icon),
            get("/page/{name}", self.file),
            get("/api/run", self.run),
            get("/api/items", self.items),
            get("/api/changes", self.changes),
            get("/api/patch", self.patch),
            get("/picture/{key}/{row:int}", self.large_image),
            get("/small/{key}/{row:int}", self.small_image),
            Route("/api/decisions", self.decide, methods=["POST"]),
            Route("/api/undo", self.undo, methods=["POST"]),
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
        seq = self._review.store.last_seq()
        decisions = json.dumps(self._review.decisions())
        content = f'{{"run": {self._run_json}, "decisions": {decisions}, "seq": {seq}}}'
        return Response(content, media_type="application/json")

    def items(self, request: Request) -> Response:
        return JSONResponse(self._review.items(read_positions(request, len(self._review.suspects))))

    def changes(self, request: Request) -> Response:
        since = read_number(request, "since")
        entries = self._review.store.since(since)
        seq = entries[-1].seq if entries else since
        return JSONResponse({"changes": self._review.entries_for_page(entries), "seq": seq})

    def patch(self, request: Request) -> Response:
        try:
            records = self._review.patch().to_records()
        except EigencleanError as error:
            raise HTTPException(409, str(error)) from None
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        return Response(
            lines.encode("utf-8", "surrogatepass"),
            media_type="application/jsonl",
            headers={"Content-Disposition": 'attachment; filename="patch.jsonl"'},
        )

    def large_image(self, request: Request) -> Response:
        return self._image(request, LARGE)

    def small_image(self, request: Request) -> Response:
        return self._image(request, SMALL)

    async def decide(self, request: Request) -> Response:
        body = await read_body(request)
        changes = read_changes(body.get("decisions"), self._review.suspects)
        reviewer, action, request_id = self._signed_by(body), read_text(body, "action"), read_text(body, "request")
        outcome = await run_in_threadpool(
            self._review.store.record, changes, reviewer=reviewer, action=action, request=request_id
        )
        return self._outcome(outcome)

    async def undo(self, request: Request) -> Response:
        body = await read_body(request)
        reviewer, request_id = self._signed_by(body), read_text(body, "request")
        return self._outcome(
            await run_in_threadpool(self._review.store.undo, reviewer=reviewer, request=request_id)
        )

    def _outcome(self, outcome: Outcome) -> Response:
        for_page = self._review.entries_for_page
        return JSONResponse({"entries": for_page(outcome.entries), "conflicts": for_page(outcome.conflicts)})

    def _image(self, request: Request, side: int) -> Response:
        key, row = request.path_params["key"], request.path_params["row"]
        images = self._review.images
        image = images.get(row, side) if images is not None and key == self._review.suspects.key else None
        if image is None:
            raise HTTPException(404, "there is no such image in this run")
        # The key in the address changes with the run, so a cached image is never out of date.
        headers = {"Cache-Control": "private, max-age=86400, immutable"}
        content, media_type = image
        return Response(content, media_type=media_type, headers=headers)

    def _signed_by(self, body: dict[str, Any]) -> str:
        return read_text(body, "reviewer", self._reviewer).strip() or self._reviewer


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _internal_error(request: Request, error: Exception) -> Response:
    sentence = str(error) if isinstance(error, EigencleanError) else f"unexpected {type(error).__name__}"
    return JSONResponse({"error": sentence}, 500)
