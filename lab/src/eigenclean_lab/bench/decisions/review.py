"""A simulated review, by somebody who is always right: more and more decisions, and decisions in each order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Bools, Ints
from eigenclean.detect import at_most_false_flags, build_detector, judge_verified
from eigenclean.evidence import VerifiedLabels
from eigenclean.metrics import expected_calibration_error
from eigenclean.review import ORDERS, ordered_rows
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.decisions.settings import ReviewedData

COUNTS = (50, 200, 500)
MAX_FALSE_FLAGS = 0.1
N_ORDERED = 100  # decisions in each order
_OPTIONS = {"n_repeats": 1}
_BINS = 15


@dataclass(frozen=True)
class Step:
    """The verdict after some decisions; quality is that of the rows that nobody has decided about.

    Attributes:
        setting: name of the data and their noise.
        n_decisions: how many rows were decided about.
        noise_rate: actual share of wrong labels.
        estimated: share that the verdict expects.
        calibration_error: of P(right).
        f: F1 score of the flags; None if no label is wrong.
        f_before: F1 score of the verdict without decisions on the same rows.
        false_flags: share of the flags that are on right labels; None without flags.
        false_flags_at_limit: the same for ``--max-false-flags 0.1``.
        seed: of the rows or their errors, and of the rows that were decided about.
    """

    setting: str
    n_decisions: int
    noise_rate: float
    estimated: float
    calibration_error: float
    f: float | None
    f_before: float | None
    false_flags: float | None
    false_flags_at_limit: float | None = None
    seed: int = 0


def judge(setting: ReviewedData) -> Verdict:
    """The verdict without decisions."""
    return build_detector("judge", _OPTIONS, seed=0).fit_judge(setting.features, setting.labels)


def judge_after(setting: ReviewedData, rows: Ints) -> tuple[Verdict, Bools]:
    """The verdict after decisions about these rows, and which rows they are as a mask."""
    decided = np.zeros(len(setting.labels), dtype=bool)
    decided[rows] = True
    right = np.where(decided, setting.truth, setting.labels)
    known = VerifiedLabels(right, decided, np.zeros_like(decided), decided)
    detector = build_detector("judge", _OPTIONS, seed=0)
    return judge_verified(detector, setting.features, setting.labels, known), decided


def simulate(setting: ReviewedData, before: Verdict, counts: Sequence[int] = COUNTS) -> list[Step]:
    """Half of the decisions are about the worst suspects, half about rows at random."""
    steps = [_step(setting, before, before, np.zeros(len(before), dtype=bool))]
    order = np.random.default_rng(setting.seed).permutation(len(before))
    for count in counts:
        worst = np.argsort(before.rank)[: count // 2]
        others = order[~np.isin(order, worst)][: count - len(worst)]
        after, decided = judge_after(setting, np.concatenate([worst, others]))
        steps.append(_step(setting, after, before, decided))
    return steps


def _step(setting: ReviewedData, after: Verdict, before: Verdict, decided: Bools) -> Step:
    wrong, rest = setting.labels != setting.truth, ~decided
    flagged = after.flagged[rest]
    limited = at_most_false_flags(after.p_clean[rest], MAX_FALSE_FLAGS)
    return Step(
        setting.name,
        int(decided.sum()),
        round(float(wrong.mean()), 4),
        round(after.noise_rate, 4),
        round(expected_calibration_error(after.p_clean[rest], ~wrong[rest], _BINS), 4),
        f_score(flagged, wrong[rest]),
        f_score(before.flagged[rest], wrong[rest]),
        round(float(np.mean(~wrong[rest][flagged])), 4) if flagged.any() else None,
        round(float(np.mean(~wrong[rest][limited])), 4) if limited.any() else None,
        setting.seed,
    )


def f_score(flagged: Bools, wrong: Bools) -> float | None:
    """F1 score of flags; None if nothing is wrong.

    >>> f_score(np.array([True, True, False]), np.array([True, False, False]))
    0.6667
    """
    both = int(np.count_nonzero(flagged & wrong))
    return round(2 * both / int(flagged.sum() + wrong.sum()), 4) if wrong.any() else None


@dataclass(frozen=True)
class OrderStep:
    """What decisions in one order found, and what they taught.

    Attributes:
        setting: name of the data and their noise.
        order: in which order labels were looked at.
        n_decisions: how many.
        errors_found: wrong labels among them, as a share.
        uncertainty_removed: how much less entropy P(right) of all rows has, in bits per decision.
        noise_error: how far the estimated share of wrong labels is from the actual one.
        noise_error_before: the same without decisions.
        f: F1 score of the flags among the rows that nobody has decided about.
        f_before: F1 score of the verdict without decisions on the same rows.
        calibration_error: of P(right) of the rows that nobody has decided about.
        seed: of the rows or their errors, and of the rows that an order draws.
    """

    setting: str
    order: str
    n_decisions: int
    errors_found: float
    uncertainty_removed: float
    noise_error: float
    noise_error_before: float
    f: float | None
    f_before: float | None
    calibration_error: float | None = None
    seed: int = 0


def compare_orders(
    setting: ReviewedData, before: Verdict, count: int = N_ORDERED, *, orders: Sequence[str] = ORDERS
) -> list[OrderStep]:
    """The first decisions of a review in each order, by a reviewer who is always right."""
    wrong, steps = setting.labels != setting.truth, []
    for order in orders:
        rows = ordered_rows(before, order, seed=setting.seed)[:count]
        after, decided = judge_after(setting, rows)
        rest, n = ~decided, max(1, len(rows))
        steps.append(
            OrderStep(
                setting.name,
                order,
                len(rows),
                round(float(wrong[rows].mean()) if len(rows) else 0.0, 4),
                round((entropy(before.p_clean) - entropy(after.p_clean)) / n, 4),
                round(abs(after.noise_rate - float(wrong.mean())), 4),
                round(abs(before.noise_rate - float(wrong.mean())), 4),
                f_score(after.flagged[rest], wrong[rest]),
                f_score(before.flagged[rest], wrong[rest]),
                round(expected_calibration_error(after.p_clean[rest], ~wrong[rest], _BINS), 4),
                setting.seed,
            )
        )
    return steps


def entropy(p: Array) -> float:
    """The sum of the entropies of P(right), in bits.

    >>> entropy(np.array([0.5, 1.0, 0.0]))
    1.0
    """
    p = np.clip(np.asarray(p, dtype=np.float64), 1e-12, 1 - 1e-12)
    return round(float(-(p * np.log2(p) + (1 - p) * np.log2(1 - p)).sum()), 6)
