"""Steps turn a batch into the number to descend. A new one is one file and one line in `STEPS`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.train.steps.base import Step

__all__ = ["ONE_LOOK", "STEPS", "make_step"]

# Where each step lives. Names are known without torch; the step itself is imported when it is built.
STEPS: dict[str, tuple[str, str]] = {
    "supervised": ("eigenclean.train.steps.supervised", "Supervised"),
    "mixmatch": ("eigenclean.train.steps.mixmatch", "MixMatch"),
    "mixup": ("eigenclean.train.steps.mixup", "MixUp"),
}
ONE_LOOK = ("supervised",)  # steps that ask the network once, about the batch as it is


def make_step(name: str, **options: Any) -> "Step":
    """The step of that name.

    >>> make_step("supervised")
    Supervised()
    """
    check_name(name, STEPS, by="step", what="name")
    module, kind = STEPS[name]
    made: type[Step] = getattr(import_module(module), kind)
    for option in options:
        check_name(option, getattr(made, "__dataclass_fields__", ()), by=f"step {name}", what="option")
    return made(**options)
