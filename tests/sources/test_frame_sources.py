"""Data frames and series of every library, taken over by protocol."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest

from eigenclean.errors import InvalidData
from eigenclean.sources import as_matrix, as_vector, open_source

COLUMNS: dict[str, Any] = {"a": [1.0, 2.0, 3.0], "b": [4, 5, 6], "label": ["x", "y", "x"]}


class Interchange:
    """An object that speaks nothing but the data-frame interchange protocol."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __dataframe__(self, *args: Any, **options: Any) -> Any:
        return self._frame.__dataframe__(*args, **options)


class Stream:
    """An object that speaks nothing but the Arrow stream protocol."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


FRAMES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas with a row filter": pd.DataFrame(COLUMNS, index=[5, 6, 7]),
    "polars": pl.DataFrame(COLUMNS),
    "pyarrow table": pa.table(COLUMNS),
    "pyarrow batch": pa.RecordBatch.from_pydict(COLUMNS),
    "stream": Stream(pa.table(COLUMNS)),
    "interchange": Interchange(pa.table(COLUMNS)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind: str) -> None:
    source = open_source(FRAMES[kind])
    assert source.features().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert source.labels.tolist() == ["x", "y", "x"]
    assert [len(batch) for batch in source.batches(2)] == [2, 1]


def test_a_reader_that_can_be_read_only_once() -> None:
    reader = pa.RecordBatchReader.from_batches(pa.table(COLUMNS).schema, pa.table(COLUMNS).to_batches())
    source = open_source(reader)
    assert source.features().shape == (3, 2)
    assert source.data_hash() == open_source(pa.table(COLUMNS)).data_hash()


def test_polars_arrays_lists_and_categories() -> None:
    vectors = [[1.0, 2.0], [3.0, 4.0]]
    for dtype in (pl.Array(pl.Float32, 2), pl.List(pl.Float32)):
        frame = pl.DataFrame(
            {"v": pl.Series(vectors, dtype=dtype), "label": pl.Series(["a", "b"], dtype=pl.Categorical)}
        )
        source = open_source(frame)
        assert source.features().tolist() == vectors
        assert source.features().dtype == np.float32
        assert source.labels.tolist() == ["a", "b"]
        assert as_matrix(frame["v"]).tolist() == vectors


@pytest.mark.parametrize("suffix", [None, ".arrow", ".parquet"])
def test_rows_of_views_of_texts_can_be_picked(suffix: str | None, tmp_path: Path) -> None:
    """Polars hands out and writes texts as views, of which Arrow cannot take rows."""
    n = 150_000  # more rows than roles and scales are found from
    frame = pl.DataFrame({"colour": ["red", "blue", "blue"] * (n // 3), "y": [0, 1, 0] * (n // 3)})
    source: Any = frame
    if suffix is not None:
        source = str(tmp_path / f"table{suffix}")
        frame.write_ipc(source) if suffix == ".arrow" else frame.write_parquet(source)
    opened = open_source(source, label_column="y")
    assert opened.table is not None and opened.encoding is not None
    batch = next(iter(opened.table.stream(["colour"], 10)))
    assert batch.take(pa.array([1])).to_pylist() == [{"colour": "blue"}]
    assert opened.data_hash() == open_source(frame.to_arrow(), label_column="y").data_hash()


def test_pandas_categories_and_missing_values() -> None:
    frame = pd.DataFrame({"f": [1.0, 2.0], "label": pd.Categorical(["u", "v"])})
    assert open_source(frame).labels.tolist() == ["u", "v"]
    with pytest.raises(InvalidData, match="1 of 2 labels are missing"):
        open_source(pd.DataFrame({"f": [1.0, 2.0], "label": ["u", None]}))
    filled = open_source(pd.DataFrame({"f": [1.0, None], "label": ["u", "v"]}))
    assert filled.encoding is not None and filled.encoding.n_filled == 1
    assert np.isfinite(filled.features()).all()


def test_pairs_of_frames_and_series() -> None:
    for frame in (pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)):
        source = open_source((frame[["a", "b"]], frame["label"]))
        assert source.features().shape == (3, 2)
        assert source.labels.tolist() == ["x", "y", "x"]


def test_pairs_of_mixed_frames_are_encoded() -> None:
    columns = {"a": [*range(30), None], "b": ["u", "v", "w"] * 10 + ["u"], "c": [0.5, 1.5] * 15 + [2.5]}
    labels = [i // 2 % 2 for i in range(31)]
    expected = open_source(pa.table({**columns, "label": labels})).features()
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        source = open_source((frame, labels))
        np.testing.assert_allclose(source.features(), expected, atol=1e-12)
        assert source.encoding is not None and source.encoding.n_filled == 1


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        [[1.0, 2.0], [3.0, 4.0]],
        pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]}),
        pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]}, index=["p", "q"]),
        pl.DataFrame({"a": [1.0, 3.0], "b": [2, 4]}),
        pa.table({"a": [1.0, 3.0], "b": [2.0, 4.0]}),
        pa.record_batch({"a": [1.0, 3.0], "b": [2.0, 4.0]}),
        pa.table({"v": [[1.0, 2.0], [3.0, 4.0]]}),
        pa.array([[1.0, 2.0], [3.0, 4.0]]),
        pa.chunked_array([[[1.0, 2.0]], [[3.0, 4.0]]]),
        pl.Series([[1.0, 2.0], [3.0, 4.0]]),
        Interchange(pa.table({"a": [1.0, 3.0], "b": [2.0, 4.0]})),
    ],
    ids=lambda values: type(values).__name__,
)
def test_as_matrix(values: Any) -> None:
    matrix = as_matrix(values)
    assert matrix.shape == (2, 2) and matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "values",
    [
        np.array(["x", "y"]),
        ["x", "y"],
        ("x", "y"),
        pd.Series(["x", "y"]),
        pd.Series(["x", "y"], dtype="category"),
        pd.Series(["x", "y"], dtype=object),
        pl.Series(["x", "y"]),
        pl.Series(["x", "y"], dtype=pl.Categorical),
        pa.array(["x", "y"]),
        pa.chunked_array([["x"], ["y"]]),
        pl.DataFrame({"label": ["x", "y"]}),
        pd.DataFrame({"label": ["x", "y"]}),
    ],
    ids=lambda values: type(values).__name__,
)
def test_as_vector(values: Any) -> None:
    vector = as_vector(values)
    assert vector.tolist() == ["x", "y"] and vector.dtype.kind in "UO"


def test_arrays_are_returned_as_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.eye(3))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert as_matrix(mapped) is mapped
    assert as_vector(mapped) is mapped


def test_numbers_in_a_series() -> None:
    for series in (pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2])):
        assert as_vector(series).tolist() == [1, 2]
        assert as_matrix(series).shape == (2, 1)


def test_what_is_no_table_or_column() -> None:
    with pytest.raises(InvalidData, match="DataFrame: features must be numbers, but the column 'label' holds"):
        as_matrix(pl.DataFrame(COLUMNS))
    with pytest.raises(InvalidData, match="labels must be one value per row, got 3 columns"):
        as_vector(pl.DataFrame(COLUMNS))
    with pytest.raises(InvalidData, match="features must form one array"):
        as_matrix([[1.0], [1.0, 2.0]])
    with pytest.raises(InvalidData, match="labels must be all integers or all strings"):
        open_source((np.eye(2), pd.Series([1, "x"], dtype=object)))
    assert as_matrix(pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Float64, "b": pl.Float64})).shape == (0, 2)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gone.npz", "there is no file or folder .*gone.npz"),
        ("x.h5", r"not a supported source: expected \.npz, \.npy, \.parquet, .*got '\.h5'"),
        ("nosuffix", "not a supported source: .*got 'no suffix'"),
        ("empty", "is a folder, but no saved data set and no class folders of images"),
    ],
)
def test_unsupported_paths(name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "x.h5").write_bytes(b"x")
    (tmp_path / "nosuffix").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidData, match=sentence):
        open_source(tmp_path / name)


def test_opening_imports_no_heavy_library(tmp_path: Path) -> None:
    script = """
