"""A run opened for review: its suspects, what its source still offers, and the decisions so far."""

import getpass
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.deprecation import RenamedAttribute
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import parse_json
from eigenclean.names import check_name
from eigenclean.patch import Patch
from eigenclean.paths import inside
from eigenclean.publication import read_together
from eigenclean.review.decision_columns import DecisionColumns
from eigenclean.review.explanation import Explanation
from eigenclean.review.images import SampleImages
from eigenclean.review.order import ORDERS, WORST
from eigenclean.review.shown.annotations import suspect_annotations
from eigenclean.review.shown.map import has_map, map_points
from eigenclean.review.source import DataChoices, reopen_source
from eigenclean.review.store import FILE, Entry, Store
from eigenclean.review.suspects import Suspects
from eigenclean.review.table import TableRows
from eigenclean.review.typed_labels import TypedLabels
from eigenclean.sources import Source
from eigenclean.sources.layouts.registry import is_layout
from eigenclean.sources.relabel.folder import is_class_folder
from eigenclean.verdict import FILE as VERDICT
from eigenclean.verdict import SUMMARY, Verdict, decided_rows

MAX_REVIEWER = 200  # characters
_SUSPECT_TEXT, _NEIGHBOUR_TEXT = 20_000, 600  # characters of a text that are shown


