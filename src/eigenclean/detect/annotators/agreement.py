"""Krippendorff's alpha: how much annotators agree beyond chance, with any number of labels per row."""

import numpy as np

from eigenclean.evidence import Annotations


def krippendorff_alpha(annotations: Annotations) -> float | None:
    """Krippendorff's alpha for nominal labels: 1 for perfect agreement, 0 for agreement by chance.

    Rows with one label say nothing about agreement and are left out. None if no row has two labels, or if all
    labels are alike, where it is not defined.

    >>> round(krippendorff_alpha(Annotations.from_matrix([["a", "a"], ["b", "b"], ["a", "b"]])), 3)
    0.444
    """
    compared = annotations.per_row >= 2
    is_compared = compared[annotations.rows]
    n = int(np.count_nonzero(is_compared))
    if n == 0:
        return None
    counts = annotations.label_counts.tocoo()
    rows, votes = counts.coords[0], counts.data
    pairs = votes * (votes - 1.0) / np.maximum(annotations.per_row[rows] - 1.0, 1.0)
    observed = 1.0 - float(pairs[compared[rows]].sum()) / n
    totals = np.bincount(annotations.codes[is_compared], minlength=len(annotations.classes)).astype(np.float64)
    expected = 1.0 - float((totals * (totals - 1.0)).sum()) / (n * (n - 1.0))
    return None if expected <= 0 else 1.0 - observed / expected
