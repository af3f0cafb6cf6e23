"""All decisions that a run has, whatever data they were made about: for judging again when data have changed."""

from pathlib import Path
from typing import Any

from eigenclean.review.store import FILE, OPEN, Store


def past_decisions(folder: Path, *, data_hash: str | None = None) -> list[tuple[Any, str, Any, Any]]:
    """The last decision about each id, as (id, decision, old label, new label); undone ones are left out.

    Decisions are about the data with one hash. When labels were corrected or rows were added, the hash is another,
    but what people said about an id with that label still holds. With ``data_hash``, only decisions about exactly
    these data.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    with Store(path, data_hash=data_hash or "") as store:
        entries = store.latest_of_all_data() if data_hash is None else store.current()
    return [(entry.id, entry.state, entry.given, entry.label) for entry in entries if entry.state != OPEN]
