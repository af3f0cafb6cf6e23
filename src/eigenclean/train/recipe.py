"""A training method as a value: it prints, compares, and goes to JSON and back. No torch here."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.losses import LOSSES
from eigenclean.names import check_name
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.part import Part, checked
from eigenclean.train.selectors import KeepAll, Selector, selector_from_dict
from eigenclean.train.steps import STEPS


@dataclass(frozen=True)
class Stage:
    """Some epochs with the same selector, loss and step.

    Attributes:
        epochs: how many.
        select: who is learned from.
        loss: a name from `LOSSES` with its options.
        step: a name from `STEPS` with its options.
        refresh: the selection is made at the first epoch of the stage and every so many epochs after it.
        warm_up: the stage comes before the method's own selection, and `Recipe.with_selector` leaves it alone.
        restart: begin with fresh networks and a fresh optimiser.
    """

    epochs: int
    select: Selector = field(default_factory=KeepAll)
    loss: Part = field(default_factory=lambda: Part("cross-entropy"))
    step: Part = field(default_factory=lambda: Part("supervised"))
    refresh: int = 1
    warm_up: bool = False
    restart: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "refresh"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InvalidOption(f"stage: {name} must be an integer of at least 1, got {getattr(self, name)!r}")
        check_name(self.loss.name, LOSSES, by="stage", what="loss")
        check_name(self.step.name, STEPS, by="stage", what="step")

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
            "loss": Part.from_dict,
            "step": Part.from_dict,
        }
        return cls(**{name: readers[name](value) if name in readers else value for name, value in values.items()})


@dataclass(frozen=True)
class Turn:
    """One epoch of a plan.

    Attributes:
        epoch: counted from 1 over the whole recipe.
        stage: what to do.
        age: epochs of this stage that are over.
        since_restart: counted from 1 since the networks were fresh; the learning rate follows it.
    """

    epoch: int
    stage: Stage
    age: int
    since_restart: int

    @property
    def selects(self) -> bool:
        """Whether a new selection is made before this epoch."""
        return self.age % self.stage.refresh == 0


@dataclass(frozen=True)
class Recipe:
    """A whole training method. Two recipes are equal when they do the same, whatever they are called.

    Attributes:
        name: what to call it.
        stages: one after the other.
        networks: how many are trained.
        exchange: each network learns from what the other one has selected.
        optimiser: settings that all stages share; its epochs count from the last restart.

    >>> one = Recipe("mine", (Stage(2, warm_up=True), Stage(3, refresh=2)))
    >>> [turn.epoch for turn in one.plan() if turn.selects and not turn.stage.warm_up]
    [3, 5]
    >>> Recipe.from_dict(one.to_dict()) == one
    True
    """

    name: str = field(compare=False)
    stages: tuple[Stage, ...]
    networks: int = 1
    exchange: bool = False
    optimiser: Optimiser = field(default_factory=Optimiser)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(self.stages))
        if not self.stages:
            raise InvalidOption(f"recipe {self.name}: there must be at least one stage, got none")
        if self.networks not in (1, 2) or (self.exchange and self.networks != 2):
            raise InvalidOption(
                f"recipe {self.name}: networks must be 1 or 2, and 2 for an exchange, got {self.networks}"
            )

    @property
    def epochs(self) -> int:
        """Epochs of all stages."""
        return sum(stage.epochs for stage in self.stages)

    def plan(self) -> list[Turn]:
        """What happens in each epoch, in order."""
        return list(self._turns())

    def with_selector(self, select: Selector, refresh: int | None = None, name: str | None = None) -> "Recipe":
        """The same method with another selector (and perhaps another rhythm) after the warm-up."""
        changes: dict[str, Any] = {"select": select} if refresh is None else {"select": select, "refresh": refresh}
        stages = tuple(stage if stage.warm_up else dataclasses.replace(stage, **changes) for stage in self.stages)
        return dataclasses.replace(self, stages=stages, name=name or self.name)

    def with_epochs(self, epochs: int) -> "Recipe":
        """The same method in so many epochs: stages and milestones shrink or grow in proportion."""
        if not isinstance(epochs, int) or epochs < len(self.stages):
            raise InvalidOption(
                f"recipe {self.name}: epochs must be at least {len(self.stages)}, one per stage, got {epochs!r}"
            )
        factor, ends, end = epochs / self.epochs, [0], 0
        for left, stage in zip(range(len(self.stages) - 1, -1, -1), self.stages, strict=True):
            end += stage.epochs
            ends.append(min(max(round(end * factor), ends[-1] + 1), epochs - left))
        stages = tuple(
            dataclasses.replace(stage, epochs=after - before)
            for stage, before, after in zip(self.stages, ends, ends[1:], strict=False)
        )
        milestones = tuple(max(1, round(milestone * factor)) for milestone in self.optimiser.milestones)
        return dataclasses.replace(
            self, stages=stages, optimiser=dataclasses.replace(self.optimiser, milestones=milestones)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "stages": [stage.to_dict() for stage in self.stages],
            "networks": self.networks,
            "exchange": self.exchange,
            "optimiser": self.optimiser.to_dict(),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Recipe":
        """What `to_dict` made."""
        values = checked(record, tuple(one.name for one in fields(cls)), by="recipe")
        values["stages"] = tuple(Stage.from_dict(stage) for stage in values.get("stages", ()))
        values["optimiser"] = Optimiser.from_dict(values.get("optimiser", {}))
        return cls(**values)

    def _turns(self) -> Iterator[Turn]:
        epoch = since_restart = 0
        for stage in self.stages:
            if stage.restart:
                since_restart = 0
            for age in range(stage.epochs):
                epoch, since_restart = epoch + 1, since_restart + 1
                yield Turn(epoch, stage, age, since_restart)
