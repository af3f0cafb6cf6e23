"""`eigenclean review` with --export and --patch: what is written, what is said, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import Verdict
from eigenclean.noise import add_noise
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.store import Change

Cli = Callable[..., Any]


@pytest.fixture
def judged(cli: Cli, tmp_path: Path) -> Path:
    """The folder of a run on three separate classes with a fifth of the labels wrong."""
    right = np.arange(120) % 3
    features = np.random.default_rng(0).normal(size=(120, 5)) + 6 * np.eye(3, 5)[right]
    np.savez(tmp_path / "noisy.npz", features=features, labels=add_noise(right, rate=0.2))
    run = tmp_path / "run"
    assert cli("detect", tmp_path / "noisy.npz", "--out", run, "--method", "fine", "--no-report").code == 0
    return run


def test_export_says_how_many_suspects_the_page_holds(cli: Cli, judged: Path, tmp_path: Path) -> None:
    n, page = Verdict.load(judged).n_flagged, tmp_path / "page.html"
    for most, which in ((n, f"all {n}"), (2, f"the worst 2 of {n}")):
        ran = cli("review", judged, "--export", page, "--most", most, "--order", "worst")
        assert ran.code == 0, ran.err
        assert ran.out == f"{which} suspects written to {page}; the file holds the data that it shows\n"
        assert page.is_file()


def test_the_patch_is_what_was_decided(cli: Cli, judged: Path, tmp_path: Path) -> None:
    review = Review.open(judged)
    verdict, row = review.suspects.verdict, int(review.suspects.rows[0])
    change = Change(verdict.ids[row].item(), verdict.labels[row].item(), "keep")
    review.store.record([change], reviewer="Ada", action="1")
    review.close()
    ran = cli("review", judged, "--patch", tmp_path / "patch.jsonl")
    assert ran.out == f"Patch of 1 decision: 1 keep; written to {tmp_path / 'patch.jsonl'}\n"
    assert Patch.load(tmp_path / "patch.jsonl").ids.tolist() == [verdict.ids[row].item()]


def test_data_that_are_gone_are_a_note(cli: Cli, judged: Path, tmp_path: Path) -> None:
    (tmp_path / "noisy.npz").rename(tmp_path / "moved.npz")
    ran = cli("review", judged, "--export", tmp_path / "page.html")
    assert ran.code == 0 and ran.err.startswith("note: ") and "noisy.npz" in ran.err
    ran = cli("review", judged, "--export", tmp_path / "again.html", "--source", tmp_path / "moved.npz")
    few = "note: Only 18 labels are flagged, so the most doubtful labels come after, 20 in all.\n"
    assert (ran.code, ran.err) == (0, few + "Next: eigenclean patch show patch.jsonl\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--export", "page.pdf"], "--export writes an .html file, got page.pdf"),
        (["--export", "page.html", "--most", "0"], "--most must be at least 1, got 0"),
        (["--patch", "patch.jsonl"], "no decisions"),
        (["--port", "70000", "--no-browser"], "ports are numbers from 0 to 65535"),
    ],
)
def test_a_mistake_is_one_sentence(
    cli: Cli, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli("review", judged, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err and ran.err.count("\n") == 1
    assert not {"page.pdf", "page.html", "patch.jsonl"} & {path.name for path in tmp_path.iterdir()}