@dataclass(frozen=True, eq=False)
class Review:
    """Everything that the page shows and changes.

    Attributes:
        folder: where `eigenclean detect` wrote the run; the decisions are in ``review.sqlite`` there.
        data_hash: fingerprint of the data that were judged.
        suspects: the flagged labels and others that the order asks for.
        store: the decisions.
        images: of suspects and neighbours, if the source has images.
        texts: one per row of the source, if it has texts.
        explanation: alignments and neighbours, if the source has features.
        table: values by column name, if the source is a table.
        name: name of the data, for the page.
        notes: what is missing and why, in sentences.
        are_folders: whether labels are names of folders, so that not every text can be one.
        data: the source, with the features that were judged as far as they can be had.
        n_known: how many decisions of this review the verdict knows already.
        annotations: by position, the labels of several annotators.
    """

    folder: Path
    data_hash: str
    suspects: Suspects
    store: Store
    images: SampleImages | None
    texts: Sequence[str] | None
    explanation: Explanation | None
    name: str
    notes: tuple[str, ...]
    table: TableRows | None = None
    are_folders: bool = False
    data: Source | None = None
    n_known: int = 0
    annotations: Mapping[int, Sequence[dict[str, Any]]] = field(default_factory=dict)

    pictures = RenamedAttribute("images")
    why = RenamedAttribute("explanation")

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        source: str | None = None,
        choices: DataChoices | None = None,
        data: Source | None = None,
        order: str = WORST,
    ) -> "Review":
        """Open the run in ``folder``; ``source`` names the data if they are no longer where `detect` read them.

        ``data`` are the data themselves, opened and with the features that were judged, for those who have them.
        ``choices`` are what the run, which may be somebody else's, may not decide about its data. ``order`` is one
        of `eigenclean.review.order.ORDERS`.
        """
        check_name(order, ORDERS, by="review", what="order")
        folder, choices = Path(folder), choices or DataChoices()
        verdict, summary, data_hash = read_run(folder)
        suspects = Suspects.of(verdict, order, decided=decided_rows(verdict, summary.get("decisions")))
        recorded = summary.get("source")
        record = dict(recorded) if isinstance(recorded, dict) else {}
        if source is not None:
            record |= {"name": source, "folder": os.getcwd()}
        reopened = reopen_source(
            record,
            summary.get("embedding"),
            folder=folder,
            suspects=suspects,
            data_hash=data_hash,
            choices=choices,
            data=data,
        )
        annotations, missing = suspect_annotations(folder, suspects, follow_links=choices.follow_links)
        return cls(
            folder=folder,
            data_hash=data_hash,
            suspects=suspects,
            store=Store(inside(folder, FILE, by="review", follow_links=choices.follow_links), data_hash),
            images=reopened.images,
            texts=None if reopened.data is None else reopened.data.texts,
            explanation=reopened.explanation,
            name=_name_without_folders(str(record.get("name") or folder.name)),
            notes=(*reopened.notes, *missing),
            table=reopened.table,
            are_folders=reopened.data is not None and is_class_folder(reopened.data),
            data=reopened.data,
            n_known=_n_known(summary),
            annotations=annotations,
        )

    def describe(self, most: int | None = None) -> dict[str, Any]:
        """Facts about the run and about all suspects (or the ``most`` worst of them), for the page."""
        first = int(self.suspects.rows[0]) if len(self.suspects) else None
        return {
            **self.suspects.describe(most),
            "new_labels": TypedLabels(self.suspects).kind,
            "folders": self.are_folders,
            "name": self.name,
            "data_hash": self.data_hash,
            "images": self.images is not None,
            "coarse": self.images is not None and first is not None and self.images.is_coarse(first),
            "texts": self.texts is not None,
            "table": None if self.table is None else self.table.describe(most),
            "map": self.explanation is not None and has_map(self.data),
            "notes": [*self.notes, *([self.suspects.note] if self.suspects.note else [])],
        }

    def suspect_columns(self, chunk: slice) -> dict[str, list[Any]]:
        """These suspects as columns, with the decisions about them, for the page."""
        return {**self.suspects.columns(chunk), **self._decision_columns.read(chunk)}

    def decisions(self) -> list[dict[str, Any]]:
        """The last decision about each suspect, one dict each."""
        return self.entries_for_page(self.store.current())

    def n_decided(self) -> int:
        """How many suspects are decided."""
        return self._decision_columns.n_decided()

    def n_since_verdict(self) -> int:
        """How many decisions there are that the verdict does not know yet."""
        return max(0, self._decision_columns.n_decided_in_all() - self.n_known)

    def entries_for_page(self, entries: Iterable[Entry]) -> list[dict[str, Any]]:
        """Entries of the history with suspects and labels as numbers; entries about other samples are left out."""
        position, labels = self.suspects.position, self.labels()
        page_entries = []
        for entry in entries:
            code = -1 if entry.label is None else labels.code(json.dumps(entry.label))
            if entry.id not in position or code is None:
                continue
            facts: dict[str, Any] = {
                "seq": entry.seq,
                "item": position[entry.id],
                "state": entry.state,
                "label": code,
            }
            typed = {"name": str(entry.label)} if labels.is_typed(code) else {}
            signed = {"reviewer": entry.reviewer, "time": entry.time, "note": entry.note}
            page_entries.append({**facts, **typed, **signed})
        return page_entries

    def labels(self) -> TypedLabels:
        """The labels of the verdict, and those that people typed by now."""
        return self._decision_columns.labels()

    def items(self, positions: Iterable[int]) -> list[dict[str, Any]]:
        """Texts, alignments and neighbours of the suspects at these positions."""
        chosen = list(positions)
        rows = [int(self.suspects.rows[position]) for position in chosen]
        values: list[dict[str, Any]] = [{} for _ in rows] if self.table is None else self.table.details(rows)
        return [self._item(position, more) for position, more in zip(chosen, values, strict=True)]

    def groups(self, column: int, most: int | None = None) -> dict[str, Any]:
        """The (``most`` worst) suspects in groups by their values in a column of the table, for a filter."""
        return {"groups": [], "codes": []} if self.table is None else self.table.groups(column, most)

    def map_points(self, most: int | None = None) -> dict[str, Any] | None:
        """All samples in two dimensions, the (``most`` worst) suspects first; None without features."""
        if self.explanation is None or self.data is None or not has_map(self.data):
            return None
        return map_points(self.data, self.suspects, most)

    def signatures(self, positions: Iterable[int]) -> list[dict[str, Any] | None]:
        """Who decided last about the suspects at these positions, when, and the note about them."""
        ids = [self.suspects.ids[position] for position in positions]
        latest = self.store.last_about(ids)
        return [
            {"reviewer": latest[id].reviewer, "time": latest[id].time, "note": latest[id].note}
            if id in latest
            else None
            for id in ids
        ]

    def patch(self) -> Patch:
        """The decisions so far, about all labels of these data, as a patch."""
        verdict, decided = self.suspects.verdict, self.store.current_columns()
        p_right = np.clip(np.asarray(verdict.p_clean, dtype=np.float64), 0, 1).tolist() if decided["id"] else []
        score_of = dict(zip(verdict.ids.tolist(), p_right, strict=False))
        columns = {
            "id": decided["id"],
            "decision": decided["state"],
            "old": decided["given"],
            "new": decided["label"],
            "score": [score_of.get(id) for id in decided["id"]],
            "reason": decided["note"],
            "reviewer": decided["reviewer"],
            "time": decided["time"],
        }
        return Patch.from_columns(columns, data_hash=self.data_hash)

    def close(self) -> None:
        """Close the file of decisions."""
        self.store.close()

    @cached_property
    def _decision_columns(self) -> DecisionColumns:
        labels = TypedLabels(self.suspects, are_folders=self.are_folders)
        return DecisionColumns(self.suspects, self.store, labels)

    def _item(self, position: int, values: dict[str, Any]) -> dict[str, Any]:
        row = int(self.suspects.rows[position])
        item: dict[str, Any] = {"align": [], "near": [[], []], **self._sample(row, _SUSPECT_TEXT), **values}
        if position in self.annotations:
            item["annotations"] = self.annotations[position]
        if self.explanation is not None:
            classes, alignments = self.explanation.classes[position], self.explanation.alignment[position]
            item["align"] = [
                [code, round(alignment, 3)]
                for code, alignment in zip(classes.tolist(), alignments.tolist(), strict=True)
            ]
            item["near"] = [
                [
                    {"cosine": round(float(cosine), 3), **self._neighbour(int(near), item)}
                    for near, cosine in zip(rows, cosines, strict=True)
                    if near >= 0
                ]
                for rows, cosines in zip(
                    self.explanation.near[position], self.explanation.cosine[position], strict=True
                )
            ]
        return item

    def _neighbour(self, row: int, item: dict[str, Any]) -> dict[str, Any]:
        sample = self._sample(row, _NEIGHBOUR_TEXT)
        return sample if self.table is None else {**sample, "brief": self.table.brief(row, item.get("brief", ()))}

    def _sample(self, row: int, max_text: int) -> dict[str, Any]:
        """Id, text and features of one row, as far as the source has them."""
        sample: dict[str, Any] = {"row": row, "id": str(self.suspects.verdict.ids[row])}
        if self.texts is not None:
            text = str(self.texts[row])
            sample["text"] = text if len(text) <= max_text else text[: max_text - 1] + "…"
        strip = None if self.explanation is None else self.explanation.strip(row)
        return sample if strip is None else {**sample, "strip": strip}


