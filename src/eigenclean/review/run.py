"""A run opened for review: its suspects, its source if it is still there, and the decisions made so far."""

import getpass
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.patch import Patch
from eigenclean.review.pictures import Pictures
from eigenclean.review.store import FILE, OPEN, Store
from eigenclean.review.suspects import Suspects
from eigenclean.review.why import FILE as WHY
from eigenclean.review.why import Why, explain, load_why, save_why
from eigenclean.sources import Source
from eigenclean.sources.layouts.registry import is_layout
from eigenclean.sources.record import reopen
from eigenclean.verdict import SUMMARY, Verdict

_LONG, _SHORT = 20_000, 600  # characters of a text: of the suspect, of a neighbour


@dataclass(frozen=True, eq=False)
class Review:
    """Everything that the page shows and changes.

    Attributes:
        folder: where `eigenclean detect` wrote the run; the decisions are in ``review.sqlite`` there.
        data_hash: fingerprint of the data that were judged.
        suspects: the flagged labels, worst first.
        store: the decisions.
        pictures: of suspects and neighbours, if the source has images.
        texts: one per row of the source, if it has texts.
        why: alignments and neighbours, if the source has features.
        name: what to call the data.
        notes: what is missing and why, in sentences.
    """

    folder: Path
    data_hash: str
    suspects: Suspects
    store: Store
    pictures: Pictures | None
    texts: Sequence[str] | None
    why: Why | None
    name: str
    notes: tuple[str, ...]

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, source: str | None = None) -> "Review":
        """Open the run in ``folder``; ``source`` is for data that lie elsewhere now."""
        folder = Path(folder)
        verdict, summary = Verdict.load(folder), _summary(folder)
        data_hash = str(summary.get("data_hash") or "")
        if not data_hash:
            raise InvalidData(f"{folder / SUMMARY} has no data_hash; run `eigenclean detect` again")
        suspects = Suspects.of(verdict)
        record = dict(summary.get("source") or {})
        if source is not None:
            record |= {"name": source, "folder": os.getcwd()}
        data, notes = _reopened(record, summary.get("embedding"), verdict)
        why = None
        if data is not None and not notes:
            why, missing = _why(folder, suspects, data, data_hash)
            notes += missing
        pictures = None
        if data is not None and data.images is not None and len(suspects):
            rows = suspects.rows if why is None else np.concatenate([suspects.rows, why.rows()])
            try:
                pictures = Pictures(data.images, rows)
            except EigencleanError as error:
                notes.append(f"There are no pictures: {error}.")
        return cls(
            folder=folder,
            data_hash=data_hash,
            suspects=suspects,
            store=Store(folder / FILE, data_hash),
            pictures=pictures,
            texts=None if data is None else data.texts,
            why=why,
            name=_short(str(record.get("name") or folder.name)),
            notes=tuple(notes),
        )

    def describe(self, most: int | None = None) -> dict[str, Any]:
        """The suspects (or the ``most`` worst of them) as columns and the facts of the run, for the page."""
        first = int(self.suspects.rows[0]) if len(self.suspects) else None
        return {
            **self.suspects.describe(most),
            "name": self.name,
            "data_hash": self.data_hash,
            "pictures": self.pictures is not None,
            "coarse": self.pictures is not None and first is not None and self.pictures.coarse(first),
            "texts": self.texts is not None,
            "notes": list(self.notes),
        }

    def decisions(self) -> list[dict[str, Any]]:
        """Where each suspect stands that anyone ever decided about."""
        return self.shown(self.store.current())

    def shown(self, entries: Iterable[Any]) -> list[dict[str, Any]]:
        """Entries of the history for the page: suspects and labels by number; of other verdicts, nothing."""
        place, code = self.suspects.place, self.suspects.code
        return [
            {
                "seq": entry.seq,
                "item": place[entry.id],
                "state": entry.state,
                "label": -1 if entry.label is None else code.get(entry.label, -1),
                "reviewer": entry.reviewer,
                "time": entry.time,
            }
            for entry in entries
            if entry.id in place and (entry.label is None or entry.label in code)
        ]

    def items(self, places: Iterable[int]) -> list[dict[str, Any]]:
        """What is known about some suspects beyond the columns."""
        return [self._item(place) for place in places]

    def patch(self) -> Patch:
        """The decisions so far, about all labels of these data, as a patch."""
        verdict = self.suspects.verdict
        entries = [entry for entry in self.store.current() if entry.state != OPEN]
        rows = {id: row for row, id in enumerate(verdict.ids.tolist())} if entries else {}
        return Patch.from_records(
            {
                "id": entry.id,
                "decision": entry.state,
                "old": entry.given,
                "new": entry.label,
                "score": _probability(verdict.p_clean[rows[entry.id]]) if entry.id in rows else None,
                "reviewer": entry.reviewer,
                "time": entry.time,
                "data_hash": self.data_hash,
            }
            for entry in entries
        )

    def close(self) -> None:
        """Close the file of decisions."""
        self.store.close()

    def _item(self, place: int) -> dict[str, Any]:
        row = int(self.suspects.rows[place])
        item: dict[str, Any] = {"align": [], "near": [[], []], **self._shown_row(row, _LONG)}
        if self.why is not None:
            codes, fits = self.why.classes[place].tolist(), self.why.alignment[place].tolist()
            item["align"] = [[code, round(fit, 3)] for code, fit in zip(codes, fits, strict=True)]
            item["near"] = [
                [
                    {"cosine": round(float(cosine), 3), **self._shown_row(int(near), _SHORT)}
                    for near, cosine in zip(rows, cosines, strict=True)
                    if near >= 0
                ]
                for rows, cosines in zip(self.why.near[place], self.why.cosine[place], strict=True)
            ]
        return item

    def _shown_row(self, row: int, most: int) -> dict[str, Any]:
        shown: dict[str, Any] = {"row": row, "id": str(self.suspects.verdict.ids[row])}
        if self.texts is not None:
            text = str(self.texts[row])
            shown["text"] = text if len(text) <= most else text[: most - 1] + "…"
        strip = None if self.why is None else self.why.strip(row)
        return shown if strip is None else {**shown, "strip": strip}


