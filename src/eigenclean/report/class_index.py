"""Given and suggested labels as integers that index one list of printable class names."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Ints, encode_labels
from eigenclean.report.formatting import plain
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class ClassIndex:
    """The classes of a verdict: the given ones in the order of ``np.unique``, then those that are only suggested.

    Attributes:
        names: printable name of each class.
        given: n, index of the given class of each row.
        n_given: number of given classes.
        flagged: the flagged rows, ascending.
        suggested: index of the suggested class of each flagged row.
    """

    names: list[str]
    given: Ints
    n_given: int
    flagged: Ints
    suggested: Ints

    @classmethod
    def of(cls, verdict: Verdict) -> "ClassIndex":
        """Index the classes of a verdict."""
        classes, given = encode_labels(np.asarray(verdict.labels))
        flagged = np.flatnonzero(verdict.flagged)
        suggestions, codes = encode_labels(np.asarray(verdict.suggested)[flagged])
        index = {label: number for number, label in enumerate(classes.tolist())}
        for label in suggestions.tolist():
            index.setdefault(label, len(index))
        suggested = np.array([index[label] for label in suggestions.tolist()], dtype=np.intp)
        return cls([plain(label) for label in index], given, len(classes), flagged, suggested[codes])

    def count_given(self, rows: Ints | None = None, weights: Array | None = None) -> Array:
        """Rows per given class, of all rows or of ``rows``; with ``weights`` their sums."""
        codes = self.given if rows is None else self.given[rows]
        return np.bincount(codes, weights=weights, minlength=self.n_given)
