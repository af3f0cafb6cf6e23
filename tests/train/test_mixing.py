"""The pieces of MixMatch and MixUp by their algebra."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from eigenclean.train.steps.mixing import as_probabilities, draw_coefficient, mix, prior_penalty, ramp_up, sharpen

CPU = torch.device("cpu")


def distributions(n: int, k: int, seed: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(k), n))


@settings(max_examples=40)
@given(k=st.integers(2, 6), seed=st.integers(0, 99), temperature=st.floats(0.05, 5))
def test_sharpening_keeps_the_order_and_gives_distributions(k: int, seed: int, temperature: float) -> None:
    p = distributions(4, k, seed)
    sharpened = sharpen(p, temperature)
    torch.testing.assert_close(sharpened.sum(dim=1), torch.ones(4, dtype=p.dtype))
    for before, after in zip(p, sharpened, strict=True):
        assert (after[before.argsort()].diff() >= -1e-12).all()
    torch.testing.assert_close(sharpen(p, 1.0), p, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(sharpen(sharpen(p, 2.0), 0.5), p, rtol=1e-4, atol=1e-6)


@settings(max_examples=30)
@given(seed=st.integers(0, 99))
def test_lower_temperatures_have_lower_entropy(seed: int) -> None:
    p = distributions(5, 4, seed)
    entropies = [torch.special.entr(sharpen(p, temperature)).sum(dim=1) for temperature in (0.1, 0.5, 1.0, 2.0)]
    for colder, warmer in pairwise(entropies):
        assert (colder <= warmer + 1e-9).all()


def test_sharpening_certain_and_tiny_probabilities() -> None:
    certain = torch.tensor([[1.0, 0.0, 0.0]])
    torch.testing.assert_close(sharpen(certain, 0.5), certain)
    tiny = sharpen(torch.tensor([[1e-9, 3e-9, 1.0]]), 0.01)
    assert torch.isfinite(tiny).all() and tiny[0, 2] == 1


@settings(max_examples=40)
@given(n=st.integers(1, 8), coefficient=st.floats(0, 1), seed=st.integers(0, 99))
def test_mixing_keeps_the_sum_and_follows_the_order(n: int, coefficient: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    order = torch.randperm(n, generator=generator)
    mixed = mix(values, coefficient, order)
    torch.testing.assert_close(mixed.sum(dim=0), values.sum(dim=0))
    for row in range(n):
        torch.testing.assert_close(mixed[row], coefficient * values[row] + (1 - coefficient) * values[order[row]])
    assert torch.equal(mix(values, 1.0, order), values)
    assert torch.equal(mix(values, 0.0, order), values[order])


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, 0.75), (4.0, 0.5 + 35 / 256)])
def test_coefficients_are_the_larger_half_of_a_beta_distribution(alpha: float, expected: float) -> None:
    """E max(λ, 1 − λ) = 1/2 + E|λ − 1/2|, and E|λ − 1/2| = 2^(−2α) / (α B(α, α)) for Beta(α, α)."""
    beta = math.gamma(alpha) ** 2 / math.gamma(2 * alpha)
    assert 0.5 + 2 ** (-2 * alpha) / (alpha * beta) == pytest.approx(expected)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        draws = torch.stack([draw_coefficient(alpha, CPU) for _ in range(1500)])
    assert draws.min() >= 0.5 and draws.max() <= 1
    assert draws.mean().item() == pytest.approx(expected, abs=0.02)


@settings(max_examples=40)
@given(length=st.floats(0, 50), epochs=st.floats(0, 100))
def test_a_ramp_rises_from_0_to_1(length: float, epochs: float) -> None:
    assert 0 <= ramp_up(epochs, length) <= ramp_up(epochs + 1, length) <= 1
    assert ramp_up(length, length) == 1
    assert ramp_up(0, length) == (0 if length > 0 else 1)


@settings(max_examples=40)
@given(n=st.integers(1, 6), k=st.integers(2, 5), seed=st.integers(0, 99))
def test_the_prior_penalty_is_a_divergence(n: int, k: int, seed: int) -> None:
    logits = 3 * torch.randn(n, k, generator=torch.Generator().manual_seed(seed))
    mean = torch.softmax(logits, dim=1).mean(dim=0)
    expected = sum(math.log(1 / (k * float(p))) / k for p in mean)
    assert prior_penalty(logits).item() == pytest.approx(expected, abs=1e-4)
    assert prior_penalty(logits) >= -1e-6
    balanced = 9 * torch.eye(k)  # each class is predicted once
    assert prior_penalty(balanced).item() == pytest.approx(0, abs=1e-5)


def test_labels_as_distributions() -> None:
    assert as_probabilities(torch.tensor([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    soft = torch.tensor([[0.25, 0.75]], dtype=torch.float64)
    assert as_probabilities(soft, 2).dtype == torch.float32 and as_probabilities(soft, 2).tolist() == soft.tolist()
