"""The verdict: score, probability, flag and suggestion for every label, saved as Parquet and JSON."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from eigenclean.arrays import Array, Bools, Floats, Ints, encode_labels
from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.extras import require
from eigenclean.files import json_text, parse_json, replacing, write_text
from eigenclean.publication import publication, read_together

FILE = "verdict.parquet"
SUMMARY = "summary.json"
CSV = "verdict.csv"
_COLUMNS = {  # column in the file: field of the record
    "id": "ids",
    "given_label": "labels",
    "is_label_issue": "flagged",
    "label_score": "p_clean",
    "suggested_label": "suggested",
    "suggested_confidence": "suggested_confidence",
    "score": "score",
    "rank": "rank",
}
_CONSENSUS_COLUMNS = {  # only where rows have labels by several annotators
    "consensus_label": "consensus_label",
    "consensus_confidence": "consensus_confidence",
}
_OLD_COLUMNS = {"alignment": "score"}  # name up to version 0.1: name since
_METADATA = b"eigenclean"
_SHOWN = 10  # rows of the table in a notebook


@dataclass(frozen=True, eq=False)
class Verdict:
    """One row per sample, in the order of the data; a higher score always means a more trustworthy label.

    Attributes:
        ids: id of each row.
        labels: the given labels.
        score: the detector's raw score (FINE: the alignment with the eigenvector of the given class).
        p_clean: probability that the given label is right.
        flagged: True where the label is probably wrong.
        suggested: the label to replace it with; the given one where it is not flagged, unless people corrected it.
        suggested_confidence: probability that the suggested label is right.
        made_by: the record of its origin: "method", "parameters", and what the detector adds.
        consensus_label: the most probable label, where several annotators gave labels; ``labels`` are then the
            majority's. None otherwise.
        consensus_confidence: probability that it is right.

    >>> verdict = Verdict(
    ...     ids=np.arange(3), labels=np.array([0, 0, 1]), score=np.array([0.9, 0.2, 0.8]),
    ...     p_clean=np.array([0.99, 0.03, 0.95]), flagged=np.array([False, True, False]),
    ...     suggested=np.array([0, 1, 1]), suggested_confidence=np.array([0.99, 0.9, 0.95]), made_by="me",
    ... )
    >>> verdict
    Verdict by me: 1 of 3 labels look wrong, estimated noise rate 34.3 %
    >>> verdict.rank
    array([3, 1, 2])
    """

    ids: Array
    labels: Array
    score: Floats
    p_clean: Floats
    flagged: Bools
    suggested: Array
    suggested_confidence: Floats
    made_by: Mapping[str, Any] | str = "unknown"
    consensus_label: Array | None = None
    consensus_confidence: Floats | None = None

    def __post_init__(self) -> None:
        if isinstance(self.made_by, str):
            object.__setattr__(self, "made_by", {"method": self.made_by, "parameters": {}})
        for field in _COLUMNS.values():
            if field != "rank" and len(getattr(self, field)) != len(self.labels):
                raise InvalidData(
                    f"verdict: {field} must have one value per label, "
                    f"got {len(getattr(self, field))} for {len(self.labels)} labels"
                )

    @classmethod
    def assemble(
        cls,
        *,
        ids: Array,
        classes: Array,
        codes: Ints,
        score: Floats,
        p_clean: Floats,
        flagged: Bools,
        suggestions: tuple[Ints, Floats] | None,
        made_by: Mapping[str, Any],
        consensus: tuple[Ints, Floats] | None = None,
    ) -> "Verdict":
        """The verdict on rows with the labels ``classes[codes]``.

        ``suggestions`` are, for the flagged rows in order, the code of another class and its probability given that
        the label is wrong. The confidence in a suggestion is that probability times P(label wrong). A row that is
        not flagged keeps its label and P(right). None will do if no row is flagged. ``consensus`` are, for all
        rows, the code of the class that several annotators' labels come to, and its probability.
        """
        suggested, confidence = codes.copy(), p_clean.copy()
        if suggestions is not None:
            suggested[flagged], given_wrong = suggestions
            confidence[flagged] = (1.0 - p_clean[flagged]) * given_wrong
        return cls(
            ids=ids,
            labels=classes[codes],
            score=score,
            p_clean=p_clean,
            flagged=flagged,
            suggested=classes[suggested],
            suggested_confidence=confidence,
            made_by=made_by,
            consensus_label=None if consensus is None else classes[consensus[0]],
            consensus_confidence=None if consensus is None else consensus[1],
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (
            f"Verdict by {self.method}: {self.n_flagged} of {len(self)} labels look wrong, "
            f"estimated noise rate {100 * self.noise_rate:.1f} %"
        )

    @property
    def method(self) -> str:
        """Name of the detector."""
        return str(self._made_by.get("method", "unknown"))

    @property
    def n_flagged(self) -> int:
        """How many labels look wrong."""
        return int(np.count_nonzero(self.flagged))

    @property
    def noise_rate(self) -> float:
        """Estimated share of wrong labels: the mean probability of being wrong."""
        return float(np.mean(1.0 - self.p_clean, dtype=np.float64)) if len(self) else 0.0

    @cached_property
    def rank(self) -> Ints:
        """1 for the worst label, n for the best; the raw score breaks ties of the probability."""
        return ranks(self.p_clean, self.score)

    def suspects(self, most: int | None = None) -> Ints:
        """Row numbers of the flagged labels, worst first."""
        rows = np.flatnonzero(self.flagged)
        return rows[np.argsort(self.rank[rows])][:most]

    def most_doubtful(self, most: int = 20) -> Ints:
        """Row numbers of the labels with the lowest P(right), worst first, whether they are flagged or not."""
        return np.argsort(self.rank)[:most]

    def per_class(self) -> list[dict[str, Any]]:
        """For each given class: its size, how many labels look wrong, and the estimated noise rate."""
        classes, codes = encode_labels(self.labels)
        sizes = np.bincount(codes, minlength=len(classes))
        flagged = np.bincount(codes, weights=self.flagged, minlength=len(classes))
        wrong = np.bincount(codes, weights=1.0 - self.p_clean, minlength=len(classes))
        return [
            {
                "label": label,
                "n_samples": size,
                "n_flagged": int(count),
                "estimated_noise_rate": float(mass / size),
            }
            for label, size, count, mass in zip(
                classes.tolist(), sizes.tolist(), flagged.tolist(), wrong.tolist(), strict=True
            )
        ]

    def summary(self, **run: Any) -> dict[str, Any]:
        """Counts and rates as plain values; ``run`` adds facts of the run (seconds, version, data_hash)."""
        per_class = self.per_class()
        return {
            "n_samples": len(self),
            "n_classes": len(per_class),
            "n_flagged": self.n_flagged,
            "estimated_noise_rate": self.noise_rate,
            "method": self.method,
            "parameters": self._made_by.get("parameters", {}),
            **run,
            "per_class": per_class,
        }

    def to_frame(self, rank: Ints | None = None) -> pa.Table:
        """An Arrow table with the columns of the file; polars and pandas take it as it is, without a copy.

        ``rank`` replaces the ranks among these rows, where they are a block of a larger verdict.
        """
        columns = {name: pa.array(getattr(self, field)) for name, field in _COLUMNS.items() if name != "rank"}
        columns["rank"] = pa.array(self.rank if rank is None else rank)
        for name, field in _CONSENSUS_COLUMNS.items():
            if getattr(self, field) is not None:
                columns[name] = pa.array(getattr(self, field))
        metadata = json.dumps(self._made_by, ensure_ascii=False).encode()
        return pa.table(columns).replace_schema_metadata({_METADATA: metadata})

    def to_pandas(self) -> Any:
        """The columns of the file as a pandas data frame; pandas must be installed."""
        require("pandas", extra=None, caller="Verdict.to_pandas")
        return self.to_frame().to_pandas()

    def to_polars(self) -> Any:
        """The columns of the file as a polars data frame, without a copy; polars must be installed."""
        polars: Any = require("polars", extra=None, caller="Verdict.to_polars")
        return polars.from_arrow(self.to_frame())

    def _repr_html_(self) -> str:
        """The worst flagged labels as a table, for notebooks."""
        rows = self.suspects(_SHOWN)
        cells = zip(
            self.ids[rows].tolist(),
            self.labels[rows].tolist(),
            self.suggested[rows].tolist(),
            self.p_clean[rows].tolist(),
            strict=True,
        )
        lines = "".join(
            f"<tr><td>{escape(str(id))}</td><td>{escape(str(given))}</td><td>{escape(str(suggested))}</td>"
            f"<td>{p:.3f}</td></tr>"
            for id, given, suggested, p in cells
        )
        head = "<tr><th>id</th><th>given label</th><th>suggested label</th><th>P(right)</th></tr>"
        return f"<p>{escape(repr(self))}</p><table><thead>{head}</thead><tbody>{lines}</tbody></table>"

    def save(
        self, path: str | os.PathLike[str], *, csv: bool = False, written: Path | None = None, **run: Any
    ) -> Path:
        """Write ``verdict.parquet`` and ``summary.json`` into the folder ``path`` (or one ``.parquet`` file).

        The files are replaced as one. ``csv`` adds ``verdict.csv``; ``run`` goes into the summary; ``written`` is a
        file that `RowGroups` has already written on the same disk, which is moved to its place.
        """
        path = Path(path)
        if path.suffix == ".parquet":
            write_table(self.to_frame(), path)
            return path
        summary = json_text(self.summary(**run))  # first, because it fails on values that JSON cannot hold
        with publication(path) as staging:
            write_verdict(self, staging, summary, csv=csv, written=written)
        return path / FILE

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Verdict":
        """Read what `save` wrote: a folder or a ``.parquet`` file."""
        path = Path(path)
        return read_together(path, [FILE], lambda: cls._load(path)) if path.is_dir() else cls._load(path)

    @classmethod
    def _load(cls, path: Path) -> "Verdict":
        file = path / FILE if path.is_dir() else path
        if not file.exists() or (file == path and path.is_dir()):
            raise InvalidData(
                f"no verdict at {path}: expected a folder with {FILE}, as `eigenclean detect --out` writes"
            )
        try:
            table = _with_new_names(pq.read_table(file))
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidData(f"{file} is not a readable Parquet file: {str(error).splitlines()[0]}") from None
        missing = [name for name in _COLUMNS if name not in table.column_names]
        if missing:
            raise InvalidData(f"{file} is not a verdict: it lacks the column {missing[0]!r}")
        try:
            return _from_table(table)
        except EigencleanError:
            raise
        except (ValueError, TypeError, pa.ArrowException):  # not UTF-8, metadata that is not JSON, other types
            raise InvalidData(f"{file} is damaged; run `eigenclean detect` again") from None

    @property
    def _made_by(self) -> Mapping[str, Any]:
        assert not isinstance(self.made_by, str)  # __post_init__ made it a mapping
        return self.made_by


class RowGroups:
    """Writes a verdict in groups of rows, one after the other, to a new file; used as a context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> "RowGroups":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, rows: Verdict, rank: Ints) -> None:
        """Append one group of rows, with their ranks in the whole verdict."""
        table = rows.to_frame(rank)
        if self._writer is None:
            self._writer = pq.ParquetWriter(str(self._path), table.schema)
        self._writer.write_table(table)


