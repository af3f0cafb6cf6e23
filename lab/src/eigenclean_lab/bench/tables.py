"""Tables as people have them: raw CSV files against features prepared by hand, and columns that must not matter."""

import datetime
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.metrics import roc_auc_score

from eigenclean import audit, detector
from eigenclean.arrays import Array
from eigenclean.noise import corrupt
from eigenclean.progress import track
from eigenclean.sources import open_source
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.quality.data.columns import encode_columns
from eigenclean_lab.bench.quality.data.loaded import large_classes
from eigenclean_lab.bench.quality.data.tables import (
    IDENTIFIERS,
    LABEL_COLUMNS,
    Columns,
    mlbench_columns,
    penguins_columns,
    sklearn_columns,
)
from eigenclean_lab.store import MissingData, today

FILE = "bench_tables.json"
NOISE_RATE = 0.1
LABEL = "the label"
TABLES: dict[str, Callable[[Path | None], Columns]] = {
    **{name: partial(mlbench_columns, name=name) for name in LABEL_COLUMNS},
    **{name: partial(sklearn_columns, name=name) for name in ("iris", "wine", "breast_cancer")},
    "penguins": partial(penguins_columns, name="penguins"),
}


@dataclass(frozen=True)
class TableResult:
    """How well wrong labels of a raw table are found.

    Attributes:
        table: its name.
        n_rows: number of rows.
        auroc: of the raw file with `NOISE_RATE` symmetric noise.
        by_hand: AUROC of features that were prepared by hand.
        flagged_when_clean: share of the labels that are flagged when none was changed.
        changes: how a change of the file that must not matter changes the AUROC.
    """

    table: str
    n_rows: int
    auroc: float
    by_hand: float
    flagged_when_clean: float
    changes: dict[str, float]


def run(folder: Path | None, most_rows: int = 2000, names: tuple[str, ...] = tuple(TABLES)) -> list[TableResult]:
    """Measure every table for which there are data."""
    results = []
    for name in track(list(names), "tables"):
        try:
            columns, labels = TABLES[name](folder)
        except MissingData:
            continue
        rows = np.sort(np.random.default_rng(0).permutation(len(labels))[:most_rows])
        rows = rows[large_classes(labels[rows])]
        results.append(measure(name, {key: column[rows] for key, column in columns.items()}, labels[rows]))
    return results


def measure(name: str, columns: dict[str, Array], truth: Array) -> TableResult:
    """Judge the table as a file, prepared by hand, without noise, and with every change that must not matter."""
    given = corrupt(truth, "symmetric", NOISE_RATE, random_state=0).labels
    wrong = given != truth
    prepared = {key: column for key, column in columns.items() if key not in IDENTIFIERS.get(name, ())}

    def auroc(verdict: Verdict) -> float:
        return float(roc_auc_score(wrong, -verdict.p_clean))

    with tempfile.TemporaryDirectory() as folder:
        files = JudgedFiles(Path(folder) / "table.csv")
        plain = auroc(files.judged(columns, given))
        changes = {change: auroc(files.judged(other, given)) - plain for change, other in changed(columns, given)}
        clean = files.judged(columns, truth)
    by_hand = auroc(detector("judge").fit_judge(encode_columns(prepared), given))
    return TableResult(
        name,
        len(truth),
        round(plain, 4),
        round(by_hand, 4),
        round(float(clean.flagged.mean()), 4),
        {change: round(difference, 4) for change, difference in changes.items()},
    )


