"""Selectors: what a network may learn from."""

import numpy as np
import pytest

from eigenclean.arrays import Array, Ints
from eigenclean.detect import FINE
from eigenclean.errors import InvalidData, MissingEvidence
from eigenclean.evidence import Evidence
from eigenclean.train import FromDetector, KeepAll, Selection


@pytest.fixture
def evidence(blobs: tuple[Array, Ints]) -> Evidence:
    features, given = blobs
    return Evidence(ids=np.arange(len(given)), labels=given, features=np.maximum(features, 0))


def test_keep_all_keeps_all_and_asks_for_nothing(evidence: Evidence) -> None:
    selection = KeepAll().select(evidence, 1, None, {})
    assert selection.keep.all()
    assert KeepAll().needs == ()


def test_the_detector_keeps_what_it_does_not_flag(evidence: Evidence) -> None:
    verdict = FINE().fit(evidence.features, evidence.labels).judge(evidence.features, evidence.labels)
    for before in (None, Selection.everything(len(evidence))):
        selection = FromDetector("fine").select(evidence, 1, before, {})
        assert np.array_equal(selection.keep, ~verdict.flagged)
        assert selection.verdict is not None
        assert np.array_equal(selection.verdict.p_clean, verdict.p_clean)
        assert (selection.weight == 1).all()


def test_the_detector_learns_from_the_samples_kept_before(evidence: Evidence) -> None:
    keep = np.arange(len(evidence)) >= 9
    before = Selection(keep, np.ones(len(evidence)))
    taught = FINE().fit(evidence.features, evidence.labels, sample_weight=keep)
    expected = taught.score_samples(evidence.features, evidence.labels)
    kept = FromDetector("fine").select(evidence, 1, before, {}).verdict
    everyone = FromDetector("fine", learn_from="all").select(evidence, 1, before, {}).verdict
    assert kept is not None
    assert everyone is not None
    assert np.array_equal(kept.score, expected)
    assert not np.array_equal(everyone.score, expected)


def test_discarded_samples_can_return(evidence: Evidence) -> None:
    right = np.arange(len(evidence)) >= 9
    before = Selection(right & (np.arange(len(evidence)) % 2 == 0), np.ones(len(evidence)))
    selection = FromDetector("fine").select(evidence, 1, before, {})
    assert (selection.keep & ~before.keep).any()


def test_soft_weights_are_probabilities(evidence: Evidence) -> None:
    selection = FromDetector("fine", soft=True).select(evidence, 1, None, {})
    assert selection.verdict is not None
    assert np.array_equal(selection.weight, selection.verdict.p_clean)


def test_a_selector_says_what_it_misses(evidence: Evidence) -> None:
    with pytest.raises(MissingEvidence, match="fine needs features"):
        FromDetector("fine").select(Evidence(evidence.ids, evidence.labels), 1, None, {})


def test_a_selection_has_one_row_per_sample() -> None:
    with pytest.raises(InvalidData, match="weight must have one row per sample, got 2 for 3"):
        Selection(np.ones(3, dtype=bool), np.ones(2))
