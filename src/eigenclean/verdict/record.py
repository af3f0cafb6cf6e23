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
import pyarrow.parquet as pq

from eigenclean.arrays import Array, Bools, Floats, Ints, encode_labels
from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.extras import require
from eigenclean.files import json_text, parse_json
from eigenclean.names import check_name
from eigenclean.publication import publication, read_together
from eigenclean.verdict.files import FILE, is_text, write_table, write_verdict

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
_NONE_COLUMNS = {  # only where some samples belong to none of the classes
    "none_probability": "none_probability",
    "suggested_action": "suggested_action",
}
_OPTIONAL_COLUMNS = {**_CONSENSUS_COLUMNS, **_NONE_COLUMNS}
_COMPUTED = ("rank", "suggested_action")  # from the other columns
_ACTIONS = _RELABEL, _REMOVE = ("relabel", "remove")  # for flagged labels
NONE_THRESHOLD = 0.5  # of P(none), above which the suggestion is to remove the sample
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
        none_probability: probability that the sample belongs to none of the classes (open-set noise). None if such
            samples were not looked for, or there are none.

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
    none_probability: Floats | None = None

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
        p_none: Floats | None = None,
    ) -> "Verdict":
        """The verdict on rows with the labels ``classes[codes]``.

        ``suggestions`` are, for the flagged rows in order, the code of another class and its probability given that
        the label is wrong. The confidence in a suggestion is that probability times P(label wrong). A row that is
        not flagged keeps its label and P(right). None will do if no row is flagged. ``consensus`` are, for all
        rows, the code of the class that several annotators' labels come to, and its probability. ``p_none`` is the
        probability that the sample belongs to no class; where it is high, no other label is suggested.
        """
        suggested, confidence = codes.copy(), p_clean.copy()
        if suggestions is not None:
            suggested[flagged], given_wrong = suggestions
            other = 1.0 - p_clean if p_none is None else np.maximum(1.0 - p_clean - p_none, 0.0)
            confidence[flagged] = other[flagged] * given_wrong
        if p_none is not None:
            none = p_none > NONE_THRESHOLD
            suggested[none], confidence[none] = codes[none], p_clean[none]
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
            none_probability=p_none,
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
    def is_none(self) -> Bools:
        """True where the sample probably belongs to none of the classes."""
        if self.none_probability is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.none_probability > NONE_THRESHOLD)

    @property
    def n_none(self) -> int:
        """How many samples probably belong to none of the classes."""
        return int(np.count_nonzero(self.is_none))

    @property
    def other_class_probability(self) -> Floats:
        """P(the sample belongs to another class than the given one) = 1 − P(right) − P(none).

        Ordinary errors, which another label corrects, are best ranked by it. Without samples of no class it is
        1 − P(right).
        """
        wrong = 1.0 - np.asarray(self.p_clean)
        if self.none_probability is None:
            return wrong
        return np.asarray(np.maximum(wrong - self.none_probability, 0.0))

    @property
    def suggested_action(self) -> Array:
        """What to do with each sample: "keep", "relabel" (with the suggested label) or "remove"."""
        action = np.where(self.flagged, _RELABEL, "keep")
        action[np.asarray(self.flagged, dtype=bool) & self.is_none] = _REMOVE
        return action

    @property
    def noise_rate(self) -> float:
        """Estimated share of wrong labels: the mean probability of being wrong."""
        return float(np.mean(1.0 - self.p_clean, dtype=np.float64)) if len(self) else 0.0

    @cached_property
    def rank(self) -> Ints:
        """1 for the worst label, n for the best; the raw score breaks ties of the probability."""
        return ranks(self.p_clean, self.score)

    def suspects(self, most: int | None = None, *, action: str | None = None) -> Ints:
        """Row numbers of the flagged labels, worst first.

        With the ``action`` "relabel" only those of samples that have a class, the highest P(another class) first;
        with "remove" only those of samples that have none, the highest P(none) first.
        """
        rows = np.flatnonzero(self.flagged)
        rows = rows[np.argsort(self.rank[rows])]
        if action is not None:
            check_name(action, _ACTIONS, by="suspects", what="action")
            rows = rows[self.is_none[rows] == (action == _REMOVE)]
            p = self.none_probability if action == _REMOVE else self.other_class_probability
            if p is not None:
                rows = rows[np.argsort(-p[rows], kind="stable")]
        return rows[:most]

    def most_doubtful(self, most: int = 20, *, decided: Bools | None = None) -> Ints:
        """Row numbers of the labels with the lowest P(right), worst first, whether they are flagged or not.

        Rows that people have ``decided`` about are left out.
        """
        rows = np.argsort(self.rank)
        return (rows if decided is None else rows[~decided[rows]])[:most]

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
            "n_none": self.n_none,
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
        absent = _NONE_COLUMNS if self.none_probability is None else {}
        for name, field in _OPTIONAL_COLUMNS.items():
            if name not in absent and getattr(self, field) is not None:
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


def _with_new_names(table: pa.Table) -> pa.Table:
    """A table with the column names of today; files of earlier versions stay readable."""
    names = [_OLD_COLUMNS.get(name, name) for name in table.column_names]
    return table.rename_columns(names).replace_schema_metadata(table.schema.metadata)


def _from_table(table: pa.Table) -> Verdict:
    made_by = parse_json((table.schema.metadata or {}).get(_METADATA, b'{"method": "unknown"}'))
    fields = {field: _to_numpy(table.column(name)) for name, field in _COLUMNS.items() if field != "rank"}
    present = [name for name in _OPTIONAL_COLUMNS if name in table.column_names and name not in _COMPUTED]
    fields |= {_OPTIONAL_COLUMNS[name]: _to_numpy(table.column(name)) for name in present}
    text = dict.fromkeys(("labels", "suggested", "consensus_label"), "biufU")
    kinds = {"flagged": "b", "ids": "iufU", **text}
    if not isinstance(made_by, dict) or any(v.dtype.kind not in kinds.get(k, "fiu") for k, v in fields.items()):
        raise TypeError("columns of other types")
    return Verdict(**fields, made_by=made_by)


def _to_numpy(column: "pa.ChunkedArray[Any]") -> Array:
    if is_text(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return np.asarray(column.to_numpy())
