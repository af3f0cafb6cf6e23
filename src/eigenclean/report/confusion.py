"""Which class is taken for which: given against suggested labels of the flagged rows."""

from typing import Any

import numpy as np

from eigenclean.report.names import Names

MOST_CLASSES = 20
MOST_PAIRS = 12


def confusion(names: Names) -> dict[str, Any]:
    """Counts among the classes with most suspects, and the most frequent pairs of all classes.

    A flag without another label to suggest is counted apart.
    """
    given, suggested = names.given[names.flagged], names.suggested
    other = given != suggested
    given, suggested = given[other], suggested[other]
    n_names = len(names.text)
    pairs, counts = np.unique(given * n_names + suggested, return_counts=True)
    involved = np.bincount(given, minlength=n_names) + np.bincount(suggested, minlength=n_names)
    shown = np.argsort(-involved, kind="stable")[:MOST_CLASSES]
    shown = np.sort(shown[involved[shown] > 0])
    place = np.full(n_names, -1)
    place[shown] = np.arange(len(shown))
    table = np.zeros((len(shown), len(shown)), dtype=np.int64)
    rows, columns = place[pairs // n_names], place[pairs % n_names]
    inside = (rows >= 0) & (columns >= 0)
    table[rows[inside], columns[inside]] = counts[inside]
    top = np.argsort(-counts, kind="stable")[:MOST_PAIRS]
    return {
        "labels": [names.text[k] for k in shown.tolist()],
        "counts": table.tolist(),
        "pairs": [
            {"given": names.text[pair // n_names], "suggested": names.text[pair % n_names], "count": number}
            for pair, number in zip(pairs[top].tolist(), counts[top].tolist(), strict=True)
        ],
        "n_pairs": len(pairs),
        "n_suggested": len(given),
        "n_without": len(names.flagged) - len(given),
        "n_shown": int(counts[inside].sum()),
        "n_hidden_classes": int(np.count_nonzero(involved)) - len(shown),
    }
