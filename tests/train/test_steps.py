"""Steps and the pieces of MixMatch, against numbers worked out by hand."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.errors import InvalidOption
from eigenclean.losses import make_loss
from eigenclean.train.steps import STEPS, make_step
from eigenclean.train.steps import mixmatch as mixmatch_module
from eigenclean.train.steps.base import Batch, TrainingProgress
from eigenclean.train.steps.mixing import MixUp, draw_coefficient, mix, prior_penalty, ramp_up, sharpen
from eigenclean.train.steps.mixmatch import MixMatch
from eigenclean.train.steps.supervised import Supervised

CE = make_loss("cross-entropy", 10, 2)
NOW = TrainingProgress(epoch=20, stage_epoch=4.0)


class Table(nn.Module):
    """The logits of an input are its own two numbers; counts how often it is asked, and in which mode."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))
        self.modes: list[bool] = []

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        self.modes.append(self.training)
        return inputs, self.factor * inputs


def logits_of(*rows: tuple[float, float]) -> Tensor:
    """Inputs whose softmax is the given probabilities."""
    return torch.tensor(rows).log()


def batch(inputs: Tensor, labels: list[int], weight: list[float] | None = None, **more: Any) -> Batch:
    weights = None if weight is None else torch.tensor(weight)
    return Batch(inputs, torch.tensor(labels), weights, torch.arange(len(labels)), **more)


def test_sharpening_by_hand() -> None:
    # 0.6² : 0.4² = 0.36 : 0.16
    assert sharpen(torch.tensor([[0.6, 0.4]]), 0.5)[0].tolist() == pytest.approx([0.36 / 0.52, 0.16 / 0.52])
    assert sharpen(torch.tensor([[0.6, 0.4]]), 1.0)[0].tolist() == pytest.approx([0.6, 0.4])
    assert sharpen(torch.tensor([[1.0, 0.0]]), 0.5)[0].tolist() == pytest.approx([1.0, 0.0], abs=1e-9)
    tiny = sharpen(torch.tensor([[1e-9, 1e-10, 1.0 - 1.1e-9]]), 0.01)
    assert torch.isfinite(tiny).all()


def test_the_share_of_a_mixture_is_at_least_a_half() -> None:
    torch.manual_seed(0)
    shares = torch.stack([draw_coefficient(4.0, torch.device("cpu")) for _ in range(2000)])
    assert (shares >= 0.5).all()
    # E max(x, 1-x) for x ~ Beta(4, 4): 1/2 + Γ(8)/(Γ(4)² 2⁷ · 4) · ... = 0.63671875
    assert shares.mean().item() == pytest.approx(0.63671875, abs=0.006)


def test_the_prior_penalty_by_hand() -> None:
    logits = logits_of((0.9, 0.1), (0.5, 0.5))  # mean (0.7, 0.3)
    by_hand = 0.5 * math.log(0.5 / 0.7) + 0.5 * math.log(0.5 / 0.3)
    assert prior_penalty(logits).item() == pytest.approx(by_hand)


def test_the_ramp_is_over_after_sixteen_epochs() -> None:
    assert [ramp_up(epochs, 16.0) for epochs in (-1.0, 0.0, 8.0, 15.5, 16.0, 99.0)] == [0, 0, 0.5, 15.5 / 16, 1, 1]
    assert ramp_up(0.0, 0.0) == 1


def test_refinement_and_guesses_by_hand() -> None:
    kept = batch(logits_of((0.5, 0.5)), [0], [0.6], extra_views=(logits_of((0.9, 0.1)),))
    rest = batch(logits_of((0.2, 0.8)), [0], extra_views=(logits_of((0.4, 0.6)),))
    targets, believed = MixMatch().targets(Table(), Table(2.0), kept, rest)
    # Refined: p = mean(0.5, 0.9) = 0.7; 0.6 · 1 + 0.4 · 0.7 = 0.88; sharpened 0.88² : 0.12².
    refined = 0.88**2 / (0.88**2 + 0.12**2)
    # Guessed: the peer's logits are doubled, so its odds are squared: 0.04 : 0.64 and 0.16 : 0.36.
    guess = (0.2 + 0.4 + 0.04 / 0.68 + 0.16 / 0.52) / 4
    guessed = guess**2 / (guess**2 + (1 - guess) ** 2)
    assert targets[:, 0].tolist() == pytest.approx([refined, refined, guessed, guessed], abs=1e-6)
    assert targets.sum(dim=1).tolist() == pytest.approx([1.0] * 4)
    assert believed[0].tolist() == pytest.approx([0.5, 0.5])


def test_a_label_of_full_trust_stays() -> None:
    kept = batch(logits_of((0.01, 0.99)), [0], extra_views=(logits_of((0.01, 0.99)),))
    assert MixMatch().refine(kept, torch.tensor([[0.01, 0.99]]))[0].tolist() == pytest.approx([1, 0], abs=1e-6)