def user_name() -> str:
    """Whom the system says that we are."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "reviewer"


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / SUMMARY
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidData(f"there is no {path}; run `eigenclean detect --out {folder}` again") from None
    except ValueError:
        raise InvalidData(f"{path} is not readable JSON; run `eigenclean detect --out {folder}` again") from None
    if not isinstance(summary, dict):
        raise InvalidData(f"{path} must be one JSON object; run `eigenclean detect --out {folder}` again")
    return summary


def _reopened(record: dict[str, Any], embedding: Any, verdict: Verdict) -> tuple[Source | None, list[str]]:
    """The source when it is there and still has the labels that were judged; else a sentence."""
    without = "so there are no pictures, texts or neighbours to show"
    notes: list[str] = []
    if not record:
        return None, [f"The run does not say which source it was made from, {without}."]
    try:
        data = reopen(record)
        if isinstance(embedding, dict):
            data, notes = _embedded(data, embedding)
    except EigencleanError as error:
        return None, [f"The source cannot be opened ({error}), {without}."]
    same = np.array_equal(data.labels, verdict.labels) and np.array_equal(data.ids, verdict.ids)
    if not same:
        return None, [f"{record['name']} has other labels or ids now than were judged, {without}."]
    return data, notes


def _embedded(data: Source, embedding: dict[str, Any]) -> tuple[Source, list[str]]:
    """The source with the features that were judged; without them when they cannot be had."""
    from eigenclean.features import embedded_again

    try:
        return embedded_again(data, embedding), []
    except EigencleanError as error:
        return data, [f"There are no neighbours to show: {error}."]


def _why(folder: Path, suspects: Suspects, data: Source, data_hash: str) -> tuple[Why | None, list[str]]:
    key = f"{data_hash} {suspects.key}"
    kept = load_why(folder / WHY, key)
    if kept is not None or len(suspects) == 0:
        return kept, []
    try:
        features = data.features()
        if data.data_hash() != data_hash:
            return None, [f"{data.name} has other features now than were judged, so there are no neighbours."]
    except EigencleanError as error:
        return None, [f"There are no neighbours to show: {error}."]
    why = explain(
        features,
        suspects.codes,
        ~np.asarray(suspects.verdict.flagged),
        suspects.rows,
        suspects.suggested,
        len(suspects.classes),
        strips=data.images is None and data.texts is None,
    )
    save_why(folder / WHY, key, why)
    return why, []


def _short(name: str) -> str:
    """What to call a source on the page: its place on the disk is nobody's business there.

    >>> _short("/home/ada/pets.csv"), _short("cifar10:/data/cifar?split=test"), _short("digits")
    ('pets.csv', 'cifar10:cifar', 'digits')
    """
    layout, colon, path = name.partition(":") if is_layout(name) else ("", "", name)
    return f"{layout}{colon}{Path(path.partition('?')[0] if colon else path).name}" or name


def _probability(value: Any) -> float | None:
    return None if np.isnan(value) else float(np.clip(value, 0, 1))
