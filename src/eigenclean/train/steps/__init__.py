"""Steps turn a batch into the loss to minimise. A new one is one file and one entry in `STEPS`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.train.steps.base import Step

__all__ = ["STEPS", "StepEntry", "make_step"]


class StepEntry(NamedTuple):
    """Where a step lives, and what recipes must know about it before torch is imported.

    Attributes:
        module: the module to import.
        class_name: the class in it.
        epoch_options: options that count epochs; they are rescaled with the length of the run.
        uses_rest: whether it also trains on the samples that are not kept, without their labels.
        supports_batch_selection: whether a selector may pick samples inside a batch; such a step calls the network
            once, on the batch as it is.
    """

    module: str
    class_name: str
    epoch_options: tuple[str, ...] = ()
    uses_rest: bool = False
    supports_batch_selection: bool = False


STEPS: dict[str, StepEntry] = {
    "supervised": StepEntry("eigenclean.train.steps.supervised", "Supervised", supports_batch_selection=True),
    "mixmatch": StepEntry("eigenclean.train.steps.mixmatch", "MixMatch", epoch_options=("ramp",), uses_rest=True),
    "mixup": StepEntry("eigenclean.train.steps.mixing", "MixUp"),
}


def make_step(name: str, **options: Any) -> "Step":
    """The step of that name.

    >>> make_step("supervised")
    Supervised()
    """
    check_name(name, STEPS, by="step", what="name")
    step_class: type[Step] = getattr(import_module(STEPS[name].module), STEPS[name].class_name)
    for option in options:
        check_name(option, getattr(step_class, "__dataclass_fields__", ()), by=f"step {name}", what="option")
    return step_class(**options)
