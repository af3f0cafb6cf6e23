"""Records of a training run and evaluations, against slow loops and scikit-learn."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, top_k_accuracy_score
from torch import nn

from eigenclean.nets import make_net
from eigenclean.train import Pool, collect_evidence, network_outputs
from eigenclean.train.data.scaling import Scaling, image_scaling
from eigenclean.train.loop import evaluation
from eigenclean.train.loop.evaluation import accuracies
from eigenclean.train.loop.history import BestEpoch, EpochMetrics, MarginHistory
from eigenclean.train.steps.base import StepResult


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_sums_of_an_epoch_equal_a_slow_loop(sizes: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randint(3, (40,), generator=generator)
    metrics, loss_sum, correct = EpochMetrics(), 0.0, 0
    for size in sizes:
        rows = torch.randperm(40, generator=generator)[:size]
        loss, logits = torch.rand((), generator=generator), torch.randn(size, 3, generator=generator)
        metrics.add(StepResult(loss, logits), rows)
        loss_sum += float(loss) * size
        for row, values in zip(rows.tolist(), logits.tolist(), strict=True):
            correct += values.index(max(values)) == int(codes[row])
    assert metrics.sums(codes).tolist() == pytest.approx([loss_sum, correct, sum(sizes)])


def test_an_epoch_without_batches_or_without_predictions() -> None:
    metrics = EpochMetrics()
    assert metrics.sums(torch.zeros(3, dtype=torch.int64)).tolist() == [0, 0, 0]
    metrics.add(StepResult(torch.tensor(2.0), None), torch.tensor([0, 1]))
    assert metrics.sums(torch.zeros(3, dtype=torch.int64)).tolist() == [4, 0, 2]


@settings(max_examples=40)
@given(n_epochs=st.integers(1, 4), k=st.integers(2, 5), seed=st.integers(0, 99))
def test_mean_margins_equal_a_slow_loop(n_epochs: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes, history = rng.integers(0, k, 9), MarginHistory(9)
    margins: list[list[float]] = [[] for _ in range(9)]
    for _ in range(n_epochs):
        rows, logits = rng.permutation(9)[:6], rng.normal(size=(9, k)).astype(np.float32)
        history.add(torch.from_numpy(logits[rows]), torch.from_numpy(codes[rows]), torch.from_numpy(rows))
        for row in rows:
            others = np.delete(logits[row], codes[row])
            margins[row].append(float(logits[row, codes[row]] - others.max()))
    expected = np.array([float(np.mean(values)) if values else 0.0 for values in margins])
    np.testing.assert_allclose(history.mean(), expected, atol=1e-5)


def linear(weight: float) -> nn.Linear:
    net = nn.Linear(1, 1, bias=False)
    nn.init.constant_(net.weight, weight)
    return net


@settings(max_examples=40)
@given(scores=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_the_best_epoch_is_the_last_of_the_highest(scores: list[int]) -> None:
    best, net = BestEpoch(), linear(0.0)
    for epoch, score in enumerate(scores, start=1):
        nn.init.constant_(net.weight, float(epoch))
        best.update({"epoch": epoch, "val_accuracy": score / 5}, [net])
    expected = max(epoch for epoch, score in enumerate(scores, start=1) if score == max(scores))
    assert best.epoch == expected and best.accuracy == max(scores) / 5
    (chosen,) = best.networks([net])
    assert next(chosen.parameters()).item() == expected  # a copy: later training does not change it
    assert net.weight.item() == len(scores)


def test_without_validation_the_last_networks_are_taken() -> None:
    best, net = BestEpoch(), linear(3.0)
    best.update({"epoch": 1}, [net])
    assert best.epoch is None
    assert best.networks([net]) == [net]


def pool_and_net(n: int = 50, k: int = 12) -> tuple[Pool, nn.Module]:
    rng = np.random.default_rng(0)
    classes = np.array([f"class {number:02}" for number in range(k)])
    pool = Pool.from_arrays(rng.normal(size=(n, 6)).astype(np.float32), rng.integers(0, k, n), classes)
    torch.manual_seed(0)
    return pool, make_net("mlp", 6, k, hidden=[8])


def test_accuracies_are_those_of_scikit_learn() -> None:
    pool, net = pool_and_net()
    other = make_net("mlp", 6, 12, hidden=[8])
    logits = [network_outputs(module, pool)[1].numpy() for module in (net, other)]
    codes, summed = pool.codes.numpy(), logits[0] + logits[1]
    by_suffix = accuracies([net, other], pool)
    assert by_suffix[""] == pytest.approx(accuracy_score(codes, summed.argmax(axis=1)))
    assert by_suffix["_each"] == pytest.approx([accuracy_score(codes, values.argmax(axis=1)) for values in logits])
    assert by_suffix["_top5"] == pytest.approx(top_k_accuracy_score(codes, summed, k=5, labels=np.arange(12)))
    assert set(accuracies([net], pool)) == {"", "_top5"}


def test_evidence_agrees_with_itself_and_with_the_network() -> None:
    pool, net = pool_and_net()
    evidence: Any = collect_evidence(net, pool, ("features", "probabilities", "losses", "logits", "inputs"))
    np.testing.assert_allclose(evidence.probabilities.sum(axis=1), 1, atol=1e-6)
    exponentials = np.exp(evidence.logits - evidence.logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        evidence.probabilities, exponentials / exponentials.sum(axis=1, keepdims=True), atol=1e-6
    )
    given = evidence.probabilities[np.arange(len(pool)), pool.codes.numpy()]
    np.testing.assert_allclose(evidence.losses, -np.log(given), rtol=1e-4)
    assert np.array_equal(evidence.inputs, np.asarray(pool.inputs))
    assert np.array_equal(evidence.labels, np.asarray(pool.classes)[pool.codes.numpy()])
    assert collect_evidence(net, pool, ()).features is None


def test_the_size_of_a_chunk_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, net = pool_and_net()
    rows = np.array([4, 4, 49, 0, 17])
    whole = network_outputs(net.train(), pool, features=True), network_outputs(net, pool, features=True, rows=rows)
    monkeypatch.setattr(evaluation, "_CHUNK_ROWS", 3)
    chunked = network_outputs(net, pool, features=True), network_outputs(net, pool, features=True, rows=rows)
    for (features, logits), (other_features, other_logits) in zip(whole, chunked, strict=True):
        assert features is not None and other_features is not None
        torch.testing.assert_close(features, other_features)
        torch.testing.assert_close(logits, other_logits)
        assert not logits.requires_grad
    assert not net.training
    assert network_outputs(net, pool)[0] is None


# Standardisation.


@settings(max_examples=30)
@given(n=st.integers(2, 30), d=st.integers(1, 5), seed=st.integers(0, 99))
def test_standardised_columns_have_mean_0_and_deviation_1(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d)) * rng.uniform(0.1, 100, d) + rng.normal(size=d) * 50
    features[:, 0] = 7.0
    before = features.copy()
    scaled = Scaling.fit(features)(features)
    assert scaled.dtype == np.float32 and np.array_equal(features, before)
    assert not scaled[:, 0].any()  # a constant column becomes 0 and not infinite
    np.testing.assert_allclose(scaled[:, 1:].mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled[:, 1:].std(axis=0), 1, atol=1e-3)


@pytest.mark.parametrize("channels", [1, 3])
def test_measured_channels_are_those_of_numpy_for_bytes_and_for_fractions(channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, channels, 5, 4)).astype(np.uint8)
    fractions = pixels / 255
    for images in (pixels, fractions.astype(np.float32)):
        measured = image_scaling(images)
        np.testing.assert_allclose(measured.mean, fractions.mean(axis=(0, 2, 3)), atol=1e-6)
        np.testing.assert_allclose(measured.scale, fractions.std(axis=(0, 2, 3)), atol=1e-6)
