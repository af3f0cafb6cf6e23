"""Mutations of well-formed arrays and tables: types, values, shapes and headers that nobody expects."""

import io
import random
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from attacks.fuzz.mutations import BYTES, Mutation
from attacks.fuzz.texts import ODD_TEXTS

Columns = dict[str, "pa.Array[Any]"]
_HUGE = (1e308, -1e308, 1e300, 1e39, 1e19, 1e-200, 5e-324, float("nan"), float("inf"))


def odd_column(columns: Columns, rng: random.Random) -> Columns:
    """Another type in one column, with as many rows."""
    name = rng.choice(list(columns))
    return {**columns, name: _odd_array(len(columns[name]), rng)}


def odd_names(columns: Columns, rng: random.Random) -> Columns:
    """An odd name for one column."""
    name, odd = rng.choice(list(columns)), rng.choice([text for text in ODD_TEXTS if text.isprintable()])
    return {odd if column == name else column: values for column, values in columns.items()}


def missing_values(columns: Columns, rng: random.Random) -> Columns:
    """Missing values in one column."""
    name = rng.choice(list(columns))
    values = columns[name].to_pylist()
    for _ in range(rng.choice((1, 3, len(values)))):
        values[rng.randrange(len(values))] = None
    return {**columns, name: pa.array(values, columns[name].type)}


def extreme_numbers(columns: Columns, rng: random.Random) -> Columns:
    """Huge, tiny, missing or infinite numbers in one column, or in all of them."""
    numbers = [name for name, values in columns.items() if pa.types.is_floating(values.type)]
    if not numbers:
        return columns
    factor, everywhere = rng.choice(_HUGE), rng.random() < 0.5
    changed = dict(columns)
    for name in numbers if everywhere else [rng.choice(numbers)]:
        values = columns[name].to_numpy(zero_copy_only=False).astype(np.float64)
        with np.errstate(all="ignore"):
            values = values * factor if everywhere else np.where(np.arange(len(values)) == 3, factor, values)
            changed[name] = pa.array(values.astype(rng.choice((np.float64, np.float32))))
    return changed


def few_rows(columns: Columns, rng: random.Random) -> Columns:
    """No rows, one row or two."""
    n = rng.randrange(3)
    return {name: values[:n] for name, values in columns.items()}


def fewer_columns(columns: Columns, rng: random.Random) -> Columns:
    """Some columns are missing, perhaps all."""
    return {name: values for name, values in columns.items() if rng.random() < 0.5}


def repeated_rows(columns: Columns, rng: random.Random) -> Columns:
    """Every row twice: ids are no longer unique."""
    return {name: pa.concat_arrays([values, values]) for name, values in columns.items()}


COLUMNS: tuple[Callable[[Columns, random.Random], Columns], ...] = (
    odd_column,
    odd_column,
    odd_column,
    odd_names,
    missing_values,
    extreme_numbers,
    extreme_numbers,
    few_rows,
    fewer_columns,
    repeated_rows,
)


def parquet_mutations() -> tuple[Mutation, ...]:
    """Mutations of the columns of a Parquet file; its metadata stay."""
    return tuple(_of_table(mutate, _read_parquet, _write_parquet) for mutate in COLUMNS)


def arrow_mutations() -> tuple[Mutation, ...]:
    """Mutations of the columns of an Arrow IPC file."""
    return tuple(_of_table(mutate, _read_arrow, _write_arrow) for mutate in COLUMNS)


def arrow_stream_mutations() -> tuple[Mutation, ...]:
    """Mutations of the columns of an Arrow IPC stream, as Hugging Face saves it."""
    return tuple(_of_table(mutate, _read_stream, _write_stream) for mutate in COLUMNS)


def _of_table(
    mutate: Callable[[Columns, random.Random], Columns],
    read: Callable[[bytes], pa.Table],
    write: Callable[[pa.Table], bytes],
) -> Mutation:
    def mutated(content: bytes, rng: random.Random) -> bytes:
        table = read(content)
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        return write(pa.table(mutate(columns, rng)).replace_schema_metadata(table.schema.metadata))

    mutated.__name__ = mutate.__name__
    return mutated


def _read_parquet(content: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(content))


def _write_parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _read_arrow(content: bytes) -> pa.Table:
    return pyarrow.feather.read_table(io.BytesIO(content))


