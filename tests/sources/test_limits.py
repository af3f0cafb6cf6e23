"""Input that is far larger or stranger than usual costs in proportion to its size, or gets a sentence at once."""

import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from eigenclean.errors import InvalidData
from eigenclean.sources import open_source
from eigenclean.sources.images import sampling
from eigenclean.sources.tabular import delimited
from eigenclean.sources.tabular.columns import ColumnOptions, choose_columns


def columns_seconds(n: int, options: ColumnOptions) -> float:
    fields: list[Any] = [pa.field(f"f{i}", pa.float64()) for i in range(n)]
    schema = pa.schema([*fields, pa.field("label", pa.string())])
    started = time.process_time()
    assert len(choose_columns(schema, options, by="x.csv").features) == n
    return time.process_time() - started


@pytest.mark.parametrize(
    "options", [ColumnOptions(), ColumnOptions(feature_columns=[f"f{i}" for i in range(3000)])]
)
def test_the_choice_of_columns_is_linear(options: ColumnOptions) -> None:
    n = 20_000 if options.feature_columns is None else 3000
    small = min(columns_seconds(n // 10, ColumnOptions()) for _ in range(3))
    large = min(columns_seconds(n, options) for _ in range(3))
    assert large < 60 * max(small, 1e-3)  # by the square of the columns, it would be 100


class TestLongLines:
    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(delimited, "_USUAL_BLOCK_BYTES", 64)
        monkeypatch.setattr(delimited, "_LINES_PER_BLOCK", 1)
        monkeypatch.setattr(delimited, "_BLOCK_BYTES", 4096)

    def write(self, path: Path, length: int) -> Path:
        rows = [f"{i},{i / 2},{'x' * (length if i == 30 else 5)},c{i % 2}" for i in range(60)]
        path.write_text("\n".join(["f0,f1,note,label", *rows]) + "\n")
        return path

    @pytest.mark.parametrize("one_pass_bytes", [0, 1 << 20])
    def test_one_long_line_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_pass_bytes: int
    ) -> None:
        monkeypatch.setattr("eigenclean.sources.opening.ONE_PASS_BYTES", one_pass_bytes)
        source = open_source(self.write(tmp_path / "x.csv", 3000), feature_columns="f*")
        assert source.features()[:, 1].tolist() == [i / 2 for i in range(60)]
        assert source.labels[30] == "c0"

    def test_blocks_are_enlarged_in_the_middle_of_a_stream(self, tmp_path: Path) -> None:
        table = delimited.CsvTable(self.write(tmp_path / "x.csv", 3000), name="x.csv")
        batches = list(table.stream(["f0"], 10))
        assert len(batches) > 5
        assert [value for batch in batches for value in batch.column(0).to_pylist()] == list(range(60))

    def test_a_line_beyond_the_limit_is_one_sentence(self, tmp_path: Path) -> None:
        path = self.write(tmp_path / "x.csv", 9000)
        with pytest.raises(InvalidData, match=r"x\.csv has a line of more than 4096 bytes; shorten or drop it"):
            open_source(path)


def test_the_block_has_many_lines_of_a_wide_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(",".join(f"f{i}" for i in range(5000)) + ",label\n" + "1," * 5000 + "a\n")
    assert delimited.CsvTable(tmp_path / "x.csv", name="x")._block_bytes > delimited._USUAL_BLOCK_BYTES


@pytest.mark.parametrize("one_pass_bytes", [0, 1 << 20])
def test_a_column_that_ends_with_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_pass_bytes: int) -> None:
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 64)
    monkeypatch.setattr("eigenclean.sources.opening.ONE_PASS_BYTES", one_pass_bytes)
    (tmp_path / "x.csv").write_text("f0,f1,label\n" + "1,2,a\n3,4,b\n5,2,b\n" * 20 + "none,1,a\n")
    source = open_source(tmp_path / "x.csv")
    if one_pass_bytes:  # the whole file is known: one word among numbers is a missing value
        assert source.encoding is not None and source.encoding.n_filled == 1
        assert source.features().shape == (61, 3)
    else:
        with pytest.raises(InvalidData, match="'none'"):
            source.features()


@pytest.mark.parametrize("column", ["label", "id"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_label_or_id_of_megabytes_is_one_sentence_and_little_memory(
    tmp_path: Path, column: str, dictionary: bool
) -> None:
    texts = {"label": ["a", "b", "a"], "id": ["1", "2", "3"]}
    texts[column][1] = "é" * 3_000_000
    arrays: dict[str, Any] = {name: pa.array(values) for name, values in texts.items()}
    if dictionary:
        arrays = {name: values.dictionary_encode() for name, values in arrays.items()}
    pq.write_table(pa.table({"f0": [1.0, 2.0, 3.0], "f1": [1.0, 2.0, 3.0], **arrays}), tmp_path / "x.parquet")
    tracemalloc.start()
    try:
        with pytest.raises(
            InvalidData, match=r"must have at most \d+ bytes, but one has 6000000 \('éé.*of texts\?"
        ):
            open_source(tmp_path / "x.parquet")
        assert tracemalloc.get_traced_memory()[1] < 30_000_000  # as an array of NumPy, 36 MB at a time
    finally:
        tracemalloc.stop()


def counted_scans(patch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are listed from now on."""
    looked_at: list[str] = []
    scandir: Any = os.scandir

    def counting(path: Any = ".") -> Any:
        looked_at.append(str(path))
        return scandir(path)

    patch.setattr(os, "scandir", counting)
    return looked_at


class TestFolders:
    def test_the_root_and_the_home_folder_are_refused_at_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        for name, words in (("/", "root of the file system"), (str(tmp_path), "your home folder")):
            for source in (name, f"folder:{name}"):
                with pytest.raises(InvalidData, match=f"is .*{words} and not a data set"):
                    open_source(source)

    def image(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((4, 4), np.uint8)).save(path)

    def test_the_search_for_images_ends(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for folder in range(30):
            (tmp_path / f"d{folder:02d}" / "deep").mkdir(parents=True)
            for file in range(4):
                (tmp_path / f"d{folder:02d}" / "deep" / f"{file}.txt").touch()
        self.image(tmp_path / "d29" / "x.png")
        assert sampling.may_hold_images(tmp_path)  # a small folder is looked at as a whole
        for limit, value in (("MAX_FILES", 20), ("MAX_ENTRIES", 20)):
            with monkeypatch.context() as patch:
                patch.setattr(sampling, limit, value)
                looked_at = counted_scans(patch)
                with pytest.raises(InvalidData, match="no class folders of images"):
                    open_source(tmp_path)
                assert len(looked_at) < 20

    def test_images_beside_annotations_count(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sampling, "MAX_FILES", 6)
        for label in ("a", "b"):
            for number in range(5):
                self.image(tmp_path / label / f"{number}.png")
                (tmp_path / label / f"{number}.json").touch()
        assert len(open_source(tmp_path)) == 10
