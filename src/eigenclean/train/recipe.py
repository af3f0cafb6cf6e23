"""A training method as a value: it prints, compares, and goes to JSON and back. No torch here."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from eigenclean.deprecation import RenamedAttribute
from eigenclean.errors import InvalidOption
from eigenclean.train.component import check_fields
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.selectors import KeepAll, Selector, make_selector
from eigenclean.train.stage import EpochPlan, Stage

__all__ = ["EpochPlan", "Recipe", "Stage"]


@dataclass(frozen=True)
class Recipe:
    """A whole training method. Two recipes are equal when they do the same, whatever they are called.

    Attributes:
        name: what to call it.
        stages: carried out one after the other.
        networks: how many are trained.
        exchange: each network is trained on the selection of the other one.
        optimiser: settings of all stages that have none of their own; its epochs are counted from the last restart.
        net: the network it was published with, a name from `NETS`; another one can be chosen for a run.
        augment: random augmentation of training images, a name from `AUGMENTS`.
        scale: how images are standardised: "measured" on the training images, a name from `CONSTANTS`, or "unit"
            for pixels from 0 to 1.

    >>> mine = Recipe("mine", (Stage(2, warm_up=True), Stage(3, refresh=2)))
    >>> [plan.epoch for plan in mine.plan() if plan.selects and not plan.stage.warm_up]
    [3, 5]
    >>> Recipe.from_dict(mine.to_dict()) == mine
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

    divides = RenamedAttribute("is_semi_supervised")

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
    def is_semi_supervised(self) -> bool:
        """Whether some stage also trains on the samples that are not kept, without their labels."""
        return any(stage.uses_rest for stage in self.stages)

    def plan(self) -> list[EpochPlan]:
        """The plans of all epochs, in order."""
        plans: list[EpochPlan] = []
        epochs_since_restart = 0
        for stage in self.stages:
            if stage.restart:
                epochs_since_restart = 0
            for stage_epoch in range(stage.epochs):
                epochs_since_restart += 1
                optimiser = stage.optimiser or self.optimiser
                plans.append(EpochPlan(len(plans) + 1, stage, stage_epoch, epochs_since_restart, optimiser))
        return plans

    def with_selector(
        self, select: Selector | str, refresh: int | None = None, name: str | None = None
    ) -> "Recipe":
        """The same method with another selector (and perhaps another ``refresh``) after the warm-up.

        The name of a detector stands for the selector that `make_selector` makes of it. Warm-up
        stages keep everything: a selector that is active there belongs to the one replaced.
        """
        if isinstance(select, str):
            select = make_selector(select, soft=self.is_semi_supervised)
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
        for n_later, stage in zip(range(len(self.stages) - 1, -1, -1), self.stages, strict=True):
            end += stage.epochs
            ends.append(min(max(round(end * factor), ends[-1] + 1), epochs - n_later))
        stages = tuple(
            stage.scaled(factor, after - before)
            for stage, before, after in zip(self.stages, ends, ends[1:], strict=False)
        )
        return dataclasses.replace(self, stages=stages, optimiser=self.optimiser.scaled(factor))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        stages = [stage.to_dict() for stage in self.stages]
        return {**values, "stages": stages, "optimiser": self.optimiser.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Recipe":
        """The recipe that `to_dict` described."""
        values = check_fields(record, tuple(item.name for item in fields(cls)), by="recipe")
        values["stages"] = tuple(Stage.from_dict(stage) for stage in values.get("stages", ()))
        values["optimiser"] = Optimiser.from_dict(values.get("optimiser", {}))
        return cls(**values)
