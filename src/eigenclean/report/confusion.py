"""Which class is taken for which: the most frequent pairs of given and suggested labels."""

from typing import Any

import numpy as np

from eigenclean.report.names import Names

MOST_PAIRS = 12


def confusion(names: Names) -> dict[str, Any]:
    """The pairs among the flagged rows, most frequent first; a flag without another label is counted apart."""
    given, suggested = names.given[names.flagged], names.suggested
    other = given != suggested
    n_names = len(names.text)
    pairs, counts = np.unique(given[other] * n_names + suggested[other], return_counts=True)
    top = np.argsort(-counts, kind="stable")[:MOST_PAIRS]
    return {
        "pairs": [
            {"given": names.text[pair // n_names], "suggested": names.text[pair % n_names], "count": number}
            for pair, number in zip(pairs[top].tolist(), counts[top].tolist(), strict=True)
        ],
        "n_pairs": len(pairs),
        "n_without": len(other) - int(np.count_nonzero(other)),
    }
