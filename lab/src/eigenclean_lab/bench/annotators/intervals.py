"""Whether the intervals of the quality of annotators hold it: annotators who err alone, or together.

P(y | x) is given as probabilities of a model that knows it exactly, so that nothing but the errors of the
annotators can be wrong with the model. A share of the errors is made together: on the same rows, with the same
wrong label, by each annotator with probability one half. The model takes errors for independent, given the right
label.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eigenclean import Evidence
from eigenclean.arrays import Float64s, Ints
from eigenclean.detect import judge_annotations
from eigenclean.evidence import Annotations
from eigenclean_lab.store import today

FILE = "bench_annotator_intervals.json"
N_CLASSES = 10
RATES = (0.17, 0.18, 0.19)  # of errors, as of the people of CIFAR-10N
SHARED = (0.0, 0.1, 0.25, 0.5)
SIZES = (2000, 20_000)


@dataclass(frozen=True)
class Coverage:
    """Intervals of simulated annotators.

    Attributes:
        n: number of rows, each with a label of every annotator.
        shared: share of the errors that are made together.
        measured: number of intervals.
        coverage: share of them that hold the actual quality.
        bias: mean of the estimated minus the actual quality.
        width: mean width of the intervals.
        same_error: how much more often two annotators give the same wrong label than their transition matrices say.
    """

    n: int
    shared: float
    measured: int
    coverage: float
    bias: float
    width: float
    same_error: float


def simulate(n: int, shared: float, seed: int) -> tuple[Float64s, Ints, Ints]:
    """P(y | x), right classes, and a column of labels for each annotator.

    >>> _, right, labels = simulate(20_000, 0.5, 0)
    >>> (labels != right[:, None]).mean(axis=0).round(2).tolist()
    [0.16, 0.17, 0.18]
    """
    rng = np.random.default_rng(seed)
    rows, k = np.arange(n), N_CLASSES
    first, sure = rng.integers(k, size=n), rng.beta(8, 1, size=n)
    probabilities = np.full((n, k), 0.002)
    probabilities[rows, first] += sure
    probabilities[rows, _other(first, rng)] += 1 - sure
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    right = np.minimum((probabilities.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    shared_errors, hard = _other(right, rng), rng.random(n)
    labels = np.empty((n, len(RATES)), dtype=np.intp)
    for annotator, rate in enumerate(RATES):
        with_others = (hard < 2 * rate * shared) & (rng.random(n) < 0.5)
        errs_alone = rng.random(n) < rate * (1 - shared)
        labels[:, annotator] = np.where(with_others, shared_errors, np.where(errs_alone, _other(right, rng), right))
    return probabilities, right, labels


def measure(n: int, shared: float, repeats: int) -> Coverage:
    """Fit the model to several simulated crowds."""
    held, bias, width, ratios = [], [], [], []
    for seed in range(repeats):
        probabilities, right, labels = simulate(n, shared, seed)
        names = [f"rater {number}" for number in range(len(RATES))]
        given = Annotations.from_matrix(labels, names)
        evidence = Evidence(np.arange(n), given.majority, probabilities=probabilities, annotations=given)
        quality = judge_annotations(evidence).quality
        actual = (labels == right[:, None]).mean(axis=0)
        held += ((quality.low <= actual) & (actual <= quality.high)).tolist()
        bias += (quality.quality - actual).tolist()
        width += (quality.high - quality.low).tolist()
        ratios.append(same_error_ratio(labels, right))
    numbers = [round(float(np.mean(values)), 4) for values in (held, bias, width, ratios)]
    return Coverage(n, shared, len(held), *numbers)


def same_error_ratio(labels: Ints, right: Ints) -> float:
    """How often two annotators give the same wrong label, over what their own transition matrices would give."""
    k, columns = int(max(labels.max(), right.max())) + 1, labels.T
    transitions = []
    for column in columns:
        counts = np.zeros((k, k))
        np.add.at(counts, (right, column), 1)
        transitions.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) * (1 - np.eye(k)))
    observed = expected = 0.0
    for a in range(len(columns)):
        for b in range(a):
            observed += float(np.sum((columns[a] == columns[b]) & (columns[a] != right)))
            expected += float((transitions[a] * transitions[b]).sum(axis=1)[right].sum())
    return observed / max(expected, 1e-300)


def run(repeats: int = 5) -> list[Coverage]:
    """All sizes and shares."""
    return [measure(n, shared, repeats) for n in SIZES for shared in SHARED]


def facts(rows: list[Coverage]) -> dict[str, Any]:
    """What `results/bench_annotator_intervals.json` holds."""
    return {"date": today(), "rows": [asdict(row) for row in rows]}


def page_rows(results: dict[str, Any]) -> list[str]:
    """The rows of the table on the page of annotators."""
    return [
        f"| {each['n']} | {each['shared']:.0%} | {each['same_error']:.1f} | {each['coverage']:.0%} "
        f"| {100 * each['bias']:+.1f} | {100 * each['width']:.1f} |"
        for each in results["rows"]
    ]


def _other(codes: Ints, rng: np.random.Generator) -> Ints:
    """For each code another one at random."""
    return np.asarray((codes + 1 + rng.integers(N_CLASSES - 1, size=len(codes))) % N_CLASSES)
