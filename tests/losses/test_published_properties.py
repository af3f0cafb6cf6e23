"""What the papers prove about their losses, and symmetries of all of them."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from eigenclean.losses import LOSSES, make_loss

N, K = 8, 5
INDEX = torch.arange(N)


def random_logits(seed: int = 0, scale: float = 2.0) -> Tensor:
    return scale * torch.randn(N, K, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_labels(seed: int = 0) -> Tensor:
    return torch.randint(K, (N,), generator=torch.Generator().manual_seed(seed))


def sum_over_labels(name: str, logits: Tensor, **options: Any) -> Tensor:
    """The losses of each sample, summed over all labels that it could have."""
    values = [make_loss(name, N, K, **options)(logits, torch.full((N,), label), INDEX) for label in range(K)]
    return torch.stack(values).sum(dim=0)


def test_the_mean_absolute_error_is_symmetric() -> None:
    """Ghosh et al. (2017): a loss whose sum over labels is constant tolerates symmetric noise."""
    total = sum_over_labels("gce", random_logits(), q=1.0)
    torch.testing.assert_close(total, torch.full_like(total, K - 1))


def test_the_reverse_cross_entropy_is_symmetric() -> None:
    total = sum_over_labels("sce", random_logits(), alpha=0.0, beta=1.0, clip=-4.0)
    torch.testing.assert_close(total, torch.full_like(total, 4.0 * (K - 1)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("q", [0.1, 0.4, 0.7, 1.0])
def test_the_sum_of_generalised_cross_entropies_is_bounded(q: float) -> None:
    """Lemma 1 of Zhang & Sabuncu (2018)."""
    for scale in (0.0, 1.0, 20.0):
        total = sum_over_labels("gce", random_logits(scale=scale), q=q)
        assert (total >= (K - K ** (1 - q)) / q - 1e-9).all()
        assert (total <= (K - 1) / q + 1e-9).all()


def test_generalised_cross_entropy_falls_with_q() -> None:
    logits, labels = random_logits(), random_labels()
    values = [make_loss("gce", N, K, q=q)(logits, labels, INDEX) for q in (0.0, 0.2, 0.5, 0.8, 1.0)]
    for smaller_q, larger_q in pairwise(values):
        assert (smaller_q >= larger_q).all()


def test_the_gradient_of_generalised_cross_entropy_is_weighted_by_confidence() -> None:
    """d GCE = p^q · d CE: a label that the network does not believe pulls less."""
    logits, labels, q = random_logits().requires_grad_(), random_labels(), 0.6
    (ours,) = torch.autograd.grad(make_loss("gce", N, K, q=q)(logits, labels, INDEX).sum(), logits)
    (usual,) = torch.autograd.grad(make_loss("cross-entropy", N, K)(logits, labels, INDEX).sum(), logits)
    p = torch.softmax(logits.detach(), dim=1).gather(1, labels[:, None])
    torch.testing.assert_close(ours, p**q * usual)


def test_forward_correction_is_minimised_by_the_clean_posterior() -> None:
    """Theorem 2 of Patrini et al. (2017): on noisy labels it has the minimiser of cross-entropy on clean ones."""
    generator = torch.Generator().manual_seed(1)
    transition = torch.softmax(3 * torch.eye(K) + torch.randn(K, K, generator=generator), dim=1)
    clean = torch.softmax(random_logits(3), dim=1)
    noisy = clean @ transition.double()
    loss = make_loss("forward", N, K, transition=transition.tolist())
    logits = clean.log().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(logits, noisy, INDEX).sum(), logits)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-6)
    at_minimum = loss(clean.log(), noisy, INDEX)
    for seed in range(5):
        assert (loss(clean.log() + 0.3 * random_logits(seed), noisy, INDEX) >= at_minimum - 1e-6).all()


def test_early_learning_regularisation_pulls_towards_earlier_predictions() -> None:
    """Without a label's pull, a step against the gradient raises the probability of the remembered class."""
    loss: Any = make_loss("elr", 1, K, lambda_=3.0)
    loss.memory[0] = torch.eye(K)[2]
    loss.eval()
    logits = torch.zeros(1, K, requires_grad=True)
    usual = make_loss("cross-entropy", 1, K)
    value = loss(logits, torch.tensor([0]), torch.tensor([0])) - usual(logits, torch.tensor([0]), torch.tensor([0]))
    (gradient,) = torch.autograd.grad(value.sum(), logits)
    after = torch.softmax(logits - gradient, dim=1)[0]
    assert after[2] > 1 / K and (after[[0, 1, 3, 4]] < 1 / K).all()


