"""What decisions of people teach the judge, simulated with known truth: half worst suspects, half at random."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.detect import build_detector, judge_verified
from eigenclean.evidence import VerifiedLabels
from eigenclean.noise import corrupt
from eigenclean.review import ORDERS, ordered_rows
from eigenclean.sources import DATASETS
from eigenclean.verdict import Verdict
from eigenclean_lab.data_folder import data_file, data_folder
from eigenclean_lab.store import MissingData, today

FILE = "bench_decisions.json"
COUNTS = (50, 200, 500)
ORDER_ROWS = 3000  # for comparing orders, which takes five fits for each setting
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
    """

    setting: str
    n_decisions: int
    noise_rate: float
    estimated: float
    calibration_error: float
    f: float | None
    f_before: float | None
    false_flags: float | None


def settings(folder: Path | None, n: int) -> Iterator[tuple[str, Array, Array, Array]]:
    """Names, features, given labels and truth: people's labels, instance-dependent noise and clean labels."""
    digits = DATASETS["digits"]()
    pixels, right = digits.features() / 16, digits.labels
    noisy = corrupt(right, "instance", 0.2, features=pixels, random_state=0)
    yield "digits, instance-dependent 20 %", pixels, noisy.labels, right
    yield "digits, clean", pixels, right, right
    try:
        path = data_file(folder, "cifar10_lite1_20k.npz")
    except MissingData:
        return
    with np.load(path) as data:
        features, truth = data["features"][:n].astype(np.float32), data["clean"][:n]
        for name in ("worst", "rand1", "aggre"):
            yield f"people, {name}", features, data[name][:n], truth


def simulate(name: str, features: Array, labels: Array, truth: Array, seed: int = 0) -> list[Step]:
    """A reviewer who is always right decides about more and more rows."""
    options = {"n_repeats": 1}
    before = build_detector("judge", options, seed=0).fit_judge(features, labels)
    nobody = np.zeros(len(labels), dtype=bool)
    steps = [_step(name, 0, before, before, labels != truth, nobody)]
    order = np.random.default_rng(seed).permutation(len(labels))
    for count in COUNTS:
        worst = np.argsort(before.rank)[: count // 2]
        others = order[~np.isin(order, worst)][: count - len(worst)]
        decided = nobody.copy()
        decided[worst] = decided[others] = True
        known = VerifiedLabels(np.where(decided, truth, labels), decided, nobody, decided)
        after = judge_verified(build_detector("judge", options, seed=0), features, labels, known)
        steps.append(_step(name, count, after, before, labels != truth, decided))
    return steps


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


def compare_orders(name: str, features: Array, labels: Array, truth: Array, count: int = 100) -> list[OrderStep]:
    """The first decisions of a review in each order, by a reviewer who is always right."""
    options = {"n_repeats": 1}
    before = build_detector("judge", options, seed=0).fit_judge(features, labels)
    wrong, nobody = labels != truth, np.zeros(len(labels), dtype=bool)
    steps = []
    for order in ORDERS:
        rows = ordered_rows(before, order)[:count]
        decided = nobody.copy()
        decided[rows] = True
        known = VerifiedLabels(np.where(decided, truth, labels), decided, nobody, decided)
        after = judge_verified(build_detector("judge", options, seed=0), features, labels, known)
        rest, n = ~decided, max(1, len(rows))
        steps.append(
            OrderStep(
                name,
                order,
                len(rows),
                round(float(wrong[rows].mean()) if len(rows) else 0.0, 4),
                round((entropy(before.p_clean) - entropy(after.p_clean)) / n, 4),
                round(abs(after.noise_rate - float(wrong.mean())), 4),
                round(abs(before.noise_rate - float(wrong.mean())), 4),
                f_score(after.flagged[rest], wrong[rest]),
                f_score(before.flagged[rest], wrong[rest]),
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


def run_orders(folder: Path | None, n: int = ORDER_ROWS, count: int = 100) -> list[OrderStep]:
    """Every setting for which there are data, in every order."""
    return [step for setting in settings(folder, n) for step in compare_orders(*setting, count)]


def run(folder: Path | None, n: int = 4000) -> list[Step]:
    """Every setting for which there are data."""
    return [step for setting in settings(folder, n) for step in simulate(*setting)]


def _step(name: str, count: int, after: Verdict, before: Verdict, wrong: Bools, decided: Bools) -> Step:
    rest = ~decided
    flagged = after.flagged[rest]
    return Step(
        name,
        count,
        round(float(wrong.mean()), 4),
        round(after.noise_rate, 4),
        round(calibration_error(after.p_clean[rest], ~wrong[rest]), 4),
        f_score(flagged, wrong[rest]),
        f_score(before.flagged[rest], wrong[rest]),
        round(float(np.mean(~wrong[rest][flagged])), 4) if flagged.any() else None,
    )


def f_score(flagged: Bools, wrong: Bools) -> float | None:
    """F1 score of flags; None if nothing is wrong.

    >>> f_score(np.array([True, True, False]), np.array([True, False, False]))
    0.6667
    """
    both = int(np.count_nonzero(flagged & wrong))
    return round(2 * both / int(flagged.sum() + wrong.sum()), 4) if wrong.any() else None


def calibration_error(p: Array, right: Bools) -> float:
    """Expected calibration error of probabilities.

    >>> calibration_error(np.array([0.75] * 4), np.array([True, True, True, False]))
    0.0
    """
    bins = np.minimum((np.asarray(p) * _BINS).astype(int), _BINS - 1)
    return float(np.abs(np.bincount(bins, np.asarray(p) - right, _BINS)).sum() / len(p))


def facts(steps: list[Step], orders: list[OrderStep]) -> dict[str, Any]:
    """What `results/bench_decisions.json` holds."""
    return {
        "date": today(),
        "steps": [asdict(step) for step in steps],
        "orders": [asdict(step) for step in orders],
    }


def folder_of_data(given: Path | None) -> Path | None:
    """The folder of the data, if there is one."""
    return data_folder(given)
