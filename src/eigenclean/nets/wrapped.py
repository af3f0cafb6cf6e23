"""Any torch module as a network that returns its features."""

from typing import Any

from torch import Tensor, nn

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.names import check_name


class WrappedNet(nn.Module):
    """A module of the user, adapted to return (features, logits).

    Args:
        module: returns (features, logits), or, with a ``feature_layer``, logits alone.
        feature_layer: name of the submodule whose output is the feature, as in ``module.named_modules()``. Maps
            (n x channels x height x width) are averaged over their pixels, other shapes flattened.

    >>> import torch
    >>> module = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    >>> features, logits = WrappedNet(module, feature_layer="1")(torch.ones(2, 4))
    >>> features.shape, logits.shape
    (torch.Size([2, 6]), torch.Size([2, 3]))
    """

    def __init__(self, module: nn.Module, feature_layer: str | None = None) -> None:
        super().__init__()
        if not isinstance(module, nn.Module):
            raise InvalidOption(f"net: must be a torch.nn.Module, got {type(module).__name__}")
        if feature_layer is not None:
            layers = [name for name, _ in module.named_modules() if name]
            check_name(feature_layer, layers, by=f"net {type(module).__name__}", what="feature_layer")
        self.module = module
        self.feature_layer = feature_layer

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Features and logits of the module."""
        return (
            self._from_return_value(inputs)
            if self.feature_layer is None
            else self._from_hook(inputs, self.feature_layer)
        )

    def _from_return_value(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        out = self.module(inputs)
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise InvalidData(
                f"net {type(self.module).__name__}: must return (features, logits), got {_describe(out)}; "
                "or name the layer of the features with feature_layer"
            )
        return _check(_flat(out[0]), out[1], len(inputs), by=type(self.module).__name__)

    def _from_hook(self, inputs: Tensor, layer: str) -> tuple[Tensor, Tensor]:
        captured: list[Any] = []
        # The hook is removed after the call: in a deep copy it would still refer to the original network.
        hook = self.module.get_submodule(layer).register_forward_hook(lambda _m, _i, out: captured.append(out))
        try:
            out = self.module(inputs)
        finally:
            hook.remove()
        logits = out[-1] if isinstance(out, tuple | list) and out else out
        if not captured or not isinstance(captured[-1], Tensor):
            got = _describe(captured[-1]) if captured else "nothing, because it was not called"
            raise InvalidData(
                f"net {type(self.module).__name__}: the feature_layer {layer!r} must give a tensor, got {got}"
            )
        return _check(_flat(captured[-1]), logits, len(inputs), by=type(self.module).__name__)


def _flat(features: Any) -> Any:
    if not isinstance(features, Tensor) or features.ndim <= 2:
        return features
    return features.mean(dim=(2, 3)) if features.ndim == 4 else features.flatten(1)


def _check(features: Any, logits: Any, rows: int, *, by: str) -> tuple[Tensor, Tensor]:
    for what, value in (("features", features), ("logits", logits)):
        if not isinstance(value, Tensor) or value.ndim != 2 or len(value) != rows:
            raise InvalidData(
                f"net {by}: {what} must be one row for each of the {rows} inputs, got {_describe(value)}"
            )
    return features, logits


def _describe(value: Any) -> str:
    return f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
