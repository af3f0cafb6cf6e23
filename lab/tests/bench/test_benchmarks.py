"""The benchmarks of speed run, their baselines compute the same, and results are saved and printed."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]
from typer.testing import CliRunner

from eigenclean.arrays import ClassRows
from eigenclean.detect import FINE
from eigenclean.detect.cuts import GaussianCut
from eigenclean.mixture import fit_mixtures
from eigenclean.progress import listening, track
from eigenclean_lab.bench.speed import detection, judging, timing
from eigenclean_lab.bench.speed.detection import DetectionSizes, run
from eigenclean_lab.bench.speed.published_fine import published_p_clean, upper_posterior
from eigenclean_lab.bench.speed.ratios import Ratio, RatioTarget, record
from eigenclean_lab.bench.speed.synthetic import noisy_features, noisy_scores
from eigenclean_lab.cli.bench import bench

FIELDS = {
    "case",
    "baseline",
    "seconds",
    "baseline_seconds",
    "ratio",
    "target",
    "passed",
    "note",
}


@pytest.fixture(scope="module")
def results() -> list[Ratio]:
    return run(DetectionSizes(rows=2000, columns=64, many=20, mixtures=20, repeats=1))


def test_every_case_gives_a_ratio(results: list[Ratio]) -> None:
    ratios = np.array([result.ratio for result in results])
    assert np.isfinite(ratios).all() and (ratios > 0).all()
    targets = [result.target for result in results if result.target]
    assert targets == ["<= 1.5x", ">= 250x faster", ">= 50x faster", ">= 20x faster", "<= 1x", "<= 0.5x", "<= 9x"]
    assert all((result.passed is None) == (result.target is None) for result in results)
    informed = [result.case for result in results if result.target is None]
    assert any("keep_moments" in case for case in informed) and any("judge" in case for case in informed)
    assert any(result.baseline == "one read, X.sum()" for result in results)


def test_posteriors_are_those_of_scikit_learn(results: list[Ratio]) -> None:
    [posteriors] = [result for result in results if "posteriors" in result.case]
    assert posteriors.passed


def test_the_record_survives_json_and_names_no_place(results: list[Ratio]) -> None:
    facts = json.loads(json.dumps(record(results, date="2026-01-02", load=0.1), allow_nan=False))
    assert facts["date"] == "2026-01-02"
    assert {"cpu_count", "threads", "numpy", "scikit_learn", "blas"} <= facts["machine"].keys()
    assert len(facts["cases"]) == len(results) and all(set(case) == FIELDS for case in facts["cases"])
    assert [Ratio(**case) for case in facts["cases"]] == results
    text = json.dumps(facts)
    assert str(Path.home()) + "/" not in text and "site-packages" not in text


def test_the_published_code_decides_as_fine_does() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=600)
    X = np.maximum(rng.standard_normal((3, 40))[truth] * 3 + rng.standard_normal((600, 40)), 0).astype(np.float32)
    y = np.where(rng.random(600) < 0.2, (truth + 1) % 3, truth)
    ours = FINE(cut=GaussianCut(monotone=False, split="always")).fit(X, y).p_clean(X, y)
    theirs = published_p_clean(X, y)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    np.testing.assert_array_equal(theirs > 0.5, y == truth)


def test_the_baseline_of_mixtures_gives_the_same_posteriors() -> None:
    scores, groups = noisy_scores(3, 500)
    rows = ClassRows.of(groups, 3)
    ours = fit_mixtures(scores, rows).posterior(scores, groups)
    for k in range(3):
        np.testing.assert_allclose(upper_posterior(scores[rows[k]]), ours[rows[k]], atol=1e-3)


def test_features_are_unsorted_noisy_and_seeded() -> None:
    X, y = noisy_features(2000, 64, classes=5, seed=3)
    again, same = noisy_features(2000, 64, classes=5, seed=3)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, same)
    assert X.dtype == np.float32 and X.min() == 0 and 0.1 < (X > 0).mean() < 0.9
    assert set(y) == set(range(5)) and (np.diff(y) < 0).any()
    assert not np.array_equal(X, noisy_features(2000, 64, classes=5, seed=4)[0])


def test_a_target_has_a_direction() -> None:
    slow = Ratio.timed("a", "b", (3.0, 1.0), RatioTarget("at most", 2))
    assert slow.ratio == 3 and slow.passed is False
    fast = Ratio.timed("a", "b", (1.0, 30.0), RatioTarget("faster", 20))
    assert fast.ratio == 30 and fast.passed is True
    assert Ratio.timed("a", "b", (1.0, 2.0)).passed is None


class FakeClock:
    """A clock that work advances by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr("eigenclean_lab.bench.speed.timing.time.perf_counter", fake)
    return fake


def test_the_best_of_several_turns_counts(clock: FakeClock) -> None:
    durations = iter([9.0, 5.0, 1.0, 5.0])  # the first run only warms up
    calls: list[str] = []

    def ours() -> None:
        calls.append("ours")
        clock.now += next(durations)

    best, _ = timing.best_in_turns(ours, lambda: calls.append("baseline"), repeats=3)
    assert best == 1.0
    assert calls == ["ours", "baseline"] * 4


