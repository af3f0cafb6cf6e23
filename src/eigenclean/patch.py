"""The patch: what people decided about labels, as a record that can be applied and reverted."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eigenclean.arrays import Array, Bools, Float64s, check_ids, check_labels, check_unicode
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import parse_json, replacing, write_text

RELABEL, KEEP, REMOVE, UNSURE = "relabel", "keep", "remove", "unsure"
DECISIONS = (RELABEL, KEEP, REMOVE, UNSURE)
FIELDS = ("id", "decision", "old", "new", "score", "reason", "reviewer", "time", "data_hash")
_NEEDED = ("id", "decision", "old", "data_hash")
_TEXTS = ("reason", "reviewer", "time")


@dataclass(frozen=True, eq=False)
class Patch:
    """One row per decision, at most one decision per sample.

    Attributes:
        ids: ids of the samples, integers or strings as in the data.
        decision: "relabel", "keep" (the label is right), "remove" (nothing to learn here) or "unsure".
        old: the given labels.
        new: the labels after the patch; the old ones unless the decision is "relabel".
        score: P(label right) that the reviewer was shown, from 0 to 1; NaN if there was none.
        reason: free text, perhaps empty.
        reviewer: who decided, perhaps empty.
        time: when, as ISO 8601 with a time zone ("2026-01-31T12:00:00Z"), or empty.
        data_hash: fingerprint of the labels and features that were judged, as `eigenclean detect` writes it into
            summary.json.

    >>> patch = Patch.from_records([
    ...     {"id": 7, "decision": "relabel", "old": "cat", "new": "dog", "data_hash": "0a1b"},
    ...     {"id": 9, "decision": "keep", "old": "dog", "data_hash": "0a1b", "reviewer": "Ada"},
    ... ])
    >>> patch
    Patch of 2 decisions: 1 relabel, 1 keep
    >>> patch.new
    array(['dog', 'dog'], dtype='<U3')
    """

    ids: Array
    decision: Array
    old: Array
    new: Array
    score: Float64s
    reason: Array
    reviewer: Array
    time: Array
    data_hash: str

    def __post_init__(self) -> None:
        for field in ("decision", "old", "new", "score", *_TEXTS):
            if len(getattr(self, field)) != len(self.ids):
                raise InvalidData(
                    f"patch: {field} must have one value for each of the {len(self.ids)} ids, "
                    f"got {len(getattr(self, field))}"
                )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts().items() if count)
        return f"Patch of {len(self)} decision{'s' * (len(self) != 1)}: {counts or 'nothing to do'}"

    def counts(self) -> dict[str, int]:
        """How many decisions there are of each kind."""
        return {kind: int(np.count_nonzero(self.is_(kind))) for kind in DECISIONS}

    def is_(self, decision: str) -> Bools:
        """True for the rows of that decision."""
        return np.asarray(self.decision == decision)

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]], *, by: str = "patch") -> "Patch":
        """A patch of one dict per decision, with the keys of the file (see `FIELDS`); checked.

        ``id``, ``decision``, ``old`` and ``data_hash`` are needed, ``new`` too for "relabel".
        """
        rows = [_validated(record, f"{by}, decision {number}") for number, record in enumerate(records, start=1)]
        return cls._of_rows(rows, by=by)

    @classmethod
    def _of_rows(cls, rows: list[dict[str, Any]], *, by: str) -> "Patch":
        if not rows:
            raise InvalidData(f"{by} has no decisions; review some labels first")
        hashes = {row["data_hash"]: None for row in rows}
        if len(hashes) > 1:
            raise InvalidData(
                f"{by} must be for one data set, but its data_hash is {' and '.join(list(hashes)[:2])}; split it"
            )
        columns = {field: [row[field] for row in rows] for field in FIELDS if field != "data_hash"}
        return cls.from_columns(columns, data_hash=next(iter(hashes)), by=by)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any]], *, data_hash: str, by: str = "patch") -> "Patch":
        """A patch of one list per field of the file, without a dict for each decision; the same checks.

        ``id``, ``decision`` and ``old`` are needed; ``new`` may hold None, and the other fields may be missing.
        """
        n = len(columns["id"])
        if n == 0:
            raise InvalidData(f"{by} has no decisions; review some labels first")
        old = columns["old"]
        new = [before if after is None else after for before, after in zip(old, columns["new"], strict=True)]
        both = check_labels(_uniform_array([*old, *new], by=by, what="labels"), by=by).reshape(2, n)
        texts = {field: np.array(columns.get(field, [""] * n), dtype=np.str_) for field in ("decision", *_TEXTS)}
        for field, values in texts.items():
            check_unicode(values, by=by, what=field)
        score = np.array(columns.get("score", np.full(n, np.nan)), dtype=np.float64)  # None becomes NaN
        relabelled = texts["decision"] == RELABEL
        wrong = ((both[0] != both[1]) != relabelled) | ~np.isin(texts["decision"], DECISIONS)
        wrong |= (score < 0) | (score > 1)
        wrong |= np.array([bool(time) and not _is_time(time) for time in texts["time"].tolist()])
        if wrong.any():
            row = int(np.argmax(wrong))
            record = {field: values[row] for field, values in columns.items()}
            _validated({**record, "data_hash": data_hash}, f"{by}, decision {row + 1}")
            raise InvalidData(f"{by}, decision {row + 1}: must be a decision of a patch, got {record!r:.200}")
        return cls(
            ids=check_ids(_uniform_array(columns["id"], by=by, what="ids"), n, by=by),
            old=both[0],
            new=both[1],
            score=score,
            data_hash=data_hash,
            **texts,
        )

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per decision, as the lines of the file; ``new`` is None for "remove" and "unsure"."""
        has_label = self.is_(RELABEL) | self.is_(KEEP)
        columns = zip(
            self.ids.tolist(),
            self.decision.tolist(),
            self.old.tolist(),
            [label if known else None for label, known in zip(self.new.tolist(), has_label.tolist(), strict=True)],
            [None if score != score else score for score in self.score.tolist()],
            self.reason.tolist(),
            self.reviewer.tolist(),
            self.time.tolist(),
            [self.data_hash] * len(self),
            strict=True,
        )
        return [dict(zip(FIELDS, row, strict=True)) for row in columns]

    def lines(self) -> Iterator[str]:
        """The lines of a ``.jsonl`` file."""
        encode = json.JSONEncoder(ensure_ascii=False).encode
        for record in self.to_records():
            yield encode(record) + "\n"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a ``.jsonl`` or ``.parquet`` file, whole or not at all."""
        path = Path(path)
        _check_suffix(path)
        if path.suffix == ".jsonl":
            write_text(path, "".join(self.lines()))
        else:
            records = self.to_records()
            columns = {field: pa.array([record[field] for record in records]) for field in FIELDS}
            columns["score"] = pa.array([record["score"] for record in records], type=pa.float64())
            columns["new"] = pa.array([record["new"] for record in records], type=columns["old"].type)
            with replacing(path) as temporary:
                pq.write_table(pa.table(columns), temporary)
        return path

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Patch":
        """Read and check what `save` wrote, or what someone else wrote in the same form."""
        path = Path(path)
        _check_suffix(path)
        if not path.is_file():
            raise InvalidData(f"there is no patch {path}; check the path")
        return cls._of_rows(_read_lines(path) if path.suffix == ".jsonl" else _read_parquet(path), by=str(path))


def is_patch(path: str | os.PathLike[str]) -> bool:
    """Whether the file looks like a patch: ``.jsonl``, or ``.parquet`` with the columns of one.

    >>> is_patch("fixes.jsonl"), is_patch("data.csv")
    (True, False)
    """
    path = Path(path)
    if path.suffix != ".parquet" or not path.is_file():
        return path.suffix == ".jsonl"
    try:
        return set(_NEEDED) <= set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return False


def _check_suffix(path: Path) -> None:
    if path.suffix not in (".jsonl", ".parquet"):
        raise InvalidOption(f"a patch is a .jsonl or .parquet file, got {path}")


def _read_lines(path: Path) -> list[dict[str, Any]]:
    rows = []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidData(f"{path} is not a readable patch: {reason}") from None
    for number, line in enumerate(text.split("\n"), start=1):  # not splitlines: reasons may hold odd line ends
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = parse_json(line)
        except ValueError:
            raise InvalidData(f"{where}: must be one JSON object, got {line[:60]!r}") from None
        rows.append(_validated(record, where))
    return rows


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    try:
        # ParquetFile, because read_table would take the folders on the way for columns ("id=7/").
        with pq.ParquetFile(path) as file:
            records = file.read().to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise InvalidData(f"{path} is not a readable Parquet file: {str(error).splitlines()[0]}") from None
    return [_validated(record, f"{path}, row {number}") for number, record in enumerate(records)]


def _validated(record: Any, where: str) -> dict[str, Any]:
    """The record with defaults for missing fields; `InvalidData` with the location when a field is wrong."""
    if not isinstance(record, Mapping):
        raise InvalidData(f"{where}: a decision must be an object with {', '.join(_NEEDED)}, got {record!r:.60}")
    unknown = [field for field in record if field not in FIELDS]
    if unknown:
        raise InvalidData(f"{where}: a decision has the fields {', '.join(FIELDS)}, got {unknown[0]!r}")
    missing = [field for field in _NEEDED if record.get(field) is None or record[field] == ""]
    if missing:
        raise InvalidData(f"{where}: {missing[0]!r} is missing; a decision needs {', '.join(_NEEDED)}")
    row: dict[str, Any] = {field: record.get(field) for field in FIELDS}
    if row["decision"] not in DECISIONS:
        raise InvalidData(f"{where}: decision must be one of {', '.join(DECISIONS)}, got {row['decision']!r}")
    for field in ("decision", *_TEXTS, "data_hash"):
        row[field] = "" if row[field] is None else row[field]
        if not isinstance(row[field], str):
            raise InvalidData(f"{where}: {field} must be text, got {row[field]!r}")
    _check_labels(row, where)
    row["new"] = row["old"] if row["new"] is None else row["new"]
    score = row["score"]
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1):
        raise InvalidData(f"{where}: score must be a number from 0 to 1 or null, got {score!r}")
    if row["time"] and not _is_time(row["time"]):
        raise InvalidData(
            f"{where}: time must be ISO 8601 with a time zone, such as 2026-01-31T12:00:00Z, got {row['time']!r}"
        )
    return row


def _check_labels(row: Mapping[str, Any], where: str) -> None:
    decision, old, new = row["decision"], row["old"], row["new"]
    if decision == RELABEL and (new is None or new == ""):
        raise InvalidData(f"{where}: 'new' is missing; relabel needs the label to put instead of {old!r}")
    if decision == RELABEL and new == old:
        raise InvalidData(f"{where}: relabel must change the label, but old and new are both {old!r}; use keep")
    if decision == KEEP and new not in (None, old):
        raise InvalidData(f"{where}: keep must not change the label, got {new!r} for {old!r}; use relabel")
    if decision in (REMOVE, UNSURE) and new is not None:
        raise InvalidData(f"{where}: {decision} has no new label, got {new!r}; leave it out")


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _uniform_array(values: Sequence[Any], *, by: str, what: str) -> Array:
    """The values as one array: all integers or all strings, although JSON allows a mixture."""
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return np.array(values, dtype=np.str_)
    if kinds == {int} or (kinds == {bool} and what == "labels"):
        try:
            return np.array(values, dtype=np.bool_ if kinds == {bool} else np.int64)
        except OverflowError:
            raise InvalidData(f"{by}: {what} must be integers of 64 bits or strings, got larger ones") from None
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidData(f"{by}: {what} must be all integers or all strings, got {names}")
