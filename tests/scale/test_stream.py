"""Streamed verdicts are those of the detector in memory."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.progress import Progress

from eigenclean import FINE, Verdict, detector, open_source
from eigenclean.arrays import Array
from eigenclean.cli.app import run
from eigenclean.detect import DETECTORS, BlockDetector, Detector
from eigenclean.detect.decisions import Decision
from eigenclean.detect.fine.eigenvectors import EigenvectorStrategy
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.progress import listening
from eigenclean.scale import resources
from eigenclean.scale.stream import judge_stream
from eigenclean.sources import Source
from eigenclean.workflows.progress.display import Rate

# Formats whose reading has tests of its own.
LESS_OFTEN = [pytest.param(name, marks=pytest.mark.slow) for name in ("npz shards", "npy shards")]
STREAMED = [name for name, kind in DETECTORS.items() if issubclass(kind, BlockDetector)]
FIELDS = ("ids", "labels", "score", "p_clean", "flagged", "suggested", "suggested_confidence")


def assert_same(a: Verdict, b: Verdict, tolerance: float = 1e-5) -> None:
    # Log-odds near 0 differ in the last digits of their terms, by the size of blocks and the processor.
    np.testing.assert_allclose(a.score, b.score, rtol=tolerance, atol=1e-5)
    for field in ("flagged", "suggested", "labels", "ids"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    np.testing.assert_allclose(a.p_clean, b.p_clean, atol=1e-5)


def summing(name: str, **options: Any) -> Detector:
    """The detector in memory, by statistics that are sums over rows, as streams compute them."""
    return detector(name, **({"views": "linear,kernel"} if name == "judge" else {}), **options)


@pytest.fixture(scope="module", params=["npy", "npz", "parquet shards", *LESS_OFTEN])
def source(
    request: pytest.FixtureRequest, noisy: tuple[Array, Array], tmp_path_factory: Any, write_shards: Any
) -> Source:
    X, y = noisy
    folder: Path = tmp_path_factory.mktemp("data")
    if request.param == "npy":
        np.save(folder / "x.npy", X)
        return open_source(folder / "x.npy", labels=y)
    if request.param == "npz":
        np.savez(folder / "x.npz", features=X, labels=y)
        return open_source(folder / "x.npz")
    if request.param == "npy shards":
        (folder / "x").mkdir()
        for number, shard in enumerate(np.array_split(X, 5)):
            np.save(folder / "x" / f"{number}.npy", shard)
        return open_source(folder / "x", labels=y)
    return open_source(write_shards(folder / "shards", X, y, request.param.split()[0]))


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.usefixtures("small_blocks")
def test_same_verdict_as_in_memory(name: str, source: Source, noisy: tuple[Array, Array]) -> None:
    X, y = noisy
    done = judge_stream(source, detector(name))
    expected = summing(name).judge(X, y)
    assert done.engine["blocks"] == 6
    assert_same(done.verdict, expected)
    if name in ("judge", "mcd"):  # the same blocks, the same sums
        np.testing.assert_array_equal(done.verdict.score, expected.score)
    assert done.data_hash == source.data_hash() == open_source((X, y)).data_hash()


@pytest.mark.parametrize(
    "options",
    [
        {"subset": 0.2},
        {"vector": "mean"},
        {"component": 2},
        {"preset": "paper"},
        {"cut": "beta"},
        {"cut": "kmeans"},
        {"keep_moments": True},
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_every_option_of_fine(options: dict[str, Any], noisy: tuple[Array, Array]) -> None:
    X, y = noisy
    done = judge_stream(open_source((X, y)), FINE(**options))
    assert_same(done.verdict, FINE(**options).judge(X, y), 1e-4)


@pytest.mark.usefixtures("small_blocks")
def test_sums_that_do_not_fit_are_iterated(noisy: tuple[Array, Array]) -> None:
    """K·d² numbers or K·d numbers: the same vectors, and the summary says which way it went."""
    X, y = noisy
    y = np.where(np.arange(len(y)) < 20, 10, y)  # and a class that is solved directly
    expected = FINE().judge(X, y)
    strategies = {}
    for memory in (1 << 33, 1000):
        done = judge_stream(open_source((X, y)), FINE(), memory=memory)
        assert_same(done.verdict, expected)
        strategies[memory] = done.engine["vectors"]["strategy"]
        assert isinstance(done.judge, FINE)
        np.testing.assert_allclose(done.judge.eigenvectors_, FINE().fit(X, y).eigenvectors_, atol=1e-5)
    assert strategies == {1 << 33: "moments", 1000: "iterations"}
    with pytest.raises(InvalidOption, match=r"component=2 needs 0\.0 GB for the moments of 11 classes"):
        judge_stream(open_source((X, y)), FINE(component=2), memory=1000)


@pytest.mark.parametrize("name", ["fine", "fine-relative"])
@pytest.mark.parametrize("few", [64, 2])
@pytest.mark.usefixtures("small_blocks")
def test_alternatives_are_computed_in_the_same_pass_where_classes_are_few(
    name: str, few: int, noisy: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y = noisy
    monkeypatch.setattr("eigenclean.detect.fine.fine.MAX_SCORED_CLASSES", few)
    np.save(tmp_path / "x.npy", X)
    done = judge_stream(open_source(tmp_path / "x.npy", labels=y), detector(name))
    expected = detector(name).judge(X, y)
    assert expected.flagged.any()
    assert_same(done.verdict, expected)
    np.testing.assert_allclose(done.verdict.suggested_confidence, expected.suggested_confidence, atol=1e-3)
    assert done.engine["passes"] == (2 if few == 64 else 3)  # the width is known without reading anything twice


def test_the_strategy_depends_on_time_and_memory() -> None:
    room = 1 << 34
    assert (
        EigenvectorStrategy.choose(n=10**6, d=64, k=10**4, itemsize=4, budget=0).name == "moments"
    )  # d² is nothing
    assert EigenvectorStrategy.choose(n=10**6, d=128, k=10, itemsize=4, budget=room).name == "moments"
    assert EigenvectorStrategy.choose(n=10**6, d=2048, k=10, itemsize=4, budget=room).name == "iterations"
    assert EigenvectorStrategy.choose(n=10**6, d=128, k=10**5, itemsize=4, budget=room // 4).name == "iterations"


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_very_many_classes(tmp_path: Path) -> None:
    """Tables of the best classes alone, spill_to_disk to the disk, and pairs of classes counted over blocks."""
    rng = np.random.default_rng(0)
    right = np.arange(2050) % 205
    X = (rng.normal(size=(205, 24))[right] + 0.3 * rng.normal(size=(2050, 24))).astype(np.float32)
    y = np.where(rng.random(2050) < 0.2, rng.integers(0, 205, 2050), right)
    np.save(tmp_path / "x.npy", X)
    source = open_source(tmp_path / "x.npy", labels=y)
    expected = summing("judge", rounds=2).judge(X, y)
    for memory in (1 << 33, 1000):
        done = judge_stream(source, detector("judge", rounds=2), memory=memory)
        np.testing.assert_array_equal(done.verdict.score, expected.score)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_of_mixed_signs(noisy: tuple[Array, Array]) -> None:
    X, y = noisy
    X = X.copy()
    X[1000, 3] = -1.0  # one block has a negative value, and no block may take roots then
    streamed = judge_stream(open_source((X, y))).verdict
    np.testing.assert_array_equal(streamed.score, summing("judge").judge(X, y).score)


@pytest.mark.usefixtures("small_blocks")
def test_how_rows_are_cut_hardly_matters(noisy: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy
    expected = judge_stream(open_source((X, y))).verdict
    monkeypatch.setattr("eigenclean.detect.blocks.BLOCK_ROWS", 5000)
    whole = judge_stream(open_source((X, y))).verdict
    np.testing.assert_array_equal(whole.flagged, expected.flagged)
    np.testing.assert_allclose(whole.p_clean, expected.p_clean, atol=1e-3)


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.usefixtures("small_blocks")
def test_new_rows_against_a_fitted_detector(name: str, noisy: tuple[Array, Array]) -> None:
    X, y = noisy
    fitted = detector(name).fit(X[:1200], y[:1200])
    new = judge_stream(open_source((X[1200:], y[1200:])), fitted)
    assert new.judge is fitted
    assert_same(new.verdict, fitted.judge(X[1200:], y[1200:]))
    with pytest.raises(InvalidData, match="fitted on 96 features, got 5"):
        judge_stream(open_source((X[:, :5], y)), fitted)


@pytest.mark.usefixtures("small_blocks")
def test_written_in_groups_of_rows(noisy: tuple[Array, Array], tmp_path: Path) -> None:
    X, y = noisy
    names = np.array([f"digit {i}" for i in range(10)])[y]
    done = judge_stream(open_source((X, names)), write=tmp_path / "v.parquet", decision=Decision(budget=50))
    assert pq.ParquetFile(tmp_path / "v.parquet").num_row_groups == 6
    loaded = Verdict.load(tmp_path / "v.parquet")
    for field in (*FIELDS, "rank"):
        np.testing.assert_array_equal(getattr(loaded, field), getattr(done.verdict, field))
    assert loaded.n_flagged == 50
    assert loaded.made_by == json.loads(json.dumps(done.verdict.made_by))


@pytest.mark.parametrize("name", sorted(set(DETECTORS) - set(STREAMED)))
def test_others_say_so(name: str, noisy: tuple[Array, Array]) -> None:
    with pytest.raises(InvalidOption, match=f"{name} needs all rows at once and cannot stream them"):
        judge_stream(open_source(noisy), detector(name))


class TestCommand:
    @pytest.fixture
    def file(self, noisy: tuple[Array, Array], tmp_path: Path) -> Path:
        X, y = noisy
        np.savez(tmp_path / "x.npz", features=X, labels=y)
        return tmp_path / "x.npz"

    @pytest.mark.usefixtures("small_blocks")
    def test_same_files_as_in_memory(self, file: Path, tmp_path: Path) -> None:
        for engine in ("memory", "stream"):
            options = ["--engine", engine, "--csv", "--set", "views=linear,kernel"]
            assert run(["detect", str(file), "--out", str(tmp_path / engine), *options]) == 0
        summaries = [json.loads((tmp_path / e / "summary.json").read_text()) for e in ("memory", "stream")]
        assert summaries[1].pop("engine")["name"] == "stream"
        for summary in summaries:
            del summary["seconds"]
        assert summaries[0] == summaries[1]
        a, b = (Verdict.load(tmp_path / e) for e in ("memory", "stream"))
        assert_same(a, b)
        csv = [(tmp_path / e / "verdict.csv").read_text().splitlines() for e in ("memory", "stream")]
        assert csv[0][0] == csv[1][0] and len(csv[0]) == len(csv[1]) == 1798
        names, reports = zip(
            *(
                ({path.name for path in folder.iterdir()}, json.loads((folder / "report.json").read_text()))
                for folder in (tmp_path / "memory", tmp_path / "stream")
            ),
            strict=True,
        )
        assert names[0] == names[1] >= {"report.html", "summary.json", "verdict.csv", "verdict.parquet"}
        assert reports[0].keys() == reports[1].keys()

    def test_chosen_by_itself(self, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(resources, "free_memory", lambda: 1_000_000)
        assert run(["detect", str(file), "--out", str(tmp_path / "o"), "--no-report", "--method", "fine"]) == 0
        engine = json.loads((tmp_path / "o" / "summary.json").read_text())["engine"]
        assert (engine["name"], engine["vectors"]["strategy"]) == ("stream", "moments")
        assert run(["detect", str(file), "--out", str(tmp_path / "k"), "--no-report", "--method", "knn"]) == 0
        assert "engine" not in json.loads((tmp_path / "k" / "summary.json").read_text())

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--engine", "spark"], "engine must be one of dask, memory, stream"),
            (["--engine", "stream", "--method", "knn"], "knn needs all rows at once"),
            (["--engine", "stream", "--self-test"], "--self-test and --method auto judge many times"),
            (["--scheduler", "tcp://127.0.0.1:1"], "give --engine dask"),
        ],
    )
    def test_bad_options(
        self, options: list[str], words: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["detect", str(file), "--out", str(tmp_path / "o"), *options]) == 2
        assert words in capsys.readouterr().err
        assert not (tmp_path / "o").exists()


@pytest.mark.usefixtures("small_blocks")
def test_progress_is_told_in_rows(noisy: tuple[Array, Array]) -> None:
    told: list[tuple[str, float]] = []

    class Listener:
        def begin(self, what: str, total: float) -> int:
            told.append((what, total))
            return 0

        def begin_counting(self, what: str, total: float, unit: str) -> int:
            return self.begin(f"{what} in {unit}", total)

        def advance(self, handle: int, amount: float) -> None:
            assert amount > 0

        def end(self, handle: int) -> None:
            pass

    with listening(Listener()):
        judge_stream(open_source(noisy), FINE())
    rows = [(what, total) for what, total in told if what.endswith("rows")]
    assert rows[:2] == [("pass 1 in rows", 1797), ("pass 2 in rows", 1797)]
    assert not [what for what, _ in told if what == "alignments"]  # nothing is told block by block


def test_rows_per_second_are_shown() -> None:
    progress = Progress(Rate())
    for unit, shown in (("rows", True), (None, False)):
        added = progress.add_task("pass 2", total=1000, unit=unit)
        task = next(task for task in progress.tasks if task.id == added)
        progress.advance(task.id, 10)
        time.sleep(0.01)
        progress.advance(task.id, 500)
        assert ("510 of 1000 rows, " in Rate().render(task).plain) is shown


def test_free_memory_is_known() -> None:
    assert 1 << 24 < resources.free_memory() < 1 << 50
    assert resources.choose_engine(open_source("digits"), free=1) == "memory"  # it is in memory already
