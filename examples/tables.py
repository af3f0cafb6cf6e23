"""Find wrong labels in a table of numbers, from a Parquet file to a report.

    python examples/tables.py [FILE.parquet --label-column label] [--out run-tables]

Without a file, the data are scikit-learn's table of 569 breast tumours, with one diagnosis in ten corrupted. The
columns have different units and are scaled first, because detectors use the direction of a row.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from eigenclean import add_noise, detector, open_source
from eigenclean.report import publish, results_folder
from eigenclean.sources import MemorySource


def write_tumours(path: Path) -> list[str]:
    """Write the table with some wrong diagnoses; return the right ones."""
    data: Any = load_breast_cancer()
    right = np.array(data.target_names)[data.target].astype(str)
    columns = {name.replace(" ", "_"): data.data[:, column] for column, name in enumerate(data.feature_names)}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({**columns, "label": add_noise(right, "symmetric", rate=0.1)}), path)
    return list(right.tolist())


def main() -> None:
    """Scale, judge, report."""
    parser = argparse.ArgumentParser(description="Find wrong labels in a table.")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--label-column", default="label")
    parser.add_argument("--out", type=Path, default=Path("run-tables"))
    options = parser.parse_args()

    truth: list[str] = []
    if options.file is None:
        options.file = options.out / "tumours.parquet"
        truth = write_tumours(options.file)

    table = open_source(options.file, label_column=options.label_column)
    scaled = StandardScaler().fit_transform(table.features())
    data = MemorySource(table.name, scaled, table.labels, ids=table.ids)
    verdict = detector().judge(scaled, data.labels, ids=data.ids)
    with results_folder(options.out) as folder:
        publish(folder, verdict, data, command=" ".join(sys.argv))

    sys.stdout.write(f"{verdict}\n")
    for row in verdict.suspects(5).tolist():
        sys.stdout.write(f"row {verdict.ids[row]}: {verdict.labels[row]}, looks {verdict.suggested[row]}\n")
    if truth:
        wrong = np.array(truth) != data.labels
        n_found = int((verdict.flagged & wrong).sum())
        sys.stdout.write(f"{n_found} of the {int(wrong.sum())} wrong labels are among the flagged\n")
    sys.stdout.write(f"open {options.out / 'report.html'}\n")


if __name__ == "__main__":
    main()
