"""Views of texts and bytes as ordinary columns: polars writes views, and Arrow cannot pick rows of them."""

from typing import Any, TypeVar

import pyarrow as pa

_PLAIN: dict[str, Any] = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
_Columns = TypeVar("_Columns", pa.Table, pa.RecordBatch)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with texts and bytes in place of views of them."""
    fields = [field.with_type(_PLAIN.get(str(field.type), field.type)) for field in schema]
    return pa.schema(fields).with_metadata(schema.metadata)


def plain_types(columns: _Columns) -> _Columns:
    """A table or batch with texts and bytes in place of views of them; other columns are not copied.

    >>> table = pa.table({"text": pa.array(["a", "b"], pa.string_view()), "number": [1, 2]})
    >>> plain_types(table).take([1]).to_pylist()
    [{'text': 'b', 'number': 2}]
    """
    if not any(str(kind) in _PLAIN for kind in columns.schema.types):
        return columns
    return columns.cast(plain_schema(columns.schema))
