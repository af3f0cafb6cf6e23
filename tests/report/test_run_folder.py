"""The folder of a run: checked before anything is computed, and left as it was when something fails."""

from pathlib import Path

import pytest

from eigenclean.errors import EigencleanError
from eigenclean.report import results_folder


def test_a_folder_that_fails_is_removed_with_its_new_parents(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), results_folder(tmp_path / "a" / "b" / "c"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_results_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), results_folder(tmp_path / "a" / "b") as folder:
        (folder / "metrics.jsonl").write_text("{}")
        raise KeyboardInterrupt
    assert (tmp_path / "a" / "b" / "metrics.jsonl").read_text() == "{}"


def test_a_folder_that_was_there_stays_even_when_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(RuntimeError), results_folder(tmp_path / "run"):
        raise RuntimeError
    assert (tmp_path / "run").is_dir()


def test_the_trial_leaves_an_earlier_verdict_alone(tmp_path: Path) -> None:
    (tmp_path / "verdict.parquet").write_bytes(b"earlier")
    with results_folder(tmp_path):
        assert (tmp_path / "verdict.parquet").read_bytes() == b"earlier"
        assert [path.name for path in tmp_path.iterdir()] == ["verdict.parquet"]


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EigencleanError, match="file"), results_folder(tmp_path / "file" / "run"):
        pytest.fail("nothing may be computed")
