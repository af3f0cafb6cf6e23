"""Every loss against a slow loop over samples and classes, and in the limits where it is another one."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.losses import make_loss

N, K = 12, 5
INDEX = torch.arange(N)


def logits_and_labels(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(N, K, generator=generator, dtype=torch.float64)
    return logits, torch.randint(K, (N,), generator=generator)


def soft_targets() -> Tensor:
    return torch.softmax(torch.randn(N, K, generator=torch.Generator().manual_seed(9)).double(), dim=1)


def softmax(row: list[float]) -> list[float]:
    total = sum(math.exp(x) for x in row)
    return [math.exp(x) / total for x in row]


def onehot(label: int) -> list[float]:
    return [float(c == label) for c in range(K)]


# What each loss is, for one sample: probabilities p and target y in, one number out.

TRANSITION = [[0.8 if i == j else 0.05 for j in range(K)] for i in range(K)]


def cross_entropy(p: list[float], y: list[float]) -> float:
    return -sum(y[c] * math.log(p[c]) for c in range(K))


def bootstrap_soft(p: list[float], y: list[float]) -> float:
    return -sum((0.95 * y[c] + 0.05 * p[c]) * math.log(p[c]) for c in range(K))


def bootstrap_hard(p: list[float], y: list[float]) -> float:
    best = onehot(p.index(max(p)))
    return -sum((0.8 * y[c] + 0.2 * best[c]) * math.log(p[c]) for c in range(K))


def forward(p: list[float], y: list[float]) -> float:
    noisy = [sum(p[i] * TRANSITION[i][j] for i in range(K)) for j in range(K)]
    return -sum(y[j] * math.log(noisy[j]) for j in range(K))


def gce(p: list[float], y: list[float]) -> float:
    return sum(y[c] * (1 - math.pow(p[c], 0.7)) / 0.7 for c in range(K))


def sce(p: list[float], y: list[float]) -> float:
    reverse = -sum(max(p[c], 1e-7) * max(math.log(y[c]) if y[c] > 0 else -math.inf, -4) for c in range(K))
    return 0.1 * cross_entropy(p, y) + reverse


def elr_first_time(p: list[float], y: list[float]) -> float:
    clipped = [min(max(x, 1e-4), 1 - 1e-4) for x in p]
    memory = [0.3 * x / sum(clipped) for x in clipped]
    return cross_entropy(p, y) + 3 * math.log(1 - sum(t * x for t, x in zip(memory, clipped, strict=True)))


def confidence_penalty(p: list[float], y: list[float]) -> float:
    return cross_entropy(p, y) + 2 * sum(x * math.log(x) for x in p)


def cores2_in_the_middle(p: list[float], y: list[float]) -> float:
    each = [-math.log(x + 1e-8) for x in p]
    return cross_entropy(p, y) - 2 * 15 / 29 * sum(each) / K  # 0-based epoch 25, no labels counted


SLOW: dict[str, tuple[str, dict[str, Any], Callable[[list[float], list[float]], float]]] = {
    "cross-entropy": ("cross-entropy", {}, cross_entropy),
    "bootstrap soft": ("bootstrap", {}, bootstrap_soft),
    "bootstrap hard": ("bootstrap", {"kind": "hard"}, bootstrap_hard),
    "forward": ("forward", {"transition": TRANSITION}, forward),
    "gce": ("gce", {}, gce),
    "sce": ("sce", {}, sce),
    "elr": ("elr", {}, elr_first_time),
    "confidence-penalty": ("confidence-penalty", {"weight": 2.0}, confidence_penalty),
    "cores2": ("cores2", {}, cores2_in_the_middle),
}


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("case", SLOW)
def test_equals_a_slow_loop(case: str, soft: bool) -> None:
    name, options, slow = SLOW[case]
    logits, labels = logits_and_labels()
    loss = make_loss(name, N, K, **options)
    loss.begin_epoch(26)
    target = soft_targets() if soft else labels
    values = loss(logits, target, INDEX)
    for i, row in enumerate(logits.tolist()):
        y = target[i].tolist() if soft else onehot(int(labels[i]))
        assert values[i].item() == pytest.approx(slow(softmax(row), y), rel=2e-6, abs=1e-6), i


# Limits.

CROSS_ENTROPY_LIMITS: list[tuple[str, dict[str, Any]]] = [
    ("gce", {"q": 0.0}),
    ("gce", {"q": 1e-9}),
    ("sce", {"alpha": 1.0, "beta": 0.0}),
    ("elr", {"lambda_": 0.0}),
    ("bootstrap", {"beta": 1.0}),
    ("bootstrap", {"kind": "hard", "beta": 1.0}),
    ("forward", {}),
    ("forward", {"transition": np.eye(K).tolist()}),
    ("confidence-penalty", {"weight": 0.0}),
    ("cores2", {"beta": 0.0}),
]


@pytest.mark.parametrize(("name", "options"), CROSS_ENTROPY_LIMITS)
def test_is_cross_entropy_in_the_limit_with_its_gradient(name: str, options: dict[str, Any]) -> None:
    logits, labels = logits_and_labels()
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = make_loss(name, N, K, **options)
    loss.begin_epoch(100)
    values, usual = loss(ours, labels, INDEX), make_loss("cross-entropy", N, K)(theirs, labels, INDEX)
    torch.testing.assert_close(values, usual, rtol=1e-5, atol=1e-5)
    values.sum().backward()
    usual.sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-5, atol=1e-5)


def test_gce_with_q_1_is_half_the_absolute_error() -> None:
    logits, labels = logits_and_labels()
    p = torch.softmax(logits, dim=1)
    error = (p - torch.eye(K, dtype=p.dtype)[labels]).abs().sum(dim=1)
    torch.testing.assert_close(make_loss("gce", N, K, q=1.0)(logits, labels, INDEX), error / 2)


def test_reverse_cross_entropy_of_a_label_is_4_times_what_is_missing() -> None:
    logits, labels = logits_and_labels()
    p = torch.softmax(logits, dim=1).gather(1, labels[:, None])[:, 0]
    reverse = make_loss("sce", N, K, alpha=0.0, beta=1.0)(logits, labels, INDEX)
    torch.testing.assert_close(reverse, 4 * (1 - p), rtol=1e-4, atol=1e-5)


def test_forward_gives_cross_entropy_of_the_mixed_probabilities() -> None:
    logits, labels = logits_and_labels()
    uniform = make_loss("forward", N, K, transition=np.full((K, K), 1 / K).tolist())(logits, labels, INDEX)
    torch.testing.assert_close(uniform, torch.full((N,), math.log(K), dtype=torch.float64))


# Bootstrap.


def test_bootstrap_detached_has_the_gradient_of_a_fixed_target() -> None:
    logits, labels = logits_and_labels()
    fixed = 0.9 * torch.eye(K, dtype=torch.float64)[labels] + 0.1 * torch.softmax(logits, dim=1)

    def gradient(detach: bool) -> Tensor:
        x = logits.clone().requires_grad_()
        make_loss("bootstrap", N, K, beta=0.9, detach=detach)(x, labels, INDEX).sum().backward()
        assert x.grad is not None
        return x.grad

    torch.testing.assert_close(gradient(True), torch.softmax(logits, dim=1) - fixed)
    assert not torch.allclose(gradient(True), gradient(False))


# ELR.


def test_elr_memory_is_a_running_mean_by_original_index() -> None:
    loss: Any = make_loss("elr", 100, K, beta=0.9, lambda_=7.0)
    slow = np.zeros((100, K))
    for seed in range(4):
        logits, labels = logits_and_labels(seed)
        index = torch.randperm(100, generator=torch.Generator().manual_seed(seed))[:N]
        values = loss(logits, labels, index)
        for i, row in enumerate(index.tolist()):
            p = np.clip(softmax(logits[i].tolist()), 1e-4, 1 - 1e-4)
            slow[row] = 0.9 * slow[row] + 0.1 * p / p.sum()
            expected = cross_entropy(softmax(logits[i].tolist()), onehot(int(labels[i])))
            assert values[i].item() == pytest.approx(expected + 7 * math.log(1 - slow[row] @ p), rel=1e-5)
    np.testing.assert_allclose(loss.memory.numpy(), slow, atol=1e-6)


def test_elr_gradient_flows_through_the_prediction_only() -> None:
    logits, labels = logits_and_labels()
    x = logits.clone().requires_grad_()
    loss: Any = make_loss("elr", N, K)
    loss(x, labels, INDEX).sum().backward()
    memory = loss.memory.double()
    y = logits.clone().requires_grad_()
    p = torch.softmax(y, dim=1).clamp(1e-4, 1 - 1e-4)
    by_hand = torch.nn.functional.cross_entropy(y, labels, reduction="none") + 3 * (1 - (memory * p).sum(1)).log()
    by_hand.sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-6)
    assert not loss.memory.requires_grad


# Truncated GCE.


def test_truncated_gce_leaves_out_those_that_were_unlikely_at_the_refresh() -> None:
    loss: Any = make_loss("gce", 20, 2, truncate=0.5, start=3, every=3)
    index, labels = torch.tensor([4, 7, 11]), torch.tensor([0, 0, 0])
    likely, unlikely = torch.tensor([[1.0, 0.0]] * 3), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    # Row 9 is exactly at the limit, which is not below it.
    p = np.where(np.arange(20) == 7, 0.3, np.where(np.arange(20) == 9, 0.5, 0.8))
    evidence = Evidence(np.arange(20), np.zeros(20, dtype=int), losses=-np.log(p))
    floor = (1 - 0.5**0.7) / 0.7

    def plain(logits: Tensor) -> Tensor:
        values: Tensor = make_loss("gce", 20, 2)(logits, labels, index) - floor
        return values

    assert [epoch for epoch in range(1, 11) if loss.needs_before(epoch)] == [3, 6, 9]
    torch.testing.assert_close(loss(unlikely, labels, index), plain(unlikely))
    loss.refresh(evidence)
    for i in range(20):  # weight 1 if L_q(p) < L_q(k)
        assert loss.weight[i] == float((1 - p[i] ** 0.7) / 0.7 < (1 - 0.5**0.7) / 0.7 - 1e-12)
    values = loss(likely, labels, index)
    torch.testing.assert_close(values, plain(likely) * torch.tensor([1.0, 0.0, 1.0]))
    loss.refresh(replace(evidence, losses=np.full(20, 0.1)))
    assert loss.weight[7] == 1  # it has become likely and is back
    assert not make_loss("gce", 20, 2).needs_before(40)


def test_truncated_gce_wants_class_numbers() -> None:
    logits, _ = logits_and_labels()
    with pytest.raises(InvalidOption, match="truncate is for class numbers"):
        make_loss("gce", N, K, truncate=0.5)(logits, soft_targets(), INDEX)


# CORES².


def test_cores2_prior_is_the_share_of_the_labels_of_the_last_epoch() -> None:
    loss: Any = make_loss("cores2", N, K, start=0, ramp=0, beta=1.0)
    logits, _ = logits_and_labels()
    labels = torch.tensor([0] * 9 + [2] * 3)
    loss.begin_epoch(1)
    assert loss.prior.tolist() == pytest.approx([1 / K] * K)
    loss.count_labels(torch.bincount(labels, minlength=K))
    loss.begin_epoch(2)
    assert loss.prior.tolist() == pytest.approx([0.75, 0, 0.25, 0, 0])
    values = loss(logits, labels, INDEX)
    each = -torch.log(torch.softmax(logits, dim=1) + 1e-8)
    given = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    by_hand = given - 0.75 * each[:, 0] - 0.25 * each[:, 2]
    torch.testing.assert_close(values, by_hand, rtol=1e-5, atol=1e-6)


def test_the_beta_of_cores2_is_tabulated_as_in_the_original() -> None:
    """0 for 10 epochs, linspace(0, 2, 30) for 30, then 2: the last of the thirty, 0-based epoch 39, has the 2."""
    for beta, start, ramp in ((2.0, 10, 30), (1.0, 0, 0), (3.0, 2, 1), (1.5, 1, 4)):
        table = [0.0] * start + [beta * i / max(ramp - 1, 1) for i in range(ramp)] + [beta] * 60
        loss: Any = make_loss("cores2", N, K, beta=beta, start=start, ramp=ramp)
        for epoch in range(60):
            loss.begin_epoch(epoch + 1)
            assert loss.beta_now.item() == pytest.approx(table[epoch])


def test_a_label_that_the_network_rules_out_has_a_gradient_in_cores2() -> None:
    logits = torch.tensor([[40.0, 0.0]], requires_grad=True)
    make_loss("cores2", 1, 2)(logits, torch.tensor([1]), torch.tensor([0])).sum().backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [pytest.approx([1.0, -1.0], abs=1e-6)]


def test_cores2_rescaled_is_divided_by_1_plus_beta() -> None:
    logits, labels = logits_and_labels()
    plain, rescaled = (make_loss("cores2", N, K, rescale=rescale) for rescale in (False, True))
    for loss in (plain, rescaled):
        loss.begin_epoch(60)
    torch.testing.assert_close(rescaled(logits, labels, INDEX) * 3, plain(logits, labels, INDEX))


# Mistakes.


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cross-entropi", {}, "did you mean 'cross-entropy'"),
        ("cross-entropy", {"q": 0.7}, "loss cross-entropy: option must be one of"),
        ("elr", {"lambda": 3}, "did you mean 'lambda_'"),
        ("bootstrap", {"kind": "soft "}, "did you mean 'soft'"),
        ("bootstrap", {"beta": 1.5}, "beta must be from 0 to 1, got 1.5"),
        ("gce", {"q": 2}, "q must be from 0 to 1, got 2"),
        ("gce", {"truncate": 1}, "truncate must be between 0 and 1, or None, got 1"),
        ("gce", {"truncate": 0.5, "every": 0}, "every at least 1, got 40 and 0"),
        ("sce", {"alpha": -1}, "alpha and beta must be at least 0"),
        ("sce", {"clip": 0.1}, "clip is a logarithm and must be below 0"),
        ("elr", {"beta": 1.0}, "beta must be from 0 to below 1, got 1.0"),
        ("elr", {"lambda_": -1.0}, "lambda_ must be at least 0"),
        ("cores2", {"beta": -1.0}, "beta must be at least 0"),
        ("cores2", {"ramp": -1}, "start and ramp must be at least 0"),
        ("confidence-penalty", {"weight": -1}, "weight must be at least 0"),
        ("forward", {"discard": 1}, "discard must be from 0 to below 1"),
        ("forward", {"transition": [[1.0]]}, "transition must be 5 x 5, one row per class, got shape"),
        ("forward", {"transition": np.ones((K, K)).tolist()}, "must be probabilities that add up to 1"),
    ],
)
def test_mistakes_get_a_sentence(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make_loss(name, N, K, **options)
