"""How clearly each given label has won so far, noted while it is learned: AUM's history."""

import torch
from torch import Tensor, nn

from eigenclean.arrays import Float64s
from eigenclean.train.data.pool import as_doubles


class MarginHistory(nn.Module):
    """The mean, over the epochs in which a sample was learned, of its label's logit minus the largest other.

    The logits are those of the training passes themselves, so the history costs no pass of its own. Buffers by
    original index: they go into checkpoints, and several processes add up what they saw.

    >>> history = MarginHistory(2)
    >>> for logit in (3.0, 1.0):
    ...     history.add(torch.tensor([[0.0, logit]]), torch.tensor([1]), rows=torch.tensor([0]))
    >>> history.mean()  # the second sample was never seen
    array([2., 0.])
    """

    total: Tensor
    count: Tensor

    def __init__(self, n_samples: int) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(n_samples))
        self.register_buffer("count", torch.zeros(n_samples))

    def add(self, logits: Tensor, codes: Tensor, rows: Tensor) -> None:
        """Note a batch: the logits of these rows, and the class numbers of their given labels."""
        own = logits.detach().float()
        given = own.gather(1, codes[:, None]).squeeze(1)
        others = own.scatter(1, codes[:, None], -torch.inf).amax(dim=1)
        self.total[rows] += given - others
        self.count[rows] += 1

    def mean(self) -> Float64s:
        """Of each sample; 0 for those that were never learned from."""
        return as_doubles(self.total / self.count.clamp(min=1))
