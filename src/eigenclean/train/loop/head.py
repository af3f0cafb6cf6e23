"""The last layer of a network and everything before it, which may be trained at another rate or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from eigenclean.errors import InvalidOption


def last_layer(net: nn.Module) -> nn.Module:
    """The module ``head`` of the network, or else its last linear layer.

    >>> last_layer(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)))
    Linear(in_features=6, out_features=3, bias=True)
    """
    head = getattr(net, "head", None)
    if isinstance(head, nn.Module):
        return head
    linear = [module for module in net.modules() if isinstance(module, nn.Linear)]
    if not linear:
        raise InvalidOption(
            f"net {type(net).__name__}: has no linear layer to train at another rate, so backbone must be 1"
        )
    return linear[-1]


def split_parameters(net: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The parameters before the last layer, and those of the last layer."""
    head = list(last_layer(net).parameters())
    known = {id(parameter) for parameter in head}
    return [parameter for parameter in net.parameters() if id(parameter) not in known], head


@contextmanager
def training_mode(net: nn.Module, *, backbone: bool, gradients: bool = False) -> Iterator[None]:
    """The network in training mode; without the ``backbone`` only its last layer is, as it was trained before.

    Normalisation layers then keep their statistics, and no gradients are computed for what does not change, unless
    ``gradients`` are wanted because several processes exchange them.
    """
    net.train()
    if backbone:
        yield
        return
    net.eval()
    last_layer(net).train()
    frozen = [] if gradients else [parameter for parameter in split_parameters(net)[0] if parameter.requires_grad]
    for parameter in frozen:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in frozen:
            parameter.requires_grad_(True)
