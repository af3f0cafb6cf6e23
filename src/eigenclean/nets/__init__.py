"""Networks that return (features, logits). A new one is one file and one line in `NETS`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.nets.base import Net

__all__ = ["NETS", "make_net"]

# Where each network lives. Names are known without torch; the network itself is imported when it is built.
NETS: dict[str, tuple[str, str]] = {
    "linear": ("eigenclean.nets.linear", "Linear"),
    "mlp": ("eigenclean.nets.mlp", "MLP"),
}


def make_net(name: str, n_features: int, n_classes: int, **options: Any) -> "Net":
    """A freshly initialised network of that name.

    >>> make_net("mlp", 8, 3, hidden=[16]).n_outputs
    16
    >>> make_net("mpl", 8, 3)
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: net: name must be one of linear, mlp, got 'mpl'; did you mean 'mlp'?
    """
    check_name(name, NETS, by="net", what="name")
    module, kind = NETS[name]
    made: type[Net] = getattr(import_module(module), kind)
    for option in options:
        check_name(option, made.options, by=f"net {name}", what="option")
    return made(n_features, n_classes, **options)
