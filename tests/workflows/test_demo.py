"""The demo on a few digits: what it prints is what it wrote, and the truth stays out of the judging."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from eigenclean.detect import FINE
from eigenclean.metrics import detection_quality
from eigenclean.noise import corrupt
from eigenclean.sources import open_source
from eigenclean.sources.arrays.memory import MemorySource
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.verdict import Verdict
from eigenclean.workflows import demo, network_features, run_demo

N = 200


@pytest.fixture(autouse=True)
def few_digits(monkeypatch: pytest.MonkeyPatch) -> MemorySource:
    """The first digits only: enough to see what the demo does."""
    whole = DATASETS["digits"]()
    few = MemorySource("digits", whole.features()[:N], whole.labels[:N], images=np.asarray(whole.images)[:N])
    datasets: dict[str, Callable[[], MemorySource]] = {"digits": lambda: few}
    monkeypatch.setattr(demo, "DATASETS", datasets)
    return few


def test_features_are_the_hidden_layer_of_the_network() -> None:
    rng = np.random.default_rng(0)
    pixels, labels = rng.random((60, 16)), np.arange(60) % 3
    features = network_features(pixels, labels, seed=4)
    network = MLPClassifier((128,), learning_rate_init=3e-3, random_state=4)
    for _ in range(10):
        network.partial_fit(pixels, labels, classes=[0, 1, 2])
    logits = features @ network.coefs_[1] + network.intercepts_[1]
    expected = network.predict_proba(pixels)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), expected, atol=1e-5)
    assert features.dtype == np.float32 and features.min() >= 0


def test_the_demo_writes_what_it_measured(tmp_path: Path, few_digits: MemorySource) -> None:
    result = run_demo(tmp_path / "demo", rate=0.3, seed=2)
    noisy = corrupt(few_digits.labels, "symmetric", 0.3, random_state=2)
    data, verdict = open_source(str(tmp_path / "demo" / demo.DATA)), Verdict.load(tmp_path / "demo")
    np.testing.assert_array_equal(data.labels, noisy.labels)
    np.testing.assert_array_equal(verdict.labels, noisy.labels)
    np.testing.assert_array_equal(np.asarray(data.images), np.asarray(few_digits.images))
    assert list(result.quality) == ["the judge", "FINE"]
    clean = noisy.labels == few_digits.labels
    expected = detection_quality(verdict.flagged, verdict.p_clean, clean, verdict.score, verdict.noise_rate)
    assert result.quality["the judge"]["noisy_f"] == pytest.approx(expected.noisy_f)
    assert result.quality["the judge"]["noise_rate"] == pytest.approx(1 - clean.mean())
    summary = json.loads((tmp_path / "demo" / "summary.json").read_text())
    assert summary == result.summary and summary["data_hash"] == data.data_hash()
    assert "truth" not in json.dumps(summary)


def test_a_failure_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(demo, "publish", fail)
    monkeypatch.setattr(demo, "DETECTORS", {"FINE": FINE()})
    monkeypatch.setattr(demo, "network_features", lambda pixels, labels, *, seed: pixels)
    with pytest.raises(RuntimeError, match="out of memory"):
        run_demo(tmp_path / "deep" / "demo")
    assert not (tmp_path / "deep" / "demo" / "verdict.parquet").exists()
