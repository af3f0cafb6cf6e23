"""Losses give one value per sample. A new one is one file and one line in `LOSSES`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.losses.base import Loss

__all__ = ["LOSSES", "make_loss"]

# Where each loss lives. Names are known without torch; the loss itself is imported when it is built.
LOSSES: dict[str, tuple[str, str]] = {
    "cross-entropy": ("eigenclean.losses.cross_entropy", "CrossEntropy"),
    "confidence-penalty": ("eigenclean.losses.confidence_penalty", "ConfidencePenalty"),
    "bootstrap": ("eigenclean.losses.bootstrap", "Bootstrap"),
    "forward": ("eigenclean.losses.forward_correction", "Forward"),
    "gce": ("eigenclean.losses.gce", "GCE"),
    "sce": ("eigenclean.losses.sce", "SCE"),
    "elr": ("eigenclean.losses.elr", "ELR"),
    "cores2": ("eigenclean.losses.cores2", "Cores2"),
}


def make_loss(name: str, n_samples: int, n_classes: int, **options: Any) -> "Loss":
    """The loss of that name, ready for a data set of that size.

    >>> make_loss("cross-entropy", n_samples=100, n_classes=10)
    CrossEntropy()
    """
    check_name(name, LOSSES, by="loss", what="name")
    module, kind = LOSSES[name]
    made: type[Loss] = getattr(import_module(module), kind)
    for option in options:
        check_name(option, made.options, by=f"loss {name}", what="option")
    loss = made(**options)
    loss.prepare(n_samples, n_classes)
    return loss
