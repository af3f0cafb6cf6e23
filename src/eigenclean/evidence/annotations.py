"""Annotations: labels that several annotators gave to the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from eigenclean.arrays import Array, Float64s, Ints, check_labels, encode_labels, preview
from eigenclean.errors import InvalidData


@dataclass(frozen=True, eq=False)
class Annotations:
    """Who gave which label to which row; a row may have any number of labels, one by each annotator at most.

    Attributes:
        rows: row of each label.
        annotators: number of its annotator, an index of ``names``.
        codes: its class, an index of ``classes``.
        names: names of the annotators.
        classes: sorted labels.
        n_rows: number of rows.

    >>> given = Annotations.from_matrix([["cat", "cat", None], ["dog", "cat", "dog"]], names=["ann", "bob", "eve"])
    >>> given
    Annotations: 5 labels by 3 annotators for 2 rows
    >>> given.majority
    array(['cat', 'dog'], dtype='<U3')
    """

    rows: Ints
    annotators: Ints
    codes: Ints
    names: Array
    classes: Array
    n_rows: int

    @classmethod
    def from_matrix(
        cls, labels: Any, names: Sequence[str] | None = None, *, by: str = "annotations"
    ) -> "Annotations":
        """Labels as rows x annotators. Missing are None, NaN, empty texts, and -1 among integers."""
        table = np.asarray(labels) if isinstance(labels, np.ndarray) else np.array(labels, dtype=object)
        if table.ndim != 2:
            raise InvalidData(f"{by}: labels of annotators must be rows x annotators, got shape {table.shape}")
        given = ~_missing(table)
        rows, annotators = np.nonzero(given)
        columns = [str(number) for number in range(table.shape[1])] if names is None else [str(n) for n in names]
        if len(columns) != table.shape[1]:
            raise InvalidData(f"{by}: got {len(columns)} names for {table.shape[1]} annotators")
        return cls.from_labels(rows, annotators, table[given], np.array(columns), len(table), by=by)

    @classmethod
    def from_labels(
        cls, rows: Ints, annotators: Ints, labels: Any, names: Array, n_rows: int, *, by: str = "annotations"
    ) -> "Annotations":
        """One entry per label: its row, the number of its annotator, and the label itself."""
        if len(rows) == 0:
            raise InvalidData(f"{by}: there are no labels by any annotator")
        classes, codes = encode_labels(check_labels(labels, by=by))
        order = np.lexsort((codes, annotators, rows))
        rows, annotators, codes = rows[order], annotators[order], codes[order]
        is_repeated = np.append(False, (rows[1:] == rows[:-1]) & (annotators[1:] == annotators[:-1]))
        differs = is_repeated & np.append(False, codes[1:] != codes[:-1])
        if differs.any():
            conflict = int(np.argmax(differs))
            pair = " and ".join(repr(classes[code].item()) for code in codes[conflict - 1 : conflict + 1])
            raise InvalidData(
                f"{by}: the annotator {names[annotators[conflict]].item()!r} gave row {int(rows[conflict])} two "
                f"labels, {pair}; keep the one that counts"
            )
        rows, annotators, codes = rows[~is_repeated], annotators[~is_repeated], codes[~is_repeated]
        used, annotators = np.unique(annotators, return_inverse=True)
        return cls(rows, annotators.astype(np.intp), codes, names[used], classes, n_rows)

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.annotators) == len(self.codes):
            raise InvalidData(
                f"annotations: rows, annotators and codes must have equal length, got {len(self.rows)}, "
                f"{len(self.annotators)} and {len(self.codes)}"
            )

    def __len__(self) -> int:
        """Number of rows, as all evidence counts."""
        return self.n_rows

    def __repr__(self) -> str:
        return f"Annotations: {len(self.rows)} labels by {len(self.names)} annotators for {self.n_rows} rows"

    def take(self, rows: Ints) -> "Annotations":
        """The labels of these rows, in the order of ``rows``."""
        position = np.full(self.n_rows, -1)
        position[rows] = np.arange(len(rows))
        is_taken = position[self.rows] >= 0
        order = np.argsort(position[self.rows[is_taken]], kind="stable")
        return Annotations(
            position[self.rows[is_taken]][order],
            self.annotators[is_taken][order],
            self.codes[is_taken][order],
            self.names,
            self.classes,
            len(rows),
        )

    @cached_property
    def per_row(self) -> Ints:
        """Number of labels of each row."""
        return np.bincount(self.rows, minlength=self.n_rows)

    @cached_property
    def per_annotator(self) -> Ints:
        """Number of labels of each annotator."""
        return np.bincount(self.annotators, minlength=len(self.names))

    @cached_property
    def label_counts(self) -> csr_array:
        """Sparse, rows x classes: how many annotators gave the row that class."""
        return self._sums(np.ones(len(self.rows)), self.rows, self.n_rows)

    def _sums(self, values: Float64s, index: Ints, size: int) -> csr_array:
        """Sparse, ``size`` x classes: values of the labels, summed by this index and by class."""
        sums = csr_array((values, (index, self.codes)), shape=(size, len(self.classes)))
        sums.sum_duplicates()  # scipy 1.13 keeps entries of equal coordinates side by side
        return sums

    @cached_property
    def agreement_rates(self) -> Float64s:
        """For each annotator, the share of other annotators' labels of the same rows that are the same."""
        votes = np.asarray(self.label_counts.tocsr()[self.rows, self.codes]).ravel()
        others = np.bincount(self.annotators, self.per_row[self.rows] - 1.0, len(self.names))
        agreeing = np.bincount(self.annotators, votes - 1.0, len(self.names))
        overall = float(agreeing.sum()) / max(float(others.sum()), 1.0)
        return np.asarray((agreeing + overall) / (others + 1.0))

    @cached_property
    def majority_codes(self) -> Ints:
        """For each row, the class that most annotators gave."""
        # Ties are broken by who agrees with others more often: weights differ from 1 by too little for more.
        weights = 1.0 + self.agreement_rates[self.annotators] / (2.0 + 2.0 * self.per_row.max(initial=1))
        votes = self._sums(weights, self.rows, self.n_rows)
        return np.asarray(votes.argmax(axis=1)).ravel().astype(np.intp)

    @property
    def majority(self) -> Array:
        """For each row, the label that most annotators gave."""
        return self.classes[self.majority_codes]

    def check(self, *, by: str) -> list[str]:
        """Raise `InvalidData` for labels that cannot be compared; return notes about labels that look odd."""
        if len(self.names) < 2:
            raise InvalidData(
                f"{by}: all labels are by one annotator, {self.names[0].item()!r}; for these use --label-column"
            )
        if self.n_rows and self.per_row.min() < 1:
            row = int(np.argmin(self.per_row))
            raise InvalidData(f"{by}: row {row} has no label by any annotator; leave it out")
        if self.per_row.max(initial=0) < 2:
            raise InvalidData(
                f"{by}: every row has one label only, so annotators cannot be compared; "
                "give at least some rows several labels, or use --label-column"
            )
        used = self._sums(np.ones(len(self.rows)), self.annotators, len(self.names)).tocoo()
        users = np.bincount(used.coords[1], minlength=len(self.classes))
        has_one_user = users == 1
        n_alone = np.bincount(self.annotators[has_one_user[self.codes]], minlength=len(self.names))
        if (n_alone == self.per_annotator).any():
            annotator = int(np.argmax(n_alone == self.per_annotator))
            labels = self.classes[np.unique(self.codes[self.annotators == annotator])]
            raise InvalidData(
                f"{by}: {self.names[annotator].item()!r} uses labels that no other annotator uses "
                f"({preview(labels, 4)}); is it an annotator?"
            )
        if not has_one_user.any():
            return []
        single = np.flatnonzero(has_one_user)
        return [f"only one annotator uses the label{'s' * (len(single) > 1)} {preview(self.classes[single], 4)}"]


def _missing(table: Array) -> Any:
    if table.dtype.kind == "f":
        return np.isnan(table)
    if table.dtype.kind == "i":  # which have no other way to say so
        return table == -1
    if table.dtype.kind in "US":
        return table == table.dtype.type()
    if table.dtype.kind != "O":
        return np.zeros(table.shape, dtype=bool)
    cells = [_is_missing(value) for value in table.ravel().tolist()]
    return np.array(cells, dtype=bool).reshape(table.shape)


def _is_missing(value: Any) -> bool:
    """None, NaN (the only value that differs from itself) or an empty text."""
    return value is None or value == "" or bool(value != value)
