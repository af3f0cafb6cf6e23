"""Bursts: near copies of some rows that share a wrong label, and what groups of them are worth."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score

from eigenclean import audit
from eigenclean.arrays import Array, Ints
from eigenclean.detect import detector
from eigenclean.noise import corrupt
from eigenclean.sources import DATASETS
from eigenclean.verdict import Verdict
from eigenclean_lab.data_folder import data_file
from eigenclean_lab.formatting import decimals, markdown_table, write_between_marks
from eigenclean_lab.store import MissingData, today

FILE = "bench_bursts.json"
NAME = "bench bursts"
MAX_LOSS = 0.02
WRONG, COPIED, N_COPIES = 0.1, 1 / 3, 7  # share of wrong labels, share of these that are copied, and how often
DEVIATION = 0.1  # of a copy, in standard deviations of each column
GROUPED, ALONE, KNN = "judge, with `--group-column`", "judge", "`knn`"


class BurstRows(NamedTuple):
    """BurstRows with given labels and truth; copies have the group of the row that they are copies of."""

    features: Array
    labels: Array
    truth: Array
    groups: Ints


@dataclass(frozen=True)
class BurstOutcome:
    """Average precision of a method, without the copies and with them, over all rows."""

    data: str
    method: str
    seed: int
    without: float
    with_copies: float


def add_bursts(rows: BurstRows, seed: int) -> BurstRows:
    """Some of the wrong labels stand on near copies too.

    >>> rows = BurstRows(np.eye(60), np.ones(60, int), np.arange(60) % 2, np.arange(60))
    >>> len(add_bursts(rows, 0).labels)
    130
    """
    rng = np.random.default_rng(seed)
    wrong = np.flatnonzero(rows.labels != rows.truth)
    copies = np.repeat(rng.permutation(wrong)[: round(COPIED * len(wrong))], N_COPIES)
    spread = DEVIATION * rows.features.std(axis=0)
    near = rows.features[copies] + spread * rng.normal(size=(len(copies), rows.features.shape[1]))
    features = np.concatenate([rows.features, near.astype(rows.features.dtype)])
    return BurstRows(features, *(np.concatenate([column, column[copies]]) for column in rows[1:]))


def data_sets(folder: Path | None, n: int, seed: int) -> Iterator[tuple[str, BurstRows]]:
    """BurstRows with a tenth of the labels wrong, other ones for each seed."""
    digits = DATASETS["digits"]()
    yield "digits", _noisy(digits.features() / 16, digits.labels, seed)
    try:
        path = data_file(folder, "cifar10_lite1_20k.npz")
    except MissingData:
        return
    with np.load(path) as data:
        rows = slice(seed * n, (seed + 1) * n)
        yield f"CIFAR-10, {n} images", _noisy(data["features"][rows].astype(np.float32), data["clean"][rows], seed)


def _noisy(features: Array, truth: Array, seed: int) -> BurstRows:
    labels = corrupt(truth, "symmetric", WRONG, inclusive=False, random_state=seed).labels
    return BurstRows(features, labels, truth, np.arange(len(truth)))


def run(folder: Path | None, n: int = 2000, *, seeds: int = 3) -> list[BurstOutcome]:
    """Every method on all data that are there."""
    outcomes = []
    for seed in range(seeds):
        for name, rows in data_sets(folder, n, seed):
            copied = add_bursts(rows, seed)
            before, knn = _precision(rows, _judge(rows)), detector("knn")
            outcomes += [
                BurstOutcome(name, GROUPED, seed, before, _precision(copied, _judge(copied, copied.groups))),
                BurstOutcome(name, ALONE, seed, before, _precision(copied, _judge(copied))),
                BurstOutcome(name, KNN, seed, *(_precision(each, knn.judge(*each[:2])) for each in (rows, copied))),
            ]
    return outcomes


def facts(outcomes: Sequence[BurstOutcome]) -> dict[str, Any]:
    """What `results/bench_bursts.json` holds."""
    return {"date": today(), "outcomes": [asdict(outcome) for outcome in outcomes]}


def tables(results: dict[str, Any]) -> str:
    """Means over seeds, and whether the judge with groups loses at most so much."""
    rows = []
    for data, method in dict.fromkeys((each["data"], each["method"]) for each in results["outcomes"]):
        group = [each for each in results["outcomes"] if (each["data"], each["method"]) == (data, method)]
        without, copied = (float(np.mean([each[key] for each in group])) for key in ("without", "with_copies"))
        bar = ("met" if without - copied <= MAX_LOSS else "**missed**") if method == GROUPED else ""
        rows.append([data, method, decimals(without), decimals(copied), bar])
    heads = ("Data", "Method", "AP without copies", "with copies", f"Loss of at most {MAX_LOSS:g}")
    return "\n".join(markdown_table(heads, rows))


def write_tables(page: Path, results: dict[str, Any]) -> None:
    """Put the table between the marks of a page."""
    write_between_marks(page, NAME, tables(results))


def _judge(rows: BurstRows, groups: Ints | None = None) -> Verdict:
    return audit(rows.features, label=rows.labels, groups=groups, settings={"n_repeats": 1}).verdict


def _precision(rows: BurstRows, verdict: Verdict) -> float:
    return round(float(average_precision_score(rows.labels != rows.truth, -verdict.score)), 4)
