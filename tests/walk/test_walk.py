"""The walk of `make walk` in a short form: a table, the commands in this process, a real browser.

The walk in a Jupyter kernel and the other kinds of data are left to `make walk`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eigenclean import Verdict
from eigenclean.cli.app import run as eigenclean
from eigenclean.review import Review
from eigenclean.workflows.audit import ReviewServer
from walk.commands import walk_commands
from walk.data import KINDS
from walk.notebook import walk_notebook
from walk.program import Broken, Program, next_command
from walk.reviewer import browser

KNN, PROBE = ("--method", "knn"), ("--set", "detector=knn", "--set", "heads=linear")


class InProcess(Program):
    """Commands in this process: a Python of its own for each would take longer than the walk."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder)
        object.__setattr__(self, "capture", capture)
        self.capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> str:
        code = eigenclean(list(words))
        said = self.capture.readouterr()
        if code:
            raise Broken(f"{words[0]} ended with {code}: {said.err}")
        return next_command(said.err + said.out)

    @contextmanager
    def review(self, run: str) -> Iterator[str]:
        server = ReviewServer(Review.open(self.folder / run), port=0)
        yield server.link
        server.stop()


def test_the_walk_through_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    case = KINDS["tables"].write(tmp_path)
    with browser() as opened:
        times = walk_commands(case, tmp_path, opened, method=KNN, recipe=PROBE, program=InProcess(tmp_path, capsys))
    assert list(times.seconds) == ["detect", "review", "patch", "detect again", "train", "predict"]
    fixed = Verdict.load(tmp_path / "run-fixed")
    n_wrong = sum(case.truth[str(id)] != str(label) for id, label in zip(fixed.ids, fixed.labels, strict=True))
    given = Verdict.load(tmp_path / "run")
    assert n_wrong < sum(case.truth[str(id)] != str(y) for id, y in zip(given.ids, given.labels, strict=True)) - 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tables", "arrays"])
def test_the_walk_in_a_kernel(kind: str, tmp_path: Path) -> None:
    method = ", method='knn'" if kind == "tables" else ""
    with browser() as opened:
        times = walk_notebook(KINDS[kind].write(tmp_path), tmp_path, opened, method=method)
    assert {"review", "train", "predict"} <= set(times.seconds)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_can_be_written(kind: str, tmp_path: Path) -> None:
    case = KINDS[kind].write(tmp_path)
    assert (tmp_path / case.source).exists() and (tmp_path / case.new).exists()
    assert len(case.new_truth) >= 40 and len(set(case.truth.values())) >= 3
