"""The application behind the page: a few addresses, JSON in and out, one shape of error."""

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
from eigenclean.review.assets import page_files
from eigenclean.review.pictures import LARGE, SMALL
from eigenclean.review.run import Review
from eigenclean.review.store import OPEN, RELABEL, STATES, Change

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_MOST_ITEMS, _MOST_CHANGES, _MOST_TEXT = 100, 5000, 200


def make_app(review: Review, *, reviewer: str) -> Starlette:
    """The application; ``reviewer`` is who decides unless the page says otherwise."""
    return Starlette(
        routes=_Views(review, reviewer).routes(),
        exception_handlers={HTTPException: _http_error, Exception: _our_fault},
    )


class _Views:
    """One method per address."""

    def __init__(self, review: Review, reviewer: str) -> None:
        self._review = review
        self._reviewer = reviewer
        self._files = page_files()
        self._run = json.dumps({**review.describe(), "reviewer": reviewer})

    def routes(self) -> list[Route]:
        def get(path: str, view: Callable[..., Any]) -> Route:
            return Route(path, view, methods=["GET"])

        return [
            get("/", self.page),
            get("/favicon.ico", self.icon),
            get("/page/{name}", self.file),
            get("/api/run", self.run),
            get("/api/items", self.items),
            get("/api/changes", self.changes),
            get("/api/patch", self.patch),
            get("/picture/{key}/{row:int}", self.picture),
            get("/small/{key}/{row:int}", self.small),
            Route("/api/decisions", self.decide, methods=["POST"]),
            Route("/api/undo", self.undo, methods=["POST"]),
        ]

    # Plain functions run in a thread each, so that a slow picture does not hold up a decision.

    def page(self, request: Request) -> Response:
        return Response(self._files["index.html"], media_type=TYPES[".html"])

    def icon(self, request: Request) -> Response:
        return Response(self._files["icon.svg"], media_type=TYPES[".svg"])

    def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._files:
            raise HTTPException(404, "there is no such file")
        return Response(self._files[name], media_type=TYPES[name[name.rindex(".") :]])

    def run(self, request: Request) -> Response:
        store = self._review.store
        seq = store.last_seq()  # before the decisions: what comes in between is told twice, not lost
        decisions = json.dumps(self._review.decisions())
        # The suspects never change while the server runs; a hundred thousand are not encoded anew.
        return Response(
            f'{{"run": {self._run}, "decisions": {decisions}, "seq": {seq}}}', media_type="application/json"
        )

    def items(self, request: Request) -> Response:
        places = _numbers(request.query_params.get("at", ""), len(self._review.suspects))
        return JSONResponse(self._review.items(places))

    def changes(self, request: Request) -> Response:
        since = request.query_params.get("since", "")
        if not _is_number(since):
            raise HTTPException(400, "since must be a number")
        entries = self._review.store.since(int(since))
        seq = entries[-1].seq if entries else int(since)
        return JSONResponse({"changes": self._review.shown(entries), "seq": seq})

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

    def picture(self, request: Request) -> Response:
        return self._picture(request, LARGE)

    def small(self, request: Request) -> Response:
        return self._picture(request, SMALL)

    async def decide(self, request: Request) -> Response:
        body = await _body(request)
        changes = self._changes(body.get("decisions"))
        who, action, sent = self._who(body), _text(body, "action"), _text(body, "request")
        outcome = await run_in_threadpool(
            self._review.store.record, changes, reviewer=who, action=action, request=sent
        )
        return self._outcome(outcome)

    async def undo(self, request: Request) -> Response:
        body = await _body(request)
        who, sent = self._who(body), _text(body, "request")
        return self._outcome(await run_in_threadpool(self._review.store.undo, reviewer=who, request=sent))

    def _outcome(self, outcome: Any) -> Response:
        shown = self._review.shown
        return JSONResponse({"entries": shown(outcome.entries), "conflicts": shown(outcome.conflicts)})

    def _picture(self, request: Request, side: int) -> Response:
        key, row = request.path_params["key"], request.path_params["row"]
        pictures = self._review.pictures
        made = pictures.get(row, side) if pictures is not None and key == self._review.suspects.key else None
        if made is None:
            raise HTTPException(404, "there is no such picture in this run")
        # The key in the address changes with the run, so what the browser has kept is always right.
        headers = {"Cache-Control": "private, max-age=86400, immutable"}
        return Response(made[0], media_type=made[1], headers=headers)

    def _who(self, body: dict[str, Any]) -> str:
        return _text(body, "reviewer", self._reviewer).strip() or self._reviewer

    def _changes(self, decisions: Any) -> list[Change]:
        if not isinstance(decisions, list) or not 0 < len(decisions) <= _MOST_CHANGES:
            raise HTTPException(400, f"decisions must be a list of 1 to {_MOST_CHANGES}")
        return [self._change(decision) for decision in decisions]

    def _change(self, decision: Any) -> Change:
        suspects = self._review.suspects
        if not isinstance(decision, dict):
            raise HTTPException(400, "a decision must be an object")
        item, state, label, base = (decision.get(key) for key in ("item", "state", "label", "base"))
        if type(item) is not int or not 0 <= item < len(suspects):
            raise HTTPException(400, f"item must be a number from 0 to {len(suspects) - 1}")
        if state not in STATES or type(base) is not int:
            raise HTTPException(400, f"state must be one of {', '.join(STATES)}, and base a number")
        given = int(suspects.given[item])
        if state == RELABEL:
            if type(label) is not int or not 0 <= label < len(suspects.labels) or label == given:
                raise HTTPException(400, "label must be the number of another class")
            return Change(suspects.ids[item], suspects.labels[given], state, suspects.labels[label], base)
        if label not in (None, -1):
            raise HTTPException(400, f"{state} has no label")
        return Change(suspects.ids[item], suspects.labels[given], OPEN if state == OPEN else state, None, base)


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "the request must be one JSON object")
    return body


def _text(body: dict[str, Any], key: str, default: str | None = None) -> str:
    value = body.get(key, default)
    if not isinstance(value, str) or not value or len(value) > _MOST_TEXT:
        raise HTTPException(400, f"{key} must be text of 1 to {_MOST_TEXT} characters")
    return value


def _numbers(text: str, below: int) -> list[int]:
    parts = text.split(",")[: _MOST_ITEMS + 1]
    if not all(map(_is_number, parts)) or len(parts) > _MOST_ITEMS or any(int(part) >= below for part in parts):
        raise HTTPException(400, f"at must be up to {_MOST_ITEMS} numbers below {below}, with commas between")
    return [int(part) for part in parts]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _our_fault(request: Request, error: Exception) -> Response:
    sentence = str(error) if isinstance(error, EigencleanError) else f"unexpected {type(error).__name__}"
    return JSONResponse({"error": sentence}, 500)
