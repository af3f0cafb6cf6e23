"""Several tables one after the other as one, so that their columns get one role and one encoding."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.columns import ColumnOptions
from eigenclean.sources.tabular.table import Table


class JoinedTable(Table):
    """The rows of several tables; a column that some of them lack is missing there.

    A column may be of whole numbers in one table and of fractions in another. Where it is of numbers in one and of
    texts in another, all of it is read as texts.

    Attributes:
        tables: the tables.
    """

    def __init__(self, tables: Sequence[Table], *, name: str) -> None:
        self.name, self.tables = name, tables
        self._joined: pa.Schema | None = None

    @property
    def schema(self) -> pa.Schema:
        """All columns, with types that suit all tables."""
        if self._joined is None:
            fields: dict[str, pa.DataType] = {}
            for table in self.tables:
                for column in table.schema:
                    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
                    fields[column.name] = _common(fields.get(column.name, kind), kind)
            self._joined = pa.schema(list(fields.items()))
        return self._joined

    @contextmanager
    def prepared(self, options: ColumnOptions) -> Iterator[None]:
        """While all tables are prepared, each as its format needs it."""
        with ExitStack() as stack:
            for table in self.tables:
                stack.enter_context(table.prepared(options))
            yield

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """The batches of the tables in turn."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        for table in self.tables:
            known = [name for name in columns if name in table.schema.names]
            with explain_read_errors(table.name, "table"):
                for batch in table.stream(known, rows, mapped=mapped):
                    yield _conform(batch, schema)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """All rows of the columns."""
        if not columns:
            return pa.schema([]).empty_table()
        for table in self.tables:
            for name in columns:
                if name not in table.schema.names:
                    raise InvalidData(f"{table.name} has no column {name!r}, which other files of {self.name} have")
        tables = [table.read(columns) for table in self.tables]
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0]
            raise InvalidData(
                f"{self.name}: labels, ids and texts must be of one type in all files ({reason})"
            ) from None

    def count(self) -> int:
        """Rows of all tables."""
        return sum(table.count() for table in self.tables)

    def class_names(self) -> Mapping[str, Sequence[str]]:
        """Class names of the first table."""
        return self.tables[0].class_names()


def _common(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    try:
        schemas = [pa.schema([("x", kind)]) for kind in (first, second)]
        kind: pa.DataType = pa.unify_schemas(schemas, promote_options="permissive").field("x").type
        return kind
    except pa.ArrowException:
        return pa.string()


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns: list[Any] = []
    for field in schema:
        if field.name in batch.schema.names:
            columns.append(batch.column(field.name).cast(field.type, safe=False))
        else:
            columns.append(pa.nulls(batch.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
