"""A training method as a value: it prints, compares, and goes to JSON and back. No torch here."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.train.component import checked
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.selectors import KeepAll, Selector, make_selector
from eigenclean.train.stage import EpochPlan, Stage

__all__ = ["EpochPlan", "Recipe", "Stage"]


@dataclass(frozen=True)
class Recipe:
    """A whole training method. Two recipes are equal when they do the same, whatever they are called.

    Attributes:
        name: what to call it.
        stages: one after the other.
        networks: how many are trained.
        exchange: each network learns from what the other one has selected.
        optimiser: settings of all stages that have none of their own; its epochs count from the last restart.
        net: the network it is meant for, a name from `NETS`; whoever trains may choose another.
        augment: how images are varied while they are learned, a name from `AUGMENTS`.
        scale: what images are standardised by: "measured" on the training images, or a name from `CONSTANTS`.

    >>> one = Recipe("mine", (Stage(2, warm_up=True), Stage(3, refresh=2)))
    >>> [plan.epoch for plan in one.plan() if plan.selects and not plan.stage.warm_up]
    [3, 5]
    >>> Recipe.from_dict(one.to_dict()) == one
    True
    """

    name: str = field(compare=False)
    stages: tuple[Stage, ...]
    networks: int = 1
    exchange: bool = False
    optimiser: Optimiser = field(default_factory=Optimiser)
    net: str = "mlp"
    augment: str = "none"
    scale: str = "measured"

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

    @property
    def divides(self) -> bool:
        """Whether samples that are not kept are learned from too, without their labels."""
        return any(stage.step.name == "mixmatch" for stage in self.stages)

    def plan(self) -> list[EpochPlan]:
        """What happens in each epoch, in order."""
        return list(self._turns())

    def with_selector(
        self, select: Selector | str, refresh: int | None = None, name: str | None = None
    ) -> "Recipe":
        """The same method with another selector (and perhaps another rhythm) after the warm-up.

        The name of a detector stands for the selector that `make_selector` makes of it. Warm-up
        stages keep everything: a selector that is active there belongs to the one replaced.
        """
        if isinstance(select, str):
            select = make_selector(select, soft=self.divides)
        changes: dict[str, Any] = {"select": select} if refresh is None else {"select": select, "refresh": refresh}
        stages = tuple(
            dataclasses.replace(stage, **({"select": KeepAll(), "refresh": 1} if stage.warm_up else changes))
            for stage in self.stages
        )
        return dataclasses.replace(self, stages=stages, name=name or self.name)

    def with_epochs(self, epochs: int) -> "Recipe":
        """The same method in so many epochs: stages and schedules shrink or grow in proportion."""
        if not isinstance(epochs, int) or epochs < len(self.stages):
            raise InvalidOption(
                f"recipe {self.name}: epochs must be at least {len(self.stages)}, one per stage, got {epochs!r}"
            )
        factor, ends, end = epochs / self.epochs, [0], 0
        for left, stage in zip(range(len(self.stages) - 1, -1, -1), self.stages, strict=True):
            end += stage.epochs
            ends.append(min(max(round(end * factor), ends[-1] + 1), epochs - left))
        stages = tuple(
            stage.scaled(factor, after - before)
            for stage, before, after in zip(self.stages, ends, ends[1:], strict=False)
        )
        return dataclasses.replace(self, stages=stages, optimiser=self.optimiser.scaled(factor))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        stages = [stage.to_dict() for stage in self.stages]
        return {**plain, "stages": stages, "optimiser": self.optimiser.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Recipe":
        """What `to_dict` made."""
        values = checked(record, tuple(one.name for one in fields(cls)), by="recipe")
        values["stages"] = tuple(Stage.from_dict(stage) for stage in values.get("stages", ()))
        values["optimiser"] = Optimiser.from_dict(values.get("optimiser", {}))
        return cls(**values)

    def _turns(self) -> Iterator[EpochPlan]:
        epoch = since_restart = 0
        for stage in self.stages:
            if stage.restart:
                since_restart = 0
            for age in range(stage.epochs):
                epoch, since_restart = epoch + 1, since_restart + 1
                yield EpochPlan(epoch, stage, age, since_restart, stage.optimiser or self.optimiser)
