"""In which order people look at labels, and which labels beside the flagged ones.

Worst first finds the most errors. But rows that were chosen for looking wrong say little about the many that look
right: what the judge learns from decisions comes mostly from rows near the border and from a random sample. The
default mixes the three; `eigenclean bench decisions` measures them.
"""

import numpy as np

from eigenclean.arrays import Ints
from eigenclean.names import check_name
from eigenclean.seeds import tagged_generator
from eigenclean.verdict import Verdict

WORST, INFORMATIVE, RANDOM, MIXED = ORDERS = ("worst", "informative", "random", "mixed")
_PATTERN = (*4 * (WORST,), INFORMATIVE, *4 * (WORST,), RANDOM)
_MIN_OTHERS = 100  # labels that are not flagged, for an order that asks for them


def ordered_rows(verdict: Verdict, order: str = WORST, *, seed: int = 0) -> Ints:
    """The rows to look at, the first one first; all flagged labels are among them.

    "worst": the flagged labels, lowest P(right) first. "informative": those with P(right) nearest to one half
    first, and as many others as are flagged, but at least 100. "random": so many rows drawn from all rows, then the
    flagged ones that were not drawn. "mixed": of ten rows eight are the worst, one informative and one random.

    >>> verdict = Verdict(
    ...     ids=np.arange(4), labels=np.zeros(4, int), score=np.zeros(4), p_clean=np.array([0.01, 0.9, 0.4, 0.55]),
    ...     flagged=np.array([True, False, True, False]), suggested=np.zeros(4, int),
    ...     suggested_confidence=np.zeros(4), made_by="me",
    ... )
    >>> ordered_rows(verdict), ordered_rows(verdict, "informative")
    (array([0, 2]), array([3, 2, 1, 0]))
    """
    check_name(order, ORDERS, by="review", what="order")
    worst = verdict.suspects()
    if order == WORST:
        return worst
    p = np.nan_to_num(np.asarray(verdict.p_clean, dtype=np.float64), nan=0.5)
    n_others = max(_MIN_OTHERS, len(worst))
    by_doubt = np.lexsort((verdict.rank, np.abs(p - 0.5).round(12)))
    random_order = tagged_generator(seed, "review order").permutation(len(p))
    if order == INFORMATIVE:
        others = by_doubt[~verdict.flagged[by_doubt]][:n_others]
        is_chosen = np.zeros(len(p), dtype=bool)
        is_chosen[worst] = is_chosen[others] = True
        return by_doubt[is_chosen[by_doubt]]
    if order == RANDOM:
        sample = random_order[:n_others]
        return np.concatenate([sample, worst[~np.isin(worst, sample)]])
    return _mixed({WORST: worst, INFORMATIVE: by_doubt, RANDOM: random_order})


def _mixed(orders: dict[str, Ints]) -> Ints:
    """Rows taken from each order in turn, each once, until the flagged ones are all there."""
    waiting = {name: iter(rows.tolist()) for name, rows in orders.items()}
    chosen: dict[int, None] = {}
    not_yet_chosen = set(orders[WORST].tolist())
    number = 0
    while not_yet_chosen:
        row = next((row for row in waiting[_PATTERN[number % len(_PATTERN)]] if row not in chosen), None)
        number += 1
        if row is not None:
            chosen[row] = None
            not_yet_chosen.discard(row)
    return np.array(list(chosen), dtype=np.int64)
