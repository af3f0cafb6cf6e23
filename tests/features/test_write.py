"""Features as files: opened again they are the same, mapped, and whole or not there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources import Source, open_source
from eigenclean.sources.arrays.memory import MemorySource
from eigenclean.sources.write import write_npz, write_shards

RNG = np.random.default_rng(0)
N = 23


def source(dtype: Any = np.float32, labels: Any = None) -> MemorySource:
    given = np.array(["cat", "dog"])[np.arange(N) % 2] if labels is None else labels
    ids = np.array([f"a/{row}.png" for row in range(N)])
    texts = np.array([f"text {row}" for row in range(N)])
    return MemorySource("x", RNG.normal(size=(N, 5)).astype(dtype), given, ids=ids, texts=texts)


def assert_same(opened: Source, original: MemorySource) -> None:
    np.testing.assert_array_equal(opened.features(), original.features())
    assert opened.features().dtype == original.features().dtype
    assert opened.labels.tolist() == original.labels.tolist() and opened.ids.tolist() == original.ids.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_npz_is_mapped_when_it_is_opened(tmp_path: Path, dtype: Any) -> None:
    original = source(dtype)
    write_npz(original, tmp_path / "x.npz")
    opened = open_source(tmp_path / "x.npz")
    assert_same(opened, original)
    assert isinstance(opened.features(), np.memmap) and opened.texts == original.texts
    with np.load(tmp_path / "x.npz", allow_pickle=False) as content:  # anyone can read it
        assert content["features"].shape == (N, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("shard_rows", [1, 5, 23, 100])
def test_shards_are_a_source(tmp_path: Path, dtype: Any, shard_rows: int) -> None:
    original = source(dtype)
    names = write_shards(original, tmp_path / "s", facts={"encoder": "e"}, shard_rows=shard_rows)
    assert len(names) == -(-N // shard_rows)
    assert_same(open_source(tmp_path / "s"), original)
    assert open_source(tmp_path / "s", text_column="text").texts == original.texts
    assert json.loads((tmp_path / "s" / "embedding.json").read_text()) == {"encoder": "e"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]


def test_shards_are_mapped(tmp_path: Path) -> None:
    write_shards(source(), tmp_path / "s", facts={})
    opened = open_source(tmp_path / "s")
    before = pa.total_allocated_bytes()
    features = opened.features()
    assert not features.flags.writeable and pa.total_allocated_bytes() == before


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    original = source(labels=np.arange(N) % 3)
    write_shards(original, tmp_path / "s", facts={})
    assert open_source(tmp_path / "s").labels.dtype.kind == "i"


def test_a_folder_is_replaced_whole_and_others_are_left_alone(tmp_path: Path) -> None:
    write_shards(source(), tmp_path / "s", facts={}, shard_rows=2)
    original = source()
    write_shards(original, tmp_path / "s", facts={}, shard_rows=20)
    assert_same(open_source(tmp_path / "s"), original)
    assert sorted(path.name for path in (tmp_path / "s").glob("part*")) == ["part-00000.arrow", "part-00001.arrow"]
    (tmp_path / "s" / "mine.txt").write_text("precious")
    with pytest.raises(InvalidOption, match=r"has other files in it, such as mine\.txt; give --out a new folder"):
        write_shards(original, tmp_path / "s", facts={})
    with pytest.raises(InvalidOption, match="is a file; give --out a new folder"):
        write_shards(original, tmp_path / "s" / "mine.txt", facts={})


class Failing(MemorySource):
    def _blocks(self, rows: int) -> Any:
        yield self.features()[:4]
        raise InvalidData("no more")


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    original = source()
    write_shards(original, tmp_path / "s", facts={})
    write_npz(original, tmp_path / "x.npz")
    bad = Failing("x", original.features(), original.labels)
    with pytest.raises(InvalidData, match="no more"):
        write_shards(bad, tmp_path / "s", facts={})
    with pytest.raises(InvalidData, match="no more"):
        write_npz(bad, tmp_path / "x.npz")
    assert_same(open_source(tmp_path / "s"), original)
    assert_same(open_source(tmp_path / "x.npz"), original)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "x.npz"]
    assert json.loads((tmp_path / "s" / "embedding.json").read_text()) == {}


def test_what_a_killed_process_left_beside_the_file_is_removed(tmp_path: Path) -> None:
    left = tmp_path / ".x.npz.999999999.abc.tmp"
    left.write_bytes(b"half")
    write_npz(open_source(([[1.0], [2.0]], ["a", "b"])), tmp_path / "x.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
