"""The walk with the commands of the program; from review on, it follows their "Next:" lines."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from playwright.sync_api import Browser

from eigenclean import Verdict
from walk.case import Case
from walk.program import Broken, Program, Times
from walk.reviewer import Reviewer


def walk_commands(
    case: Case,
    folder: Path,
    browser: Browser,
    *,
    method: Sequence[str] = (),
    recipe: Sequence[str] = (),
    program: Program | None = None,
) -> Times:
    """Take the walk in ``folder``, which holds the case; return how long each step took.

    Args:
        case: the data.
        folder: where they are, and where the results go.
        browser: for the review page.
        method: options that choose a detector, for a walk that is to be quick.
        recipe: options that choose how to train, for the same reason.
        program: runs the commands; by default each is a process.
    """
    times, program = Times(), program or Program(folder)
    with times.step("detect"):
        follows = program("detect", case.source, *case.columns, *case.judging, *method, "--out", "run")
    _expect(follows, "review run")
    with times.step("review"):
        with program.review("run") as link:
            n_decided = Reviewer(browser, case.truth).decide(link)
        follows = program("review", "run", "--patch", "patch.jsonl")
    before = Verdict.load(folder / "run")
    if n_decided == 0 or before.n_flagged == 0:
        raise Broken("detect flagged no label, though some are wrong")
    fixed = shlex.split(_apply(case, program, follows, before, times, method))
    training = case.train or fixed
    with times.step("train"):
        follows = program("train", *training, *recipe, "--out", "model")
    _expect(follows, "predict model SOURCE --out predictions.csv")
    with times.step("predict"):
        follows = program("predict", "model", case.new, "--out", "predictions.parquet")
    _expect(follows, "export model --to onnx --out exported")
    predicted = pq.read_table(folder / "predictions.parquet").column("label").to_pylist()
    check_predictions([str(label) for label in predicted], case)
    return times


def _apply(case: Case, program: Program, follows: str, before: Verdict, times: Times, method: Sequence[str]) -> str:
    """Apply the patch and judge again where the data can be patched; return what to train on."""
    if not case.is_patched:
        _expect(follows, "train ")
        return follows.removeprefix("train ").removesuffix(" --out model")
    with times.step("patch"):
        _expect(follows, "patch diff ")
        follows = program(*shlex.split(follows))
        _expect(follows, "patch apply ")
        follows = program(*shlex.split(follows))
    _expect(follows, "detect ")
    with times.step("detect again"):
        program(*shlex.split(follows), *case.judging, *method)
    after = Verdict.load(program.folder / "run-fixed")
    if after.n_flagged >= before.n_flagged:
        raise Broken(f"{before.n_flagged} labels were flagged before the patch, {after.n_flagged} after it")
    return follows.removeprefix("detect ").removesuffix(" --out run-fixed")


def check_predictions(predicted: Sequence[str], case: Case) -> None:
    """Raise `Broken` unless enough of the new rows are predicted as they should be."""
    right = sum(label == truth for label, truth in zip(predicted, case.new_truth, strict=True))
    if right < case.least * len(case.new_truth):
        raise Broken(f"only {right} of {len(case.new_truth)} new rows were predicted correctly")


def _expect(follows: str, start: str) -> None:
    if not follows.startswith(start):
        raise Broken(f"the line of what follows should begin with {start!r}, but is {follows!r}")
