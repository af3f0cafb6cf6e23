"""Plain PyTorch training loops, the baselines that the engine is timed against."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD, AdamW, Optimizer

from eigenclean.train import Optimiser, Pool

_ROWS = 512  # at a time where nothing is learned


def bare_loop(net: nn.Module, pool: Pool, settings: Optimiser, epochs: int) -> tuple[float, float]:
    """Shuffle, standardise, forward, backward, step; returns mean loss and accuracy of the last epoch."""
    optimiser = _optimiser(net, settings)
    net.train()
    for _ in range(epochs):
        losses, hits = [], torch.zeros(())
        for rows in torch.split(torch.randperm(len(pool)), settings.batch_size):
            inputs, target = _inputs(pool, rows), pool.codes[rows]
            _, logits = net(inputs)
            loss = functional.cross_entropy(logits, target)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            losses.append(loss.detach())
            hits += (logits.detach().argmax(dim=1) == target).sum()
        result = float(torch.stack(losses).mean()), float(hits) / len(pool)
    return result


def dividemix_passes(nets: Sequence[nn.Module], pool: Pool, kept: Sequence[int], settings: Optimiser) -> int:
    """One epoch of nothing but DivideMix's passes; returns how many steps were made.

    Each network predicts all samples once. Then, for every batch of labelled samples and one of unlabelled samples,
    in two views each: the network predicts all four views, its peer the two unlabelled ones, and the network is
    trained on all four. Dividing the samples, sharpening and mixing are left out.
    """
    steps = 0
    with torch.no_grad():
        for net in nets:
            net.eval()
            for start in range(0, len(pool), _ROWS):
                net(_inputs(pool, slice(start, start + _ROWS)))
    for net, peer, number in zip(nets, reversed(nets), kept, strict=True):
        optimiser = _optimiser(net, settings)
        order = torch.randperm(len(pool))
        labelled, unlabelled = (torch.split(rows, settings.batch_size) for rows in (order[:number], order[number:]))
        net.train(), peer.eval()
        for batch, rows in enumerate(labelled):
            first, second = _inputs(pool, rows), _inputs(pool, unlabelled[batch % len(unlabelled)])
            views = torch.cat([first, first, second, second])
            with torch.no_grad():
                _, predicted = net(views)
                peer(torch.cat([second, second]))
            _, logits = net(views)
            loss = functional.cross_entropy(logits, functional.softmax(predicted, dim=1))
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            steps += 1
    return steps


def _inputs(pool: Pool, rows: Tensor | slice) -> Tensor:
    assert isinstance(pool.inputs, Tensor)
    inputs = pool.inputs[rows].float()
    return inputs if pool.mean is None or pool.scale is None else (inputs - pool.mean) / pool.scale


def _optimiser(net: nn.Module, settings: Optimiser) -> Optimizer:
    if settings.name == "sgd":
        momentum = settings.momentum
        return SGD(net.parameters(), lr=settings.lr, momentum=momentum, weight_decay=settings.weight_decay)
    return AdamW(net.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
