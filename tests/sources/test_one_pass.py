"""A CSV file is parsed once: labels, features, data hash and the report's map use what was read."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from eigenclean.cli.app import app
from eigenclean.errors import InvalidData
from eigenclean.sources import opening
from eigenclean.sources.opening import open_source


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of Arrow's CSV parser; "first block" for the one that only infers the types of the columns."""
    calls: list[str] = []

    def counting(parse: Any) -> Any:
        def call(*args: Any, convert_options: Any = None, **options: Any) -> Any:
            calls.append("first block" if convert_options is None else "whole file")
            return parse(*args, convert_options=convert_options, **options)

        return call

    for name in ("open_csv", "read_csv"):
        monkeypatch.setattr(pyarrow.csv, name, counting(getattr(pyarrow.csv, name)))
    return calls


def write_csv(path: Path, n: int = 120, *, first_id: int = 0) -> Path:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    features = rng.normal(size=(n, 3)) + 4 * labels[:, None]
    lines = [",".join(f"{value:.6f}" for value in row) for row in features]
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        f"{id:03d},{line},{label}" for id, (line, label) in enumerate(zip(lines, labels, strict=True), first_id)
    ]
    path.write_text("\n".join(["id,f0,f1,f2,label", *rows]) + "\n")
    return path


def test_detect_parses_the_file_once(tmp_path: Path, passes: list[str]) -> None:
    path = write_csv(tmp_path / "x.csv")
    done = CliRunner().invoke(app, ["detect", str(path), "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run" / "report.html").is_file()
    assert passes == ["whole file"]


def test_labels_from_elsewhere_need_no_pass_of_their_own(tmp_path: Path, passes: list[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("f0,f1\n" + "1,2\n3,4\n" * 5)
    source = open_source(path, labels=[0, 1] * 5)
    assert (
        source.features().shape == (10, 2)
        and source.data_hash()
        and source.take(np.array([1])).tolist() == [[3, 4]]
    )
    assert passes == ["whole file"]


def test_shards_are_parsed_once(tmp_path: Path, passes: list[str]) -> None:
    for number in range(2):
        write_csv(tmp_path / "shards" / f"{number}.csv", first_id=120 * number)
    source = open_source(tmp_path / "shards")
    source.features(), source.data_hash(), source.take(np.arange(3))
    assert passes == ["whole file"] * 2


def test_large_files_are_not_kept_but_equal(
    tmp_path: Path, passes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_csv(tmp_path / "x.csv")
    kept = open_source(path)
    monkeypatch.setattr(opening, "ONE_PASS_BYTES", path.stat().st_size - 1)
    del passes[:]
    large = open_source(path)
    assert large.data_hash() == kept.data_hash() and passes == ["first block", "whole file", "whole file"]
    assert np.array_equal(large.features(), kept.features()) and large.features().dtype == kept.features().dtype
    assert large.ids.tolist() == kept.ids.tolist() and kept.ids[7] == "007"
    assert [len(block) for block in large.blocks(50)] == [len(block) for block in kept.blocks(50)] == [50, 50, 20]
    assert large.data_hash() == kept.data_hash()
    assert len(passes) == 4  # labels, hash, features; after that the array is kept


def test_features_that_cannot_be_read_leave_the_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.sources.tabular.delimited._BLOCK_BYTES", 64)
    path = tmp_path / "x.csv"
    path.write_text("f0,label\n" + "1,a\n2,b\n" * 20 + "none,a\n")
    monkeypatch.setattr(opening, "ONE_PASS_BYTES", 0)
    source = open_source(path)
    assert len(source) == 41
    with pytest.raises(InvalidData, match=r"x\.csv is not a readable CSV file: .*to double.*'none'"):
        source.features()