import sys, json, pathlib
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
folder = pathlib.Path(sys.argv[1])
from eigenclean.sources import as_matrix, as_vector, open_source
(folder / "x.csv").write_text("label,f,text,id\\na,1,u,5\\nb,2,v,6\\n")
(folder / "y.txt").write_text("a\\nb\\n")
for name in ("x.npz", "x.npy", "x.csv", "x.parquet", "x.arrow", folder):
    labels = folder / "y.txt" if name == "x.npy" else None
    source = open_source(folder / name, labels=labels)
    source.features(), source.data_hash(), list(source.batches(1))
table = pq.ParquetFile(folder / "x.parquet").read()
column, labels = table["v"], table["label"]
as_matrix(column), as_matrix(column.chunk(0)), as_vector(labels), as_vector(labels.chunk(0))
open_source(table).features(), open_source((table.select(["v"]), labels)).features()
heavy = {"pandas", "polars", "datasets", "torch"} & set(sys.modules)
assert not heavy, heavy
"""
    np.savez(tmp_path / "x.npz", features=np.eye(2), labels=np.array(["a", "b"]))
    np.save(tmp_path / "x.npy", np.eye(2))
    table = pa.table({"v": [[1.0], [2.0]], "label": pa.array(["a", "b"]).dictionary_encode(), "id": ["p", "q"]})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    with pa.ipc.new_stream(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
