"""Parquet files, rewritten row group by row group with the same schema, metadata and compression."""

import base64
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.columns import LabelColumn
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog
from eigenclean.sources.tabular.table import Table


def relabel_parquet(
    path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog, *, table: Table, column: str
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``update`` in that column of the table.

    Everything that the footer of a Parquet file records is kept: schema and its metadata, row groups, compression
    of each column, version, statistics, dictionaries. What it does not record (page size, compression level) gets
    pyarrow's defaults. A label has only one spelling, so there is nothing to log.
    """
    class_names = table.class_names().get(column)
    with explain_read_errors(str(path), "Parquet file"), pq.ParquetFile(path, pre_buffer=False) as file:
        place = file.schema_arrow.names.index(column)
        field = file.schema_arrow.field(place)
        dictionary = _dictionary(file, column) if isinstance(field.type, pa.DictionaryType) else None
        labels = LabelColumn(update, field.type, name=str(path), class_names=class_names, dictionary=dictionary)
        schema = stored_schema(file)
        with pq.ParquetWriter(out, schema, **writer_settings(file)) as writer:
            start = 0
            for number in range(file.num_row_groups):
                group = file.read_row_group(number)
                new = labels.replace(group.column(place).combine_chunks(), start)
                group = group.set_column(place, field, new).cast(schema)
                writer.write_table(group, row_group_size=max(1, group.num_rows))
                start += group.num_rows
            copy_metadata(file, writer)


def copy_metadata(file: pq.ParquetFile, writer: pq.ParquetWriter) -> None:
    """Metadata of the file that are not those of its Arrow schema."""
    other = {
        key.decode(): value.decode()
        for key, value in (file.metadata.metadata or {}).items()
        if key != b"ARROW:schema" and key not in (file.schema_arrow.metadata or {})
    }
    if other:
        writer.add_key_value_metadata(other)


def stored_schema(file: pq.ParquetFile) -> pa.Schema:
    """The Arrow schema stored in the file, if any: Parquet's own names the elements of lists differently."""
    stored = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if stored is None:
        return file.schema_arrow
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored)))
    metadata = file.schema_arrow.metadata
    # Given None, pyarrow 26 stores empty metadata, which makes the file some bytes longer.
    return schema.remove_metadata() if metadata is None else schema.with_metadata(metadata)


def writer_settings(file: pq.ParquetFile) -> dict[str, Any]:
    """Arguments of `ParquetWriter` that reproduce how the file was written."""
    metadata: Any = file.metadata
    if metadata.num_row_groups == 0:
        return {}
    chunks = [metadata.row_group(0).column(number) for number in range(metadata.num_columns)]
    return {
        "version": metadata.format_version,
        "compression": {chunk.path_in_schema: _codec(chunk.compression) for chunk in chunks},
        "use_dictionary": [chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page],
        "write_statistics": [chunk.path_in_schema for chunk in chunks if chunk.is_stats_set],
        "store_schema": b"ARROW:schema" in (metadata.metadata or {}),
        "write_page_index": any(chunk.has_offset_index for chunk in chunks),
        "sorting_columns": metadata.row_group(0).sorting_columns or None,
    }


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name.lower()


def _dictionary(file: pq.ParquetFile, column: str) -> Any:
    """All values of the column's dictionaries, in order of appearance."""
    batches: Any = file.iter_batches(columns=[column])
    return pc.unique(pa.concat_arrays([batch.column(column).dictionary for batch in batches]))
