"""A stage of a recipe, and the plan of one of its epochs. No torch here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from eigenclean.deprecation import RenamedAttribute, renamed_arguments
from eigenclean.errors import InvalidOption
from eigenclean.losses import LOSSES
from eigenclean.names import check_name
from eigenclean.train.component import ComponentSpec, check_fields
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.selectors import KeepAll, Selector, selector_from_dict
from eigenclean.train.steps import STEPS


@renamed_arguments(part="subset_size")
@dataclass(frozen=True)
class Stage:
    """Some epochs with the same selector, loss and step.

    Attributes:
        epochs: how many.
        select: chooses the samples to train on.
        loss: a name from `LOSSES` with its options.
        step: a name from `STEPS` with its options.
        refresh: the selection is made at the first epoch of the stage and every so many epochs after it.
        warm_up: the stage precedes the method's own selection; `Recipe.with_selector` keeps all samples in it.
        restart: begin with fresh networks and a fresh optimiser.
        optimiser: settings of this stage alone; None for those of the recipe.
        subset_size: select from, and train on, a random class-balanced subset of so many samples, drawn anew for
            every selection and network; None for all samples.
    """

    epochs: int
    select: Selector = field(default_factory=KeepAll)
    loss: ComponentSpec = field(default_factory=lambda: ComponentSpec("cross-entropy"))
    step: ComponentSpec = field(default_factory=lambda: ComponentSpec("supervised"))
    refresh: int = 1
    warm_up: bool = False
    restart: bool = False
    optimiser: Optimiser | None = None
    subset_size: int | None = None

    part = RenamedAttribute("subset_size")

    def __post_init__(self) -> None:
        for name in ("epochs", "refresh", *(["subset_size"] if self.subset_size is not None else [])):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InvalidOption(f"stage: {name} must be an integer of at least 1, got {getattr(self, name)!r}")
        check_name(self.loss.name, LOSSES, by="stage", what="loss")
        check_name(self.step.name, STEPS, by="stage", what="step")
        if self.select.scope == "batch" and not STEPS[self.step.name].supports_batch_selection:
            allowed = [name for name, entry in STEPS.items() if entry.supports_batch_selection]
            raise InvalidOption(
                f"stage: the selector {self.select.kind} chooses inside a batch, which the step {self.step.name} "
                f"cannot use; take one of {', '.join(allowed)}, or a selector that looks at all samples"
            )

    @property
    def uses_rest(self) -> bool:
        """Whether the step also trains on the samples that are not kept, without their labels."""
        return STEPS[self.step.name].uses_rest

    def scaled(self, factor: float, epochs: int) -> "Stage":
        """The stage in so many epochs, when the whole run is ``factor`` times as long."""
        return replace(
            self,
            epochs=epochs,
            select=self.select.scaled(factor),
            loss=_scale_options(self.loss, LOSSES[self.loss.name].epoch_options, factor),
            step=_scale_options(self.step, STEPS[self.step.name].epoch_options, factor),
            optimiser=None if self.optimiser is None else self.optimiser.scaled(factor),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Stage":
        """The stage that `to_dict` described; files of version 0.1 have ``part`` for ``subset_size``."""
        values = check_fields(record, (*(item.name for item in fields(cls)), "part"), by="stage")
        if "part" in values:
            values["subset_size"] = values.pop("part")
        readers: dict[str, Callable[[Any], Any]] = {
            "select": selector_from_dict,
            "loss": ComponentSpec.from_dict,
            "step": ComponentSpec.from_dict,
            "optimiser": lambda settings: None if settings is None else Optimiser.from_dict(settings),
        }
        return cls(**{name: readers[name](value) if name in readers else value for name, value in values.items()})


@dataclass(frozen=True)
class EpochPlan:
    """Settings of one epoch of a recipe.

    Attributes:
        epoch: counted from 1 over the whole recipe.
        stage: the stage it belongs to.
        stage_epoch: completed epochs of this stage.
        epochs_since_restart: counted from 1 since the networks were fresh; the learning rate follows it.
        optimiser: the settings of this epoch.
    """

    epoch: int
    stage: Stage
    stage_epoch: int
    epochs_since_restart: int
    optimiser: Optimiser

    @property
    def selects(self) -> bool:
        """Whether a new selection is made before this epoch."""
        return self.stage_epoch % self.stage.refresh == 0

    @property
    def lr(self) -> float:
        """Learning rate of this epoch."""
        return self.optimiser.lr_at(self.epochs_since_restart)


def _scale_options(spec: ComponentSpec, epoch_options: Sequence[str], factor: float) -> ComponentSpec:
    """The component with its options that count epochs multiplied by ``factor``, where they are given and not 0."""
    changed = {name: max(1, round(spec.options[name] * factor)) for name in epoch_options if spec.options.get(name)}
    return ComponentSpec(spec.name, {**spec.options, **changed}) if changed else spec
