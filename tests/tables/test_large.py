"""Mixed tables that are streamed, sharded or judged on a cluster: the same features as in memory."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from eigenclean.errors import InvalidData
from eigenclean.sources import open_source
from eigenclean.verdict import Verdict
from eigenclean.workflows import DetectRequest, run_detect
from eigenclean.workflows.detect import EngineOptions, MethodOptions
from eigenclean.workflows.options import SourceOptions

N = 400


def rows(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, N)
    table: dict[str, Any] = {
        "order_no": np.arange(N),
        "mass": np.where(rng.random(N) < 0.1, np.nan, 100.0 * kind + rng.normal(0, 20, N)),
        "size": kind + rng.normal(0, 0.3, N),
        "town": [f"t{i}" for i in (kind * 20 + rng.integers(0, 30, N))],
        "label": [("no", "yes")[i] for i in np.where(np.arange(N) % 40 == 3, 1 - kind, kind)],
    }
    return pa.table(table)


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.arrow"])
def test_streaming_gives_the_verdict_of_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, table = tmp_path / name, rows()
    if name == "x.csv":
        pa.csv.write_csv(table, path)
    elif name == "x.parquet":
        pq.write_table(table, path, row_group_size=90)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=70)
    summaries = {}
    for engine in ("memory", "stream"):
        monkeypatch.setattr("eigenclean.sources.opening.ONE_PASS_BYTES", 0 if engine == "stream" else 1 << 20)
        out = tmp_path / engine
        request = DetectRequest(str(path), out, MethodOptions("fine"), engine=EngineOptions(engine))
        summaries[engine] = run_detect(request)
    assert summaries["memory"]["features"] == summaries["stream"]["features"]
    assert summaries["memory"]["data_hash"] == summaries["stream"]["data_hash"]
    first, second = (Verdict.load(tmp_path / engine) for engine in ("memory", "stream"))
    np.testing.assert_allclose(first.p_clean, second.p_clean, atol=1e-3)
    assert (tmp_path / "memory" / "encoding.json").read_text() == (
        tmp_path / "stream" / "encoding.json"
    ).read_text()


def test_any_rows_can_be_read_elsewhere(tmp_path: Path) -> None:
    pq.write_table(rows(), tmp_path / "x.parquet", row_group_size=90)
    source = open_source(tmp_path / "x.parquet")
    features = source.features()
    reader = deepcopy(source.reader())  # as Dask sends it to a worker
    np.testing.assert_array_equal(reader.read(85, 200), features[85:200])
    np.testing.assert_array_equal(source.take(np.array([300, 2])), features[[300, 2]])


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_shards_have_one_encoding(kind: str, tmp_path: Path) -> None:
    table = rows()
    whole = open_source(table)
    for shard in range(4):
        piece = table.slice(100 * shard, 100)
        path = tmp_path / f"{shard}.{kind}"
        if kind == "csv":
            pa.csv.write_csv(piece, path)
        elif kind == "parquet":
            pq.write_table(piece, path)
        else:
            lines = [
                {key: None if cell != cell else cell for key, cell in row.items()} for row in piece.to_pylist()
            ]
            path.write_text("\n".join(map(json.dumps, lines)))
    source = open_source(tmp_path)
    np.testing.assert_allclose(source.features(), whole.features(), atol=1e-12)
    assert source.encoding is not None and whole.encoding is not None
    assert source.encoding.sentence() == whole.encoding.sentence()
    assert source.data_hash() == whole.data_hash()
    assert len(source.files) == 4
    reader = deepcopy(source.reader())
    np.testing.assert_array_equal(reader.read(90, 210), source.features()[90:210])
    relabelled = open_source(tmp_path, labels=[i % 2 for i in range(N)])
    assert relabelled.labels.tolist() == [i % 2 for i in range(N)]


def test_shards_whose_columns_differ(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "w,k,label\n" + "".join(f"{i % 7},{'uv'[i % 2]},{i // 3 % 2}\n" for i in range(30))
    )
    (tmp_path / "b.csv").write_text("w,label\n" + "".join(f"{i % 5}.5,{i // 3 % 2}\n" for i in range(30)))
    source = open_source(tmp_path)
    assert source.encoding is not None and source.encoding.columns == ["k", "w"]
    assert "k is missing" in source.encoding.feature_names
    (tmp_path / "c.csv").write_text("w,y\n1,2\n")
    with pytest.raises(InvalidData, match=r"c\.csv has no column 'label'"):
        open_source(tmp_path)


def test_the_reading_options_of_a_run_name_columns(tmp_path: Path) -> None:
    pq.write_table(rows(), tmp_path / "x.parquet")
    reading = SourceOptions(category_columns=["town"], leave_out=["size"])
    summary = run_detect(DetectRequest(str(tmp_path / "x.parquet"), tmp_path / "run", reading=reading))
    assert summary["features"]["columns"] == {"mass": "number", "town": "category"}
