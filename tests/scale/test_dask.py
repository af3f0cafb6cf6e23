"""The Dask engine gives the verdict of the detector in memory, also when a worker is killed."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import Verdict, detector, open_source
from eigenclean.arrays import Array
from eigenclean.cli.app import run
from eigenclean.detect import DETECTORS, BlockDetector
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.review import Review

dask = pytest.importorskip("dask", reason="the dask engine needs eigenclean[dask]")
distributed = pytest.importorskip("distributed", reason="the dask engine needs eigenclean[dask]")
threadpoolctl = pytest.importorskip("threadpoolctl", reason="scikit-learn depends on it")
da = pytest.importorskip("dask.array", reason="the dask engine needs eigenclean[dask]")

from eigenclean.scale import dask_blocks  # noqa: E402
from eigenclean.scale.cluster import worker_memory  # noqa: E402
from eigenclean.scale.dask import cluster, judge_dask  # noqa: E402

Data = tuple[Array, Array]
STREAMED = [name for name, kind in DETECTORS.items() if issubclass(kind, BlockDetector)]


def assert_same(a: Verdict, b: Verdict) -> None:
    np.testing.assert_allclose(a.score, b.score, rtol=1e-5, atol=1e-6)
    for field in ("flagged", "suggested", "labels", "ids"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    np.testing.assert_allclose(a.p_clean, b.p_clean, atol=1e-5)
    np.testing.assert_array_equal(a.rank, b.rank)


@pytest.fixture
def threads() -> Iterator[None]:
    """Dask's own scheduler in this process: quick, and it shares small blocks."""
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.mark.usefixtures("small_blocks", "threads")
@pytest.mark.parametrize("name", ["fine", "mcd"])
def test_features_are_scaled_as_in_memory(noisy: Data, name: str) -> None:
    X, y = noisy
    small = np.ldexp(X[:600, :20], -110)
    expected = detector(name).judge(small, y[:600])
    done = judge_dask(da.from_array(small, chunks=(250, 20)), y[:600], judge=detector(name))
    assert_same(done.compute(), expected)
    assert_same(judge_dask(da.from_array(small), y[:600], judge=done.judge).compute(), expected)
    with pytest.raises(InvalidData, match="far beyond those of fit"):
        judge_dask(da.from_array(X[:600, :20]), y[:600], judge=done.judge)


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.usefixtures("small_blocks", "threads")
def test_arrays(name: str, noisy: Data) -> None:
    X, y = noisy
    done = judge_dask(da.from_array(X, chunks=(250, 50)), da.from_array(y, chunks=99), judge=detector(name))
    expected = detector(name, **({"views": "linear,kernel"} if name == "judge" else {})).judge(X, y)
    assert_same(done.compute(), expected)
    assert done.n_flagged == expected.n_flagged
    assert done.engine["blocks"] == 6


@pytest.mark.usefixtures("small_blocks", "threads")
def test_data_frames_and_unknown_chunks(noisy: Data) -> None:
    frames = pytest.importorskip("dask.dataframe", reason="data frames need dask[dataframe]")
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    X, y = noisy
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    frame["label"] = y
    table = frames.from_pandas(frame, npartitions=5)
    done = judge_dask(table.drop(columns="label"), table["label"], judge=detector("fine"))
    assert_same(done.compute(), detector("fine").judge(X, y))
    some = da.from_array(X, chunks=(250, 96))
    unknown = some[some[:, 0] > -1]
    assert np.isnan(unknown.shape[0])
    assert_same(judge_dask(unknown, y, judge=detector("fine")).compute(), detector("fine").judge(X, y))


@pytest.mark.usefixtures("small_blocks", "threads")
def test_shards_in_and_a_folder_out(noisy: Data, tmp_path: Path, write_shards: Any) -> None:
    X, y = noisy
    source = open_source(write_shards(tmp_path / "shards", X, y, "parquet"))
    done = judge_dask(source, judge=detector("fine"))
    done.to_parquet(tmp_path / "verdict.parquet")
    assert len(list((tmp_path / "verdict.parquet").glob("part-*.parquet"))) == 6
    assert_same(Verdict.load(tmp_path), detector("fine").judge(X, y))


