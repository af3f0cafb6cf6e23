"""Bootstrapping: each target is mixed with the network's own prediction (Reed et al., 2015)."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss, expected, log_probabilities
from eigenclean.names import check_name

_DEFAULT_BETA = {"soft": 0.95, "hard": 0.8}


class Bootstrap(Loss):
    """Cross-entropy with the target β · label + (1 − β) · prediction; β = 1 is plain cross-entropy.

    Args:
        kind: the prediction is the probabilities ("soft") or the most likely class ("hard").
        beta: weight of the given label; by default 0.95 for soft and 0.8 for hard.
        detach: no gradient flows through the soft prediction; otherwise it rewards confident predictions.

    >>> import torch
    >>> logits, label = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> Bootstrap("hard", beta=0.5)(logits, label, torch.tensor([0])) == logits.logsumexp(1) - 1
    tensor([True])
    """

    options: ClassVar[Sequence[str]] = ("kind", "beta", "detach")

    def __init__(self, kind: str = "soft", beta: float | None = None, detach: bool = True) -> None:
        super().__init__()
        check_name(kind, _DEFAULT_BETA, by="loss bootstrap", what="kind")
        self.kind = kind
        self.beta = _DEFAULT_BETA[kind] if beta is None else beta
        self.detach = detach
        if not 0 <= self.beta <= 1:
            raise InvalidOption(f"loss bootstrap: beta must be from 0 to 1, got {beta}")

    def extra_repr(self) -> str:
        """The options, for printing."""
        return f"kind={self.kind!r}, beta={self.beta}, detach={self.detach}"

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        log_p = log_probabilities(logits)
        given = -expected(log_p, target)
        if self.kind == "hard":
            predicted = -expected(log_p, log_p.argmax(dim=1))
        else:
            p = log_p.exp()
            predicted = -expected(log_p, p.detach() if self.detach else p)
        return self.beta * given + (1 - self.beta) * predicted
