"""What is recorded while networks train: sums of an epoch, margins of each sample, the best epoch so far."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from eigenclean.arrays import Float64s
from eigenclean.train.data.pool import as_doubles
from eigenclean.train.steps.base import StepResult


class EpochMetrics:
    """Losses and predictions of one network in one epoch.

    They stay on the device until the epoch is over: reading a number after each batch would make the device wait.

    >>> metrics = EpochMetrics()
    >>> metrics.add(StepResult(torch.tensor(0.5), torch.eye(2)), rows=torch.tensor([0, 2]))
    >>> metrics.sums(codes=torch.tensor([0, 1, 0]))  # loss, correct predictions, samples
    tensor([1., 1., 2.], dtype=torch.float64)
    """

    def __init__(self) -> None:
        self._losses: list[Tensor] = []
        self._rows: list[Tensor] = []
        self._predictions: list[Tensor] = []

    def add(self, result: StepResult, rows: Tensor) -> None:
        """Add the result of one batch of these rows."""
        self._losses.append(result.loss.detach())
        self._rows.append(rows)
        if result.logits is not None:
            self._predictions.append(result.logits.detach().argmax(dim=1))

    def sums(self, codes: Tensor) -> Tensor:
        """Sum of the losses, number of predictions that agree with the given labels, number of samples."""
        if not self._losses:  # a batch selector kept nothing in the whole epoch
            return torch.zeros(3, dtype=torch.float64, device=codes.device)
        losses, rows = torch.stack(self._losses).double(), torch.cat(self._rows)
        sizes = torch.tensor([len(batch) for batch in self._rows], dtype=torch.float64, device=losses.device)
        predictions = torch.cat(self._predictions) if self._predictions else torch.full_like(rows, -1)
        correct = (predictions == codes[rows]).sum().double()
        return torch.stack([losses @ sizes, correct, sizes.sum()])


class MarginHistory(nn.Module):
    """AUM's statistic: the mean margin of each given label over the epochs in which its sample was trained on.

    The margin is the logit of the given label minus the largest other logit. The logits are those of the training
    passes themselves, so the history costs no forward pass of its own. The sums are buffers indexed by row: they
    go into checkpoints, and several processes add them up.

    >>> history = MarginHistory(2)
    >>> for logit in (3.0, 1.0):
    ...     history.add(torch.tensor([[0.0, logit]]), torch.tensor([1]), rows=torch.tensor([0]))
    >>> history.mean()  # the second sample was never trained on
    array([2., 0.])
    """

    total: Tensor
    count: Tensor

    def __init__(self, n_samples: int) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(n_samples))
        self.register_buffer("count", torch.zeros(n_samples))

    def add(self, logits: Tensor, codes: Tensor, rows: Tensor) -> None:
        """Add a batch: the logits of these rows, and the class numbers of their given labels."""
        logits = logits.detach().float()
        given = logits.gather(1, codes[:, None]).squeeze(1)
        largest_other = logits.scatter(1, codes[:, None], -torch.inf).amax(dim=1)
        self.total[rows] += given - largest_other
        self.count[rows] += 1

    def mean(self) -> Float64s:
        """Mean margin of each sample; 0 for those that were never trained on."""
        return as_doubles(self.total / self.count.clamp(min=1))


class LowestLoss:
    """The weights of each network in the epoch with its lowest validation loss; of equal ones, the earlier.

    Attributes:
        losses: the lowest loss of each network.
        weights: its weights in that epoch, on the CPU.
    """

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.weights: list[dict[str, Tensor]] = []

    def update(self, losses: Sequence[float], networks: Sequence[nn.Module]) -> None:
        """Copy the weights of the networks whose loss is the lowest so far."""
        if not self.losses:
            self.losses, self.weights = [float("inf")] * len(networks), [{} for _ in networks]
        for number, (loss, net) in enumerate(zip(losses, networks, strict=True)):
            if loss < self.losses[number]:
                self.losses[number], self.weights[number] = loss, _copied_weights(net)


class BestEpoch:
    """The weights of the epoch with the highest validation accuracy; of equal ones, the later.

    Attributes:
        epoch: its number; None without validation samples.
        accuracy: its validation accuracy.
        weights: the weights of each network in that epoch, on the CPU.
    """

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.accuracy = -1.0
        self.weights: list[dict[str, Tensor]] = []

    def update(self, record: Mapping[str, Any], networks: Sequence[nn.Module]) -> None:
        """Copy the weights of the networks if the epoch of this record is the best so far."""
        accuracy = record.get("val_accuracy")
        if accuracy is not None and accuracy >= self.accuracy:
            self.epoch, self.accuracy = record["epoch"], accuracy
            self.weights = [_copied_weights(net) for net in networks]

    def networks(self, last: Sequence[nn.Module]) -> list[nn.Module]:
        """Copies of the ``last`` networks with the weights of the best epoch; without validation, those given."""
        return with_weights(last, self.weights)


def with_weights(networks: Sequence[nn.Module], weights: Sequence[Mapping[str, Tensor]]) -> list[nn.Module]:
    """Copies of the networks with these weights; without any, the networks themselves."""
    if not weights:
        return list(networks)
    copies = [deepcopy(net) for net in networks]
    for net, values in zip(copies, weights, strict=True):
        net.load_state_dict(values)
    return copies


def _copied_weights(net: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in net.state_dict().items()}
