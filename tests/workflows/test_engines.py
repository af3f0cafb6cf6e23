"""Engines: one verdict wherever it is judged, with the self-test and the choice of a method beside it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.detect import FINE, Detector, detector
from eigenclean.detect.decisions import Decision
from eigenclean.noise import add_noise
from eigenclean.sources import MemorySource
from eigenclean.verdict import Verdict
from eigenclean.workflows.engines import ENGINES, Job
from eigenclean.workflows.self_test import choose, self_test

N = 150


@pytest.fixture(scope="module")
def data() -> MemorySource:
    truth = np.arange(N) % 3
    X = np.random.default_rng(1).normal(size=(N, 4)) + 4 * np.eye(3, 4)[truth]
    return MemorySource("mine", X.astype(np.float32), add_noise(truth, rate=0.2), ids=np.arange(N) + 500)


def judge(engine: str, data: MemorySource, folder: Path, *detectors: Detector, **options: Any) -> Any:
    job = Job(data, detectors, options.pop("decision", None), folder, share=0.1, **options)
    with ENGINES[engine](job) as judged:
        return judged


def columns(verdict: Verdict) -> list[Array]:
    return [np.asarray(getattr(verdict, name)) for name in ("ids", "labels", "flagged", "suggested")]


@pytest.mark.parametrize("decision", [None, Decision(budget=9), Decision(threshold=0.2)], ids=str)
def test_memory_is_the_detector_itself(data: MemorySource, tmp_path: Path, decision: Decision | None) -> None:
    judged = judge("memory", data, tmp_path, FINE(), decision=decision)
    expected = FINE().fit_judge(data.features(), data.labels, ids=data.ids, decision=decision)
    np.testing.assert_array_equal(judged.verdict.p_clean, expected.p_clean)
    for ours, theirs in zip(columns(judged.verdict), columns(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert judged.facts == {} and judged.written is None and judged.data_hash is None
    assert list(tmp_path.iterdir()) == []


def test_streaming_writes_the_same_verdict_and_hashes_what_it_read(data: MemorySource, tmp_path: Path) -> None:
    expected = FINE().fit_judge(data.features(), data.labels, ids=data.ids)
    job = Job(data, [FINE()], None, tmp_path, share=0.1)
    with ENGINES["stream"](job) as judged:
        assert judged.written is not None and judged.written.exists()
        assert judged.data_hash == data.data_hash()
        np.testing.assert_allclose(judged.verdict.p_clean, expected.p_clean, atol=1e-6)
        np.testing.assert_array_equal(judged.verdict.ids, data.ids)
    assert list(tmp_path.iterdir()) == []  # who does not move the file away loses it


def test_a_failing_caller_leaves_no_temporary_file(data: MemorySource, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), ENGINES["stream"](Job(data, [FINE()], None, tmp_path, share=0.1)):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_the_self_test_is_that_of_the_detector(data: MemorySource, tmp_path: Path) -> None:
    judged = judge("memory", data, tmp_path, FINE(), self_test=True)
    expected = self_test(FINE(), data.features(), data.labels, share=0.1)
    assert judged.facts["self_test"] == expected.as_dict()


def test_of_several_detectors_the_chosen_one_judges(data: MemorySource, tmp_path: Path) -> None:
    candidates = (FINE(), detector("knn"))
    judged = judge("memory", data, tmp_path, *candidates, self_test=True)
    choice = choose(candidates, data.features(), data.labels, share=0.1)
    assert judged.facts["auto"] == choice.as_dict()
    assert judged.verdict.method == choice.detector.name
    assert judged.facts["self_test"] == choice.tests[choice.detector.name].as_dict()
    expected = choice.detector.fit_judge(data.features(), data.labels)
    np.testing.assert_array_equal(judged.verdict.p_clean, expected.p_clean)
