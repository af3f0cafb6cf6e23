"""Bootstrapping: a part of each target is what the network itself believes (Reed et al., 2015)."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss
from eigenclean.losses.targets import expected, log_probabilities
from eigenclean.names import check_name

_USUAL = {"soft": 0.95, "hard": 0.8}


class Bootstrap(Loss):
    """Cross-entropy with β · target + (1 − β) · belief; with β = 1 nothing else than cross-entropy.

    Args:
        kind: the belief is the probabilities ("soft") or the likeliest class ("hard").
        beta: trust in the given label; by default 0.95 for soft and 0.8 for hard.
        detach: the soft belief counts as given. Otherwise the gradient flows through it too and rewards certainty.

    >>> import torch
    >>> logits, label = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> Bootstrap("hard", beta=0.5)(logits, label, torch.tensor([0])) == logits.logsumexp(1) - 1
    tensor([True])
    """

    options: ClassVar[Sequence[str]] = ("kind", "beta", "detach")

    def __init__(self, kind: str = "soft", beta: float | None = None, detach: bool = True) -> None:
        super().__init__()
        check_name(kind, _USUAL, by="loss bootstrap", what="kind")
        self.kind = kind
        self.beta = _USUAL[kind] if beta is None else beta
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
            believed = -expected(log_p, log_p.argmax(dim=1))
        else:
            p = log_p.exp()
            believed = -expected(log_p, p.detach() if self.detach else p)
        return self.beta * given + (1 - self.beta) * believed
