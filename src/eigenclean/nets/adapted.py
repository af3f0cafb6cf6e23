"""A module that returns logits alone, as a network: its features are the input of its last linear layer."""

from typing import Any

import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidData, InvalidOption


class FeaturesOfLastLayer(nn.Module):
    """Returns (features, logits) of a module that returns logits.

    Args:
        module: returns logits, n x K.
        layer: name of its last linear layer; what goes into it are the features.
    """

    def __init__(self, module: nn.Module, layer: str) -> None:
        super().__init__()
        self.module, self.layer = module, layer

    @property
    def head(self) -> nn.Module:  # a property, not a submodule: its weights would be saved twice
        """The last linear layer."""
        return self.module.get_submodule(self.layer)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Features and logits."""
        captured: list[Tensor] = []
        # Removed after the call: in a deep copy the hook would still refer to the original network.
        hook = self.head.register_forward_pre_hook(lambda _module, values: captured.append(values[0]))
        try:
            logits = self.module(inputs)
        finally:
            hook.remove()
        return captured[-1].flatten(1), logits


def adapted(net: Any, shape: int | tuple[int, ...], n_classes: int) -> nn.Module:
    """The network, wrapped if it returns one tensor; one sentence for what cannot be trained.

    >>> module = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    >>> features, logits = adapted(module, 4, 3)(torch.ones(2, 4))
    >>> features.shape, logits.shape
    (torch.Size([2, 6]), torch.Size([2, 3]))
    """
    if not isinstance(net, nn.Module):
        raise InvalidOption(f"net: the function must return a torch module, got {type(net).__name__}")
    name, size = type(net).__name__, (shape,) if isinstance(shape, int) else shape
    was_training = net.training
    try:
        with torch.no_grad():
            out = net.eval()(torch.zeros(2, *size))
    except (RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else repr(error)
        raise InvalidOption(
            f"net {name}: cannot be called with 2 inputs of shape {' x '.join(map(str, size))}: {reason}"
        ) from None
    finally:
        net.train(was_training)
    if isinstance(out, tuple | list) and len(out) == 2:
        _check_logits(out[1], n_classes, name)
        return net
    _check_logits(out, n_classes, name)
    layers = [layer for layer, module in net.named_modules() if isinstance(module, nn.Linear) and layer]
    if not layers:
        raise InvalidOption(f"net {name}: returns one tensor and has no linear layer; return (features, logits)")
    return FeaturesOfLastLayer(net, layers[-1])


def _check_logits(logits: Any, n_classes: int, name: str) -> None:
    if not isinstance(logits, Tensor) or logits.ndim != 2 or logits.shape[1] != n_classes:
        got = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
        raise InvalidData(
            f"net {name}: must return (features, logits), or logits alone, with a column for each of the "
            f"{n_classes} classes, got {got}"
        )
