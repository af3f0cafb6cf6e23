"""The device that encoders run on, and their precision."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from eigenclean.errors import InvalidOption

if TYPE_CHECKING:
    import torch


def choose_device(name: str | None = None) -> "torch.device":
    """The device of that name, or the fastest available one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    import torch

    if name is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InvalidOption(
            f"device must be cpu, cuda, cuda:1, mps, … and be there, got {name!r} ({str(error).splitlines()[0]})"
        ) from None
    return device


def half_precision(device: "torch.device", half: bool) -> AbstractContextManager[object]:
    """Inside the block, networks compute with 16 bits where that is safe: bfloat16 on processors, else float16."""
    import torch

    if not half:
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16 if device.type == "cpu" else torch.float16)
