"""CORES²: cross-entropy less the mean loss over all labels, which rewards confidence (Cheng et al., 2021)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Clock, Loss
from eigenclean.losses.targets import expected, log_probabilities, probabilities

_SMALLEST = 1e-8


class Cores2(Loss):
    """ℓ(label) − β Σ_c π_c ℓ(c), with ℓ(c) = −log(p_c + 1e-8) and π the shares of the labels now learned from.

    β is 0 at first, grows linearly, then stays. π are the shares seen in the epoch before; in the first epoch, when
    nothing has been seen, they are equal.

    Args:
        beta: what β grows to.
        start: epochs with β = 0.
        ramp: epochs in which it grows.
        rescale: divide by 1 + β. For gradient descent without momentum and weight decay this is the same as the
            division of the learning rate that the method prescribes.

    >>> from types import SimpleNamespace
    >>> loss = Cores2()
    >>> loss.prepare(n_samples=10, n_classes=2)
    >>> for epoch in (1, 10, 11, 26, 41, 100):
    ...     loss.begin_epoch(SimpleNamespace(epoch=epoch))
    ...     print(loss.beta_now.item(), end=" ")
    0.0 0.0 0.0 1.0 2.0 2.0
    """

    options: ClassVar[Sequence[str]] = ("beta", "start", "ramp", "rescale")
    beta_now: Tensor
    prior: Tensor
    seen: Tensor

    def __init__(self, beta: float = 2.0, start: int = 10, ramp: int = 30, rescale: bool = False) -> None:
        super().__init__()
        if beta < 0:
            raise InvalidOption(f"loss cores2: beta must be at least 0, got {beta}")
        if start < 0 or ramp < 0:
            raise InvalidOption(f"loss cores2: start and ramp must be at least 0, got {start} and {ramp}")
        self.beta, self.start, self.ramp, self.rescale = beta, start, ramp, rescale

    def extra_repr(self) -> str:
        """The options, for printing."""
        return f"beta={self.beta}, start={self.start}, ramp={self.ramp}, rescale={self.rescale}"

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """No labels have been seen."""
        self.register_buffer("beta_now", torch.zeros(()))
        self.register_buffer("prior", torch.full((n_classes,), 1 / n_classes))
        self.register_buffer("seen", torch.zeros(n_classes, dtype=torch.float64))

    def begin_epoch(self, progress: Clock) -> None:
        """Set β, and π from the labels of the epoch that is over."""
        over = progress.epoch - 1 - self.start
        grown = float(over >= 0) if self.ramp == 0 else min(max(over / self.ramp, 0.0), 1.0)
        self.beta_now.fill_(self.beta * grown)
        total = self.seen.sum()
        if total > 0:
            self.prior.copy_(self.seen / total)
            self.seen.zero_()

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        losses = -torch.log(log_probabilities(logits).exp() + _SMALLEST)
        if self.training:
            self.seen += probabilities(logits, target).sum(dim=0, dtype=self.seen.dtype)
        values = expected(losses, target) - self.beta_now * (losses @ self.prior.to(losses.dtype))
        return values / (1 + self.beta_now) if self.rescale else values