@pytest.mark.parametrize(("alone", "together", "expected"), [(1.0, 2.0, 1), (2.0, 1.0, 2)])
def test_a_slow_baseline_runs_once_with_the_threads_that_suit_it(
    alone: float, together: float, expected: int, clock: FakeClock
) -> None:
    def threads() -> int:
        return max(int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas")

    def pilot() -> None:
        clock.now += alone if threads() == 1 else together

    used: list[int] = []
    with timing.limited_threads(2):
        usual = threads()
        timing.best_around(lambda: None, lambda: used.append(threads()), pilot, repeats=1)
        assert threads() == usual
        assert used == [1 if expected == 1 else usual]


def test_progress_is_heard_by_case_and_never_inside_the_timing() -> None:
    heard: list[str] = []

    class Ear:
        def begin(self, what: str, total: float) -> int:
            heard.append(what)
            return 0

        def advance(self, handle: int, amount: float) -> None:
            pass

        def end(self, handle: int) -> None:
            pass

    with listening(Ear()):
        timing.seconds(lambda: list(track([1, 2], "inner")))
        timing.peak_bytes(lambda: list(track([1, 2], "inner")))
        assert heard == []
        list(track([1, 2], "outer"))
    assert heard == ["outer"]


def test_memory_is_measured_at_its_peak() -> None:
    assert 8_000_000 <= timing.peak_bytes(lambda: np.ones(1_000_000).sum()) < 9_000_000


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> list[Ratio]:
    """The command with a benchmark that takes no time."""
    fake = [
        Ratio.timed("FINE", "X.T @ X", (0.1, 0.2), RatioTarget("at most", 1.5)),
        Ratio.measured("memory", "size of X", 0.1, RatioTarget("at most", 0.5), "peak 1 MB, X 10 MB"),
        Ratio.timed("judge", "X.T @ X", (0.3, 0.2)),
    ]
    monkeypatch.setattr(detection, "run", lambda sizes: list(fake))
    return fake


def test_the_command_saves_and_shows(canned: list[Ratio], tmp_path: Path) -> None:
    done = CliRunner().invoke(bench, ["detect", "--out", str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    assert "X.T @ X" in done.output and "0.5x" in done.output and "met" in done.output
    saved = json.loads((tmp_path / "new" / "bench_detect.json").read_text())
    assert [Ratio(**case) for case in saved["cases"]] == canned
    assert str(tmp_path) not in json.dumps(saved)


def test_the_command_speaks_json(canned: list[Ratio], tmp_path: Path) -> None:
    done = CliRunner().invoke(bench, ["detect", "--out", str(tmp_path), "--json"])
    assert json.loads(done.stdout) == json.loads((tmp_path / "bench_detect.json").read_text())


def test_a_missed_target_fails_unless_quick(canned: list[Ratio], tmp_path: Path) -> None:
    canned[0] = replace(canned[0], ratio=9.0, passed=False)
    done = CliRunner().invoke(bench, ["detect", "--out", str(tmp_path)])
    assert done.exit_code == 1 and "missed" in done.output
    quick = CliRunner().invoke(bench, ["detect", "--out", str(tmp_path / "none"), "--quick"])
    assert quick.exit_code == 0 and not (tmp_path / "none").exists()


@pytest.mark.slow
def test_the_judge_is_timed_against_products_cleanlab_and_pyarrow() -> None:
    pytest.importorskip("cleanlab")
    tiny = judging.Shape(300, 6, 2)
    sizes = judging.JudgingSizes(sums=((tiny, 12),), growth=2, features=tiny, table=tiny, csv=tiny, repeats=1)
    ratios = judging.run(sizes)
    baselines = [
        "X.T @ X",
        "150 rows",
        "cleanlab on k-NN votes",
        "cleanlab on 5-fold boosting",
        "pyarrow.csv.read_csv",
    ]
    assert [ratio.baseline for ratio in ratios] == baselines
    assert all(ratio.seconds and ratio.baseline_seconds and ratio.passed is not None for ratio in ratios)


def test_the_command_for_the_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ratio = Ratio.timed("judge", "X.T @ X", (0.3, 0.2), RatioTarget("at most", 12))
    monkeypatch.setattr(judging, "run", lambda sizes: [ratio])
    done = CliRunner().invoke(bench, ["judge", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert [Ratio(**case) for case in json.loads((tmp_path / judging.FILE).read_text())["cases"]] == [ratio]


def test_the_command_without_a_word_explains_itself() -> None:
    shown = CliRunner().invoke(bench, []).output
    listed = set(re.findall(r"^\W*([a-z-]+)  +[A-Z]", shown, flags=re.MULTILINE))  # a name, then its help
    assert {command.name for command in bench.registered_commands} <= listed, shown