def test_the_whole_loss_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share 0.75, order reversed: rows x1 x2 u1 u2 are mixed with u2 u1 x2 x1."""
    monkeypatch.setattr(mixmatch_module, "draw_coefficient", lambda alpha, device: torch.tensor(0.75))
    monkeypatch.setattr(torch, "randperm", lambda n: torch.arange(n).flip(0))
    kept = batch(torch.tensor([[2.0, 0.0]]), [0], [0.8], extra_views=(torch.tensor([[1.0, 0.0]]),))
    rest = batch(torch.tensor([[0.0, 1.0]]), [0], extra_views=(torch.tensor([[0.0, 3.0]]),))
    step = MixMatch(lambda_u=8.0, ramp=16.0)
    outcome = step(Table(), Table(), kept, rest, CE, NOW)
    targets, _ = step.targets(Table(), Table(), kept, rest)
    inputs = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    mixed, wanted = (0.75 * rows + 0.25 * rows.flip(0) for rows in (inputs, targets))
    p = mixed.softmax(dim=1)
    labelled = -(wanted[:2] * p[:2].log()).sum(dim=1).mean()
    unlabelled = ((p[2:] - wanted[2:]) ** 2).mean()  # over rows and classes
    mean = p.mean(dim=0)
    penalty = (0.5 * (0.5 / mean).log()).sum()
    assert outcome.loss.item() == pytest.approx((labelled + 8 * 4 / 16 * unlabelled + penalty).item(), rel=1e-5)


def test_without_lambda_only_mixtures_of_kept_samples_are_learned() -> None:
    kept = batch(torch.randn(3, 2), [0, 1, 0], extra_views=(torch.randn(3, 2),))
    rest = batch(torch.randn(2, 2), [0, 1], extra_views=(torch.randn(2, 2),))
    seen: list[int] = []

    class Counting(Table):
        def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
            seen.append(len(inputs))
            return super().forward(inputs)

    MixMatch(lambda_u=None)(Counting(), None, kept, rest, CE, NOW)
    assert seen == [10, 6]  # beliefs about all views, then the mixtures of kept samples


def test_nothing_left_to_guess_means_plain_learning() -> None:
    kept = batch(torch.randn(4, 2), [0, 1, 1, 0], [0.9, 0.8, 0.7, 0.6], extra_views=(torch.randn(4, 2),))
    outcome = MixMatch()(Table(), None, kept, None, CE, NOW)
    assert outcome.loss.item() == pytest.approx(functional.cross_entropy(kept.inputs, kept.target).item())


def test_batches_of_one_go_through_batch_normalisation() -> None:
    class Normed(Table):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(2)

        def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
            return super().forward(self.norm(inputs))

    single = batch(torch.randn(1, 2), [0], [0.7], extra_views=(torch.randn(1, 2),))
    assert torch.isfinite(MixMatch()(Normed().train(), Normed().train(), single, single, CE, NOW).loss)


def test_the_learning_network_stays_in_training_mode_and_the_peer_does_not() -> None:
    net, peer = Table().train(), Table().train()
    pair = batch(torch.randn(2, 2), [0, 1], extra_views=(torch.randn(2, 2),))
    MixMatch()(net, peer, pair, pair, CE, NOW)
    assert net.modes == [True, True]
    assert peer.modes == [False]


def test_guesses_carry_no_gradient() -> None:
    net, peer = Table().train(), Table().train()
    pair = batch(torch.randn(2, 2), [0, 1], extra_views=(torch.randn(2, 2),))
    torch.autograd.backward(MixMatch()(net, peer, pair, pair, CE, NOW).loss)
    assert net.factor.grad is not None
    assert peer.factor.grad is None


def test_mixup_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    from eigenclean.train.steps import mixing as mixup

    monkeypatch.setattr(mixup, "draw_coefficient", lambda alpha, device: torch.tensor(0.6))
    monkeypatch.setattr(torch, "randperm", lambda n: torch.arange(n).flip(0))
    inputs = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    logits = torch.tensor([[0.6, 0.8], [0.4, 1.2]])
    wanted = torch.tensor([[0.6, 0.4], [0.4, 0.6]])
    by_hand = -(wanted * logits.log_softmax(dim=1)).sum(dim=1).mean()
    outcome = MixUp(penalty=0.0)(Table(), None, batch(inputs, [0, 1]), None, CE, NOW)
    assert outcome.loss.item() == pytest.approx(by_hand.item(), rel=1e-6)
    assert torch.equal(mix(inputs, 1.0, torch.tensor([1, 0])), inputs)


def test_weights_of_the_supervised_step() -> None:
    inputs, labels = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), [1, 1]
    values = CE(inputs, torch.tensor(labels), torch.arange(2))
    outcome = Supervised()(Table(), None, batch(inputs, labels, [3.0, 1.0]), None, CE, NOW)
    assert outcome.loss.item() == pytest.approx((0.75 * values[0] + 0.25 * values[1]).item())
    nobody = Supervised()(Table(), None, batch(inputs, labels, [0.0, 0.0]), None, CE, NOW)
    assert nobody.loss.item() == 0


def test_an_epoch_through_all_recycles_both_parts() -> None:
    assert MixMatch().n_batches(100, 50, 64) is None
    assert MixMatch(through="all").n_batches(100, 50, 64) == 150 // 64 + 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_step("mixmach"), "did you mean 'mixmatch'"),
        (lambda: make_step("mixmatch", lambda_v=3), "did you mean 'lambda_u'"),
        (lambda: make_step("mixmatch", temperature=0), "temperature and alpha must be above 0"),
        (lambda: make_step("mixmatch", through="most"), "through must be 'kept' or 'all'"),
        (lambda: make_step("mixup", alpha=0), "alpha must be above 0"),
    ],
)
def test_mistakes_get_a_sentence(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make()


def test_every_step_has_its_options_as_fields() -> None:
    for name in STEPS:
        assert make_step(name) == make_step(name)
