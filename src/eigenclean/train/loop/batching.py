"""The order of the samples: shuffled anew every epoch, in batches, the smaller part recycled."""

import torch
from torch import Tensor


def in_batches(rows: Tensor, size: int, order: torch.Generator) -> list[Tensor]:
    """The rows in a random order, ``size`` at a time; a single one that is left over joins the batch before it.

    >>> [len(batch) for batch in in_batches(torch.arange(9), 4, torch.Generator().manual_seed(0))]
    [4, 5]
    """
    parts = list(torch.split(rows[torch.randperm(len(rows), generator=order)], size))
    if len(parts) > 1 and len(parts[-1]) == 1:  # batch normalisation cannot train on a single sample
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts


def recycled(rows: Tensor, size: int, count: int, order: torch.Generator) -> list[Tensor]:
    """Exactly ``count`` batches: the rows again and again, each time in another order.

    >>> [len(batch) for batch in recycled(torch.arange(5), 3, 4, torch.Generator().manual_seed(0))]
    [3, 2, 3, 2]
    """
    batches: list[Tensor] = []
    while len(batches) < count:
        batches += in_batches(rows, size, order)
    return batches[:count]


def pieces(rows: Tensor, number: int) -> list[Tensor]:
    """The rows in at most so many parts of nearly equal size.

    >>> [len(part) for part in pieces(torch.arange(5), 2)]
    [3, 2]
    """
    return list(torch.tensor_split(rows, min(number, len(rows)))) if number > 1 else [rows]