def ranks(p_clean: Floats, score: Floats) -> Ints:
    """1 for the worst label, n for the best; the raw score breaks ties of the probability.

    >>> ranks(np.array([0.9, 0.1, 0.1]), np.array([3.0, 2.0, 1.0]))
    array([3, 2, 1])
    """
    rank = np.empty(len(p_clean), dtype=np.intp)
    rank[np.lexsort((score, p_clean))] = np.arange(1, len(p_clean) + 1)
    return rank


def join(tables: Sequence[pa.Table]) -> Verdict:
    """The verdict whose rows are in these tables, as `Verdict.to_frame` makes them."""
    return _from_table(pa.concat_tables(tables))


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table of `Verdict.to_frame` as a Parquet file, whole or not at all."""
    with replacing(path) as temporary:
        pq.write_table(table, temporary)


# What a spreadsheet takes for a formula and carries out, after characters that it does not see.
_FORMULA = r"^([\pZ\pC]*[=+\-@＝＋－＠]|[\t\r\n])"


def write_csv(table: pa.Table, path: Path, *, byte_order_mark: bool = False) -> None:
    """Write a table as CSV in which no cell is a formula, whole or not at all; the exact values are in the Parquet
    file.

    Text that a spreadsheet would evaluate gets an apostrophe before it. With ``byte_order_mark``, spreadsheets read
    the file as UTF-8.
    """
    columns = {
        name: pc.replace_substring_regex(column, _FORMULA, r"'\1") if _is_text(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(b"\xef\xbb\xbf" * byte_order_mark)
        pyarrow.csv.write_csv(pa.table(columns), file)


def write_verdict(
    verdict: Verdict, folder: Path, summary: str, *, csv: bool = False, written: Path | None = None
) -> None:
    """Write the files of `Verdict.save` into the empty folder of a `publication`."""
    if written is None:
        pq.write_table(verdict.to_frame(), folder / FILE)
    else:
        os.replace(written, folder / FILE)
    if csv:
        write_csv(verdict.to_frame(), folder / CSV)
    write_text(folder / SUMMARY, summary)


def _with_new_names(table: pa.Table) -> pa.Table:
    """A table with the column names of today; files of earlier versions stay readable."""
    names = [_OLD_COLUMNS.get(name, name) for name in table.column_names]
    return table.rename_columns(names).replace_schema_metadata(table.schema.metadata)


def _from_table(table: pa.Table) -> Verdict:
    made_by = parse_json((table.schema.metadata or {}).get(_METADATA, b'{"method": "unknown"}'))
    fields = {field: _to_numpy(table.column(name)) for name, field in _COLUMNS.items() if field != "rank"}
    present = [name for name in _CONSENSUS_COLUMNS if name in table.column_names]
    fields |= {_CONSENSUS_COLUMNS[name]: _to_numpy(table.column(name)) for name in present}
    text = dict.fromkeys(("labels", "suggested", "consensus_label"), "biufU")
    kinds = {"flagged": "b", "ids": "iufU", **text}
    if not isinstance(made_by, dict) or any(v.dtype.kind not in kinds.get(k, "fiu") for k, v in fields.items()):
        raise TypeError("columns of other types")
    return Verdict(**fields, made_by=made_by)


def _to_numpy(column: "pa.ChunkedArray[Any]") -> Array:
    if _is_text(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return np.asarray(column.to_numpy())


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
