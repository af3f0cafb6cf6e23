"""Classes by number: given and suggested labels on one list of printable names."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Ints, encode_labels
from eigenclean.report.formatting import plain
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class Names:
    """The given classes in the order of ``np.unique``, then suggested ones that nobody was given.

    Attributes:
        text: printable name of each class.
        given: number of the given class of each row.
        n_given: how many classes were given.
        flagged: the flagged rows, ascending.
        suggested: number of the suggested class of each flagged row.
    """

    text: list[str]
    given: Ints
    n_given: int
    flagged: Ints
    suggested: Ints

    @classmethod
    def of(cls, verdict: Verdict) -> "Names":
        """Number the classes of a verdict."""
        classes, given = encode_labels(np.asarray(verdict.labels))
        flagged = np.flatnonzero(verdict.flagged)
        proposals, codes = encode_labels(np.asarray(verdict.suggested)[flagged])
        known = {label: number for number, label in enumerate(classes.tolist())}
        for label in proposals.tolist():
            known.setdefault(label, len(known))
        table = np.array([known[label] for label in proposals.tolist()], dtype=np.intp)
        return cls([plain(label) for label in known], given, len(classes), flagged, table[codes])

    def sizes(self, rows: Ints | None = None, weights: Array | None = None) -> Array:
        """Rows per given class, of all rows or of some, counted or weighed."""
        codes = self.given if rows is None else self.given[rows]
        return np.bincount(codes, weights=weights, minlength=self.n_given)
