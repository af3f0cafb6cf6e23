"""`bench scale` runs at any size; what it says is checked on tiny data."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eigenclean.cli.app import run
from eigenclean_lab.bench import scale, scale_run
from eigenclean_lab.bench.detect import Must, Result, noisy_features
from eigenclean_lab.bench.scale_run import Ran

TINY = scale.Sizes(600, 16, 3, 900, 24, 4, 500)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_every_case_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed", reason="the dask engine needs eigenclean[dask]")
    monkeypatch.setattr(scale.Sizes, "quick", classmethod(lambda cls: TINY))
    started = scale._Bench._start

    def here(self: scale._Bench, engine: str, method: str, which: str) -> Ran:
        """In this process, but for one run: starting Python a dozen times takes longer than everything else."""
        if (engine, method, which) == ("stream", "fine", "small"):
            return started(self, engine, method, which)
        places = self._data(which), self.folder / f"{which}_labels.npy", self._out(engine, method, which)
        return scale_run.run(engine, method, *places)

    monkeypatch.setattr(scale._Bench, "_start", here)
    assert run(["bench", "scale", "--quick", "--json", "--folder", str(tmp_path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    cases = {case["case"]: case for case in facts["cases"]}
    assert len(cases) == 13
    for name, case in cases.items():
        if "flags that differ" in name:
            assert case["ratio"] == 0, name
        if name.endswith("scores"):
            assert case["passed"], case["note"]
    peak = next(case for name, case in cases.items() if "peak resident" in name)
    assert 0.01 < peak["ratio"] < 1
    assert list(tmp_path.iterdir()) == []  # the data are gone
    later = scale.estimate(facts, rows=10**6, columns=256, classes=10, workers=10)
    half = scale.estimate(facts, rows=10**6, columns=256, classes=10, workers=20)
    assert later.hours == pytest.approx(2 * half.hours)
    assert later.worker_hours == pytest.approx(half.worker_hours)
    assert later.gigabytes == pytest.approx(1.024)


def _result(case: str, ratio: float) -> Result:
    return Result.measured(case, "none", ratio, Must("at most", 1), "")


def test_what_is_not_measured_again_stays() -> None:
    costs = scale.Costs(1.0, 2.0, 3.0)
    whole = scale.Outcome([_result("a", 0.5), _result("b", 2.0)], costs, {"seconds": 9.0, "peak_bytes": 7})
    first = whole.record("2026-01-01", 0.1, TINY)
    again = scale.Outcome([_result("b", 0.25)], None, {"peak_bytes": 5}).record("2026-01-02", 1.5, TINY, first)
    assert [(case["case"], case["ratio"], case["date"]) for case in again["cases"]] == [
        ("a", 0.5, "2026-01-01"),
        ("b", 0.25, "2026-01-02"),
    ]
    assert again["costs"] == first["costs"] and again["large"] == {"seconds": 9.0, "peak_bytes": 5}


def test_other_results_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / scale.FILE
    assert scale.read_record(file, TINY) == {}
    for content, expected in (
        ("{", "is not a file of `eigenclean bench scale`"),
        ('{"sizes": {}}', "of other sizes"),
    ):
        file.write_text(content)
        assert run(["bench", "scale", "--cases", "equality", "--out", str(tmp_path)]) == 2
        assert expected in " ".join(capsys.readouterr().err.split())
        assert file.read_text() == content
    assert run(["bench", "scale", "--cases", "memmory", "--out", str(tmp_path)]) == 2
    assert "did you mean 'memory'?" in " ".join(capsys.readouterr().err.split())


def test_memory_is_that_of_the_process_alone() -> None:
    """A small process that a large one has started is small."""
    code = "from eigenclean_lab.bench.scale_run import peak_bytes; print(peak_bytes())"
    ballast = np.ones(1 << 26)  # 512 MB
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1e7 < int(done.stdout) < ballast.nbytes


def test_another_draw_has_the_same_classes() -> None:
    (X, y), (Z, w) = (noisy_features(3000, 8, 3, draw=draw) for draw in (0, 5))
    assert not np.array_equal(X, Z)
    for k in range(3):
        np.testing.assert_allclose(X[y == k].mean(axis=0), Z[w == k].mean(axis=0), atol=0.3)


def test_costs_are_those_of_the_products() -> None:
    costs = scale.Costs(read_bytes=1e9, second_moments=1e10, discriminants=1e10)
    assert costs.blas(n=1000, d=100, k=10, rounds=1) == pytest.approx((1e7 + 2.4e6) / 1e10)
