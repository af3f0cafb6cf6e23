"""Selectors against the detectors they adapt, and batch selectors against sorting."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean import add_noise
from eigenclean.detect import DETECTORS, detector
from eigenclean.evidence import Evidence
from eigenclean.train import FromDetector, Selection
from eigenclean.train.selectors import SELECTORS, Disagreement, SmallestLosses, TwoLosses, selector_from_dict
from eigenclean.train.selectors.averaged_losses import scaled_to_unit
from eigenclean.train.selectors.two_losses import mixed_targets


def evidence_of_all_kinds(n: int = 150, k: int = 3) -> Evidence:
    rng = np.random.default_rng(0)
    right = np.arange(n) % k
    features = np.abs(4 * np.eye(k)[right] @ rng.normal(size=(k, 6)) + rng.normal(size=(n, 6)))
    logits = 3 * np.eye(k)[right] + rng.normal(size=(n, k))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.asarray(add_noise(right, "symmetric", rate=0.2))
    return Evidence(np.arange(n), labels, features=features, logits=logits, probabilities=probabilities)


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("learn_from", ["kept", "all"])
def test_a_selection_is_the_verdict_of_the_detector_fitted_to_the_kept_samples(name: str, learn_from: str) -> None:
    evidence = evidence_of_all_kinds()
    keep = np.arange(len(evidence)) % 5 != 0
    selector = FromDetector(name, learn_from="kept" if learn_from == "kept" else "all", soft=True)
    selection = selector.select(evidence, 1, Selection(keep, np.ones(len(keep))), {})
    values = evidence.need(detector(name).consumes, by="test")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = detector(name).fit(values, evidence.labels, sample_weight=keep if learn_from == "kept" else None)
        verdict = fitted.judge(values, evidence.labels)
    assert selection.verdict is not None
    assert np.array_equal(selection.keep, ~verdict.flagged)
    assert np.array_equal(selection.weight, verdict.p_clean)
    assert np.array_equal(selection.verdict.score, verdict.score)
    assert np.array_equal(selection.verdict.suggested, verdict.suggested)


@settings(max_examples=50)
@given(n=st.integers(1, 40), rate=st.floats(0, 0.95), ramp=st.integers(1, 8), epoch=st.integers(1, 12))
def test_the_picks_have_no_larger_loss_than_what_is_dropped(n: int, rate: float, ramp: int, epoch: int) -> None:
    selector = SmallestLosses(rate, ramp)
    losses = [torch.rand(n, generator=torch.Generator().manual_seed(seed)) for seed in (n, n + 1)]
    logits = [torch.zeros(n, 2)] * 2
    for values, mask in zip(losses, selector.pick(logits, losses, epoch, 0), strict=True):
        expected = int((1 - selector.dropped_fraction(epoch)) * n + 1e-9) or n
        assert mask.sum() == expected
        if expected < n:
            assert values[mask].max() <= values[~mask].min()
    assert 0 <= selector.dropped_fraction(epoch) <= rate + 1e-12
    assert selector.dropped_fraction(epoch) <= selector.dropped_fraction(epoch + 1) + 1e-12


@settings(max_examples=50)
@given(n=st.integers(1, 30), seed=st.integers(0, 99), epoch=st.integers(1, 9))
def test_disputed_samples_are_those_with_different_predictions(n: int, seed: int, epoch: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = [torch.randn(n, 3, generator=generator) for _ in range(2)]
    losses = [torch.rand(n, generator=generator) for _ in range(2)]
    disputed = logits[0].argmax(dim=1) != logits[1].argmax(dim=1)
    picks = Disagreement(0.5, 4).pick(logits, losses, epoch, 0)
    if disputed.any():
        inside = SmallestLosses(0.5, 4).pick(logits, [values[disputed] for values in losses], epoch, 0)
        for mask, expected in zip(picks, inside, strict=True):
            assert not mask[~disputed].any()
            assert torch.equal(mask[disputed], expected)
    else:
        assert all(mask.all() for mask in picks)  # batch 0 is early in every epoch


@settings(max_examples=50)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_scaled_losses_lie_between_0_and_1_in_the_same_order(values: list[float]) -> None:
    losses = np.array(values)
    scaled = scaled_to_unit(losses)
    assert scaled.min() == 0 and scaled.max() in (0, 1)
    assert (np.diff(scaled[np.argsort(losses)]) >= 0).all()


@settings(max_examples=40)
@given(n=st.integers(1, 20), k=st.integers(2, 5), seed=st.integers(0, 99))
def test_mixed_targets_are_distributions_by_a_slow_loop(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, predicted, trust = rng.integers(0, k, n), rng.integers(0, k, n), rng.random(n)
    targets = mixed_targets(labels, predicted, trust, k)
    for row in range(n):
        expected = [trust[row] * (c == labels[row]) + (1 - trust[row]) * (c == predicted[row]) for c in range(k)]
        np.testing.assert_allclose(targets[row], expected, atol=1e-12)


def test_two_losses_draw_anew_in_every_epoch_and_again_in_a_resumed_one() -> None:
    evidence = evidence_of_all_kinds()
    undecided = replace(evidence, logits=0.1 * np.asarray(evidence.logits))
    targets = [TwoLosses().select(undecided, epoch, None, {}).target for epoch in (3, 3, 4)]
    assert np.array_equal(np.asarray(targets[0]), np.asarray(targets[1]))
    assert not np.array_equal(np.asarray(targets[0]), np.asarray(targets[2]))


@pytest.mark.parametrize("kind", SELECTORS)
def test_selectors_with_default_options_survive_a_file(kind: str) -> None:
    selector = selector_from_dict({"kind": kind})
    assert selector_from_dict(selector.to_dict()) == selector
    assert selector.kind == kind and type(selector) is SELECTORS[kind]
    assert selector.scaled(1.0) == selector
