"""Mini-batches of row numbers: shuffled anew every epoch, repeated where one set is smaller than the other."""

import torch
from torch import Tensor


def shuffled_batches(rows: Tensor, size: int, generator: torch.Generator) -> list[Tensor]:
    """The rows in a random order, ``size`` at a time; a single row that is left over joins the batch before it.

    >>> [len(batch) for batch in shuffled_batches(torch.arange(9), 4, torch.Generator().manual_seed(0))]
    [4, 5]
    """
    batches = list(torch.split(rows[torch.randperm(len(rows), generator=generator)], size))
    if len(batches) > 1 and len(batches[-1]) == 1:  # batch normalisation cannot train on a single sample
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def repeated_batches(rows: Tensor, size: int, count: int, generator: torch.Generator) -> list[Tensor]:
    """Exactly ``count`` batches: the rows are shuffled and gone through as often as that takes.

    >>> [len(batch) for batch in repeated_batches(torch.arange(5), 3, 4, torch.Generator().manual_seed(0))]
    [3, 2, 3, 2]
    """
    batches: list[Tensor] = []
    while len(batches) < count:
        batches += shuffled_batches(rows, size, generator)
    return batches[:count]


def split_evenly(rows: Tensor, n_chunks: int) -> list[Tensor]:
    """The rows in at most ``n_chunks`` chunks of nearly equal size, for gradient accumulation.

    >>> [len(chunk) for chunk in split_evenly(torch.arange(5), 2)]
    [3, 2]
    """
    return list(torch.tensor_split(rows, min(n_chunks, len(rows)))) if n_chunks > 1 else [rows]
