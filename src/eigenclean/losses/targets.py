"""Shared operations of the losses on logits and targets; targets are class numbers or probabilities."""

import torch
from torch import Tensor
from torch.nn import functional

from eigenclean.errors import InvalidData


def log_probabilities(logits: Tensor) -> Tensor:
    """Logarithms of the softmax in at least single precision, because half precision overflows.

    >>> log_probabilities(torch.tensor([[0.0, 1000.0]], dtype=torch.float16))
    tensor([[-1000.,     0.]])
    """
    logits = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    return functional.log_softmax(logits, dim=1)


def expected(values: Tensor, target: Tensor) -> Tensor:
    """The value of each sample's target class; for probabilities, the expected value over the classes.

    >>> values = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    >>> expected(values, torch.tensor([1, 0])), expected(values, torch.tensor([[0.0, 1.0], [0.5, 0.5]]))
    (tensor([2., 3.]), tensor([2., 4.]))
    """
    if is_soft(values, target):
        return (values * target.to(values.dtype)).sum(dim=1)
    return values.gather(1, target[:, None]).squeeze(1)


def probabilities(values: Tensor, target: Tensor) -> Tensor:
    """The target as m x K probabilities; class numbers become one-hot rows. ``values`` are the m x K logits.

    >>> probabilities(torch.zeros(1, 3), torch.tensor([2]))
    tensor([[0., 0., 1.]])
    """
    if is_soft(values, target):
        return target.to(values.dtype)
    return functional.one_hot(target, values.shape[1]).to(values.dtype)


def is_soft(values: Tensor, target: Tensor) -> bool:
    """Whether the target holds probabilities; `InvalidData` when it is neither these nor class numbers."""
    if target.is_floating_point():
        if target.shape == values.shape:
            return True
    elif target.dtype == torch.int64 and target.shape == values.shape[:1]:
        return False
    m, k = values.shape
    raise InvalidData(
        f"loss: target must be {m} class numbers (int64) or {m} x {k} probabilities, "
        f"got shape {tuple(target.shape)} of {str(target.dtype).removeprefix('torch.')}"
    )