@pytest.mark.parametrize("room", [0, 10**9])
@pytest.mark.usefixtures("small_blocks", "threads")
def test_features_are_read_once_if_the_workers_have_room(
    room: int, noisy: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = noisy
    np.save(tmp_path / "x.npy", X)
    reads: list[int] = []

    def counted(reader: Any, start: int, stop: int, name: str) -> Array:
        reads.append(start)
        return read(reader, start, stop, name)

    read = dask_blocks._read_finite
    monkeypatch.setattr(dask_blocks, "_read_finite", counted)
    monkeypatch.setattr("eigenclean.scale.dask.worker_memory", lambda: room)
    done = judge_dask(open_source(tmp_path / "x.npy", labels=y), judge=detector("fine"))
    assert_same(done.compute(), detector("fine").judge(X, y))
    assert len(set(reads)) == 6
    assert (len(reads) == 6) == (room > 0)


@pytest.mark.usefixtures("small_blocks", "threads")
def test_new_rows_and_strings(noisy: Data) -> None:
    X, y = noisy
    names = np.array([f"digit {i}" for i in range(10)])[y]
    fitted = detector("fine").fit(X[:1000], names[:1000])
    new = judge_dask(da.from_array(X[1000:]), names[1000:], judge=fitted, ids=np.arange(1000, len(X)))
    assert_same(new.compute(), fitted.judge(X[1000:], names[1000:], ids=np.arange(1000, len(X))))


@pytest.mark.usefixtures("small_blocks", "threads")
def test_bad_input(noisy: Data, tmp_path: Path, write_shards: Any) -> None:
    X, y = noisy
    holed = X.copy()
    holed[1234, 5] = np.inf
    with pytest.raises(InvalidData, match="row 1234 has NaN or infinite"):
        judge_dask(da.from_array(holed, chunks=(500, 96)), y)
    source = open_source(write_shards(tmp_path / "shards", holed, y, "npz"))
    with pytest.raises(InvalidData, match=r"row 533 of .*part-10\.npz has NaN"):
        judge_dask(source)
    with pytest.raises(InvalidData, match="equal length"):
        judge_dask(da.from_array(X), da.from_array(y[:-1]))
    with pytest.raises(InvalidData, match="must be a Dask array or data frame, got ndarray"):
        judge_dask(X, y)
    with pytest.raises(InvalidOption, match="knn needs all rows at once"):
        judge_dask(da.from_array(X), y, judge=detector("knn"))


def test_no_scheduler_there(
    noisy: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = noisy
    monkeypatch.setattr("eigenclean.scale.cluster._CONNECT_TIMEOUT", "1s")
    np.savez(tmp_path / "x.npz", features=X, labels=y)
    arguments = ["detect", str(tmp_path / "x.npz"), "--out", str(tmp_path / "o"), "--engine", "dask"]
    assert run([*arguments, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_worker_is_killed(noisy: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL in the middle of a run: Dask computes the lost blocks again, and the verdict is the same."""
    X, y = noisy
    np.save(tmp_path / "x.npy", X)
    source = open_source(tmp_path / "x.npy", labels=y)
    monkeypatch.setattr("eigenclean.detect.blocks.BLOCK_ROWS", 900)
    with threadpoolctl.threadpool_limits(1):  # as in the workers: float32 sums depend on the number of BLAS threads
        expected = detector("judge", rounds=2, views="linear,kernel").judge(X, y)
    with cluster(workers=2) as client:
        pids = list(client.run(os.getpid).values())
        n_sums = 0
        total = dask_blocks.DaskBlocks.total

        def total_without_a_worker(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal n_sums
            n_sums += 1
            if n_sums == 3:
                os.kill(pids[0], signal.SIGKILL)
            return total(self, *args, **kwargs)

        monkeypatch.setattr(dask_blocks.DaskBlocks, "total", total_without_a_worker)
        done = judge_dask(source, judge=detector("judge", rounds=2))
        assert n_sums > 3, "the run was over before the worker was killed"
        assert_same(done.compute(), expected)
        assert pids[0] not in client.run(os.getpid).values()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_the_command_with_an_address(noisy: Data, tmp_path: Path) -> None:
    X, y = noisy
    np.savez(tmp_path / "x.npz", features=X, labels=y)
    out = tmp_path / "out"
    common = ["detect", str(tmp_path / "x.npz"), "--out", str(out), "--method", "fine"]
    assert run([*common, "--no-report"]) == 0
    in_memory = Verdict.load(out)
    with cluster(workers=1) as client:
        address = client.scheduler_info()["address"]
        assert worker_memory() > 10**8
        kept = client.run(lambda: os.environ["MALLOC_MMAP_THRESHOLD_"])
        assert set(kept.values()) == {str(1 << 25)}
        assert run([*common, "--engine", "dask", "--scheduler", address]) == 0
    assert worker_memory() == 0
    assert (out / "verdict.parquet").is_dir()
    assert_same(Verdict.load(out), in_memory)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["engine"]["name"] == "dask" and summary["engine"]["workers"] == 1
    assert summary["n_flagged"] == in_memory.n_flagged
    with closing(Review.open(out)) as review:  # the hash is that of the data, so the run can be reviewed
        assert len(review.suspects) == in_memory.n_flagged and not review.notes
    assert run([*common, "--engine", "stream", "--no-report"]) == 0  # a file takes the folder's place again
    assert (out / "verdict.parquet").is_file()
    assert not list(out.glob(".*"))
