"""The best epoch so far, by the accuracy on samples that are not learned from."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from torch import Tensor, nn


class Best:
    """Remembers the networks of the best epoch; of equal ones, the later.

    Attributes:
        epoch: which one; None when there are no validation samples.
        accuracy: how good it was.
        states: the weights of each network then.
    """

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.accuracy = -1.0
        self.states: list[dict[str, Tensor]] = []

    def see(self, record: Mapping[str, Any], networks: Sequence[nn.Module]) -> None:
        """Take over the networks if this epoch is the best so far."""
        accuracy = record.get("val_accuracy")
        if accuracy is not None and accuracy >= self.accuracy:
            self.epoch, self.accuracy = record["epoch"], accuracy
            self.states = [
                {name: value.detach().cpu().clone() for name, value in net.state_dict().items()} for net in networks
            ]

    def networks(self, last: Sequence[nn.Module]) -> list[nn.Module]:
        """The networks of the best epoch; without validation samples, the last ones."""
        if not self.states:
            return list(last)
        made = [deepcopy(net) for net in last]
        for net, state in zip(made, self.states, strict=True):
            net.load_state_dict(state)
        return made