def test_cores2_rewards_confidence() -> None:
    """A confident right prediction costs less than an undecided one, and less than a confident wrong one."""
    loss = make_loss("cores2", N, K, beta=2.0, start=0, ramp=0).eval()
    loss.begin_epoch(1)
    logits = torch.tensor([[5.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 5, [0.0, 5.0, 0.0, 0.0, 0.0]])
    right, undecided, wrong = loss(logits, torch.zeros(3, dtype=torch.int64), torch.arange(3)).tolist()
    assert right < undecided and right < wrong


def test_the_confidence_penalty_is_smallest_for_undecided_predictions() -> None:
    labels = random_labels()

    def penalty(logits: Tensor) -> Tensor:
        with_penalty: Tensor = make_loss("confidence-penalty", N, K)(logits, labels, INDEX)
        without: Tensor = make_loss("cross-entropy", N, K)(logits, labels, INDEX)
        return with_penalty - without

    undecided = penalty(torch.zeros(N, K, dtype=torch.float64))
    torch.testing.assert_close(undecided, torch.full_like(undecided, -torch.log(torch.tensor(float(K))).item()))
    assert (penalty(random_logits()) >= undecided).all() and (penalty(random_logits()) <= 0).all()


# Symmetries.


@pytest.mark.parametrize("name", LOSSES)
def test_a_constant_added_to_all_logits_changes_nothing(name: str) -> None:
    logits, labels = random_logits(), random_labels()
    shift = torch.arange(N, dtype=torch.float64)[:, None] - 3
    plain, shifted = (make_loss(name, N, K)(values, labels, INDEX) for values in (logits, logits + shift))
    torch.testing.assert_close(shifted, plain)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_each_sample_sum_to_zero(name: str) -> None:
    """The gradient form of the same invariance."""
    logits = random_logits().requires_grad_()
    (gradient,) = torch.autograd.grad(make_loss(name, N, K)(logits, random_labels(), INDEX).sum(), logits)
    torch.testing.assert_close(gradient.sum(dim=1), torch.zeros(N, dtype=torch.float64), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_the_classes_does_not_matter(name: str) -> None:
    logits, labels = random_logits(), random_labels()
    order = torch.tensor([3, 0, 4, 1, 2])
    position = torch.argsort(order)
    renamed = make_loss(name, N, K)(logits[:, order], position[labels], INDEX)
    torch.testing.assert_close(renamed, make_loss(name, N, K)(logits, labels, INDEX))


@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"sce"}))
def test_losses_are_linear_in_soft_targets(name: str) -> None:
    """So that mixing targets is mixing losses, as MixUp assumes."""
    logits, loss = random_logits(), make_loss(name, N, K).eval()
    first, second = (torch.softmax(random_logits(seed), dim=1) for seed in (5, 6))
    mixed = loss(logits, 0.3 * first + 0.7 * second, INDEX)
    torch.testing.assert_close(mixed, 0.3 * loss(logits, first, INDEX) + 0.7 * loss(logits, second, INDEX))


@pytest.mark.parametrize(
    ("name", "options"), [("gce", {}), ("sce", {}), ("cores2", {}), ("confidence-penalty", {})]
)
def test_gradients_for_soft_targets_by_differences(name: str, options: dict[str, Any]) -> None:
    loss = make_loss(name, N, K, **options).double().eval()
    loss.begin_epoch(20)
    targets = torch.softmax(random_logits(4), dim=1)
    logits = random_logits().requires_grad_()
    assert torch.autograd.gradcheck(lambda values: loss(values, targets, INDEX), (logits,))
