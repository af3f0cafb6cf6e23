"""Selectors beside the detector's: small losses, disagreement, averages, cores, coresets."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax

from eigenclean.arrays import Bools, Float64s, Ints
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import (
    SELECTORS,
    AreaUnderMargin,
    AveragedLosses,
    Crust,
    Disagreement,
    FromDetector,
    Guided,
    KeepAll,
    Memory,
    Persistent,
    Sieve,
    SmallestLosses,
    TwoLosses,
    make_selector,
    selector_from_dict,
)
from tests.detect.baselines.slow_crust import slow_row_sums


def logits_for(labels: Ints, wrong: Bools, sure: float = 4.0) -> Float64s:
    """A network that knows the right classes, which the wrong labels miss by one."""
    right = np.where(wrong, (labels + 1) % 3, labels)
    return np.asarray(sure * np.eye(3)[right] + np.random.default_rng(0).normal(0, 0.3, (len(labels), 3)))


@pytest.fixture
def case() -> tuple[Evidence, Bools]:
    labels, wrong = np.arange(90) % 3, np.arange(90) < 20
    logits = logits_for(labels, wrong)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return Evidence(ids=np.arange(90), labels=labels, logits=logits, probabilities=p), wrong


# Batches.


def test_the_forget_rate_grows_as_in_the_original() -> None:
    """linspace(0, rate, ramp) and then the rate: what the published code tabulates."""
    for rate, ramp in ((0.45, 10), (0.2, 40), (0.5, 1)):
        table = np.full(60, rate)
        table[:ramp] = np.linspace(0, rate, ramp)
        chosen = SmallestLosses(rate, ramp)
        assert [chosen.dropped_fraction(epoch) for epoch in range(1, 61)] == pytest.approx(table.tolist())


def test_each_network_picks_its_smallest_losses() -> None:
    losses = [torch.tensor([0.1, 0.9, 0.5, 0.2, 0.7]), torch.tensor([0.9, 0.1, 0.2, 0.8, 0.3])]
    picks = SmallestLosses(0.4, ramp=1).pick([], losses, epoch=2, batch=0)
    assert picks[0].tolist() == [True, False, True, True, False]
    assert picks[1].tolist() == [False, True, True, False, True]
    assert all(pick.all() for pick in SmallestLosses(0.4, ramp=5).pick([], losses, epoch=1, batch=0))


def test_the_number_of_picks_is_rounded_down_and_never_none() -> None:
    counts = [int(SmallestLosses(0.3, 1).pick([], [torch.rand(n)], 9, 0)[0].sum()) for n in (1, 2, 3, 10, 128)]
    assert counts == [1, 1, 2, 7, 89]  # int(0.7 · n), and all of a batch of one
    assert int(SmallestLosses(0.1, 1).pick([], [torch.rand(10)], 9, 0)[0].sum()) == 9


def disputed_logits() -> list[torch.Tensor]:
    first = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 0]])
    second = torch.tensor([[1.0, 0], [0, 1], [1, 0], [1, 0], [0, 1], [1, 0]])
    return [first, second]


def test_only_disputed_samples_are_picked() -> None:
    losses = [torch.tensor([0.0, 0.4, 0.3, 0.2, 0.1, 0.0]), torch.tensor([0.0, 0.1, 0.2, 0.3, 0.4, 0.0])]
    picks = Disagreement(0.5, ramp=1).pick(disputed_logits(), losses, epoch=5, batch=0)
    assert picks[0].nonzero().flatten().tolist() == [3, 4]
    assert picks[1].nonzero().flatten().tolist() == [1, 2]


def test_without_a_dispute_everything_is_learned_for_a_while_then_nothing() -> None:
    same = [disputed_logits()[0]] * 2
    losses = [torch.rand(6)] * 2
    chosen = Disagreement(0.2, 1, patience=50)
    assert all(pick.all() for pick in chosen.pick(same, losses, epoch=11, batch=4))  # 10 · 4 < 50
    assert not any(pick.any() for pick in chosen.pick(same, losses, epoch=11, batch=5))
    with pytest.raises(InvalidOption, match="needs two networks"):
        chosen.pick(same[:1], losses[:1], 1, 0)


# Losses of all samples.


def test_a_window_of_one_is_the_small_loss_detector(case: tuple[Evidence, Bools]) -> None:
    evidence, _ = case
    detector = FromDetector("small-loss", {"head": None}, "all", soft=True).select(evidence, 1, None, {})
    ours = AveragedLosses(window=1).select(evidence, 1, None, {})
    assert np.array_equal(ours.keep, detector.keep)
    np.testing.assert_allclose(ours.weight, detector.weight, atol=1e-6)


def test_losses_are_averaged_over_the_window_by_original_index(case: tuple[Evidence, Bools]) -> None:
    evidence, wrong = case
    memory: Memory = {}
    chosen, scaled = AveragedLosses(window=2), []
    for epoch, sure in enumerate((1.0, 2.0, 4.0), start=1):
        logits = logits_for(np.asarray(evidence.labels), wrong, sure)
        selection = chosen.select(replace(evidence, logits=logits), epoch, None, memory)
        losses = -np.log(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
        given_losses = losses[np.arange(90), np.asarray(evidence.labels)]
        scaled.append((given_losses - given_losses.min()) / (given_losses.max() - given_losses.min()))
    assert selection.verdict is not None
    np.testing.assert_allclose(selection.verdict.score, -(scaled[1] + scaled[2]) / 2, atol=1e-12)
    assert memory["losses"].shape == (2, 90)
    assert selection.keep[~wrong].all()
    assert not selection.keep[wrong].any()


def test_the_smaller_losses_are_the_trusted_ones(case: tuple[Evidence, Bools]) -> None:
    evidence, wrong = case
    assert np.array_equal(AveragedLosses().select(evidence, 1, None, {}).keep, ~wrong)
    logits = np.asarray(evidence.logits).copy()
    logits[wrong] = 5 * np.eye(3)[np.asarray(evidence.labels)[wrong]]  # now the wrong ones are learned by heart
    logits[~wrong] *= -1
    assert np.array_equal(AveragedLosses().select(replace(evidence, logits=logits), 1, None, {}).keep, wrong)


def test_margins_are_divided_by_a_mixture_and_not_by_those_of_today(case: tuple[Evidence, Bools]) -> None:
    """Wrong labels learned by heart in the end have lost for long."""
    evidence, wrong = case
    labels = np.asarray(evidence.labels)
    by_heart = 5 * np.eye(3)[labels]
    margins = np.where(wrong, -2.0, 3.0) + np.random.default_rng(1).normal(0, 0.3, len(labels))
    selection = AreaUnderMargin(soft=True).select(replace(evidence, logits=by_heart, margins=margins), 5, None, {})
    assert np.array_equal(selection.keep, ~wrong)
    assert selection.verdict is not None
    assert np.array_equal(selection.weight, selection.verdict.p_clean)
    assert np.array_equal(selection.verdict.score, margins)
    plain = AreaUnderMargin().select(replace(evidence, margins=margins), 5, None, {})
    assert (plain.weight == 1).all()
    assert plain.verdict is not None
    assert np.array_equal(np.asarray(plain.verdict.suggested)[wrong], ((labels + 1) % 3)[wrong])


def test_targets_of_the_two_losses(case: tuple[Evidence, Bools]) -> None:
    evidence, wrong = case
    labels = np.asarray(evidence.labels)
    logits = np.asarray(evidence.logits).copy()
    logits[:5] = -4 * np.eye(3)[labels[:5]] + [0.1, 0.0, 0.05]  # not the label, but which of the others?
    selection = TwoLosses().select(replace(evidence, logits=logits), 7, None, {})
    assert selection.keep.all()
    assert selection.target is not None
    target = np.asarray(selection.target)
    np.testing.assert_allclose(target.sum(axis=1), 1)
    assert (target[~wrong].argmax(axis=1) == labels[~wrong]).all()
    assert (target[~wrong].max(axis=1) == 1).all()
    repredicted = np.flatnonzero(wrong)[5:]
    np.testing.assert_array_equal(target[repredicted], np.eye(3)[(labels[repredicted] + 1) % 3])
    assert all(0 < target[row, labels[row]] < 1 for row in range(5))
    again = TwoLosses().select(replace(evidence, logits=logits), 7, None, {})
    np.testing.assert_array_equal(again.target, target)


# LongReMix.


def test_persistent_keeps_what_was_clean_in_each_of_the_last_rounds(case: tuple[Evidence, Bools]) -> None:
    evidence, _ = case
    labels = np.asarray(evidence.labels)
    judged: dict[str, Any] = {"name": "small-loss", "options": {"head": None}, "learn_from": "all"}
    memory: Memory = {}
    chosen = Persistent(**judged, window=2)
    watching = replace(chosen, watch=True)
    masks = [np.arange(90) % 7 == 0, np.arange(90) % 5 == 0, np.arange(90) % 4 == 0]
    evidences = [replace(evidence, logits=logits_for(labels, mask)) for mask in masks]
    watched = watching.select(evidences[0], 1, None, memory)
    assert watched.keep.all()  # the warm-up learns everything, but its rounds count
    assert np.array_equal(chosen.select(evidences[1], 2, None, memory).keep, ~masks[0] & ~masks[1])
    assert np.array_equal(chosen.select(evidences[2], 3, None, memory).keep, ~masks[1] & ~masks[2])


def test_the_largest_late_set_is_the_core_that_guides_the_next_stage(case: tuple[Evidence, Bools]) -> None:
    evidence, wrong = case
    labels = np.asarray(evidence.labels)
    judged: dict[str, Any] = {"name": "small-loss", "options": {"head": None}, "learn_from": "all"}
    memory: Memory = {}
    chosen = Persistent(**judged, soft=True, window=1, core_after=1)
    few, fewer = np.arange(90) % 9 == 0, np.arange(90) % 3 == 0
    for epoch, mask in enumerate((np.arange(90) < 5, few, fewer), start=1):
        chosen.select(replace(evidence, logits=logits_for(labels, mask)), epoch, None, memory)
    assert np.array_equal(memory["core"], ~few)
    guided = Guided(**judged, soft=True).select(evidence, 4, None, memory)
    assert np.array_equal(guided.keep, ~wrong | ~few)
    assert (guided.weight[~few] == 1).all()
    alone = Guided(**judged, soft=True).select(evidence, 4, None, {})
    assert np.array_equal(alone.keep, ~wrong)


# CRUST.


def test_crust_keeps_half_of_each_class_and_mostly_the_clean_ones(case: tuple[Evidence, Bools]) -> None:
    evidence, wrong = case
    for chosen in (Crust(), Crust(coreset="facility-location")):
        selection = chosen.select(evidence, 1, None, {})
        assert np.bincount(np.asarray(evidence.labels)[selection.keep]).tolist() == [15, 15, 15]
        assert selection.weight[selection.keep].mean() == pytest.approx(1)
        assert (selection.weight[~selection.keep] == 0).all()
    released = Crust().select(evidence, 1, None, {})
    assert not released.keep[wrong].any() and (released.weight[released.keep] == 1).all()
    wide = Crust(radius=9.0, coreset="facility-location").select(evidence, 1, None, {})
    assert len(set(wide.weight[wide.keep].tolist())) == 1


@pytest.mark.parametrize("fraction", [0.5, 0.3])
def test_crust_picks_what_a_slow_loop_picks(fraction: float) -> None:
    rng = np.random.default_rng(0)
    labels = rng.choice(5, 400, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    logits = rng.normal(0, 2, (400, 5)) + 2 * np.eye(5)[np.where(rng.random(400) < 0.3, 0, labels)]
    evidence = Evidence(np.arange(400), labels, probabilities=softmax(logits, axis=1))
    selection = Crust(fraction).select(evidence, 1, None, {})
    picked, _ = slow_row_sums(logits, labels, fraction)
    assert set(np.flatnonzero(selection.keep).tolist()) == picked
    assert np.array_equal(selection.weight, selection.keep.astype(float))


def test_large_classes_are_divided(monkeypatch: pytest.MonkeyPatch, case: tuple[Evidence, Bools]) -> None:
    from eigenclean.train.selectors import crust

    monkeypatch.setattr(crust, "_BLOCK", 10)
    monkeypatch.setattr(crust, "_REFERENCES", 10)
    assert not Crust().select(case[0], 1, None, {}).keep[case[1]].any()
    selection = Crust(coreset="facility-location").select(case[0], 1, None, {})
    assert np.bincount(np.asarray(case[0].labels)[selection.keep]).tolist() == [15, 15, 15]


# All of them.


def examples() -> list[Any]:
    return [
        KeepAll(),
        make_selector("fine"),
        make_selector("judge", soft=True),
        SmallestLosses(0.3, 7),
        Disagreement(0.3, 7, 100),
        AveragedLosses(3, 0.6),
        AreaUnderMargin(0.6, soft=True),
        TwoLosses(0.4, 2),
        Persistent("small-loss", {"head": None}, "all", True, 3, True, 9),
        Guided("small-loss", {"head": None}, "all", True, average=5),
        make_selector("topofilter", k_cc=2),
        Crust(0.4, 1.5, 3, "facility-location"),
        Sieve(),
    ]


@pytest.mark.parametrize("chosen", examples(), ids=lambda selector: selector.kind)
def test_selectors_are_values(chosen: Any) -> None:
    back = selector_from_dict(chosen.to_dict())
    assert back == chosen
    assert hash(back) == hash(chosen)
    assert repr(back) == repr(chosen)
    assert SELECTORS[chosen.kind] is type(chosen)
    assert chosen.scaled(1.0) == chosen


@pytest.mark.parametrize(
    "chosen", [example for example in examples() if example.scope == "pool"], ids=lambda selector: selector.kind
)
def test_pool_selectors_are_pure_and_cope_with_a_vanished_class(chosen: Any, case: tuple[Evidence, Bools]) -> None:
    evidence, _ = case
    features = np.maximum(np.asarray(evidence.logits), 0)
    margins = np.random.default_rng(0).normal(size=len(evidence))
    whole = replace(evidence, features=features, margins=margins)
    before = Selection(np.asarray(evidence.labels) != 2, np.ones(90))  # nothing of class 2 was kept last time
    memories: list[Memory] = [{}, {}]
    first, second = (chosen.select(whole, 3, before, memory) for memory in memories)
    assert np.array_equal(first.keep, second.keep)
    assert np.array_equal(first.weight, second.weight)
    assert len(first) == 90
    assert np.isfinite(first.weight).all()
    assert all(isinstance(value, np.ndarray) for value in memories[0].values())


def test_all_kinds_have_an_example() -> None:
    assert {example.kind for example in examples()} == set(SELECTORS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SmallestLosses(1.0), "forget_rate must be from 0 to below 1"),
        (lambda: SmallestLosses(0.1, 0), "ramp must be at least 1"),
        (lambda: AveragedLosses(0), "window must be at least 1"),
        (lambda: AreaUnderMargin(1.0), "threshold must be from 0 to below 1"),
        (lambda: AveragedLosses(threshold=1.0), "threshold must be from 0 to below 1"),
        (lambda: TwoLosses(-1), "threshold must be from 0 to below 1"),
        (lambda: Persistent(window=0), "window must be at least 1"),
        (lambda: Crust(0.0), "fraction must be above 0"),
        (lambda: Crust(radius=0.0), "radius must be above 0 or None"),
        (lambda: Crust(radius=1.0), "radius weights medoids, which need coreset='facility-location'"),
        (
            lambda: selector_from_dict({"kind": "crust", "coreset": "medoids"}),
            "coreset must be one of facility-location, row-sums",
        ),
        (lambda: Guided("small-loss", average=0), "average must be at least 1"),
        (lambda: Guided("fine", average=5), "average is for the detector small-loss, got 'fine'"),
        (lambda: selector_from_dict({"kind": "detectors"}), "did you mean 'detector'"),
        (lambda: selector_from_dict({"kind": "crust", "fractions": 1}), "did you mean 'fraction'"),
    ],
)
def test_mistakes_get_a_sentence(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make()
