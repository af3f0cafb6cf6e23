"""`bench scale` runs at any size; what it says is checked on tiny data."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eigenclean.cli.app import run
from eigenclean_lab.bench.scale import run as scale
from eigenclean_lab.bench.scale import worker
from eigenclean_lab.bench.scale.estimate import Rates, estimate
from eigenclean_lab.bench.scale.suite import FILE, ScaleSuite, figures_of, scale_store
from eigenclean_lab.bench.scale.worker import EngineRun
from eigenclean_lab.bench.speed.ratios import Ratio, RatioTarget
from eigenclean_lab.bench.speed.synthetic import noisy_features
from eigenclean_lab.store import Cell

TINY = scale.ScaleSizes(600, 16, 3, 900, 24, 4, 500)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_every_case_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed", reason="the dask engine needs eigenclean[dask]")
    monkeypatch.setattr(scale.ScaleSizes, "quick", classmethod(lambda cls: TINY))
    started = scale._Bench._start

    def here(self: scale._Bench, engine: str, method: str, which: str) -> EngineRun:
        """In this process, but for one run: starting Python a dozen times takes longer than everything else."""
        if (engine, method, which) == ("stream", "fine", "small"):
            return started(self, engine, method, which)
        places = self._data(which), self.folder / f"{which}_labels.npy", self._out(engine, method, which)
        return worker.run(engine, method, *places)

    monkeypatch.setattr(scale._Bench, "_start", here)
    assert run(["bench", "scale", "--quick", "--json", "--folder", str(tmp_path)]) == 0
    cells = [Cell.from_record(record) for record in json.loads(capsys.readouterr().out)["cells"]]
    cases = {cell.task["case"]: cell for cell in cells}
    assert len(cases) == 15
    for name, cell in cases.items():
        if "flags that differ" in name:
            assert cell.figures["differing_flags"] == 0, name
        if name.endswith("scores"):
            assert cell.facts["passed"], cell.facts["remark"]
    peak = next(cell.figures["ratio"] for name, cell in cases.items() if "peak resident" in name)
    assert peak is not None and 0.01 < peak < 1
    assert list(tmp_path.iterdir()) == []  # the data are gone
    rates, large = figures_of(cells, scale.RATES), figures_of(cells, scale.LARGE_RUN)
    assert rates is not None and large is not None
    later, half = (
        estimate(Rates(**rates), large, rows=10**6, columns=256, classes=10, workers=workers)
        for workers in (10, 20)
    )
    assert later.hours == pytest.approx(2 * half.hours)
    assert later.worker_hours == pytest.approx(half.worker_hours)
    assert later.gigabytes == pytest.approx(1.024)


def measurement(group: str, case: str, ratio: float) -> scale.Measurement:
    return scale.Measurement(group, case, Ratio.measured(case, "none", ratio, RatioTarget("at most", 1), ""), {})


def test_cases_that_are_not_measured_again_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = scale_store(tmp_path / FILE)
    suite = ScaleSuite(scale.ScaleSizes())
    store.write([suite.cell(measurement("equality", "a", 0.5)), suite.cell(measurement("memory", "b", 0.9))])
    monkeypatch.setattr(scale, "run", lambda *args, **options: [measurement("memory", "b", 0.25)])
    assert run(["bench", "scale", "--cases", "memory", "--out", str(tmp_path)]) == 0
    assert [(cell.task["case"], cell.figures["ratio"]) for cell in store.read()] == [("a", 0.5), ("b", 0.25)]


def test_only_counts_must_come_out_equal_when_cases_are_repeated() -> None:
    suite = ScaleSuite(TINY)
    assert suite.is_comparable("differing_flags") and suite.is_comparable("rounds")
    assert not suite.is_comparable("seconds") and not suite.is_comparable("peak_bytes")


def test_results_of_other_sizes_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = scale_store(tmp_path / FILE)
    store.write([ScaleSuite(TINY).cell(measurement("memory", "b", 0.5))])
    for content, expected in (
        ("{", "is not a file of `eigenclean bench scale`"),
        (store.path.read_text(), "of other sizes"),
    ):
        store.path.write_text(content)
        assert run(["bench", "scale", "--cases", "equality", "--out", str(tmp_path)]) == 2
        assert expected in " ".join(capsys.readouterr().err.split())
        assert store.path.read_text() == content
    assert run(["bench", "scale", "--cases", "memmory", "--out", str(tmp_path)]) == 2
    assert "did you mean 'memory'?" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_memory_is_that_of_the_process_alone() -> None:
    """A small process that a large one has started is small."""
    code = "from eigenclean_lab.bench.scale.worker import peak_bytes; print(peak_bytes())"
    ballast = np.ones(1 << 26)  # 512 MB
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1e7 < int(done.stdout) < ballast.nbytes


def test_another_draw_has_the_same_classes() -> None:
    (X, y), (Z, w) = (noisy_features(3000, 8, 3, draw=draw) for draw in (0, 5))
    assert not np.array_equal(X, Z)
    for k in range(3):
        np.testing.assert_allclose(X[y == k].mean(axis=0), Z[w == k].mean(axis=0), atol=0.3)


def test_costs_are_those_of_the_products() -> None:
    rates = Rates(read_bytes=1e9, second_moments=1e10, discriminants=1e10)
    assert rates.blas_seconds(n=1000, d=100, k=10, rounds=1) == pytest.approx((1e7 + 2.4e6) / 1e10)
