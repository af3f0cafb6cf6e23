"""The suspects of an audit as records: the verdict on each, with the text or the values of its row."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, overload

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Ints
from eigenclean.extras import require
from eigenclean.features import EmbeddedSource
from eigenclean.report.formatting import plain
from eigenclean.sources import Source
from eigenclean.sources.tabular.table import CHUNK_ROWS, Table
from eigenclean.verdict import Verdict

MAX_COLUMNS = 30  # columns of the data in the table
_MAX_FILE_BYTES = 1 << 28  # a larger file is not read again for the values of a few rows


class SuspectTable(Sequence[Mapping[str, Any]]):
    """Records of suspects, worst first: one dict each, or a column by its name.

    >>> table = SuspectTable([{"id": 7, "label_score": 0.01}])
    >>> len(table), table[0]["id"], table["label_score"]
    (1, 7, [0.01])
    """

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._records = [dict(record) for record in records]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._records)

    @overload
    def __getitem__(self, key: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "SuspectTable": ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        if isinstance(key, str):
            return [record[key] for record in self._records]
        chosen: Any = self._records[key]
        return SuspectTable(chosen) if isinstance(key, slice) else chosen

    def __repr__(self) -> str:
        lines = [", ".join(f"{name}={plain(value, 60)}" for name, value in record.items()) for record in self]
        return "\n".join(lines) or "no suspects"

    def _repr_html_(self) -> str:
        columns = list(self._records[0]) if self._records else []
        head = "".join(f"<th>{escape(plain(name, 60))}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(record[name]))}</td>" for name in columns) + "</tr>"
            for record in self._records
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def to_pandas(self) -> Any:
        """A pandas data frame; pandas must be installed."""
        pandas: Any = require("pandas", extra=None, caller="SuspectTable.to_pandas")
        return pandas.DataFrame(self._records)

    def to_polars(self) -> Any:
        """A polars data frame; polars must be installed."""
        polars: Any = require("polars", extra=None, caller="SuspectTable.to_polars")
        return polars.DataFrame(self._records, infer_schema_length=None)


def suspect_table(verdict: Verdict, source: Source | None, most: int | None) -> SuspectTable:
    """The flagged labels, or as many of the most doubtful labels as are asked for, with what their rows hold."""
    rows = verdict.suspects() if most is None else verdict.most_doubtful(len(verdict))
    if most is not None:
        flagged = np.asarray(verdict.flagged)[rows]
        rows = np.concatenate([rows[flagged], rows[~flagged]])[:most]
    none = verdict.is_none
    records: list[dict[str, Any]] = [
        {
            "row": row,
            "id": verdict.ids[row].item(),
            "given_label": verdict.labels[row].item(),
            "suggested_label": verdict.suggested[row].item() if verdict.flagged[row] and not none[row] else None,
            "label_score": float(verdict.p_clean[row]),
            "is_label_issue": bool(verdict.flagged[row]),
        }
        for row in rows.tolist()
    ]
    if verdict.none_probability is not None:
        actions = verdict.suggested_action
        for record in records:
            record["suggested_action"] = str(actions[record["row"]])
    if source is not None and source.texts is not None:
        for record in records:
            record["text"] = str(source.texts[record["row"]])
    for record, values in zip(records, row_values(source, rows), strict=True):
        record.update({name: value for name, value in values.items() if name not in record})
    return SuspectTable(records)


def row_values(source: Source | None, rows: Ints, most: int = MAX_COLUMNS) -> list[dict[str, Any]]:
    """The cells of these rows in the table that a source was read from; empty where there is no table."""
    raw = source.raw if isinstance(source, EmbeddedSource) else source
    if raw is None or raw.table is None or sum(path.stat().st_size for path in raw.files) > _MAX_FILE_BYTES:
        return [{} for _ in rows]
    if isinstance(source, EmbeddedSource):
        rows = source.rows[rows]
    columns = [field.name for field in raw.table.schema if _is_shown(field.type) and field.name != raw.label_column]
    chosen = [name for name in columns if columns.count(name) == 1][:most]
    return _cells(raw.table, chosen, rows)


def _cells(table: Table, columns: Sequence[str], rows: Ints) -> list[dict[str, Any]]:
    cells: dict[int, dict[str, Any]] = {}
    start, sorted_rows = 0, np.sort(rows)
    for batch in table.stream(columns, CHUNK_ROWS) if columns else ():
        inside = sorted_rows[(sorted_rows >= start) & (sorted_rows < start + batch.num_rows)]
        records = batch.take((inside - start).tolist()).to_pylist()
        cells |= dict(zip(inside.tolist(), records, strict=True))
        start += batch.num_rows
    return [cells.get(row, {}) for row in rows.tolist()]


def _is_shown(kind: Any) -> bool:
    """Whether a cell is one value: not a list, an image or bytes."""
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else plain(value, 200)
