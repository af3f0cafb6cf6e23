"""One network in training, with everything that belongs to it."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW
from torch.optim import Optimizer as TorchOptimiser

from eigenclean.arrays import Bools
from eigenclean.losses.base import Loss
from eigenclean.train.component import ComponentSpec
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop.batching import in_batches, recycled
from eigenclean.train.loop.margins import MarginHistory
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import Memory
from eigenclean.train.steps.base import Step

Rows = tuple[Tensor, Tensor | None]  # of a batch: kept samples, and others for steps that use them


class NetworkState:
    """A network, its optimiser, its loss, its order of samples, and what it learns from now.

    Attributes:
        optimiser_name: which one it is, as `Optimiser` calls it.
        loss: set by the engine when a stage begins; it lives on through stages that share it.
        loss_spec: what the loss was built from.
        selection: None until the first selection.
        selector_memory: what its selector keeps from one selection to the next.
        margins: how clearly each label has won so far, if a selector wants to know.
        trained_on: which samples it has learned from in this epoch (or the last), as labelled.
        shuffle_generator: draws the order of the samples.
        augmentation_generator: draws how images are varied.
    """

    loss: Loss

    def __init__(
        self, net: nn.Module, optimiser: TorchOptimiser, optimiser_name: str, pool: Pool, seed: int
    ) -> None:
        self.net = net
        self.optimiser = optimiser
        self.optimiser_name = optimiser_name
        self.loss_spec: ComponentSpec | None = None
        self.selection: Selection | None = None
        self.selector_memory: Memory = {}
        self.margins: MarginHistory | None = None
        self.trained_on: Bools = np.zeros(len(pool), dtype=bool)
        self.shuffle_generator = torch.Generator().manual_seed(seed)
        self.augmentation_generator = torch.Generator(pool.codes.device).manual_seed(seed)
        self.weight: Tensor | None = None
        self.target = pool.codes
        self._pool = pool

    def set_selection(self, selection: Selection) -> None:
        """Learn from these samples from now on."""
        device = self._pool.codes.device
        self.selection = selection
        self._rows = torch.from_numpy(selection.rows)
        self._rest = torch.from_numpy(np.flatnonzero(~selection.keep if selection.rest is None else selection.rest))
        alike = bool((selection.weight[selection.keep] == 1).all())
        self.weight = None if alike else torch.from_numpy(selection.weight).to(device, torch.float32)
        target = selection.target
        self.target = self._pool.codes if target is None else torch.from_numpy(target).to(device)
        if self.target.is_floating_point():
            self.target = self.target.float()

    def batches(self, step: Step, size: int) -> list[Rows]:
        """The rows of an epoch, in a new random order."""
        count = step.n_batches(len(self._rows), len(self._rest), size)
        if count is None:
            kept = in_batches(self._rows, size, self.shuffle_generator)
        else:
            kept = recycled(self._rows, size, count, self.shuffle_generator)
        if not step.uses_rest or len(self._rest) == 0:
            return [(rows, None) for rows in kept]
        return list(zip(kept, recycled(self._rest, size, len(kept), self.shuffle_generator), strict=True))


def make_optimiser(net: nn.Module, settings: Optimiser) -> TorchOptimiser:
    """The torch optimiser for these settings."""
    if settings.name == "sgd":
        return SGD(net.parameters(), lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay)
    kind = Adam if settings.name == "adam" else AdamW
    betas = (settings.momentum, 0.999)
    return kind(net.parameters(), lr=settings.lr, betas=betas, weight_decay=settings.weight_decay)


def follow_schedule(optimiser: TorchOptimiser, settings: Optimiser, epoch: int) -> None:
    """Set what the settings say about that epoch."""
    momentum = settings.momentum_at(epoch)
    for group in optimiser.param_groups:
        group["lr"], group["weight_decay"] = settings.lr_at(epoch), settings.weight_decay
        if "betas" in group:
            group["betas"] = (momentum, group["betas"][1])
        else:
            group["momentum"] = momentum
