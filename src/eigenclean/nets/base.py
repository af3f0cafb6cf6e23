"""The interface of networks: a module that returns its features beside its logits."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor, nn

from eigenclean.nets.shapes import Shape


class Net(nn.Module):
    """A network that returns (features, logits): detectors use the features, losses the logits.

    ``net.head(features)`` are the logits.

    Attributes:
        options: names of the options that `make_net` accepts for it.
        takes_images: whether one input is channels x height x width; otherwise it is flattened to a vector.
        standardises: whether it wants pixels from 0 to 1 and standardises them itself.
        n_outputs: number of features.
    """

    options: ClassVar[Sequence[str]] = ()
    takes_images: ClassVar[bool] = False
    standardises: ClassVar[bool] = False
    n_outputs: int

    def __init__(self, n_features: Shape, n_classes: int, **options: Any) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Features before the last layer, and logits after it."""
