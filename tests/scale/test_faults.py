"""What goes wrong with large data: named in one sentence, nothing half-written, the previous verdict intact."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import Verdict, open_source
from eigenclean.arrays import Array
from eigenclean.cli.app import run
from eigenclean.errors import InvalidData
from eigenclean.files import sweep
from eigenclean.scale import reading
from eigenclean.scale.stream import judge_stream

Data = tuple[Array, Array]


def shards(folder: Path, noisy: Data) -> Path:
    """Five .npz shards."""
    X, y = noisy
    folder.mkdir()
    for number in range(5):
        rows = slice(number * 300, (number + 1) * 300)
        np.savez(folder / f"{number}.npz", features=X[rows], labels=y[rows])
    return folder


def spoil(path: Path, how: str) -> None:
    archive = np.load(path)
    X, y = archive["features"], archive["labels"]
    if how == "NaN":
        X[7, 3] = np.nan
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-5000])
        return
    X = X[:, :50] if how == "width" else X
    np.savez(path, features=X.astype(np.float64) if how == "type" else X, labels=y)


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("NaN", "row 7 of {shard} has NaN or infinite values"),
        ("truncated", "{shard} is not a readable .npz archive"),
        ("width", "{shard} has 50 where {first} has 96"),
        ("type", "{shard} has float64 where {first} has float32"),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_a_bad_shard_is_named_and_nothing_is_written(
    how: str, words: str, engine: str, noisy: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = shards(tmp_path / "shards", noisy), tmp_path / "out"
    arguments = ["detect", str(folder), "--out", str(out), "--engine", engine, "--no-report", "--method", "fine"]
    assert run(arguments) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    spoil(folder / "3.npz", how)
    capsys.readouterr()
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert words.format(shard=folder / "3.npz", first=folder / "0.npz") in said
    assert said.count("\n") == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert run([*arguments[:2], "--out", str(tmp_path / "new"), *arguments[4:]]) == 2
    assert not (tmp_path / "new").exists()


def test_shards_that_do_not_go_together(noisy: Data, tmp_path: Path) -> None:
    X, y = noisy
    folder = shards(tmp_path / "shards", noisy)
    np.savez(folder / "2.npz", features=X[:10], labels=np.array(list("ab" * 5)))
    with pytest.raises(InvalidData, match=r"all integers or all strings, but .*2\.npz has labels of type <U1"):
        open_source(folder)
    np.save(folder / "2.npy", X)
    with pytest.raises(InvalidData, match=r"files of several kinds \(\.npy, \.npz\)"):
        open_source(folder)
    (tmp_path / "x").mkdir()
    np.save(tmp_path / "x" / "0.npy", X)
    with pytest.raises(InvalidData, match=r"got 5 labels, which end within .*0\.npy"):
        open_source(tmp_path / "x", labels=y[:5])
    with pytest.raises(InvalidData, match="features only; give their labels"):
        open_source(tmp_path / "x")


def test_labels_may_come_in_shards_too(noisy: Data, tmp_path: Path) -> None:
    X, y = noisy
    for name, values in (("x", X), ("y", y)):
        (tmp_path / name).mkdir()
        for number, shard in enumerate(np.array_split(values, 12)):
            np.save(tmp_path / name / f"{number}.npy", shard)
    source = open_source(tmp_path / "x", labels=tmp_path / "y")
    np.testing.assert_array_equal(source.features(), X)
    np.testing.assert_array_equal(source.labels, y)
    rows = np.array([1700, 3, 900, 3])
    np.testing.assert_array_equal(source.take(rows), X[rows])
    np.testing.assert_array_equal(source.reader().read(140, 800), X[140:800])


@pytest.mark.parametrize("change", ["shorter", "longer", "rewritten", "gone"])
@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_changes_during_the_run(
    change: str, noisy: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = noisy
    file = tmp_path / "x.npy"
    np.save(file, X)
    source = open_source(file, labels=y)
    begin = reading.SourceBlocks._pass

    def meddling(self: reading.SourceBlocks) -> Any:
        if self.n_passes == 1:
            if change == "gone":
                file.unlink()
            elif change == "shorter":
                os.truncate(file, 200_000)
            else:
                with open(file, "ab" if change == "longer" else "r+b") as stream:
                    stream.write(b"more")
                os.utime(file, ns=(0, 0))
        return begin(self)

    monkeypatch.setattr(reading.SourceBlocks, "_pass", meddling)
    monkeypatch.setattr("eigenclean.detect.judge.fitting.CACHE_LIMIT", 0)
    with pytest.raises(InvalidData, match=r"x\.npy (was changed|has gone|has become shorter)"):
        judge_stream(source)


_SLOWLY = """
import sys, time
from eigenclean import verdict
from eigenclean.cli.app import run
write = verdict.RowGroups.write
def slowly(self, rows, rank):
    write(self, rows, rank)
    sys.stdout.write("group\\n"); sys.stdout.flush()
    time.sleep(30)
verdict.RowGroups.write = slowly
from eigenclean.detect import blocks
blocks.BLOCK_ROWS = 300
run(sys.argv[1:])
"""


@pytest.mark.slow
def test_killed_while_writing(noisy: Data, tmp_path: Path) -> None:
    """The previous verdict is intact, and the next run leaves nothing of the killed one."""
    X, y = noisy
    np.savez(tmp_path / "x.npz", features=X, labels=y)
    out = tmp_path / "out"
    arguments = ["detect", str(tmp_path / "x.npz"), "--out", str(out), "--engine", "stream", "--no-report"]
    assert run([*arguments, "--method", "fine"]) == 0
    before = (out / "verdict.parquet").read_bytes()
    process = subprocess.Popen([sys.executable, "-c", _SLOWLY, *arguments], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "group\n"
        process.send_signal(signal.SIGKILL)
    assert (out / "verdict.parquet").read_bytes() == before
    assert len(Verdict.load(out)) == len(X)
    assert list(out.glob(".*.tmp"))  # what it had written so far
    assert run(arguments) == 0
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "summary.json", "verdict.parquet"]


def test_living_processes_keep_their_files(tmp_path: Path) -> None:
    ours = tmp_path / f".verdict.parquet.{os.getpid()}.abc.tmp"
    ours.touch()
    (tmp_path / ".something.else").touch()
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


# Bytecode is not written: CPython before 3.12.8 and 3.13.1 keeps a file that the limit has cut off, and every later
# import of that module, in any process, would fail.
_FULL = """
import resource, sys
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from eigenclean.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="this system cannot limit the size of files")
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_full_disk(engine: str, noisy: Data, tmp_path: Path) -> None:
    """A limit on the size of files stands for it: the same error from the same calls."""
    X, y = noisy
    np.savez(tmp_path / "x.npz", features=X, labels=y)
    out = tmp_path / "out"
    arguments = ["detect", str(tmp_path / "x.npz"), "--out", str(out), "--engine", engine, "--method", "fine"]
    assert run([*arguments, "--no-report"]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    done = subprocess.run([sys.executable, "-c", _FULL, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr and "choose another place" in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_reading_ahead_stops_when_nobody_listens() -> None:
    read = []

    def numbers() -> Any:
        for number in range(100):
            read.append(number)
            yield number

    items = reading.prefetch(numbers())
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]
    time.sleep(0.05)
    assert len(read) <= 3
