"""The results of a training replace those of an earlier run as one, when it is over and when that is wanted."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacks.faults import FULL, Killed, every_fault
from eigenclean.arrays import Array, Ints
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.publication import read_together
from eigenclean.sources import MemorySource
from eigenclean.train import CHECKPOINT, Callback, RobustClassifier, recipe
from eigenclean.workflows.train import TrainingOptions, run_training
from eigenclean.workflows.train_files import PROGRESS, progress_folder, publish_training

FILES = ["model.json", "model.safetensors", "verdict.parquet", "summary.json", "metrics.jsonl", "report.html"]


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncs are counted, but nobody waits for them."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def data(blobs: tuple[Array, Ints]) -> MemorySource:
    return MemorySource("blobs", blobs[0], blobs[1])


def options(seed: int = 0, epochs: int = 3) -> TrainingOptions:
    return TrainingOptions(recipe("standard").with_epochs(epochs), net="linear", device="cpu", seed=seed)


def seed_of(run: Path) -> int:
    """The seed of the training that all files of the run are about, told by its losses."""

    def read() -> int:
        model = RobustClassifier.load(run)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert model.history_ == lines
        summary = json.loads((run / "summary.json").read_text())
        assert summary["version"] == f"seed {model.random_state}"
        assert f"seed {model.random_state}" in (run / "report.html").read_text()
        assert model.random_state is not None
        return int(model.random_state)

    return read_together(run, FILES, read)


class _Trained:
    """A training that is over, and whose results can be written as often as one likes."""

    def __init__(self, data: MemorySource, folder: Path, seed: int) -> None:
        self.folder = folder
        done = run_training(data, options(seed), folder)
        self.model, self.facts = done.model, {**done.facts, "version": f"seed {seed}"}
        self.publish(folder, folder)

    def publish(self, folder: Path, progress: Path) -> None:
        publish_training(folder, progress, self.model, self.facts, [], source="blobs", command=None)


@pytest.mark.parametrize("error", [Killed, pytest.param(FULL, marks=pytest.mark.slow)])
def test_a_kill_or_a_full_disk_leaves_the_old_model_or_the_new_one(
    data: MemorySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Killed] | int
) -> None:
    monkeypatch.setattr("eigenclean.workflows.train_report.render_run", lambda summary: str(summary["facts"]))
    old, new = (_Trained(data, tmp_path / f"seed{seed}", seed) for seed in (1, 2))
    run = tmp_path / "run"
    seen: list[int] = []

    def prepare() -> None:
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(old.folder, run)
        (run / "review.sqlite").write_text("decisions")
        shutil.copytree(new.folder, run / PROGRESS, ignore=lambda folder, names: [n for n in names if "model" in n])

    def check(raised: BaseException | None) -> None:
        assert raised is None or isinstance(raised, Killed | EigencleanError)
        seen.append(seed_of(run))
        assert (run / "review.sqlite").read_text() == "decisions"
        if seen[-1] == 1:  # the progress of the new training is there to be resumed
            assert (run / PROGRESS / CHECKPOINT).read_bytes() == (new.folder / CHECKPOINT).read_bytes()
        else:
            assert (run / CHECKPOINT).read_bytes() == (new.folder / CHECKPOINT).read_bytes()

    every_fault(run, lambda: new.publish(run, run / PROGRESS), check, prepare=prepare, error=error)
    assert seen[0] == 1 and seen[-1] == 2
    assert error == FULL or seen == sorted(seen)


def test_a_finished_run_is_replaced_with_force_only(data: MemorySource, tmp_path: Path) -> None:
    run_training(data, options(1), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(
        InvalidOption, match=r"results of a finished run \(model\.json\); .* add --force to replace"
    ):
        run_training(data, options(2), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    run_training(data, options(2), tmp_path, force=True)
    assert RobustClassifier.load(tmp_path).random_state == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(before)
    run_training(data, options(2), tmp_path, resume=True)  # a finished run is only written again
    assert RobustClassifier.load(tmp_path).random_state == 2


class _Stop(Callback):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch_end(self, engine: Any, record: dict[str, Any]) -> None:
        if record["epoch"] == self.epoch:
            raise Killed


def test_a_forced_training_that_is_killed_leaves_the_old_run_and_resumes_to_the_same_numbers(
    data: MemorySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, expected = tmp_path / "run", tmp_path / "expected"
    run_training(data, options(1), run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    run_training(data, options(2, epochs=4), expected)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr("eigenclean.workflows.train._callbacks", lambda *_: [_Stop(3)])
        run_training(data, options(2, epochs=4), run, force=True)
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.name != PROGRESS} == before
    assert RobustClassifier.load(run).random_state == 1
    assert progress_folder(run, resume=True) == run / PROGRESS
    run_training(data, options(2, epochs=4), run, resume=True)
    assert not (run / PROGRESS).exists()
    for name in ("model.safetensors", "metrics.jsonl", CHECKPOINT):
        assert (run / name).read_bytes() == (expected / name).read_bytes()


def test_results_of_detect_count_as_a_finished_run(data: MemorySource, tmp_path: Path) -> None:
    (tmp_path / "verdict.parquet").write_text("of detect")
    for resume in (False, True):
        with pytest.raises(InvalidOption, match=r"finished run \(verdict\.parquet\)"):
            run_training(data, options(), tmp_path, resume=resume)
    assert progress_folder(tmp_path, force=True) == tmp_path / PROGRESS
    assert progress_folder(tmp_path / "new") == tmp_path / "new"


def test_a_model_beside_the_verdict_of_another_run_is_refused(data: MemorySource, tmp_path: Path) -> None:
    done = run_training(data, options(1), tmp_path / "run")
    done.model.verdict_.save(tmp_path / "run")  # as `detect --out` does
    with pytest.raises(InvalidData, match=r"not of one run: model\.(json|safetensors)") as error:
        RobustClassifier.load(tmp_path / "run")
    assert "\n" not in str(error.value)
    np.testing.assert_array_equal(done.model.verdict_.labels, data.labels)


def test_killed_after_its_last_checkpoint_a_training_resumes_to_all_its_metrics(
    data: MemorySource, tmp_path: Path
) -> None:
    run_training(data, options(), tmp_path / "whole")
    expected = (tmp_path / "whole" / "metrics.jsonl").read_text()
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in (CHECKPOINT, "rounds.jsonl"):
        shutil.copyfile(tmp_path / "whole" / name, killed / name)
    (killed / "metrics.jsonl").write_text("".join(expected.splitlines(keepends=True)[:-1]))
    run_training(data, options(), killed, resume=True)
    assert (killed / "metrics.jsonl").read_text() == expected
    (killed / "rounds.jsonl").write_text('{"epoch": 1, "kept_by_class": [1.0, "x"]}\n')
    with pytest.raises(InvalidData, match="damaged"):
        run_training(data, options(), killed, resume=True)