class JudgedFiles:
    """Verdicts on tables that are written to a file; equal features and labels have equal verdicts: judged once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._verdicts: dict[bytes, Verdict] = {}

    def judged(self, columns: dict[str, Array], labels: Array) -> Verdict:
        """The verdict on this table."""
        write_csv(columns, labels, self._path)
        source = open_source(str(self._path), label_column=LABEL)
        names = "\n".join(map(str, source.labels.tolist()))
        key = np.ascontiguousarray(source.features()).tobytes() + names.encode()
        if key not in self._verdicts:
            self._verdicts[key] = audit(str(self._path), label=LABEL).verdict
        return self._verdicts[key]


def changed(columns: dict[str, Array], labels: Array, seed: int = 1) -> Iterator[tuple[str, dict[str, Array]]]:
    """The table with a column more that says nothing, or gives the label away; in other units; in another order."""
    rng, n = np.random.default_rng(seed), len(labels)
    first_day = datetime.date(2019, 1, 1)
    days = [str(first_day + datetime.timedelta(days=int(day))) for day in rng.integers(0, 900, n)]
    numbers = [column for column in columns.values() if column.dtype.kind == "f"]
    yield "an identifier", {"customer_id": rng.permutation(n) + 1000.0, **columns}
    yield "an index", {"": np.arange(n, dtype=np.float64), **columns}
    yield "a constant", {**columns, "unit": np.array(["cm"] * n)}
    yield "a date", {**columns, "recorded": np.array(days)}
    yield "a shuffled copy", {**columns, "copy": rng.permutation((numbers or list(columns.values()))[0])}
    yield (
        "a copy of the label",
        {**columns, "code": np.char.add("c", np.unique(labels, return_inverse=True)[1].astype(str))},
    )
    if numbers:
        scaled = {key: column * 1000 if column.dtype.kind == "f" else column for key, column in columns.items()}
        yield "other units", scaled
    yield "another order", dict(reversed(columns.items()))


def write_csv(columns: dict[str, Array], labels: Array, path: Path) -> None:
    """A CSV file as people have it: empty cells where values are missing, whole numbers without a point."""
    cells = {name: pa.array(_cells(column)) for name, column in columns.items()}
    pa.csv.write_csv(pa.table({**cells, LABEL: labels.astype(str)}), str(path))


def _cells(column: Array) -> list[Any]:
    if column.dtype.kind != "f":
        return [None if value == "" else str(value) for value in column]
    known = column[np.isfinite(column)]
    kind = int if bool((known == np.round(known)).all()) else float
    return [kind(value) if np.isfinite(value) else None for value in column]


def facts(results: list[TableResult]) -> dict[str, Any]:
    """What `results/bench_tables.json` holds."""
    return {"date": today(), "noise_rate": NOISE_RATE, "tables": [asdict(result) for result in results]}


def markdown(record: dict[str, Any]) -> list[str]:
    """The lines of the table on the page about tables, from what `facts` gives."""
    tables = record["tables"]
    names = list(dict.fromkeys(change for table in tables for change in table["changes"]))
    lines = [
        "| table | rows | raw file | by hand | flagged when clean | largest change | by |",
        "|---|---|---|---|---|---|---|",
    ]
    for table in tables:
        change = max(table["changes"], key=lambda name: abs(table["changes"][name]))
        numbers = f"{table['auroc']:.3f} | {table['by_hand']:.3f} | {table['flagged_when_clean']:.1%}"
        lines.append(
            f"| {table['table']} | {table['n_rows']} | {numbers} | {table['changes'][change]:+.3f} | {change} |"
        )
    mean = [float(np.mean([table[key] for table in tables])) for key in ("auroc", "by_hand", "flagged_when_clean")]
    lines.append(f"| **mean** | | **{mean[0]:.3f}** | **{mean[1]:.3f}** | **{mean[2]:.1%}** | | |")
    lines += [
        "",
        "| change of the file | mean change of the AUROC | largest | tables beyond .01 |",
        "|---|---|---|---|",
    ]
    for name in names:
        values = np.array([table["changes"][name] for table in tables if name in table["changes"]])
        beyond = f"{np.count_nonzero(np.abs(values) > 0.01)} of {len(values)}"
        lines.append(f"| {name} | {values.mean():+.4f} | {values[np.abs(values).argmax()]:+.3f} | {beyond} |")
    return lines