def _write_arrow(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def _read_stream(content: bytes) -> pa.Table:
    return pa.ipc.open_stream(content).read_all()


def _write_stream(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def _odd_array(n: int, rng: random.Random) -> "pa.Array[Any]":
    texts = [rng.choice([text for text in ODD_TEXTS if _is_utf8(text)])] * n
    return rng.choice(
        (
            lambda: pa.array(texts),
            lambda: pa.array([f"{text[:50]}{i}" for i, text in enumerate(texts)]),
            lambda: pa.array([None] * n),
            lambda: pa.array([True, False] * n)[:n],
            lambda: pa.array([b"\xff\0"] * n),
            lambda: pa.array([[1.0, 2.0]] * n),
            lambda: pa.array([[1.0], [1.0, 2.0]] * n)[:n],
            lambda: pa.array([{"a": 1}] * n),
            lambda: pa.array([1 << 62] * n),
            lambda: pa.array(range(n), pa.uint64()),
            lambda: pa.array([0] * n, pa.date32()),
            lambda: pa.array(range(n), pa.timestamp("ns")),
            lambda: pa.array(range(n), pa.duration("s")),
            lambda: pa.array(["a"] * n).dictionary_encode(),
            lambda: pa.array([1.5] * n, pa.float16()) if n else pa.array([], pa.float16()),
            lambda: pa.array([1] * n, pa.decimal128(30, 2)),
            lambda: pa.array(["x" * 50_000] * n, pa.large_string()),
            lambda: pa.array([[[1.0]]] * n, pa.list_(pa.list_(pa.float32()))),
        )
    )()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- NumPy --------------------------------------------------------------------------------------------------------


def odd_arrays(content: bytes, rng: random.Random) -> bytes:
    """Another type, shape or value in one array of an archive."""
    arrays = _read_npz(content)
    name = rng.choice(list(arrays))
    return write_npz({**arrays, name: _odd_values(arrays[name], rng)})


def other_lengths(content: bytes, rng: random.Random) -> bytes:
    """One array has fewer rows than the others."""
    arrays = _read_npz(content)
    name = rng.choice(list(arrays))
    return write_npz({**arrays, name: arrays[name][: rng.randrange(3)]})


def missing_arrays(content: bytes, rng: random.Random) -> bytes:
    """Some arrays are missing, or have other names."""
    arrays = _read_npz(content)
    return write_npz({(name if rng.random() < 0.5 else f"{name}\0/.."): values for name, values in arrays.items()})


def lying_archive(content: bytes, rng: random.Random) -> bytes:
    """A member whose header claims a huge or negative shape, an object type, or nonsense."""
    arrays = _read_npz(content)
    members = {f"{name}.npy": _npy(values) for name, values in arrays.items()}
    members[rng.choice(list(members))] = lying_npy(b"", rng)
    return _zip(members)


def lying_npy(content: bytes, rng: random.Random) -> bytes:
    """A ``.npy`` header that does not fit what follows."""
    dtype = rng.choice(
        ("'<f4'", "'|O'", "'<U99999999'", "'<M8[ns]'", "'V8'", "[('a', '<f4')]", "'%s'", "__import__('os')")
    )
    shape = rng.choice(
        ("(60, 4)", "(1099511627776, 1024)", "(-1, 4)", "(60,)", "()", "(0, 0)", "(60, 4,", "(1e9,)")
    )
    order = rng.choice(("False", "True", "7"))
    header = f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    length = len(header) + 1 if rng.random() < 0.8 else rng.choice((0, 65535))
    return (
        b"\x93NUMPY\x01\0" + struct.pack("<H", length) + header + b"\n" + rng.randbytes(rng.choice((0, 960, 4096)))
    )


def odd_npy(content: bytes, rng: random.Random) -> bytes:
    """Another type, shape or value."""
    return _npy(_odd_values(np.load(io.BytesIO(content), allow_pickle=False), rng))


def odd_workbook(content: bytes, rng: random.Random) -> bytes:
    """Bytes of one member of a workbook are replaced: its XML is broken, or names something else."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(members))
    members[name] = rng.choice(BYTES)(members[name], rng)
    return _zip(members)


def odd_sheet(content: bytes, rng: random.Random) -> bytes:
    """Numbers, references and types of cells in a sheet are replaced by odd ones."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice([name for name in members if name.startswith("xl/worksheets/")] or list(members))
    values = re.split(rb'("[^"<>]*"|>[^<>]+<)', members[name])
    row = rng.randrange(1, len(values), 2)
    odd = rng.choice((b"", b"-1", b"1e400", b"A1048577", b"ZZZZ9", b"99999999999", b"n", b"inlineStr", b"&entity;"))
    values[row] = values[row][:1] + odd + values[row][-1:]
    return _zip({**members, name: b"".join(values)})


def missing_member(content: bytes, rng: random.Random) -> bytes:
    """A member of the workbook is missing, or lies outside its folder."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(members))
    removed = members.pop(name)
    return _zip(members if rng.random() < 0.5 else {**members, f"../{name}": removed})


WORKBOOK: tuple[Mutation, ...] = (odd_workbook, odd_sheet, odd_sheet, odd_sheet, missing_member)
NPZ: tuple[Mutation, ...] = (odd_arrays, odd_arrays, odd_arrays, other_lengths, missing_arrays, lying_archive)
NPY: tuple[Mutation, ...] = (odd_npy, odd_npy, lying_npy, lying_npy)


def write_npz(arrays: Mapping[str, Any]) -> bytes:
    """An archive of arrays, under any names."""
    return _zip({f"{name}.npy": _npy(values) for name, values in arrays.items()})


def _read_npz(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _npy(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def _zip(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def _odd_values(values: Any, rng: random.Random) -> Any:
    n = len(values) if values.ndim else 1
    numbers = np.arange(n)
    with np.errstate(all="ignore"):
        return rng.choice(
            (
                lambda: numbers.astype("M8[s]"),
                lambda: numbers.astype(np.complex64),
                lambda: np.zeros(n, dtype="V4"),
                lambda: np.array([rng.choice(ODD_TEXTS)] * n),
                lambda: np.array([f"{i}{rng.choice(ODD_TEXTS)[:40]}" for i in range(n)]),
                lambda: np.full(n, b"\xff"),
                lambda: numbers.astype(">i8"),
                lambda: numbers.astype(np.uint64) + np.uint64(1 << 63),
                lambda: numbers.astype(np.float16),
                lambda: numbers.astype(np.longdouble),
                lambda: np.zeros((n, 0), dtype=np.float32),
                lambda: np.zeros((n, 4)),
                lambda: np.ones((n, 2, 2, 2)),
                lambda: np.array(3.0),
                lambda: values[::-1].T,
                lambda: _scaled(values, rng.choice(_HUGE)),
                lambda: numbers % 2 == 0,
                lambda: numbers + 0.5,
                lambda: np.zeros(n, dtype=[("a", "f4"), ("b", "U3")]),
            )
        )()


def _scaled(values: Any, factor: float) -> Any:
    return values * values.dtype.type(factor) if values.dtype.kind == "f" else np.full(len(values), factor)
