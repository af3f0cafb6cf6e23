"""The rows of a table as people know them: values by column name, of suspects, neighbours and typical rows."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array, Ints
from eigenclean.review.suspects import Suspects
from eigenclean.sources import Source
from eigenclean.sources.tabular.source import TableSource
from eigenclean.sources.tabular.table import CHUNK_ROWS
from eigenclean.tables import TableEncoding
from eigenclean.tables.contributions import Contributions
from eigenclean.tables.groups import column_blocks, column_groups
from eigenclean.tables.values import to_arrow

MAX_COLUMNS = 300  # columns that are shown, those first that tell the classes apart
MAX_TYPICAL = 500  # classes that have a typical row
N_BRIEF = 4  # values of a row that are shown where there is little room
_MAX_CELLS = 30_000_000  # of suspects; of more, the worst have values
_MAX_TEXT = 300  # characters of a value


@dataclass(frozen=True)
class ShownColumn:
    """A column on the page.

    Attributes:
        name: its name.
        role: what it was used as, or why it was left out.
        block: its place among the encoded columns; None for one that was left out.
    """

    name: str
    role: str
    block: int | None


class TableRows:
    """Values of suspects, neighbours and typical rows, and what speaks against the suspects' labels.

    Attributes:
        columns: those that are shown, in the order of the table.
        n_hidden: number of columns that are not shown.
    """

    def __init__(
        self,
        source: TableSource,
        encoding: TableEncoding,
        suspects: Suspects,
        neighbours: Ints,
        features: Array,
        places: Ints | None = None,
    ) -> None:
        """``features`` are those that were judged, whose last columns are the encoded ones.

        ``places`` are the rows of the table that were judged, if some were not.
        """
        self._suspects, self._encoding, self._features = suspects, encoding, features
        self._blocks = column_blocks(encoding, features.shape[1])
        trusted = ~np.asarray(suspects.verdict.flagged)
        self._contributions = Contributions(features, suspects.codes, trusted, self._blocks, len(suspects.classes))
        self.columns, self.n_hidden = self._choose_columns(source)
        self._typical = self._typical_rows()
        first_suspects = suspects.rows[: _MAX_CELLS // max(len(self.columns), 1)]
        self._rows = np.unique(
            np.concatenate([first_suspects, neighbours, list(self._typical.values())]).astype(np.int64)
        )
        in_table = self._rows if places is None else places[self._rows]
        self._cells = _read(source, [column.name for column in self.columns], in_table)

    def describe(self, most: int | None = None) -> dict[str, Any]:
        """The columns, and a typical row of each class that the ``most`` worst suspects have or may get."""
        pairs = {*self._suspects.given[:most].tolist(), *self._suspects.suggested[:most].tolist()}
        return {
            "columns": [
                {"name": column.name[:_MAX_TEXT], "role": column.role, "used": column.block is not None}
                for column in self.columns
            ],
            "n_hidden": self.n_hidden,
            "typical": {
                code: {"id": str(self._suspects.verdict.ids[row]), "values": self.values(row)}
                for code, row in self._typical.items()
                if code in pairs
            },
        }

    def values(self, row: int) -> list[str | None] | None:
        """The values of a row, one for each shown column, None where it is missing; None for other rows."""
        position = int(np.searchsorted(self._rows, row))
        if position == len(self._rows) or self._rows[position] != row:
            return None
        return [_shown(column[position].as_py()) for column in self._cells]

    def details(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Values of suspects, and the columns that speak against their labels with their contributions."""
        return [
            {} if (values := self.values(row)) is None else self._details(values, effects)
            for row, effects in zip(rows, self._contributions.against(rows), strict=True)
        ]

    def brief(self, row: int, like: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Some values of a neighbour: those that the suspect's ``brief`` has."""
        values = self.values(row)
        return [] if values is None else [[number, values[number]] for number, _ in like]

    def groups(self, number: int, most: int | None = None) -> dict[str, Any]:
        """The (``most`` worst) suspects in groups by their values in a column; none for one that was left out."""
        block = self.columns[number].block
        if block is None:
            return {"groups": [], "codes": []}
        encoder, columns = self._blocks[block]
        grouped = next(
            column_groups(TableEncoding((encoder,)), self._features[:, columns][self._suspects.rows[:most]])
        )
        return {"groups": [text[:_MAX_TEXT] for text in grouped.groups], "codes": grouped.codes.tolist()}

    def _details(self, values: Sequence[str | None], effects: Sequence[tuple[int, float]]) -> dict[str, Any]:
        place = {column.block: number for number, column in enumerate(self.columns) if column.block is not None}
        against = [[place[block], round(effect, 3)] for block, effect in effects if block in place]
        return {"values": values, "against": against, "brief": self._brief(values, against)}

    def _brief(self, values: Sequence[str | None], against: Sequence[Sequence[Any]]) -> list[list[Any]]:
        first = [int(number) for number, _ in against]
        others = [number for number in self._by_separation if number not in first]
        return [[number, values[number]] for number in (first + others)[:N_BRIEF]]

    def _choose_columns(self, source: TableSource) -> tuple[list[ShownColumn], int]:
        used = {encoder.name: number for number, (encoder, _) in enumerate(self._blocks)}
        hidden = {source.label_column, source.columns.id, source.columns.text, source.columns.image}
        left_out = [
            ShownColumn(name, reason.partition(":")[0], None)
            for name, reason in self._encoding.left_out.items()
            if name not in hidden and name in source.table.schema.names
        ]
        order = self._contributions.order()
        columns = [ShownColumn(self._blocks[k][0].name, self._blocks[k][0].role.value, k) for k in order]
        shown = (columns + left_out)[:MAX_COLUMNS]
        place = {name: number for number, name in enumerate(source.table.schema.names)}
        shown.sort(key=lambda column: place[column.name])
        numbers = {column.name: number for number, column in enumerate(shown)}
        self._by_separation = [numbers[c.name] for c in columns if c.name in numbers]
        return shown, len(used) + len(left_out) - len(shown)

    def _typical_rows(self) -> dict[int, int]:
        pairs = np.concatenate([self._suspects.given, self._suspects.suggested])
        codes, counts = np.unique(pairs[pairs >= 0], return_counts=True)
        frequent = codes[np.argsort(-counts, kind="stable")][:MAX_TYPICAL].tolist()
        rows = {code: self._contributions.typical_row(code) for code in sorted(frequent)}
        return {code: row for code, row in rows.items() if row is not None}


def table_rows(data: Source, suspects: Suspects, neighbours: Ints) -> TableRows | None:
    """The rows of the table that was judged; None for other data, and for embeddings stored as a table."""
    raw: Source = getattr(data, "raw", data)  # of an embedded source; its embedded texts stand before the columns
    encoding = raw.column_encoding() if isinstance(raw, TableSource) else None
    if not isinstance(raw, TableSource) or encoding is None or len(suspects) == 0:
        return None
    features = data.features()
    if features.shape[1] < len(encoding.feature_names):
        return None
    return TableRows(raw, encoding, suspects, neighbours, features, getattr(data, "rows", None))


def _read(source: TableSource, names: Sequence[str], rows: Ints) -> list[Any]:
    """The cells of these rows, ascending, column by column."""
    start, batches = 0, []
    for batch in source.table.stream(names, CHUNK_ROWS):
        first, last = np.searchsorted(rows, (start, start + batch.num_rows))
        batches.append(batch.take(to_arrow(rows[first:last] - start)))
        start += batch.num_rows
    return list(pa.Table.from_batches(batches).columns)


def _shown(value: Any) -> str | None:
    """A value as it is shown: short, and numbers without noise in their last digits."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.12g}"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    text = str(value)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
