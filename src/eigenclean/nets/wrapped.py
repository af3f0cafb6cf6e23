"""Any torch module as a network that shows its features."""

from typing import Any

from torch import Tensor, nn

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.names import check_name


class WrappedNet(nn.Module):
    """A module of the user's, made to return (features, logits).

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
        return self._returned(inputs) if self.feature_layer is None else self._overheard(inputs, self.feature_layer)

    def _returned(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        out = self.module(inputs)
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise InvalidData(
                f"net {type(self.module).__name__}: must return (features, logits), got {_described(out)}; "
                "or name the layer of the features with feature_layer"
            )
        return _checked(_flat(out[0]), out[1], len(inputs), by=type(self.module).__name__)

    def _overheard(self, inputs: Tensor, layer: str) -> tuple[Tensor, Tensor]:
        heard: list[Any] = []
        # Hooked for this call only: a hook that stayed would point to the old network in a copy.
        hook = self.module.get_submodule(layer).register_forward_hook(lambda _m, _i, out: heard.append(out))
        try:
            out = self.module(inputs)
        finally:
            hook.remove()
        logits = out[-1] if isinstance(out, tuple | list) and out else out
        if not heard or not isinstance(heard[-1], Tensor):
            got = _described(heard[-1]) if heard else "nothing, because it was not called"
            raise InvalidData(
                f"net {type(self.module).__name__}: the feature_layer {layer!r} must give a tensor, got {got}"
            )
        return _checked(_flat(heard[-1]), logits, len(inputs), by=type(self.module).__name__)


def _flat(features: Any) -> Any:
    if not isinstance(features, Tensor) or features.ndim <= 2:
        return features
    return features.mean(dim=(2, 3)) if features.ndim == 4 else features.flatten(1)


def _checked(features: Any, logits: Any, rows: int, *, by: str) -> tuple[Tensor, Tensor]:
    for what, value in (("features", features), ("logits", logits)):
        if not isinstance(value, Tensor) or value.ndim != 2 or len(value) != rows:
            raise InvalidData(
                f"net {by}: {what} must be one row for each of the {rows} inputs, got {_described(value)}"
            )
    return features, logits


def _described(value: Any) -> str:
    return f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
