"""Devices and processes: accelerate chooses them, and a batch is divided among the processes.

With one process every function here returns what it was given.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from torch import Tensor, nn

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train.loop.batches import split_evenly

PRECISIONS = ("no", "fp16", "bf16")


def make_accelerator(device: str | None = None, mixed_precision: str = "no") -> Accelerator:
    """An accelerator for "cpu", or for the best device there is (None).

    >>> make_accelerator("cpu").device
    device(type='cpu')
    """
    if device not in (None, "cpu"):
        raise InvalidOption(
            f"device must be 'cpu' or None for the best there is, got {device!r}; "
            "choose among several GPUs with CUDA_VISIBLE_DEVICES"
        )
    check_name(mixed_precision, PRECISIONS, by="training", what="mixed_precision")
    try:
        return Accelerator(cpu=device == "cpu", mixed_precision=mixed_precision)
    except ValueError as error:  # accelerate's state belongs to the process and cannot be changed in it
        raise InvalidOption(
            f"device={device!r} with mixed_precision={mixed_precision!r} does not fit this machine, or "
            f"what was chosen earlier in this process; start a new one ({str(error).splitlines()[0]})"
        ) from None


class BatchShare(NamedTuple):
    """The rows of a batch that one process computes in one forward and backward pass.

    Attributes:
        kept: rows of kept samples.
        rest: rows of the other samples; None when the step does not use them.
        factor: what the loss of this share is multiplied by, so that the gradients of all shares add up to the
            gradient of the whole batch; None when the share is the whole batch.
    """

    kept: Tensor
    rest: Tensor | None
    factor: float | Tensor | None


class ProcessSharding:
    """Divides batches among the processes of a run and reduces values over them.

    Process r of p takes the rows r, r + p, r + 2p, … of a batch.

    Args:
        accelerator: knows the other processes.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.n_processes: int = accelerator.num_processes
        self.rank: int = accelerator.process_index

    def local_rows(self, rows: Tensor) -> Tensor:
        """This process's rows of a batch; never none, because all processes must take part in every step."""
        local = rows.to(self.accelerator.device)[self.rank :: self.n_processes]
        return local if len(local) else rows[:1].to(self.accelerator.device)

    def local_values(self, values: Tensor, rows: Tensor) -> Tensor:
        """This process's entries of values of the whole batch; zero for a process without rows of its own."""
        if self.rank >= len(rows):
            return torch.zeros_like(values[:1])
        return values[self.rank :: self.n_processes]

    def gather(self, local: Tensor, rows: Tensor) -> Tensor:
        """Values of the whole batch from those that each process has computed for its own rows."""
        if self.n_processes == 1:
            return local
        values = local.new_zeros((len(rows), *local.shape[1:]))
        if self.rank < len(rows):
            values[self.rank :: self.n_processes] = local
        return self.sum(values)

    def sum(self, values: Tensor) -> Tensor:
        """Sum over the processes."""
        total: Tensor = self.accelerator.reduce(values, reduction="sum")
        return total

    def shares(
        self, kept: Tensor, rest: Tensor | None, weight: Tensor | None, accumulate: int
    ) -> Iterator[BatchShare]:
        """This process's share of a batch in ``accumulate`` chunks.

        Gradients are averaged over processes and summed over chunks, which the factors make up for. ``weight`` is
        that of all samples, for steps whose loss is a weighted mean.
        """
        kept = kept.to(self.accelerator.device)
        rest = None if rest is None else rest.to(kept.device)
        if self.n_processes == 1 and accumulate == 1:
            yield BatchShare(kept, rest, None)
            return
        kept_chunks = split_evenly(self.local_rows(kept), accumulate)
        rest_chunks = None if rest is None else split_evenly(self.local_rows(rest), len(kept_chunks))
        for number, chunk in enumerate(kept_chunks):
            factor: float | Tensor = len(chunk) * self.n_processes / len(kept)
            if weight is not None:
                factor = weight[chunk].sum() * self.n_processes / weight[kept].sum()
            if self.rank >= len(kept):
                factor = 0.0  # the row that this process repeats must not count twice
            yield BatchShare(
                chunk, None if rest_chunks is None else rest_chunks[min(number, len(rest_chunks) - 1)], factor
            )

    @contextmanager
    def synchronised_buffers(self, modules: Sequence[nn.Module]) -> Iterator[None]:
        """Run an epoch, then give all processes the per-sample buffers that any of them has changed.

        A sample belongs to one process only in an epoch, so the changes of all processes add up.
        """
        if self.n_processes == 1:
            yield
            return
        copies = [{name: value.clone() for name, value in module.named_buffers()} for module in modules]
        yield
        for module, before in zip(modules, copies, strict=True):
            for name, value in module.named_buffers():
                if value.is_floating_point():
                    value.copy_(before[name] + self.sum(value - before[name]))
