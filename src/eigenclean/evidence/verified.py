"""Labels that people have looked at: confirmed, corrected, removed, or left open because nobody could tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools, encode_labels, row_chunks
from eigenclean.errors import InvalidData

KEEP, RELABEL, REMOVE = "keep", "relabel", "remove"
_CHUNK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class VerifiedLabels:
    """What people decided about rows of the data; arrays in row order.

    Attributes:
        labels: the right label where it is known, the given one elsewhere.
        is_known: where a person confirmed or corrected the label.
        is_removed: where a person decided that the row belongs to no class.
        is_decided: where a person decided anything, also that nobody can tell.
        n_unmatched: decisions about rows that are not there, or have neither the old nor the new label.
        notes: what people wrote about rows, as records for a report.
        n_elsewhere: how many of the decisions were not made in the review of the run that is judged again.
        n_applied: how many rows have the corrected label already.
    """

    labels: Array
    is_known: Bools
    is_removed: Bools
    is_decided: Bools
    n_unmatched: int = 0
    notes: tuple[Mapping[str, str], ...] = ()
    n_elsewhere: int = 0
    n_applied: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def match(
        cls, ids: Array, labels: Array, decisions: Sequence[tuple[Any, str, Any, Any]], *, by: str = "decisions"
    ) -> "VerifiedLabels":
        """Decisions (id, decision, old, new) on rows with these ids and labels.

        A decision counts where the row has its old label, or the new one, when it was applied already. Ids and
        labels are compared as texts, as other files may hold them in other types.

        >>> decisions = [("a", "keep", 1, None), ("b", "relabel", 1, 2), ("c", "keep", 9, None)]
        >>> known = VerifiedLabels.match(np.array(["a", "b", "c"]), np.array([1, 1, 1]), decisions)
        >>> known.labels, known.is_known, known.n_unmatched
        (array([1, 2, 1]), array([ True,  True, False]), 1)
        """
        row_of_id = _rows_by_id(ids, decisions)
        chosen: dict[int, tuple[str, Any]] = {}
        n_unmatched = 0
        for id, decision, old, new in decisions:
            row = row_of_id.get(str(id), row_of_id.get(_moved(str(id), old, new)) if decision == RELABEL else None)
            known = {str(old), str(new)} if decision == RELABEL else {str(old)}
            if row is None or str(labels[row].item()) not in known:
                n_unmatched += 1
                continue
            outcome = (decision, new if decision == RELABEL else labels[row].item())
            if row in chosen and _differs(chosen[row], outcome):
                raise InvalidData(
                    f"{by} contradict each other about {id!r}: {_said(chosen[row])} and {_said(outcome)}; keep one"
                )
            chosen[row] = outcome
        n = len(labels)
        is_known, is_removed, is_decided = (np.zeros(n, dtype=bool) for _ in range(3))
        corrected = {}
        for row, (decision, label) in chosen.items():
            is_decided[row] = True
            is_known[row], is_removed[row] = decision in (KEEP, RELABEL), decision == REMOVE
            if decision == RELABEL:
                corrected[row] = label
        right = _with_labels(labels, corrected, by=by)
        n_applied = sum(str(labels[row].item()) == str(label) for row, label in corrected.items())
        return cls(right, is_known, is_removed, is_decided, n_unmatched, n_applied=n_applied)

    def take(self, rows: slice) -> "VerifiedLabels":
        """The decisions about these rows alone."""
        return VerifiedLabels(self.labels[rows], self.is_known[rows], self.is_removed[rows], self.is_decided[rows])

    def codes(self, classes: Array) -> Array:
        """The known class of each row as an index of the sorted ``classes``; -1 where it is unknown or another."""
        names, numbers = encode_labels(self.labels)
        codes_of_names = np.searchsorted(classes, names)
        is_class = classes[np.minimum(codes_of_names, len(classes) - 1)] == names
        codes = np.where(is_class, codes_of_names, -1)[numbers]
        return np.where(self.is_known, codes, -1)


def _rows_by_id(ids: Array, decisions: Sequence[tuple[Any, str, Any, Any]]) -> dict[str, int]:
    """The rows of the ids that are decided about; there may be very many other rows."""
    decided_ids = {str(id) for id, *_ in decisions}
    decided_ids |= {_moved(str(id), old, new) for id, decision, old, new in decisions if decision == RELABEL}
    row_of_id: dict[str, int] = {}
    for chunk in row_chunks(len(ids), 1, _CHUNK_ROWS):
        row_of_id |= {
            str(id): row for row, id in enumerate(ids[chunk].tolist(), chunk.start) if str(id) in decided_ids
        }
    return row_of_id


def _with_labels(labels: Array, corrected: Mapping[int, Any], *, by: str) -> Array:
    """A copy of the labels with others in some rows, of a type that holds all of them."""
    texts = labels.dtype.kind == "U"
    values = [str(value) if texts else value for value in corrected.values()]
    try:
        new = np.array(values, dtype=np.str_ if texts else labels.dtype)
    except (ValueError, TypeError, OverflowError):
        raise InvalidData(f"{by} have labels of another type than the data, {labels.dtype}") from None
    right = labels.astype(np.promote_types(labels.dtype, new.dtype))
    right[list(corrected)] = new
    return np.asarray(right)


def _moved(id: str, old: Any, new: Any) -> str:
    """The id of an image after a patch has moved it to the folder of its class."""
    return f"{new}/{id.removeprefix(f'{old}/')}"


def _differs(first: tuple[str, Any], second: tuple[str, Any]) -> bool:
    return first[0] != second[0] or str(first[1]) != str(second[1])


def _said(outcome: tuple[str, Any]) -> str:
    return f"relabel to {outcome[1]!r}" if outcome[0] == RELABEL else outcome[0]
