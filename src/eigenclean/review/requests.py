"""Validates what the page sends; everything that is not exactly as expected is refused with status 400."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from eigenclean.errors import InvalidData
from eigenclean.review.run import MAX_REVIEWER, is_unicode
from eigenclean.review.store import RELABEL, STATES, Change
from eigenclean.review.suspects import Suspects
from eigenclean.review.typed_labels import TypedLabels

PAGE_SIZE = 4000  # suspects in one answer: some 200 kilobytes
_MAX_ITEMS, _MAX_CHANGES, _MAX_TEXT = 100, 5000, MAX_REVIEWER
_MAX_NOTE = 2000  # characters


async def read_body(request: Request) -> dict[str, Any]:
    """The body of a request, which must be a JSON object in UTF-8, with every key once and no NaN."""
    try:
        # Not json.loads(bytes), which would guess other encodings.
        body = json.loads((await request.body()).decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "the request must be one JSON object")
    return body


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key is there twice")
    return record


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def read_text(body: dict[str, Any], key: str, default: str | None = None) -> str:
    """A short, non-empty text field."""
    value = body.get(key, default)
    if not isinstance(value, str) or not value or len(value) > _MAX_TEXT or not is_unicode(value):
        raise HTTPException(400, f"{key} must be text of 1 to {_MAX_TEXT} characters")
    return value


def read_number(request: Request, key: str) -> int:
    """A non-negative integer in the query."""
    text = request.query_params.get(key, "")
    if not _is_number(text):
        raise HTTPException(400, f"{key} must be a number")
    return int(text)


def read_chunk(request: Request, n_suspects: int) -> slice:
    """A page of the list of suspects, which starts at ``?from=0``."""
    start = read_number(request, "from")
    if start >= n_suspects:
        raise HTTPException(400, f"from must be a number below {n_suspects}")
    return slice(start, min(start + PAGE_SIZE, n_suspects))


def read_column(request: Request, n_columns: int) -> int:
    """A column of the table, as ``?column=0``."""
    column = read_number(request, "column")
    if column >= n_columns:
        raise HTTPException(400, f"column must be a number below {n_columns}")
    return column


def read_row(request: Request) -> int | None:
    """The row in the path; None when it is no number."""
    row = request.path_params["row"]
    return int(row) if _is_number(row) else None


def read_positions(request: Request, n_suspects: int) -> list[int]:
    """Positions in the list of suspects, as ``?at=0,1,2``."""
    numbers = request.query_params.get("at", "").split(",")[: _MAX_ITEMS + 1]
    valid = len(numbers) <= _MAX_ITEMS and all(_is_number(text) and int(text) < n_suspects for text in numbers)
    if not valid:
        raise HTTPException(400, f"at must be up to {_MAX_ITEMS} numbers below {n_suspects}, with commas between")
    return [int(text) for text in numbers]


def read_changes(decisions: Any, suspects: Suspects, labels: TypedLabels) -> list[Change]:
    """The decisions of a request as changes for the store."""
    if not isinstance(decisions, list) or not 0 < len(decisions) <= _MAX_CHANGES:
        raise HTTPException(400, f"decisions must be a list of 1 to {_MAX_CHANGES}")
    changes = [_change(decision, suspects, labels) for decision in decisions]
    if len({change.id for change in changes}) < len(changes):
        raise HTTPException(400, "a request must hold at most one decision about each item")
    return changes


def _change(decision: Any, suspects: Suspects, labels: TypedLabels) -> Change:
    if not isinstance(decision, dict):
        raise HTTPException(400, "a decision must be an object")
    item, state, label, base = (decision.get(key) for key in ("item", "state", "label", "base"))
    if type(item) is not int or not 0 <= item < len(suspects):
        raise HTTPException(400, f"item must be a number from 0 to {len(suspects) - 1}")
    if state not in STATES or type(base) is not int or not 0 <= base < 1 << 53:
        raise HTTPException(400, f"state must be one of {', '.join(STATES)}, and base a number")
    note = decision.get("note")
    if note is not None and (
        not isinstance(note, str) or len(note) > _MAX_NOTE or not is_unicode(note) or "\0" in note
    ):
        raise HTTPException(400, f"note must be text of at most {_MAX_NOTE} characters")
    given = suspects.labels[int(suspects.given[item])]
    if state == RELABEL:
        return Change(suspects.ids[item], given, state, _other_label(label, given, labels), base, note)
    if label is not None and (type(label) is not int or label != -1):
        raise HTTPException(400, f"{state} has no label")
    return Change(suspects.ids[item], given, state, None, base, note)


def _other_label(label: Any, given: Any, labels: TypedLabels) -> Any:
    """The label with a code, or one that was typed."""
    if isinstance(label, str):
        try:
            chosen = labels.parse(label)
        except InvalidData as error:
            raise HTTPException(400, str(error)) from None
    elif type(label) is int and 0 <= label < len(labels.names):
        chosen = labels.names[label]
    else:
        raise HTTPException(400, "label must be the number of another class, or a new label as text")
    if chosen == given:
        raise HTTPException(400, "label must be another one than the given label")
    return chosen


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16
