"""Losses give one value per sample. A new one is one file and one entry in `LOSSES`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.losses.base import Loss

__all__ = ["LOSSES", "LossEntry", "make_loss"]


class LossEntry(NamedTuple):
    """Where a loss lives, and what recipes must know about it before torch is imported.

    Attributes:
        module: the module to import.
        class_name: the class in it.
        epoch_options: options that count epochs; they are rescaled with the length of the run.
    """

    module: str
    class_name: str
    epoch_options: tuple[str, ...] = ()


LOSSES: dict[str, LossEntry] = {
    "cross-entropy": LossEntry("eigenclean.losses.cross_entropy", "CrossEntropy"),
    "confidence-penalty": LossEntry("eigenclean.losses.confidence_penalty", "ConfidencePenalty"),
    "bootstrap": LossEntry("eigenclean.losses.bootstrap", "Bootstrap"),
    "forward": LossEntry("eigenclean.losses.forward_correction", "Forward"),
    "gce": LossEntry("eigenclean.losses.gce", "GCE", epoch_options=("start", "every")),
    "sce": LossEntry("eigenclean.losses.sce", "SCE"),
    "elr": LossEntry("eigenclean.losses.elr", "ELR"),
    "cores2": LossEntry("eigenclean.losses.cores2", "Cores2", epoch_options=("start", "ramp")),
}


def make_loss(name: str, n_samples: int, n_classes: int, **options: Any) -> "Loss":
    """The loss of that name, prepared for a data set of that size.

    >>> make_loss("cross-entropy", n_samples=100, n_classes=10)
    CrossEntropy()
    """
    check_name(name, LOSSES, by="loss", what="name")
    loss_class: type[Loss] = getattr(import_module(LOSSES[name].module), LOSSES[name].class_name)
    for option in options:
        check_name(option, loss_class.options, by=f"loss {name}", what="option")
    loss = loss_class(**options)
    loss.prepare(n_samples, n_classes)
    return loss
