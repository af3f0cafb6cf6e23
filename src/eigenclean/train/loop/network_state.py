"""The state of one network in training: weights, optimiser, loss, current selection, random generators."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW
from torch.optim import Optimizer as TorchOptimiser

from eigenclean.arrays import Bools
from eigenclean.losses.base import Loss
from eigenclean.train.component import ComponentSpec
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop.batches import repeated_batches, shuffled_batches
from eigenclean.train.loop.head import split_parameters
from eigenclean.train.loop.history import MarginHistory
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import Memory
from eigenclean.train.steps.base import Step

BatchRows = tuple[Tensor, Tensor | None]  # rows of the kept samples, and of the others for steps that use them


class NetworkState:
    """A network with everything that is particular to its training.

    Attributes:
        net: the network, as accelerate has wrapped it.
        optimiser: its torch optimiser.
        optimiser_name: name of the optimiser in `Optimiser`.
        loss: its loss, set by the engine when a stage begins; kept through stages with an equal ``loss_spec``.
        loss_spec: what the loss was built from.
        selection: the samples to train on; None until the first selection.
        weight: of each sample, from the selection; None when all weights are 1.
        target: of each sample, from the selection; by default the given labels.
        selector_memory: what the selector keeps about this network from one selection to the next.
        margins: mean margin of each label so far, if a selector needs it.
        trained_on: mask of the samples whose labels were used in this epoch, or in the last one between epochs.
        shuffle_generator: draws the order of the samples.
        augmentation_generator: draws the augmentations of images.
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
        self.weight: Tensor | None = None
        self.target = pool.codes
        self.selector_memory: Memory = {}
        self.margins: MarginHistory | None = None
        self.trained_on: Bools = np.zeros(len(pool), dtype=bool)
        self.shuffle_generator = torch.Generator().manual_seed(seed)
        self.augmentation_generator = torch.Generator(pool.codes.device).manual_seed(seed)
        self._pool = pool

    def set_selection(self, selection: Selection) -> None:
        """Train on this selection from now on."""
        device = self._pool.codes.device
        self.selection = selection
        self._kept_rows = torch.from_numpy(selection.rows)
        rest = ~selection.keep if selection.rest is None else selection.rest
        self._rest_rows = torch.from_numpy(np.flatnonzero(rest))
        all_weights_one = bool((selection.weight[selection.keep] == 1).all())
        self.weight = None if all_weights_one else torch.from_numpy(selection.weight).to(device, torch.float32)
        target = selection.target
        self.target = self._pool.codes if target is None else torch.from_numpy(target).to(device)
        if self.target.is_floating_point():
            self.target = self.target.float()

    def batches(self, step: Step, size: int, *, use_rest: bool = False) -> list[BatchRows]:
        """The batches of an epoch in a new random order; with ``use_rest`` each has rows of the rest too."""
        count = step.n_batches(len(self._kept_rows), len(self._rest_rows), size)
        if count is None:
            kept = shuffled_batches(self._kept_rows, size, self.shuffle_generator)
        else:
            kept = repeated_batches(self._kept_rows, size, count, self.shuffle_generator)
        if not use_rest or len(self._rest_rows) == 0:
            return [(rows, None) for rows in kept]
        rest = repeated_batches(self._rest_rows, size, len(kept), self.shuffle_generator)
        return list(zip(kept, rest, strict=True))


def make_optimiser(net: nn.Module, settings: Optimiser, *, separate_head: bool = False) -> TorchOptimiser:
    """The torch optimiser with these settings; ``separate_head`` puts the last layer into a group of its own."""
    groups: Any = net.parameters()
    if separate_head:
        backbone, head = split_parameters(net)
        groups = [{"params": backbone, "is_backbone": True}, {"params": head, "is_backbone": False}]
    if settings.name == "sgd":
        return SGD(groups, lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay)
    optimiser_class = Adam if settings.name == "adam" else AdamW
    betas = (settings.momentum, 0.999)
    return optimiser_class(groups, lr=settings.lr, betas=betas, weight_decay=settings.weight_decay)


def apply_schedule(optimiser: TorchOptimiser, settings: Optimiser, epoch: int) -> None:
    """Set learning rate, momentum and weight decay of that epoch, counted from the last restart."""
    momentum = settings.momentum_at(epoch)
    for group in optimiser.param_groups:
        factor = settings.backbone if group.get("is_backbone") else 1.0
        group["lr"], group["weight_decay"] = factor * settings.lr_at(epoch), settings.weight_decay
        if "betas" in group:
            group["betas"] = (momentum, group["betas"][1])
        else:
            group["momentum"] = momentum
