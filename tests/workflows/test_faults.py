"""Every workflow that writes a folder, killed at every operation, and with a disk that is full from there on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attacks.faults import FULL, FaultyDisk, Killed, every_fault
from eigenclean.cli.app import run as main
from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.publication import PENDING, read_together
from eigenclean.report import publish
from eigenclean.report.sections.run import verdict_hash
from eigenclean.sources import MemorySource, open_source
from eigenclean.sources.write import write_shards
from eigenclean.verdict import Verdict
from eigenclean.workflows.check import CheckRequest, check_run, is_run
from eigenclean.workflows.detect import DetectRequest, EngineOptions, MethodOptions, run_detect
from eigenclean.workflows.score import score_run

FILES = ["verdict.parquet", "summary.json", "report.html", "report.json"]
N = 60


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncs are counted, but nobody waits for them."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    np.savez(tmp_path / "data.npz", features=rng.normal(size=(N, 4)) + 4 * y[:, None], labels=y)
    return tmp_path / "data.npz"


def method_of(run: Path) -> str:
    """The method that all files of the run agree on."""

    def read() -> str:
        verdict, pages = Verdict.load(run), [(run / name).read_text() for name in FILES[1:]]
        summary, page, shown = json.loads(pages[0]), pages[1], json.loads(pages[2])
        assert summary["method"] == verdict.method
        assert shown["run"]["verdict_hash"] == verdict_hash(verdict)
        assert shown["run"]["verdict_hash"] in page or verdict.method in page
        return verdict.method

    return read_together(run, FILES, read)


def start_from(kept: Path, run: Path) -> Callable[[], None]:
    def prepare() -> None:
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(kept, run)

    return prepare


def old_run(data: Path, folder: Path) -> Path:
    run_detect(DetectRequest(str(data), folder, MethodOptions("knn")))
    (folder / "review.sqlite").write_text("decisions")
    return folder


@pytest.mark.parametrize(
    ("engine", "error"),
    [("memory", Killed), ("stream", FULL), pytest.param("stream", Killed, marks=pytest.mark.slow)],
)
def test_detect(data: Path, tmp_path: Path, engine: str, error: type[Killed] | int) -> None:
    run, kept = tmp_path / "run", old_run(data, tmp_path / "kept")
    request = DetectRequest(str(data), run, MethodOptions("fine"), engine=EngineOptions(engine))
    seen: list[str] = []

    def check(raised: BaseException | None) -> None:
        assert raised is None or isinstance(raised, Killed | EigencleanError)
        seen.append(method_of(run))
        assert (run / "review.sqlite").read_text() == "decisions"
        assert is_run(run) and check_run(run, CheckRequest(0.5)).n_samples == N
        if error == FULL and raised is not None and "nothing was changed" in str(raised):
            assert seen[-1] == "knn"
            assert "no space left on the disk of" in str(raised)
            assert sorted(os.listdir(run)) == sorted(os.listdir(kept))

    assert every_fault(run, lambda: run_detect(request), check, prepare=start_from(kept, run), error=error) > 25
    assert seen[0] == "knn" and seen[-1] == "fine"
    assert error == FULL or seen == sorted(seen, reverse=True)


@pytest.mark.parametrize("old_is_folder", [False, True])
def test_a_folder_of_blocks_that_a_cluster_wrote(data: Path, tmp_path: Path, old_is_folder: bool) -> None:
    run, kept = tmp_path / "run", tmp_path / "kept"
    source = open_source(str(data))
    verdicts = {}
    for name in ("knn", "fine"):
        run_detect(DetectRequest(str(data), tmp_path / name, MethodOptions(name), engine=EngineOptions("memory")))
        verdicts[name] = Verdict.load(tmp_path / name)

    def publish_blocks(folder: Path, name: str) -> None:
        blocks = folder / f".verdict.parquet.{os.getpid()}.0a.tmp"
        blocks.mkdir(parents=True)
        shutil.copyfile(tmp_path / name / "verdict.parquet", blocks / "part-00000.parquet")
        publish(folder, verdicts[name], source, written=blocks)

    if old_is_folder:
        publish_blocks(kept, "knn")
    else:
        shutil.copytree(tmp_path / "knn", kept)
    seen: list[str] = []

    def check(raised: BaseException | None) -> None:
        seen.append(method_of(run))

    every_fault(run, lambda: publish_blocks(run, "fine"), check, prepare=start_from(kept, run))
    assert seen[0] == "knn" and seen[-1] == "fine" and seen == sorted(seen, reverse=True)
    assert is_run(run) and check_run(run, CheckRequest(0.5)).n_samples == N


def test_data_that_belong_to_a_run_are_replaced_with_it(data: Path, tmp_path: Path) -> None:
    run, kept = tmp_path / "run", old_run(data, tmp_path / "kept")
    source, verdicts = open_source(str(data)), {"knn": Verdict.load(kept)}
    run_detect(DetectRequest(str(data), tmp_path / "new", MethodOptions("fine")))
    verdicts["fine"] = Verdict.load(tmp_path / "new")

    def publish_with_data(folder: Path, name: str) -> None:  # as `eigenclean demo` does
        others = {"digits.npz": lambda path: path.write_text(name)}
        publish(folder, verdicts[name], source, report=False, others=others)

    publish_with_data(kept, "knn")
    seen: list[str] = []

    def check(raised: BaseException | None) -> None:
        names = ["verdict.parquet", "digits.npz"]
        read = read_together(run, names, lambda: (Verdict.load(run).method, (run / "digits.npz").read_text()))
        assert len(set(read)) == 1
        seen.append(read[0])

    every_fault(run, lambda: publish_with_data(run, "fine"), check, prepare=start_from(kept, run))
    assert seen[0] == "knn" and seen[-1] == "fine" and seen == sorted(seen, reverse=True)


def test_check_writes_both_files_or_neither(data: Path, tmp_path: Path) -> None:
    run, out = old_run(data, tmp_path / "run"), tmp_path / "out"
    arguments = [
        "check",
        str(run),
        "--junit",
        str(out / "a.xml"),
        "--markdown",
        str(out / "b.md"),
        "--max-noise",
        "1",
    ]

    def prepare() -> None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()

    codes: list[int] = []

    def check(raised: BaseException | None) -> None:
        assert len(os.listdir(out)) == (0 if codes[-1] == 2 else 2)

    every_fault(out, lambda: codes.append(main(arguments)), check, prepare=prepare, error=FULL)
    assert {*codes} == {0, 2} and codes[-1] == 0


def test_score(data: Path, tmp_path: Path) -> None:
    run, kept = tmp_path / "run", old_run(data, tmp_path / "kept")
    np.save(tmp_path / "truth.npy", np.arange(N) % 2)
    seen: list[bool] = []

    def check(raised: BaseException | None) -> None:
        assert method_of(run) == "knn"
        seen.append("Measured against" in (run / "report.html").read_text())

    every_fault(run, lambda: score_run(run, tmp_path / "truth.npy"), check, prepare=start_from(kept, run))
    assert seen == sorted(seen) and not seen[0] and seen[-1]


@pytest.mark.parametrize("error", [Killed, FULL])
def test_shards_of_embed(tmp_path: Path, error: type[Killed] | int) -> None:
    run, kept = tmp_path / "run", tmp_path / "kept"
    old, new = (MemorySource("x", np.full((n, 2), n, dtype=np.float32), np.arange(n) % 2) for n in (7, 5))
    write_shards(old, kept, facts={"n": 7}, shard_rows=2)
    seen: list[int] = []

    def check(raised: BaseException | None) -> None:
        source = open_source(str(run))
        (value,) = set(source.features().ravel().tolist())
        assert len(source) == value == json.loads((run / "embedding.json").read_text())["n"]
        seen.append(int(value))

    every_fault(
        run,
        lambda: write_shards(new, run, facts={"n": 5}, shard_rows=2),
        check,
        prepare=start_from(kept, run),
        error=error,
    )
    assert seen[0] == 7 and seen[-1] == 5
    assert error == FULL or seen == sorted(seen, reverse=True)


def test_a_run_of_an_earlier_version_is_read_and_replaced(data: Path, tmp_path: Path) -> None:
    run = old_run(data, tmp_path / "run")
    (run / "manifest.json").unlink()
    assert method_of(run) == "knn"
    run_detect(DetectRequest(str(data), run, MethodOptions("fine")))
    assert method_of(run) == "fine" and (run / "manifest.json").exists()


def test_a_new_verdict_beside_an_old_summary_is_refused_by_every_reader(data: Path, tmp_path: Path) -> None:
    from eigenclean.review.run import Review
    from eigenclean.workflows.export import export_run

    run, other = old_run(data, tmp_path / "run"), tmp_path / "other"
    run_detect(DetectRequest(str(data), other, MethodOptions("fine")))
    shutil.copyfile(other / "verdict.parquet", run / "verdict.parquet")
    readers: list[Callable[[], object]] = [
        lambda: Verdict.load(run),
        lambda: Review.open(run),
        lambda: check_run(run, CheckRequest(0.5)),
        lambda: export_run(run, "csv", tmp_path / "x.csv"),
        lambda: score_run(run, tmp_path / "truth.npy"),
    ]
    for read in readers:
        with pytest.raises(InvalidData, match=r"not of one run: verdict\.parquet") as error:
            read()
        assert "\n" not in str(error.value)
    assert not (tmp_path / "x.csv").exists()


_KILLED_AFTER = """
import os, signal, sys
from eigenclean.publication import publication
left = int(sys.argv[2])
def dying(name):
    real = getattr(os, name)
    def call(*arguments):
        global left
        real(*arguments)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return call
