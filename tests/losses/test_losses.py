"""Losses against slow loops, and what holds for all of them."""

import math

import pytest
import torch

from eigenclean.errors import InvalidOption
from eigenclean.losses import LOSSES, make_loss

N, K = 12, 5


def logits_and_labels() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(N, K, generator=generator)
    return logits, torch.randint(K, (N,), generator=generator)


def test_cross_entropy_equals_a_slow_loop() -> None:
    logits, labels = logits_and_labels()
    values = make_loss("cross-entropy", N, K)(logits, labels, torch.arange(N))
    for row, label, value in zip(logits.tolist(), labels.tolist(), values.tolist(), strict=True):
        slow = -math.log(math.exp(row[label]) / sum(math.exp(x) for x in row))
        assert value == pytest.approx(slow, rel=1e-5)


def test_cross_entropy_of_soft_targets_is_the_mixture_of_the_hard_ones() -> None:
    logits, labels = logits_and_labels()
    loss = make_loss("cross-entropy", N, K)
    other = (labels + 1) % K
    soft = 0.3 * torch.eye(K)[labels] + 0.7 * torch.eye(K)[other]
    index = torch.arange(N)
    mixed = 0.3 * loss(logits, labels, index) + 0.7 * loss(logits, other, index)
    assert torch.allclose(loss(logits, soft, index), mixed, atol=1e-5)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_every_loss_gives_one_value_per_sample_and_a_gradient(name: str) -> None:
    logits, labels = logits_and_labels()
    logits.requires_grad_()
    values = make_loss(name, N, K)(logits, labels, torch.arange(N))
    assert values.shape == (N,)
    values.sum().backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_mistakes_get_a_sentence() -> None:
    with pytest.raises(InvalidOption, match="did you mean 'cross-entropy'"):
        make_loss("cross-entropi", N, K)
    with pytest.raises(InvalidOption, match="loss cross-entropy: option must be one of"):
        make_loss("cross-entropy", N, K, q=0.7)
