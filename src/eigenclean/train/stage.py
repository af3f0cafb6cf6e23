"""A stage of a recipe, and one epoch of it. No torch here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.losses import LOSSES
from eigenclean.names import check_name
from eigenclean.train.component import ComponentSpec, checked
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.selectors import KeepAll, Selector, selector_from_dict
from eigenclean.train.steps import ONE_LOOK, STEPS

# Options of losses and steps that count epochs: they shrink and grow with the run.
_EPOCHS_IN = {"gce": ("start", "every"), "cores2": ("start", "ramp"), "mixmatch": ("ramp",)}


@dataclass(frozen=True)
class Stage:
    """Some epochs with the same selector, loss and step.

    Attributes:
        epochs: how many.
        select: who is learned from.
        loss: a name from `LOSSES` with its options.
        step: a name from `STEPS` with its options.
        refresh: the selection is made at the first epoch of the stage and every so many epochs after it.
        warm_up: the stage comes before the method's own selection; `Recipe.with_selector` keeps everything there.
        restart: begin with fresh networks and a fresh optimiser.
        optimiser: settings of this stage alone; None for those of the recipe.
        part: every selection is made among so many samples, drawn anew for each network with equally many of each
            given class, and only these are learned from; None for all.
    """

    epochs: int
    select: Selector = field(default_factory=KeepAll)
    loss: ComponentSpec = field(default_factory=lambda: ComponentSpec("cross-entropy"))
    step: ComponentSpec = field(default_factory=lambda: ComponentSpec("supervised"))
    refresh: int = 1
    warm_up: bool = False
    restart: bool = False
    optimiser: Optimiser | None = None
    part: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "refresh", *(["part"] if self.part is not None else [])):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InvalidOption(f"stage: {name} must be an integer of at least 1, got {getattr(self, name)!r}")
        check_name(self.loss.name, LOSSES, by="stage", what="loss")
        check_name(self.step.name, STEPS, by="stage", what="step")
        if self.select.scope == "batch" and self.step.name not in ONE_LOOK:
            raise InvalidOption(
                f"stage: the selector {self.select.kind} chooses inside a batch, which the step {self.step.name} "
                f"cannot use; take one of {', '.join(ONE_LOOK)}, or a selector that looks at all samples"
            )

    def scaled(self, factor: float, epochs: int) -> "Stage":
        """The stage in so many epochs, when the whole run is ``factor`` times as long."""
        own = None if self.optimiser is None else self.optimiser.scaled(factor)
        loss, step = _scaled(self.loss, factor), _scaled(self.step, factor)
        return replace(self, epochs=epochs, select=self.select.scaled(factor), loss=loss, step=step, optimiser=own)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in plain.items()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Stage":
        """What `to_dict` made."""
        values = checked(record, tuple(one.name for one in fields(cls)), by="stage")
        readers: dict[str, Callable[[Any], Any]] = {
            "select": selector_from_dict,
            "loss": ComponentSpec.from_dict,
            "step": ComponentSpec.from_dict,
            "optimiser": lambda settings: None if settings is None else Optimiser.from_dict(settings),
        }
        return cls(**{name: readers[name](value) if name in readers else value for name, value in values.items()})


@dataclass(frozen=True)
class EpochPlan:
    """One epoch of a plan.

    Attributes:
        epoch: counted from 1 over the whole recipe.
        stage: what to do.
        age: epochs of this stage that are over.
        since_restart: counted from 1 since the networks were fresh; the learning rate follows it.
        optimiser: the settings that hold.
    """

    epoch: int
    stage: Stage
    age: int
    since_restart: int
    optimiser: Optimiser

    @property
    def selects(self) -> bool:
        """Whether a new selection is made before this epoch."""
        return self.age % self.stage.refresh == 0

    @property
    def lr(self) -> float:
        """Learning rate of this epoch."""
        return self.optimiser.lr_at(self.since_restart)


def _scaled(part: ComponentSpec, factor: float) -> ComponentSpec:
    counted = [name for name in _EPOCHS_IN.get(part.name, ()) if part.options.get(name)]
    changed = {name: max(1, round(part.options[name] * factor)) for name in counted}
    return ComponentSpec(part.name, {**part.options, **changed}) if changed else part