os.rename, os.replace = dying("rename"), dying("replace")
with publication(sys.argv[1]) as staging:
    for name in ("summary.json", "verdict.parquet"):
        (staging / name).write_text("new")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("renames", [1, 2, 3, 5])  # the manifest, the set, a file, the last file
def test_a_process_that_is_really_killed_after_a_rename(tmp_path: Path, renames: int) -> None:
    for name in FILES[:2]:
        (tmp_path / name).write_text("old")
    done = subprocess.run([sys.executable, "-c", _KILLED_AFTER, str(tmp_path), str(renames)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / PENDING).exists() == (renames > 1)
    result = read_together(tmp_path, FILES[:2], lambda: [(tmp_path / name).read_text() for name in FILES[:2]])
    assert result == (["new", "new"] if renames > 1 else ["old", "old"])
    expected = ["manifest.json"] * (renames > 1) + ["summary.json", "verdict.parquet"]
    assert [name for name in sorted(os.listdir(tmp_path)) if not name.endswith(".tmp")] == expected


def test_the_injector_counts_and_fails_where_it_is_told(tmp_path: Path) -> None:
    def work() -> None:
        (tmp_path / "a").write_text("text")
        os.replace(tmp_path / "a", tmp_path / "b")

    with FaultyDisk(tmp_path) as disk:
        work()
    assert disk.log == ["open a", "write a", "replace a"]
    with pytest.raises(Killed), FaultyDisk(tmp_path, 2):
        work()
    assert (tmp_path / "a").read_text() == "te"
    with pytest.raises(OSError, match="No space"), FaultyDisk(tmp_path, 1, FULL):
        work()
    with FaultyDisk(tmp_path, 3, FULL):
        work()  # a rename needs no space
