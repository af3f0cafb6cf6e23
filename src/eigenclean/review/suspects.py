"""The labels that people look at, in order, with classes as codes: the list that the page shows."""

import hashlib
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.metrics.certainty import CERTAINTY_BANDS
from eigenclean.metrics.noise_rate import noise_rate_interval
from eigenclean.review.order import MIXED, WORST, ordered_rows, shortest_list
from eigenclean.verdict import Verdict

NO_CLASS = -2  # the page knows it too


@dataclass(frozen=True, eq=False)
class Suspects:
    """The flagged labels of a verdict, and others that an order asks for; position 0 comes first.

    Attributes:
        verdict: the verdict on all labels.
        rows: their rows in the verdict, in the order of the list.
        classes: every label that was given or is suggested, sorted.
        codes: class code of the given label, for all rows of the verdict.
        given: class code of the given label, for each suspect.
        suggested: class code of the suggested label; -1 when it is the given one, `NO_CLASS` when the sample
            belongs to none of the classes.
        order: name of the order.
    """

    verdict: Verdict
    rows: Ints
    classes: Array
    codes: Ints
    given: Ints
    suggested: Ints
    order: str = WORST

    @classmethod
    def of(cls, verdict: Verdict, order: str = WORST, *, decided: Bools | None = None) -> "Suspects":
        """The suspects of a verdict, in one of the orders of `ordered_rows`.

        ``decided`` are the rows that people had decided about before the verdict was made.
        """
        rows = ordered_rows(verdict, order, decided=decided)
        classes = np.unique(np.concatenate([verdict.labels, verdict.suggested[rows]]))
        codes = np.searchsorted(classes, verdict.labels)
        given, suggested = codes[rows], np.searchsorted(classes, verdict.suggested[rows])
        suggested = np.where(suggested == given, -1, suggested)
        suggested[verdict.is_none[rows]] = NO_CLASS
        return cls(verdict, rows, classes, codes, given, suggested, order)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def note(self) -> str | None:
        """A sentence, where few labels are flagged and the list goes on with others."""
        n_flagged, n = self.verdict.n_flagged, len(self)
        if n <= n_flagged or (n_flagged and (self.order != MIXED or n > shortest_list(len(self.verdict)))):
            return None
        what = "the most doubtful labels" if self.order in (WORST, MIXED) else "labels that look right"
        if n_flagged == 0:
            return f"No label is flagged: the list has {n} of {what}."
        are = "1 label is" if n_flagged == 1 else f"{n_flagged} labels are"
        return f"Only {are} flagged, so {what} come after, {n} in all."

    @cached_property
    def p_wrong(self) -> Float64s:
        """Probability that the given label is wrong."""
        return 1.0 - np.nan_to_num(np.asarray(self.verdict.p_clean[self.rows], dtype=np.float64), nan=0.5)

    @cached_property
    def labels(self) -> list[Any]:
        """The classes as plain values."""
        labels: list[Any] = self.classes.tolist()
        return labels

    @cached_property
    def ids(self) -> list[Any]:
        """The ids as plain values."""
        ids: list[Any] = self.verdict.ids[self.rows].tolist()
        return ids

    @cached_property
    def position(self) -> dict[Any, int]:
        """The position of each id."""
        return {id: position for position, id in enumerate(self.ids)}

    @cached_property
    def code(self) -> dict[Any, int]:
        """The class code of each label."""
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def key(self) -> str:
        """A fingerprint of the suspects, their order and their suggestions."""
        digest = hashlib.blake2b(digest_size=12)
        for column in (self.rows, self.given, self.suggested, self.p_wrong.round(6)):
            digest.update(np.ascontiguousarray(column).data)
        digest.update(repr(self.labels).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def describe(self, most: int | None = None) -> dict[str, Any]:
        """Facts with which the page lists, filters and counts the ``most`` worst suspects (or all)."""
        verdict, rows = self.verdict, self.rows[:most]
        rest = np.nan_to_num(np.delete(verdict.p_clean, rows), nan=0.5)
        low, high = noise_rate_interval(rest) if len(rest) else (0.0, 0.0)
        return {
            "key": self.key,
            "method": verdict.method,
            "n": len(rows),
            "n_samples": len(verdict),
            "n_flagged": verdict.n_flagged,
            "order": self.order,
            # The labels that are not listed: the detector's noise rate, for the live estimate.
            "rest": {
                "n": len(rest),
                "rate": float(np.mean(1 - rest)) if len(rest) else 0.0,
                "low": low,
                "high": high,
            },
            "bands": [asdict(band) for band in CERTAINTY_BANDS],
            # Numbers above 2**53 would lose digits in a browser, so ids and labels travel as text.
            "labels": {"kind": _kind(self.classes), "text": [_text(label) for label in self.labels]},
            "id_kind": _kind(verdict.ids),
        }

    def columns(self, chunk: slice) -> dict[str, list[Any]]:
        """Facts about these suspects for the page, as columns."""
        rows = self.rows[chunk]
        confidence = np.asarray(self.verdict.suggested_confidence[rows], dtype=np.float64)
        if self.verdict.none_probability is not None:
            none = self.verdict.is_none[rows]
            confidence = np.where(none, self.verdict.none_probability[rows], confidence)
        confidence = np.nan_to_num(confidence)
        return {
            "id": [_text(id) for id in self.ids[chunk]],
            "row": rows.tolist(),
            "given": self.given[chunk].tolist(),
            "suggested": self.suggested[chunk].tolist(),
            "flagged": np.asarray(self.verdict.flagged[rows], dtype=int).tolist(),
            "wrong": np.round(self.p_wrong[chunk], 4).tolist(),
            "confidence": np.round(confidence, 4).tolist(),
        }


def _kind(values: Array) -> str:
    """Whether a value of this array is quoted in JSON ("text") or not ("plain")."""
    return "text" if values.dtype.kind in "USO" else "plain"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
