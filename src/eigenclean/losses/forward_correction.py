"""Forward correction: the network predicts true labels, the loss compares noisy ones (Patrini et al., 2017)."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.losses.anchor_points import check_discard, estimate_transition
from eigenclean.losses.base import Loss, expected, log_probabilities

_LOG_ZERO = -1e6  # in place of log 0, whose gradient would be 0 · inf


class Forward(Loss):
    """−log (pᵀT)_label, where T[i, j] is the probability that a sample of class i is labelled j.

    Without a given transition matrix, T is the identity (cross-entropy) until `estimate` computes it from the
    predictions of the networks of an earlier stage.

    Args:
        transition: K x K, each row a distribution; None to estimate it.
        discard: see `estimate_transition`.

    >>> loss = Forward([[0.5, 0.5], [0.5, 0.5]])
    >>> loss.prepare(n_samples=1, n_classes=2)
    >>> loss(torch.tensor([[9.0, 0.0]]), torch.tensor([1]), torch.tensor([0]))
    tensor([0.6931])
    """

    options: ClassVar[Sequence[str]] = ("transition", "discard")
    log_transition: Tensor

    def __init__(self, transition: Any = None, discard: float | None = None) -> None:
        super().__init__()
        check_discard(discard)
        self.transition, self.discard = transition, discard
        self.needs = ("probabilities",) if transition is None else ()

    def extra_repr(self) -> str:
        """The options, for printing."""
        discard = "by the number of classes" if self.discard is None else self.discard
        return f"transition={'estimated' if self.transition is None else 'given'}, discard={discard}"

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """Register the logarithms of the given matrix, or of the identity."""
        matrix = np.eye(n_classes) if self.transition is None else np.asarray(self.transition, dtype=np.float64)
        if matrix.shape != (n_classes, n_classes):
            raise InvalidOption(
                f"loss forward: transition must be {n_classes} x {n_classes}, one row per class, "
                f"got shape {matrix.shape}"
            )
        if not (matrix >= 0).all() or not np.allclose(matrix.sum(axis=1), 1, atol=1e-4):
            raise InvalidOption("loss forward: each row of transition must be probabilities that add up to 1")
        self.register_buffer("log_transition", _logarithms(matrix))

    def estimate(self, evidence: Evidence) -> None:
        """Estimate the transition matrix, unless it was given."""
        if self.transition is None:
            probabilities = evidence.need("probabilities", by="loss forward")
            self.log_transition.copy_(_logarithms(estimate_transition(probabilities, self.discard)))

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        # In logarithms throughout: probabilities that underflow still have finite logarithms.
        log_noisy = torch.logsumexp(log_probabilities(logits)[:, :, None] + self.log_transition[None], dim=1)
        return -expected(log_noisy, target)


def _logarithms(matrix: Float64s) -> Tensor:
    return torch.from_numpy(matrix).log().clamp(min=_LOG_ZERO).float()
