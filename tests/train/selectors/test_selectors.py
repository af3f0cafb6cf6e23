"""Selectors: what a network may learn from."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eigenclean.arrays import Array, Bools, Ints
from eigenclean.detect import DETECTORS, FINE, detector
from eigenclean.errors import EigencleanWarning, InvalidData, MissingEvidence
from eigenclean.evidence import Evidence
from eigenclean.metrics import detection_quality
from eigenclean.nets import make_net
from eigenclean.train import FromDetector, KeepAll, Selection
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop.evaluation import collect_evidence
from eigenclean.train.selectors import FromInputs, make_selector


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
    for before in (None, Selection.all_samples(len(evidence))):
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
    all_samples = FromDetector("fine", learn_from="all").select(evidence, 1, before, {}).verdict
    assert kept is not None
    assert all_samples is not None
    assert np.array_equal(kept.score, expected)
    assert not np.array_equal(all_samples.score, expected)


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


# What the judge looks at.


def test_the_judge_sees_vectors_themselves_and_fine_what_the_network_makes_of_them() -> None:
    rng = np.random.default_rng(0)
    right = np.arange(300) % 3
    wrong = rng.random(300) < 0.2
    given = np.where(wrong, (right + 1) % 3, right)
    inputs = 4 * np.eye(3)[right] + rng.normal(size=(300, 3))
    by_heart = 9 * np.eye(3)[given] + rng.normal(size=(300, 3))  # a hidden layer that knows the given labels
    evidence = Evidence(ids=np.arange(300), labels=given, features=by_heart, inputs=inputs)
    judged = make_selector("judge").select(evidence, 1, None, {})
    assert judged.keep[wrong].mean() < 0.2 and judged.keep[~wrong].mean() > 0.9
    blind = make_selector("judge").select(
        replace(evidence, inputs=None), 1, None, {}
    )  # images: there is nothing else
    assert blind.keep[wrong].mean() > 0.9
    fine = make_selector("fine").select(evidence, 1, None, {})
    alone = make_selector("fine").select(replace(evidence, inputs=None), 1, None, {})
    assert np.array_equal(fine.keep, alone.keep)


def test_inputs_with_few_columns_are_judged_as_by_the_probe() -> None:
    """Rings are not linear in their columns: linear discriminants cannot see which labels are wrong."""
    rng = np.random.default_rng(0)
    right = np.arange(600) % 3
    angle, radius = rng.uniform(0, 2 * np.pi, 600), 1.0 + right + rng.normal(0, 0.15, 600)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    given = np.where(rng.random(600) < 0.2, rng.integers(0, 3, 600), right)
    evidence = Evidence(ids=np.arange(600), labels=given, features=rings, inputs=rings)

    def kept(evidence: Evidence, **options: Any) -> Bools:
        return make_selector("judge", **options).select(evidence, 1, None, {}).keep

    of_probe = detector("judge", **DETECTORS["judge"].probe_options).fit_judge(rings, given)
    assert np.array_equal(kept(evidence), ~of_probe.flagged)
    assert detection_quality(~kept(evidence), kept(evidence).astype(float), given == right).f > 0.95
    # What the user asks for is done, also what is usual for features. Wide vectors are features of an encoder.
    with warnings.catch_warnings():  # that linear discriminants see nothing here
        warnings.simplefilter("ignore", EigencleanWarning)
        linear = detector("judge", views="linear", n_repeats=2).fit_judge(rings, given)
    assert np.array_equal(kept(evidence, views="linear", n_repeats=2), ~linear.flagged)
    wide = np.hstack([rings, np.zeros((600, 600))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigencleanWarning)
        once = detector("judge", views="linear", n_repeats=1).fit_judge(wide, given)
    assert np.array_equal(kept(replace(evidence, inputs=wide)), ~once.flagged)
    # A detector whose training options are those of its cut.
    assert FromInputs("fine", {"cut.split": "always"}).select(evidence, 1, None, {}).keep.any()


def test_inputs_are_evidence_if_they_are_vectors(pool: Pool, small_net: Callable[[], torch.nn.Module]) -> None:
    rows = np.array([5, 60])
    evidence = collect_evidence(small_net(), pool, ("inputs", "features"), rows)
    assert evidence.inputs is not None and evidence.features is not None
    assert np.array_equal(evidence.inputs, np.asarray(pool.inputs)[rows])
    assert evidence.features.shape == (2, 16)
    assert collect_evidence(small_net(), pool, ("features",)).inputs is None
    images = Pool.from_arrays(np.zeros((4, 1, 8, 8), np.float32), np.arange(4) % 2, np.array([0, 1]))
    net = make_net("small-cnn", (1, 8, 8), 2)
    assert collect_evidence(net, images, ("inputs", "features")).inputs is None
