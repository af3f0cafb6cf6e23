"""What is remembered of single samples, when several processes share the work."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from accelerate import Accelerator  # type: ignore[import-untyped]
from torch import nn


@contextmanager
def together(accelerator: Accelerator, memories: Sequence[nn.Module]) -> Iterator[None]:
    """An epoch in which every process sees other samples; after it, all remember what any of them saw.

    A sample is seen by one process only, so the changes of all processes add up.
    """
    if accelerator.num_processes == 1:
        yield
        return
    kept = [{name: value.clone() for name, value in one.named_buffers()} for one in memories]
    yield
    for one, before in zip(memories, kept, strict=True):
        for name, value in one.named_buffers():
            if value.is_floating_point():
                value.copy_(before[name] + accelerator.reduce(value - before[name], reduction="sum"))
