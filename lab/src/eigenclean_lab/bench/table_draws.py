"""Whether a column that says nothing costs quality or changes it by chance: small tables, many draws.

Every change of a table assigns its rows to other folds, so that one draw says little about a table of 200 rows.
Here the errors and the column are drawn several times; what counts is the mean change.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from eigenclean.arrays import Array
from eigenclean.noise import corrupt
from eigenclean_lab.bench.quality.data.loaded import large_classes
from eigenclean_lab.bench.tables import NOISE_RATE, TABLES, JudgedFiles, changed
from eigenclean_lab.store import MissingData, today

FILE = "bench_table_draws.json"
NAMES = ("Glass", "Sonar")
CHANGES = ("a date", "a shuffled copy", "other units")


@dataclass(frozen=True)
class Draws:
    """One table, with as many draws as each list has entries.

    Attributes:
        table: its name.
        n_rows: number of rows.
        auroc: of the table as it is, for each draw of the errors.
        changes: how the AUROC changes with each change of the file.
    """

    table: str
    n_rows: int
    auroc: list[float]
    changes: dict[str, list[float]]


def run(folder: Path | None, draws: int, names: tuple[str, ...] = NAMES) -> Iterator[Draws]:
    """All tables for which there are data."""
    for name in names:
        try:
            columns, labels = TABLES[name](folder)
        except MissingData:
            continue
        rows = large_classes(labels)
        yield measure(name, {key: column[rows] for key, column in columns.items()}, labels[rows], draws)


def measure(name: str, columns: dict[str, Array], truth: Array, draws: int) -> Draws:
    """Judge the table with other errors in each draw, and with another column more."""
    plain: list[float] = []
    changes: dict[str, list[float]] = {change: [] for change in CHANGES}
    for draw in range(draws):
        given = corrupt(truth, "symmetric", NOISE_RATE, random_state=draw).labels
        wrong = given != truth
        with tempfile.TemporaryDirectory() as temporary:
            files = JudgedFiles(Path(temporary) / "table.csv")
            plain.append(round(float(roc_auc_score(wrong, -files.judged(columns, given).p_clean)), 4))
            for change, other in changed(columns, given, seed=1000 + draw):
                if change in CHANGES:
                    auroc = float(roc_auc_score(wrong, -files.judged(other, given).p_clean))
                    changes[change].append(round(auroc - plain[-1], 4))
    return Draws(name, len(truth), plain, {change: values for change, values in changes.items() if values})


def facts(tables: list[Draws]) -> dict[str, Any]:
    """What `results/bench_table_draws.json` holds."""
    return {"date": today(), "noise_rate": NOISE_RATE, "tables": [asdict(each) for each in tables]}


def markdown(record: dict[str, Any]) -> list[str]:
    """The lines of the table on the page about tables: means, their standard errors, and single draws."""
    lines = [
        "| table | draws | AUROC | change | mean change ± standard error | single draws |",
        "|---|---|---|---|---|---|",
    ]
    for table in record["tables"]:
        plain = f"{np.mean(table['auroc']):.3f}"
        for change, values in table["changes"].items():
            error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
            span = f"{min(values):+.3f} to {max(values):+.3f}"
            number = f"{np.mean(values):+.3f} ± {error:.3f}"
            lines.append(f"| {table['table']} | {len(values)} | {plain} | {change} | {number} | {span} |")
    return lines
