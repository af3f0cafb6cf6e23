"""Detection as a Python function: the same files as the command writes, all options checked first."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import FINE, add_noise
from eigenclean.cli.app import run
from eigenclean.detect.decisions import Decision
from eigenclean.errors import EigencleanError
from eigenclean.scale.resources import ENGINES as ENGINE_NAMES
from eigenclean.verdict import Verdict
from eigenclean.workflows import DetectRequest, SourceOptions, export_run, run_detect, score_run
from eigenclean.workflows.detect import EngineOptions, MethodOptions, OutputOptions, SelfTestOptions
from eigenclean.workflows.engines import ENGINES

N = 240


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three noisy classes; the true labels are in truth.npy."""
    truth = np.arange(N) % 3
    X = np.random.default_rng(0).normal(size=(N, 5)) + 4 * np.eye(3, 5)[truth]
    np.savez(tmp_path / "data.npz", features=X, labels=add_noise(truth, rate=0.2))
    np.save(tmp_path / "truth.npy", truth)
    return tmp_path / "data.npz"


def _without_times(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key not in ("seconds", "source")}


@pytest.mark.parametrize("decision", [None, Decision(threshold=0.3), Decision(budget=7)], ids=str)
def test_the_function_and_the_command_write_the_same(data: Path, tmp_path: Path, decision: Decision | None) -> None:
    request = DetectRequest(str(data), tmp_path / "python", MethodOptions("fine"), decision)
    summary = run_detect(request)
    options = {} if decision is None else {"threshold": decision.threshold, "budget": decision.budget}
    words = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    assert run(["detect", str(data), "--out", str(tmp_path / "cli"), "--method", "fine", *words]) == 0
    written = json.loads((tmp_path / "cli" / "summary.json").read_text())
    assert _without_times(written) == _without_times(summary)
    assert summary == json.loads((tmp_path / "python" / "summary.json").read_text())
    ours, theirs = Verdict.load(tmp_path / "python"), Verdict.load(tmp_path / "cli")
    np.testing.assert_array_equal(ours.p_clean, theirs.p_clean)
    np.testing.assert_array_equal(ours.flagged, theirs.flagged)


def test_the_verdict_is_that_of_the_detector(data: Path, tmp_path: Path) -> None:
    run_detect(DetectRequest(str(data), tmp_path / "run", MethodOptions("fine", {"subset": 0.5}, seed=3)))
    arrays = np.load(data)
    expected = FINE(subset=0.5, random_state=3).judge(arrays["features"], arrays["labels"])
    np.testing.assert_array_equal(Verdict.load(tmp_path / "run").p_clean, expected.p_clean)


def test_engines_agree(data: Path, tmp_path: Path) -> None:
    verdicts = {}
    for engine in ("memory", "stream"):
        folder = tmp_path / engine
        request = DetectRequest(str(data), folder, MethodOptions("fine"), engine=EngineOptions(engine))
        assert run_detect(request).get("engine", {}).get("name", "memory") == engine
        verdicts[engine] = Verdict.load(folder)
    assert set(ENGINES) == set(ENGINE_NAMES)  # what may be named can be run
    np.testing.assert_allclose(verdicts["memory"].p_clean, verdicts["stream"].p_clean, atol=1e-6)
    np.testing.assert_array_equal(verdicts["memory"].flagged, verdicts["stream"].flagged)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": MethodOptions("fien")}, "fine"),
        ({"method": MethodOptions("auto", {"subset": 0.1})}, "name the method instead"),
        ({"engine": EngineOptions("disk")}, "engine"),
        ({"engine": EngineOptions(scheduler="tcp://localhost:1")}, "--engine dask"),
        ({"engine": EngineOptions("stream"), "self_test": SelfTestOptions(True)}, "leave one out"),
        ({"self_test": SelfTestOptions(True, 0.9)}, "planted share"),
        ({"reading": SourceOptions(labels=Path("missing.npy"))}, "missing.npy"),
    ],
)
def test_a_mistake_leaves_no_folder(data: Path, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(EigencleanError, match=message):
        run_detect(DetectRequest(str(data), tmp_path / "run", **options))
    assert not (tmp_path / "run").exists()


def test_without_a_report_there_is_none_to_update(data: Path, tmp_path: Path) -> None:
    output = OutputOptions(csv=True, report=False)
    run_detect(DetectRequest(str(data), tmp_path / "run", MethodOptions("fine"), output=output))
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "manifest.json",
        "verdict.parquet",
        "verdict.csv",
        "summary.json",
    }
    messages: list[str] = []
    scored = score_run(tmp_path / "run", tmp_path / "truth.npy", notify=messages.append)
    assert messages == [] and scored.method == "fine"
    verdict, truth = Verdict.load(tmp_path / "run"), np.arange(N) % 3
    wrong = verdict.labels != truth
    assert scored.quality["noisy_recall"] == pytest.approx((verdict.flagged & wrong).sum() / wrong.sum())


def test_export_leaves_out_texts_and_images_of_data_that_changed(data: Path, tmp_path: Path) -> None:
    run_detect(DetectRequest(str(data), tmp_path / "run", MethodOptions("fine")))
    verdict = Verdict.load(tmp_path / "run")
    messages: list[str] = []
    exported = export_run(tmp_path / "run", "csv", tmp_path / "all.csv", notify=messages.append)
    assert (exported.n_rows, exported.all_rows, messages) == (N, True, [])
    arrays = dict(np.load(data))
    np.savez(data, **{**arrays, "labels": arrays["labels"][::-1]})
    flagged = export_run(tmp_path / "run", "csv", tmp_path / "flagged.csv", all_rows=False, notify=messages.append)
    assert flagged.n_rows == verdict.n_flagged
    assert len(messages) == 1 and "has changed since the run" in messages[0]
