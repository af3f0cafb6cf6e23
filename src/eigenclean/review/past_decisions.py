"""All decisions that a run has, whatever data they were made about: for judging again when data have changed."""

from pathlib import Path
from typing import Any, NamedTuple

from eigenclean.review.store import FILE, OPEN, Store


class PastDecision(NamedTuple):
    """What somebody decided about the sample with an id."""

    id: Any
    decision: str
    old: Any
    new: Any
    reviewer: str = ""
    note: str = ""


def past_decisions(folder: Path, *, data_hash: str | None = None) -> list[PastDecision]:
    """The last decision about each id; undone ones are left out.

    Decisions are about the data with one hash. When labels were corrected or rows were added, the hash is another,
    but what people said about an id with that label still holds. With ``data_hash``, only decisions about exactly
    these data.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    with Store(path, data_hash=data_hash or "") as store:
        entries = store.latest_of_all_data() if data_hash is None else store.current()
    return [
        PastDecision(entry.id, entry.state, entry.given, entry.label, entry.reviewer, entry.note)
        for entry in entries
        if entry.state != OPEN
    ]
