"""Bare PyTorch loops: what people write who have no engine, and the yardsticks of ours."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD, AdamW, Optimizer

from eigenclean.train.data.pool import Pool
from eigenclean.train.optimiser import Optimiser

_ROWS = 512  # at a time where nothing is learned


def bare_loop(net: nn.Module, pool: Pool, settings: Optimiser, epochs: int) -> tuple[float, float]:
    """What everybody writes: shuffle, standardise, forward, backward, step; last mean loss and accuracy."""
    optimiser = _optimiser(net, settings)
    net.train()
    for _ in range(epochs):
        losses, hits = [], torch.zeros(())
        for rows in torch.split(torch.randperm(len(pool)), settings.batch_size):
            inputs, target = _seen(pool, rows), pool.codes[rows]
            _, logits = net(inputs)
            loss = functional.cross_entropy(logits, target)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            losses.append(loss.detach())
            hits += (logits.detach().argmax(dim=1) == target).sum()
        found = float(torch.stack(losses).mean()), float(hits) / len(pool)
    return found


def dividemix_passes(nets: Sequence[nn.Module], pool: Pool, kept: Sequence[int], settings: Optimiser) -> int:
    """One epoch of nothing but DivideMix's passes; returns how many steps were made.

    Each network looks at all samples once. Then, for every batch of trusted samples and one of the others, in two
    views each: the network believes something about all four views, its peer about two, and the network learns all
    four. Nothing is divided, sharpened or mixed here.
    """
    steps = 0
    with torch.no_grad():
        for net in nets:
            net.eval()
            for start in range(0, len(pool), _ROWS):
                net(_seen(pool, slice(start, start + _ROWS)))
    for net, peer, number in zip(nets, reversed(nets), kept, strict=True):
        optimiser = _optimiser(net, settings)
        order = torch.randperm(len(pool))
        trusted, others = (torch.split(part, settings.batch_size) for part in (order[:number], order[number:]))
        net.train(), peer.eval()
        for at, rows in enumerate(trusted):
            one, other = _seen(pool, rows), _seen(pool, others[at % len(others)])
            views = torch.cat([one, one, other, other])
            with torch.no_grad():
                _, believed = net(views)
                peer(torch.cat([other, other]))
            _, logits = net(views)
            loss = functional.cross_entropy(logits, functional.softmax(believed, dim=1))
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            steps += 1
    return steps


def _seen(pool: Pool, rows: Tensor | slice) -> Tensor:
    assert isinstance(pool.inputs, Tensor)
    inputs = pool.inputs[rows].float()
    return inputs if pool.mean is None or pool.scale is None else (inputs - pool.mean) / pool.scale


def _optimiser(net: nn.Module, settings: Optimiser) -> Optimizer:
    if settings.name == "sgd":
        momentum = settings.momentum
        return SGD(net.parameters(), lr=settings.lr, momentum=momentum, weight_decay=settings.weight_decay)
    return AdamW(net.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
