"""CORES²: cross-entropy minus the mean loss over all labels, which rewards confidence (Cheng et al., 2021)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss, expected, log_probabilities

_TINY = 1e-8


class Cores2(Loss):
    """−log p_label − β Σ_c π_c ℓ(c), with ℓ(c) = −log(p_c + 1e-8) and π the frequencies of the training labels.

    β is 0 at first, grows linearly, then stays constant. π are the frequencies of the labels that were trained on
    in the epoch before; in the first epoch those of all given labels. Without them π is uniform.

    Args:
        beta: final value of β.
        start: epochs with β = 0.
        ramp: epochs in which it grows from 0; the last of them has the final value.
        rescale: divide by 1 + β. For gradient descent without momentum and weight decay this is the same as the
            division of the learning rate that the method prescribes.

    >>> loss = Cores2()
    >>> loss.prepare(n_samples=10, n_classes=2)
    >>> for epoch in (1, 11, 25, 40, 41, 100):
    ...     loss.begin_epoch(epoch)
    ...     print(round(loss.beta_now.item(), 3), end=" ")
    0.0 0.0 0.966 2.0 2.0 2.0
    """

    options: ClassVar[Sequence[str]] = ("beta", "start", "ramp", "rescale")
    beta_now: Tensor
    prior: Tensor
    label_counts: Tensor

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
        """Register β, the label frequencies π and the counts that they are computed from."""
        self.register_buffer("beta_now", torch.zeros(()))
        self.register_buffer("prior", torch.full((n_classes,), 1 / n_classes))
        self.register_buffer("label_counts", torch.zeros(n_classes, dtype=torch.float64))

    def count_labels(self, counts: Tensor) -> None:
        """The labels that π is about from the next epoch on."""
        self.label_counts.copy_(counts)

    def begin_epoch(self, epoch: int) -> None:
        """Set β, and π from the labels of the previous epoch."""
        since_start = epoch - 1 - self.start
        growing = self.ramp > 1 and 0 <= since_start < self.ramp
        ramped = since_start / (self.ramp - 1) if growing else float(since_start >= self.ramp)
        self.beta_now.fill_(self.beta * ramped)
        total = self.label_counts.sum()
        if total > 0:
            self.prior.copy_(self.label_counts / total)

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        log_p = log_probabilities(logits)
        losses = -torch.log(log_p.exp() + _TINY)
        # Only the second term has the floor: a label that the network rules out still has a gradient.
        values = -expected(log_p, target) - self.beta_now * (losses @ self.prior.to(losses.dtype))
        return values / (1 + self.beta_now) if self.rescale else values
