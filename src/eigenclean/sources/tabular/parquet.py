"""Parquet files, read row group by row group."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.plain_types import plain_schema, plain_types
from eigenclean.sources.tabular.table import Table

_BUFFER_BYTES = 1 << 20


class ParquetTable(Table):
    """The columns of one Parquet file."""

    def __init__(self, path: Path, *, name: str) -> None:
        self.name = name
        self._path = path
        with explain_read_errors(name, "Parquet file"), pq.ParquetFile(path) as file:
            self._n_rows = file.metadata.num_rows
            self._schema = plain_schema(file.schema_arrow)
            _ = self.schema.names  # decoded only now, and they may be damaged too

    def count(self) -> int:
        """Number of rows, from the footer of the file."""
        return self._n_rows

    def has_gaps(self, columns: Sequence[str]) -> bool:
        """As its footer says; where it does not, the columns are read."""
        names = set(columns)
        with explain_read_errors(self.name, "Parquet file"), pq.ParquetFile(self._path) as file:
            for group in range(file.metadata.num_row_groups):
                row_group = file.metadata.row_group(group)
                for number in range(row_group.num_columns):
                    column: Any = row_group.column(number)
                    if column.path_in_schema not in names:
                        continue
                    if column.statistics is None or not column.statistics.has_null_count:
                        return super().has_gaps(columns)
                    if column.statistics.null_count:
                        return True
        return False

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Pages of the wanted columns only."""
        names = list(columns)
        # Not memory-mapped: pages are decoded into new memory anyway, and if the file is rewritten meanwhile, a map
        # would kill the process (SIGBUS) where reading gives an error. Nor pre-buffered, which
        # would load all wanted columns at once.
        with (
            explain_read_errors(self.name, "Parquet file"),
            pq.ParquetFile(self._path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file,
        ):
            for batch in file.iter_batches(batch_size=rows, columns=names):
                selected = batch.select(names)  # a name with a dot may have brought others along
                selected.validate(full=True)
                yield plain_types(selected)

    def stream_rows(self, columns: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Only the row groups that have them are read."""
        names = list(columns)
        with (
            explain_read_errors(self.name, "Parquet file"),
            pq.ParquetFile(self._path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file,
        ):
            first = 0
            for group in range(file.metadata.num_row_groups):
                n = file.metadata.row_group(group).num_rows
                if first < stop and start < first + n:
                    batch_start = first
                    for batch in file.iter_batches(row_groups=[group], columns=names):
                        low, high = max(start - batch_start, 0), min(stop - batch_start, batch.num_rows)
                        batch_start += batch.num_rows
                        if low < high:
                            selected = batch.select(names).slice(low, high - low)
                            selected.validate(full=True)
                            yield plain_types(selected)
                first += n