def reviewer_name(given: str | None) -> str:
    """The name that signs decisions: the given one, or that of the user who runs this process.

    `InvalidOption` for a name that cannot be stored; "reviewer" where the system does not know a good one.
    """
    if given and given.strip():
        if len(given) > MAX_REVIEWER or not is_unicode(given):
            raise InvalidOption(
                f"review: --reviewer must be text of 1 to {MAX_REVIEWER} characters, got {given!r:.60}"
            )
        return given.strip()
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        name = ""
    return name if 0 < len(name) <= MAX_REVIEWER and is_unicode(name) else "reviewer"


def is_unicode(text: str) -> bool:
    """Whether the text can be stored: names of files and JSON may hold halves of surrogate pairs.

    >>> is_unicode("ä"), is_unicode("\\ud800")
    (True, False)
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_run(folder: Path) -> tuple[Verdict, dict[str, Any], str]:
    """The verdict, the summary, and the fingerprint of the data that were judged."""
    verdict, summary = read_together(
        folder, [VERDICT, SUMMARY], lambda: (Verdict.load(folder), _read_summary(folder))
    )
    data_hash = summary.get("data_hash")
    if not isinstance(data_hash, str) or not data_hash or not data_hash.isascii():
        raise InvalidData(f"{folder / SUMMARY} has no data_hash; run `eigenclean detect` again")
    return verdict, summary, data_hash


def _n_known(summary: dict[str, Any]) -> int:
    """How many decisions of the review itself the summary says that the judge was told."""
    facts = summary.get("decisions")
    n, given = (facts.get("n"), facts.get("given", 0)) if isinstance(facts, dict) else (0, 0)
    return n - given if type(n) is int and type(given) is int else 0


def _read_summary(folder: Path) -> dict[str, Any]:
    path = folder / SUMMARY
    try:
        summary = parse_json(path.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidData(f"there is no {path}; run `eigenclean detect --out {folder}` again") from None
    except ValueError:
        raise InvalidData(f"{path} is not readable JSON; run `eigenclean detect --out {folder}` again") from None
    if not isinstance(summary, dict):
        raise InvalidData(f"{path} must be one JSON object; run `eigenclean detect --out {folder}` again")
    return summary


def _name_without_folders(name: str) -> str:
    """Name of a source for the page, without the path: an exported page should not tell where the data are stored.

    >>> _name_without_folders("/home/ada/pets.csv"), _name_without_folders("cifar10:/data/cifar?split=test")
    ('pets.csv', 'cifar10:cifar')
    >>> _name_without_folders("digits")
    'digits'
    """
    layout, colon, path = name.partition(":") if is_layout(name) else ("", "", name)
    return f"{layout}{colon}{Path(path.partition('?')[0] if colon else path).name}" or name
