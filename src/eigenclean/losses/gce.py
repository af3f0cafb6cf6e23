"""Generalised cross-entropy: between cross-entropy and the mean absolute error (Zhang & Sabuncu, 2018)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.losses.base import Loss, expected, is_soft, log_probabilities


class GCE(Loss):
    """(1 − p^q) / q for the probability p of the given label; q → 0 is cross-entropy, q = 1 is 1 − p.

    Truncated, samples whose loss was at least that of the probability ``truncate`` at the last update of the
    weights have weight 0, and the loss of the others is relative to the loss at ``truncate``. An update evaluates
    all samples with the best network so far, so a pruned sample can return.

    Args:
        q: from 0 to 1.
        truncate: None, or the probability to truncate at, usually 0.5.
        start: the epoch, counted from 1, before which the weights are updated first; until then all are 1.
        every: epochs from one update to the next.

    >>> GCE(q=1.0)(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), torch.tensor([0]))
    tensor([0.5000])
    """

    options: ClassVar[Sequence[str]] = ("q", "truncate", "start", "every")
    latest: Tensor
    weight: Tensor

    def __init__(self, q: float = 0.7, truncate: float | None = None, start: int = 40, every: int = 10) -> None:
        super().__init__()
        if not 0 <= q <= 1:
            raise InvalidOption(f"loss gce: q must be from 0 to 1, got {q}")
        if truncate is not None and not 0 < truncate < 1:
            raise InvalidOption(f"loss gce: truncate must be between 0 and 1, or None, got {truncate}")
        if start < 0 or every < 1:
            raise InvalidOption(f"loss gce: start must be at least 0 and every at least 1, got {start} and {every}")
        self.q, self.truncate, self.start, self.every = q, truncate, start, every

    def extra_repr(self) -> str:
        """The options, for printing."""
        return f"q={self.q}, truncate={self.truncate}, start={self.start}, every={self.every}"

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """Register the probability at the last update and the weight of each sample, 1 at first."""
        if self.truncate is not None:
            self.register_buffer("latest", torch.ones(n_samples))
            self.register_buffer("weight", torch.ones(n_samples))

    def needs_before(self, epoch: int) -> Sequence[str]:
        """The losses of all samples, if an update of the weights is due."""
        due = self.truncate is not None and epoch >= self.start and (epoch - self.start) % self.every == 0
        return ("losses",) if due else ()

    def refresh(self, evidence: Evidence) -> None:
        """Update the weights."""
        assert self.truncate is not None
        log_p = -torch.as_tensor(evidence.need("losses", by="loss gce"), device=self.weight.device)
        self.latest.copy_(log_p.exp())
        self.weight.copy_(self._loss(log_p) < self._loss(log_p.new_tensor(self.truncate).log()))

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        log_p = log_probabilities(logits)
        if self.truncate is None:
            return expected(self._loss(log_p), target)
        if is_soft(logits, target):
            raise InvalidOption("loss gce: truncate is for class numbers, but the targets are probabilities")
        log_p_given = expected(log_p, target)
        floor = self._loss(log_p_given.new_tensor(self.truncate).log())
        return self.weight[index] * (self._loss(log_p_given) - floor)

    def _loss(self, log_p: Tensor) -> Tensor:
        """The loss as a function of log p, which is accurate for tiny p and for tiny q."""
        return -log_p if self.q == 0 else -torch.expm1(self.q * log_p) / self.q
