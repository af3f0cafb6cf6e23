"""Tables: those of the R package mlbench, of scikit-learn, and the penguins."""

import csv
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.extras import require
from eigenclean_lab.bench.quality.data.columns import encode_columns
from eigenclean_lab.bench.quality.data.loaded import Loaded, large_classes
from eigenclean_lab.data_folder import VARIABLE, data_file
from eigenclean_lab.store import MissingData

MLBENCH_FOLDER = Path("/usr/lib/R/site-library/mlbench/data")  # of the Debian package
LABEL_COLUMNS = {  # of the tables of mlbench
    "BreastCancer": "Class",
    "DNA": "Class",
    "Glass": "Type",
    "HouseVotes84": "Class",
    "Ionosphere": "Class",
    "LetterRecognition": "lettr",
    "PimaIndiansDiabetes2": "diabetes",
    "Satellite": "classes",
    "Shuttle": "Class",
    "Sonar": "Class",
    "Soybean": "Class",
    "Vehicle": "Class",
    "Vowel": "Class",
    "Zoo": "type",
}
IDENTIFIERS = {"BreastCancer": ("Id",)}
_MOST_ROWS = 8_000
_SEED = 0  # of the rows that are taken from a larger table: always the same


Columns = tuple[dict[str, Array], Array]  # columns of a table by name, and the labels


def load_mlbench(folder: Path | None, name: str) -> Loaded:
    """A table of mlbench, encoded."""
    columns, labels = mlbench_columns(folder, name)
    return table({key: column for key, column in columns.items() if key not in IDENTIFIERS.get(name, ())}, labels)


def load_sklearn(folder: Path | None, name: str) -> Loaded:
    """A table that comes with scikit-learn: iris, wine or breast_cancer; encoded."""
    return table(*sklearn_columns(folder, name))


def load_penguins(folder: Path | None, name: str) -> Loaded:
    """The penguins of the Palmer archipelago, encoded."""
    return table(*penguins_columns(folder, name))


def mlbench_columns(folder: Path | None, name: str) -> Columns:
    """A table of mlbench as it is, from the folder or from where Debian's package puts it."""
    places = [*([] if folder is None else [folder / "mlbench"]), MLBENCH_FOLDER]
    path = next((place / f"{name}.rda" for place in places if (place / f"{name}.rda").is_file()), None)
    if path is None:
        raise MissingData(
            f"needs the Debian package r-cran-mlbench, or its {name}.rda in the folder mlbench in the one that "
            f"--data or {VARIABLE} names; `make bench-data` fetches it"
        )
    columns = dict(_columns(path, name))
    labels = columns.pop(LABEL_COLUMNS[name])
    return columns, labels


def sklearn_columns(folder: Path | None, name: str) -> Columns:
    """A table that comes with scikit-learn, as it is."""
    content: Any = getattr(datasets, f"load_{name}")()
    values = np.asarray(content.data, dtype=np.float64).T
    columns = {str(name): column for name, column in zip(content.feature_names, values, strict=True)}
    return columns, np.asarray(content.target_names)[content.target]


def penguins_columns(folder: Path | None, name: str) -> Columns:
    """The penguins as they are, from the CSV file of the Python package palmerpenguins."""
    with open(data_file(folder, "penguins.csv", fetched=True), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {column: np.array(["" if row[column] == "NA" else row[column] for row in rows]) for column in rows[0]}
    labels = texts.pop("species")
    return {column: _numbers_or_text(values) for column, values in texts.items()}, labels


def table(columns: dict[str, Array], labels: Array) -> Loaded:
    """The encoded table, without rows of tiny classes, and of a large one 8 000 rows."""
    rows = np.arange(len(labels))
    if len(rows) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(_SEED).choice(rows, _MOST_ROWS, replace=False))
    rows = rows[large_classes(labels[rows])]
    return Loaded(encode_columns({name: column[rows] for name, column in columns.items()}), labels[rows], {})


@lru_cache(maxsize=1)  # settings of the same data follow each other
def _columns(path: Path, name: str) -> dict[str, Array]:
    return read_rda(path, name)


def read_rda(path: Path, name: str) -> dict[str, Array]:
    """The columns of a data frame that R saved."""
    rdata = require("rdata", extra=None, caller=f"bench quality, {name}")
    try:
        frame = rdata.read_rda(path, default_encoding="utf-8")[name]  # R's older files do not say; all are ASCII
    except Exception as error:  # the reader raises whatever a broken file leads to
        reason = " ".join(str(error).split())
        raise InvalidData(f"{path} cannot be read as a file of R data with a table {name}: {reason}") from None
    return {str(column): _plain_column(frame[column]) for column in frame.columns}


def _plain_column(series: Any) -> Array:
    """A pandas column as floats with NaN, or as text with "" where a value is missing."""
    if series.dtype.kind in "iuf":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    values = zip(series.astype(object), series.isna(), strict=True)
    return np.array(["" if is_missing else str(value) for value, is_missing in values])


def _numbers_or_text(values: Array) -> Array:
    """Numbers if all values that are not missing are numbers."""
    try:
        return np.where(values == "", "nan", values).astype(np.float64)
    except ValueError:
        return values
