"""Parquet files, rewritten row group by row group with the same schema, metadata and compression."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.change import Change
from eigenclean.sources.relabel.columns import LabelColumn


def relabel_parquet(
    path: Path, out: Path, change: Change, *, column: str, names: Sequence[str] | None = None
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``change`` in that column.

    Everything that a Parquet file says about itself is kept: schema and its metadata, row groups, compression of
    each column, version, statistics, dictionaries. What it does not say (size of pages, level of compression) is as
    pyarrow writes it by default.
    """
    with explain_read_errors(str(path), "Parquet file"), pq.ParquetFile(path, pre_buffer=False) as file:
        place = file.schema_arrow.names.index(column)
        field = file.schema_arrow.field(place)
        words = _words(file, column) if isinstance(field.type, pa.DictionaryType) else None
        labels = LabelColumn(change, field.type, name=str(path), names=names, words=words)
        schema = _schema(file)
        with pq.ParquetWriter(out, schema, **_settings(file)) as writer:
            start = 0
            for number in range(file.num_row_groups):
                group = file.read_row_group(number)
                new = labels.replaced(group.column(place).combine_chunks(), start)
                group = group.set_column(place, field, new).cast(schema)
                writer.write_table(group, row_group_size=max(1, group.num_rows))
                start += group.num_rows
            others = {
                key: value
                for key, value in (file.metadata.metadata or {}).items()
                if key != b"ARROW:schema" and key not in (file.schema_arrow.metadata or {})
            }
            if others:
                writer.add_key_value_metadata({key.decode(): value.decode() for key, value in others.items()})


def _schema(file: pq.ParquetFile) -> pa.Schema:
    """The schema as Arrow wrote it down, if it did: Parquet's own names the insides of lists differently."""
    written = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if written is None:
        return file.schema_arrow
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))
    return schema.with_metadata(file.schema_arrow.metadata)


def _settings(file: pq.ParquetFile) -> dict[str, Any]:
    facts: Any = file.metadata
    if facts.num_row_groups == 0:
        return {}
    chunks = [facts.row_group(0).column(number) for number in range(facts.num_columns)]
    return {
        "version": facts.format_version,
        "compression": {chunk.path_in_schema: _codec(chunk.compression) for chunk in chunks},
        "use_dictionary": [chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page],
        "write_statistics": [chunk.path_in_schema for chunk in chunks if chunk.is_stats_set],
        "store_schema": b"ARROW:schema" in (facts.metadata or {}),
        "write_page_index": any(chunk.has_offset_index for chunk in chunks),
        "sorting_columns": facts.row_group(0).sorting_columns or None,
    }


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name.lower()


def _words(file: pq.ParquetFile, column: str) -> Any:
    """All words of the column's dictionaries, in the order in which they come."""
    batches: Any = file.iter_batches(columns=[column])
    return pc.unique(pa.concat_arrays([batch.column(column).dictionary for batch in batches]))
