"""Consensus of annotators with probabilities and without, as a verdict."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from eigenclean import Evidence, Verdict, detector
from eigenclean.detect import judge_annotations
from eigenclean.detect.decisions import Decision
from eigenclean.errors import InvalidOption, MissingEvidence
from tests.detect.annotators.conftest import Crowd


@pytest.fixture(scope="module")
def evidence(crowd: Crowd) -> Evidence:
    given = crowd.annotations
    rng = np.random.default_rng(0)
    scores = 1.5 * np.eye(4)[crowd.truth] + rng.normal(size=(given.n_rows, 4))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return Evidence(np.arange(given.n_rows), given.majority, probabilities=probabilities, annotations=given)


def test_labels_alone_give_a_whole_verdict(crowd: Crowd, evidence: Evidence, tmp_path: Path) -> None:
    consensus = judge_annotations(dataclasses.replace(evidence, probabilities=None))
    verdict = consensus.verdict
    assert verdict.consensus_label is not None and verdict.consensus_confidence is not None
    np.testing.assert_array_equal(verdict.labels, crowd.annotations.majority)
    np.testing.assert_array_equal(verdict.flagged, verdict.p_clean <= 0.5)
    changed = verdict.consensus_label != verdict.labels
    assert verdict.flagged[changed].all()
    np.testing.assert_array_equal(verdict.suggested[changed], verdict.consensus_label[changed])
    np.testing.assert_allclose(
        verdict.suggested_confidence[changed], verdict.consensus_confidence[changed], rtol=1e-9
    )
    assert verdict.method == "dawid-skene"
    loaded = Verdict.load(verdict.save(tmp_path / "v.parquet"))
    np.testing.assert_array_equal(loaded.consensus_label, verdict.consensus_label)
    np.testing.assert_array_equal(loaded.consensus_confidence, verdict.consensus_confidence)


def test_probabilities_help(crowd: Crowd, evidence: Evidence) -> None:
    alone = judge_annotations(dataclasses.replace(evidence, probabilities=None)).verdict
    helped = judge_annotations(evidence, decision=Decision(budget=30)).verdict
    assert np.mean(helped.consensus_label == crowd.truth) > np.mean(alone.consensus_label == crowd.truth) + 0.02
    assert helped.n_flagged == 30 and helped.method == "judge"
    assert helped.made_by["annotators"]["n_annotators"] == 12  # type: ignore[index]


def test_other_methods_and_missing_annotations_are_refused(evidence: Evidence) -> None:
    with pytest.raises(InvalidOption, match="not by fine: leave out --method"):
        judge_annotations(evidence, detector("fine"))
    with pytest.raises(MissingEvidence, match="needs annotations"):
        judge_annotations(dataclasses.replace(evidence, annotations=None))
