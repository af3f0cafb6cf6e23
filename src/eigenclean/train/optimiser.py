"""Settings of the optimiser as a value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train.part import checked

OPTIMISERS = ("adamw", "sgd")


@dataclass(frozen=True)
class Optimiser:
    """How the weights move.

    Attributes:
        name: "sgd" or "adamw".
        lr: learning rate of the first epoch.
        momentum: of SGD; AdamW takes it as its first beta.
        weight_decay: pull towards zero.
        milestones: the learning rate is multiplied by ``gamma`` after each of these epochs.
        gamma: that factor.
        batch_size: samples per step.

    >>> Optimiser(lr=1.0, milestones=(40, 80), gamma=0.5).lr_at(41)
    0.5
    """

    name: str = "sgd"
    lr: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 1e-3
    milestones: tuple[int, ...] = ()
    gamma: float = 0.1
    batch_size: int = 128

    def __post_init__(self) -> None:
        object.__setattr__(self, "milestones", tuple(self.milestones))
        check_name(self.name, OPTIMISERS, by="optimiser", what="name")
        if not self.lr > 0:
            raise InvalidOption(f"optimiser: lr must be above 0, got {self.lr}")
        if not 0 <= self.momentum < 1:
            raise InvalidOption(f"optimiser: momentum must be from 0 to below 1, got {self.momentum}")
        if not self.weight_decay >= 0:
            raise InvalidOption(f"optimiser: weight_decay must be 0 or more, got {self.weight_decay}")
        if self.batch_size < 1:
            raise InvalidOption(f"optimiser: batch_size must be at least 1, got {self.batch_size}")

    def lr_at(self, epoch: int) -> float:
        """Learning rate of that epoch, counted from 1; a function, so that a resumed run needs no scheduler."""
        return float(self.lr * self.gamma ** sum(epoch > milestone for milestone in self.milestones))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "milestones": list(self.milestones)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Optimiser":
        """What `to_dict` made."""
        return cls(**checked(record, tuple(field.name for field in fields(cls)), by="optimiser"))
