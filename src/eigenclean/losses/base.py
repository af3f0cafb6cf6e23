"""The interface of losses, and the operations on logits and targets that they share."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.errors import InvalidData
from eigenclean.evidence import Evidence


class Loss(nn.Module):
    """A loss with one value per sample, so that selections and weights apply after it.

    Values that a loss stores about single samples are buffers made by `prepare`, indexed by row in the whole data
    set: they stay valid under any selection and go into checkpoints. They are written in training mode only, so
    evaluation on other data (``loss.eval()``) does not change them.

    Attributes:
        options: names of the options that `make_loss` accepts for it.
        needs: fields of `Evidence` that `estimate` needs from the networks trained so far; empty for most losses.
    """

    options: ClassVar[Sequence[str]] = ()
    needs: Sequence[str] = ()

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """Register per-sample buffers; called once, before the first batch. Most losses have none."""

    def estimate(self, evidence: Evidence) -> None:
        """Estimate parameters of the loss; called once after `prepare` if an earlier stage has trained networks."""

    def needs_before(self, epoch: int) -> Sequence[str]:
        """Fields of `Evidence` that `refresh` needs before this epoch, counted from 1; most losses need none."""
        return ()

    def refresh(self, evidence: Evidence) -> None:
        """Update what is stored about the samples; ``evidence`` is of the best network so far."""

    def count_labels(self, counts: Tensor) -> None:
        """Learn how many labels of each class were trained on in the last epoch; before the first, of all samples.

        Called before every `begin_epoch`; most losses do not use it.
        """

    def begin_epoch(self, epoch: int) -> None:
        """Update schedules; called before the first batch of every epoch, counted from 1."""

    @abstractmethod
    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample.

        Args:
            logits: m x K.
            target: m class numbers, or m x K probabilities.
            index: row of each sample in the whole data set.
        """


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
