"""One network in training, with everything that belongs to it."""

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW
from torch.optim import Optimizer as TorchOptimiser

from eigenclean.losses.base import Loss
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.part import Part
from eigenclean.train.pool import Pool
from eigenclean.train.selection import Selection
from eigenclean.train.steps.base import Batch


class Learner:
    """A network, its optimiser, its loss, its order of samples, and what it learns from now.

    Attributes:
        loss: set by the engine when a stage begins; it lives on through stages that share it.
        loss_part: what the loss was built from.
        selection: None until the first selection.
    """

    loss: Loss

    def __init__(self, net: nn.Module, optimiser: TorchOptimiser, pool: Pool, seed: int) -> None:
        self.net = net
        self.optimiser = optimiser
        self.loss_part: Part | None = None
        self.selection: Selection | None = None
        self._pool = pool
        self._order = torch.Generator().manual_seed(seed)

    def take(self, selection: Selection) -> None:
        """Learn from these samples from now on."""
        device = self._pool.codes.device
        self.selection = selection
        self._rows = torch.from_numpy(selection.rows)
        alike = bool((selection.weight[selection.keep] == 1).all())
        self._weight = None if alike else torch.from_numpy(selection.weight).to(device, torch.float32)
        target = selection.target
        self._target = self._pool.codes if target is None else torch.from_numpy(target).to(device)
        if self._target.is_floating_point():
            self._target = self._target.float()

    def batches(self, size: int) -> list[Tensor]:
        """The kept rows in a new random order, ``size`` at a time."""
        order = torch.randperm(len(self._rows), generator=self._order)
        rows = self._rows[order].to(self._pool.codes.device)
        parts = list(torch.split(rows, size))
        if len(parts) > 1 and len(parts[-1]) == 1:  # batch normalisation cannot train on a single sample
            parts[-2:] = [torch.cat(parts[-2:])]
        return parts

    def batch(self, rows: Tensor) -> Batch:
        """Those samples of the pool."""
        weight = None if self._weight is None else self._weight[rows]
        return Batch(self._pool.inputs[rows], self._target[rows], weight, rows)

    def set_lr(self, lr: float) -> None:
        """Set the learning rate."""
        for group in self.optimiser.param_groups:
            group["lr"] = lr


def make_optimiser(net: nn.Module, settings: Optimiser) -> TorchOptimiser:
    """The torch optimiser for these settings."""
    if settings.name == "adamw":
        betas = (settings.momentum, 0.999)
        return AdamW(net.parameters(), lr=settings.lr, betas=betas, weight_decay=settings.weight_decay)
    return SGD(net.parameters(), lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay)
