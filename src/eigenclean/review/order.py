"""In which order people look at labels, and which labels beside the flagged ones.

Worst first finds the most errors. But rows that were chosen for looking wrong say little about the many that look
right: what the judge learns from decisions comes mostly from rows near the border and from a random sample. The
default mixes the three; `eigenclean bench decisions` measures them.

Where classes overlap, labels can be wrong although none of them is flagged. So where few are, the list goes on with
the most doubtful labels: what people decide about these is what the judge lacks.
"""

import numpy as np

from eigenclean.arrays import Bools, Ints
from eigenclean.names import check_name
from eigenclean.seeds import tagged_generator
from eigenclean.verdict import Verdict

WORST, INFORMATIVE, RANDOM, MIXED = ORDERS = ("worst", "informative", "random", "mixed")
_PATTERN = (*4 * (WORST,), INFORMATIVE, *4 * (WORST,), RANDOM)
_MIN_OTHERS = 100  # labels that are not flagged, for an order that asks for them
_MIN_LISTED, _LISTED_SHARE = 20, 0.1  # where few labels are flagged: so many, or that share of all rows up to 100


def ordered_rows(verdict: Verdict, order: str = WORST, *, seed: int = 0, decided: Bools | None = None) -> Ints:
    """The rows to look at, the first one first; all flagged labels are among them.

    "worst": the flagged labels, lowest P(right) first; if there are none, the most doubtful ones. "informative":
    those with P(right) nearest to one half first, and as many others as are flagged, but at least 100. "random": so
    many rows drawn from all rows, then the flagged ones that were not drawn. "mixed": of ten rows eight are the
    worst, one informative and one random; at least `shortest_list` rows, where the most doubtful labels come after
    the flagged ones. ``decided`` are rows that the verdict was told of by people: unless flagged, they are not
    listed again.

    >>> verdict = Verdict(
    ...     ids=np.arange(4), labels=np.zeros(4, int), score=np.zeros(4), p_clean=np.array([0.01, 0.9, 0.4, 0.55]),
    ...     flagged=np.array([True, False, True, False]), suggested=np.zeros(4, int),
    ...     suggested_confidence=np.zeros(4), made_by="me",
    ... )
    >>> ordered_rows(verdict), ordered_rows(verdict, "informative")
    (array([0, 2]), array([3, 2, 1, 0]))
    """
    check_name(order, ORDERS, by="review", what="order")
    flagged = np.asarray(verdict.flagged, dtype=bool)
    is_listed = np.ones_like(flagged) if decided is None else flagged | ~decided
    doubtful = np.argsort(verdict.rank)
    worst = np.concatenate([doubtful[flagged[doubtful]], doubtful[(is_listed & ~flagged)[doubtful]]])
    n_flagged, least = int(flagged.sum()), min(shortest_list(len(flagged)), len(worst))
    if order == WORST:
        return worst[: n_flagged or least]
    p = np.nan_to_num(np.asarray(verdict.p_clean, dtype=np.float64), nan=0.5)
    n_others = max(_MIN_OTHERS, n_flagged)
    by_doubt: Ints = np.lexsort((verdict.rank, np.abs(p - 0.5).round(12)))
    by_doubt = by_doubt[is_listed[by_doubt]]
    random_order = tagged_generator(seed, "review order").permutation(len(p))
    random_order = random_order[is_listed[random_order]]
    if order == INFORMATIVE:
        others = by_doubt[~flagged[by_doubt]][:n_others]
        is_chosen = flagged.copy()
        is_chosen[others] = True
        return np.asarray(by_doubt[is_chosen[by_doubt]])
    if order == RANDOM:
        sample = random_order[:n_others]
        return np.concatenate([sample, worst[:n_flagged][~np.isin(worst[:n_flagged], sample)]])
    return _mixed({WORST: worst, INFORMATIVE: by_doubt, RANDOM: random_order}, n_flagged, least)


def shortest_list(n_rows: int) -> int:
    """How many of so many labels the list should have at least: a tenth, from 20 to 100.

    >>> [shortest_list(n) for n in (150, 600, 50_000)]
    [20, 60, 100]
    """
    return min(_MIN_OTHERS, max(_MIN_LISTED, int(_LISTED_SHARE * n_rows)))


def _mixed(orders: dict[str, Ints], n_flagged: int, least: int) -> Ints:
    """Rows taken from each order in turn, each once, until the flagged ones are all there, and enough others."""
    waiting = {name: iter(rows.tolist()) for name, rows in orders.items()}
    chosen: dict[int, None] = {}
    not_yet_chosen = set(orders[WORST][:n_flagged].tolist())
    number = 0
    while not_yet_chosen or len(chosen) < least:
        row = next((row for row in waiting[_PATTERN[number % len(_PATTERN)]] if row not in chosen), None)
        number += 1
        if row is not None:
            chosen[row] = None
            not_yet_chosen.discard(row)
    return np.array(list(chosen), dtype=np.int64)
