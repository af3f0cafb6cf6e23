"""How an epoch went, counted at its end: asking for a number after each batch would make the device wait."""

import torch
from torch import Tensor

from eigenclean.train.steps.base import Outcome


class Tally:
    """Losses and predictions of one epoch of one network.

    >>> tally = Tally()
    >>> tally.add(Outcome(torch.tensor(0.5), torch.eye(2)), rows=torch.tensor([0, 2]))
    >>> tally.sums(codes=torch.tensor([0, 1, 0]))  # loss, hits, samples
    tensor([1., 1., 2.], dtype=torch.float64)
    """

    def __init__(self) -> None:
        self._losses: list[Tensor] = []
        self._rows: list[Tensor] = []
        self._guesses: list[Tensor] = []

    def add(self, outcome: Outcome, rows: Tensor) -> None:
        """Note the outcome of one batch."""
        self._losses.append(outcome.loss.detach())
        self._rows.append(rows)
        if outcome.logits is not None:
            self._guesses.append(outcome.logits.detach().argmax(dim=1))

    def sums(self, codes: Tensor) -> Tensor:
        """Sum of the losses, of the predictions that agree with the given labels, and of the samples."""
        if not self._losses:  # no batch had anything to learn from
            return torch.zeros(3, dtype=torch.float64, device=codes.device)
        losses, rows = torch.stack(self._losses).double(), torch.cat(self._rows)
        sizes = torch.tensor([len(part) for part in self._rows], dtype=torch.float64, device=losses.device)
        guesses = torch.cat(self._guesses) if self._guesses else torch.full_like(rows, -1)
        hits = (guesses == codes[rows]).sum().double()
        return torch.stack([losses @ sizes, hits, sizes.sum()])
