"""Predicted probabilities, matched to the rows and classes of the labels that they are about."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints, encode_labels, preview
from eigenclean.errors import InvalidData
from eigenclean.sources.tabular.columns import LABEL_NAMES

MAX_DEVIATION = 0.01  # of the sum of rounded probabilities from 1


@dataclass(frozen=True, eq=False)
class MatchedProbabilities:
    """Probabilities of the classes that labels have.

    Attributes:
        values: n x K, rows in the order of the labels, columns in that of the sorted classes; each row sums to 1.
        notices: what was left out, in sentences.
    """

    values: Float64s
    notices: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class PredictedProbabilities:
    """Probabilities as they were given.

    Attributes:
        values: rows x columns.
        name: what to call them in messages.
        columns: names of the columns, if they have any.
        ids: ids of the rows, if they have any.

    >>> given = PredictedProbabilities(np.array([[0.9, 0.1], [0.2, 0.8]]), columns=["dog", "cat"])
    >>> given.match(np.array(["cat", "dog"])).values
    array([[0.1, 0.9], [0.8, 0.2]])
    """

    values: Array
    name: str = "pred_probs"
    columns: Sequence[str] | None = None
    ids: Array | None = None

    def match(self, labels: Array, ids: Array | None = None) -> MatchedProbabilities:
        """One row for each label and one column for each class that a label has."""
        self._check_shape()
        rows = self._rows(len(labels), ids)
        classes, _ = encode_labels(labels)
        used, chosen = self._columns(classes)
        if len(used) == self.values.shape[1]:
            values = np.asarray(self.values if rows is None else self.values[rows], dtype=np.float64)
        else:
            index = np.arange(len(self.values)) if rows is None else rows
            values = np.asarray(self.values[np.ix_(index, used)], dtype=np.float64)
        self._check_values(values, rows)
        matched = values[:, np.searchsorted(used, chosen)]
        left_out = [self._name_of(column) for column in used if column not in set(chosen.tolist())]
        sums = matched.sum(axis=1, keepdims=True)
        nowhere = sums[:, 0] <= 0
        matched = np.where(nowhere[:, None], 1.0 / len(classes), matched / np.where(sums > 0, sums, 1.0))
        if not left_out:
            return MatchedProbabilities(matched)
        names = preview(np.array(left_out))
        number = "1 column is" if len(left_out) == 1 else f"{len(left_out)} columns are"
        return MatchedProbabilities(
            matched, [f"{self.name}: {number} left out, as no label has the class: {names}"]
        )

    def _check_shape(self) -> None:
        if self.values.ndim != 2 or self.values.dtype.kind not in "fiub":
            raise InvalidData(
                f"{self.name} must be a table of numbers with a row for each label and a column for each class, "
                f"got shape {self.values.shape} and type {self.values.dtype}"
            )

    def _rows(self, n: int, ids: Array | None) -> Ints | None:
        """The row of each label; None if they are in the same order."""
        if self.ids is None or ids is None:
            if len(self.values) != n:
                raise InvalidData(
                    f"{self.name} must have one row for each of the {n} labels, got {len(self.values)}"
                )
            return None
        own_ids, label_ids = _comparable(self.ids, ids)
        order = np.argsort(own_ids, kind="stable")
        sorted_ids = own_ids[order]
        repeated = sorted_ids[1:] == sorted_ids[:-1]
        if repeated.any():
            raise InvalidData(
                f"{self.name} has more than one row with the id {sorted_ids[1:][repeated][0].item()!r}"
            )
        positions = np.minimum(np.searchsorted(sorted_ids, label_ids), max(len(sorted_ids) - 1, 0))
        missing = sorted_ids[positions] != label_ids if len(sorted_ids) else np.ones(n, dtype=bool)
        if missing.any():
            raise InvalidData(
                f"{self.name} has no row for {int(missing.sum())} of the {n} ids, such as "
                f"{ids[np.argmax(missing)].item()!r}; rows are matched by the column of ids"
            )
        return np.asarray(order[positions])

    def _columns(self, classes: Array) -> tuple[Ints, Ints]:
        """Columns that hold probabilities, ascending, and the one of each class."""
        width, k = self.values.shape[1], len(classes)
        every = np.arange(width)
        if self.columns is None or _are_numbers(self.columns):
            if width == k:
                return every, every
            if classes.dtype.kind in "iu" and width > k and classes.min() >= 0 and classes.max() < width:
                return every, classes.astype(np.intp)  # labels are numbers of columns, some of which never occur
            raise InvalidData(
                f"{self.name} must have one column for each of the {k} classes ({preview(classes)}), in this "
                f"order, got {width} columns"
            )
        names = [str(name) for name in classes.tolist()]
        used = np.array(
            [i for i, name in enumerate(self.columns) if name in names or name not in (*LABEL_NAMES, "")]
        )
        places: dict[str, int] = {}
        for column in used.tolist():
            if places.setdefault(self.columns[column], column) != column:
                raise InvalidData(
                    f"{self.name} has more than one column named {self.columns[column]!r}; rename them"
                )
        absent = [name for name in names if name not in places]
        if absent:
            raise InvalidData(
                f"{self.name} has no column for the class {absent[0]!r}; its columns are "
                f"{preview(np.array(self.columns, dtype=np.str_))}; name them as the classes"
            )
        return used, np.array([places[name] for name in names])

    def _name_of(self, column: int) -> str | int:
        return column if self.columns is None else self.columns[column]

    def _check_values(self, values: Float64s, rows: Ints | None) -> None:
        unusable: Bools = np.logical_not(np.isfinite(values).all(axis=1))
        if unusable.any():
            raise InvalidData(
                f"{self.name} must be finite, but row {_first(unusable, rows)} has NaN or infinite values; "
                "predict that row again, or leave it out"
            )
        sums = values.sum(axis=1)
        wrong: Bools = (values < 0).any(axis=1) | (np.abs(sums - 1.0) > MAX_DEVIATION)
        if wrong.any():
            row = int(np.argmax(wrong))
            reason = "has a negative value" if (values[row] < 0).any() else f"has the sum {sums[row]:.4g}"
            raise InvalidData(
                f"{self.name} must be probabilities, at least 0 and with the sum 1 in each row, but row "
                f"{_first(wrong, rows)} {reason}; if these are logits, apply a softmax"
            )


def _first(wrong: Bools, rows: Ints | None) -> int:
    row = int(np.argmax(wrong))
    return row if rows is None else int(rows[row])


def _comparable(first: Array, second: Array) -> tuple[Array, Array]:
    """Two arrays of ids in the same type: as texts, if only one of them has numbers."""
    if first.dtype.kind in "iub" and second.dtype.kind in "iub":
        return first, second
    return first.astype(np.str_), second.astype(np.str_)


def _are_numbers(columns: Sequence[str]) -> bool:
    """Whether the names are those that libraries give to columns without names."""
    return any([*columns] == [f"{prefix}{i}" for i in range(len(columns))] for prefix in ("", "column_"))
