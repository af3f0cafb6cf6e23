"""Features grouped by given label: the input of every measurement in this package."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import (
    Array,
    Bools,
    ClassRows,
    check_features,
    check_labels,
    encode_labels,
    gather,
    working_dtype,
)
from eigenclean.metrics.calibration import check_mask


@dataclass(frozen=True, eq=False)
class ClassFeatures:
    """Checked features, given labels and correctness mask; iterating gives one class at a time.

    Attributes:
        features: n x d.
        names: the K classes, in the order of ``np.unique``.
        rows: the rows of each class.
        is_clean: n, True where the given label is right.
    """

    features: Array
    names: Array
    rows: ClassRows
    is_clean: Bools

    @classmethod
    def of(
        cls, features: ArrayLike, labels: ArrayLike, is_clean: ArrayLike | None = None, *, by: str
    ) -> "ClassFeatures":
        """Validate the arrays and group their rows by class; without ``is_clean`` every label counts as right."""
        table = check_features(features, by=by)
        names, codes = encode_labels(check_labels(labels, by=by, n_rows=len(table)))
        n = len(table)
        clean = np.ones(n, dtype=bool) if is_clean is None else check_mask(is_clean, n, by=by, what="is_clean")
        return cls(table, names, ClassRows.of(codes, len(names)), clean)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[Array, Bools]]:
        """Yield the features of each class and the mask of its right labels; only one block is in memory."""
        dtype = working_dtype(self.features.dtype)
        for k in range(len(self)):
            yield gather(self.features, self.rows[k], dtype), self.is_clean[self.rows[k]]
