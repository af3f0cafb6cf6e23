"""Settings of the optimiser and its schedule as a value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train.component import check_fields

OPTIMISERS = ("adam", "adamw", "sgd")


@dataclass(frozen=True)
class Optimiser:
    """Settings of the optimiser. Epochs are counted from 1 since the networks were fresh.

    Attributes:
        name: "sgd", "adam" or "adamw".
        lr: learning rate of the first epoch.
        momentum: of SGD; Adam and AdamW take it as their first beta.
        weight_decay: coefficient of the L2 penalty (SGD, Adam) or of the decoupled decay (AdamW).
        milestones: the learning rate is multiplied by ``gamma`` after each of these epochs.
        gamma: that factor.
        fade: two epochs between which the learning rate decays linearly to 0; None for no decay.
        late_momentum: the momentum during that decay; None for no change.
        batch_size: samples per step.
        accumulate: number of chunks in which a batch goes through the network, for batches that are too large for
            the memory; selectors that choose inside a batch need it in one.
        backbone: the learning rate of all layers but the last is multiplied by it, for networks that are
            pretrained; with 0 the last layer alone is trained, and the others are as in evaluation.

    >>> Optimiser(lr=1.0, milestones=(40, 80), gamma=0.5).lr_at(41)
    0.5
    >>> [Optimiser(lr=1.0, fade=(2, 6)).lr_at(epoch) for epoch in (1, 2, 3, 4, 5, 6)]
    [1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
    """

    name: str = "sgd"
    lr: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 1e-3
    milestones: tuple[int, ...] = ()
    gamma: float = 0.1
    fade: tuple[int, int] | None = None
    late_momentum: float | None = None
    batch_size: int = 128
    accumulate: int = 1
    backbone: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "milestones", tuple(self.milestones))
        object.__setattr__(self, "fade", None if self.fade is None else tuple(self.fade))
        check_name(self.name, OPTIMISERS, by="optimiser", what="name")
        if not self.lr > 0:
            raise InvalidOption(f"optimiser: lr must be above 0, got {self.lr}")
        for name in ("momentum", "late_momentum"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                raise InvalidOption(f"optimiser: {name} must be from 0 to below 1, got {value}")
        if not self.weight_decay >= 0:
            raise InvalidOption(f"optimiser: weight_decay must be 0 or more, got {self.weight_decay}")
        if not 0 <= self.backbone <= 1:
            raise InvalidOption(f"optimiser: backbone must be from 0 to 1, got {self.backbone}")
        if self.fade is not None and not (len(self.fade) == 2 and 0 <= self.fade[0] < self.fade[1]):
            raise InvalidOption(f"optimiser: fade must be two epochs, the first before the second, got {self.fade}")
        for name in ("batch_size", "accumulate"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"optimiser: {name} must be at least 1, got {getattr(self, name)}")

    def lr_at(self, epoch: int) -> float:
        """Learning rate of that epoch; a function of the epoch, so that a resumed run needs no scheduler state."""
        lr = float(self.lr * self.gamma ** sum(epoch > milestone for milestone in self.milestones))
        if self.fade is None or epoch <= self.fade[0]:
            return lr
        start, end = self.fade
        return lr * max(end - epoch + 1, 0) / (end - start)

    def momentum_at(self, epoch: int) -> float:
        """Momentum of that epoch."""
        decaying = self.fade is not None and epoch > self.fade[0]
        return self.late_momentum if decaying and self.late_momentum is not None else self.momentum

    def scaled(self, factor: float) -> "Optimiser":
        """The same settings for a run that is so many times as long."""
        milestones = tuple(max(1, round(milestone * factor)) for milestone in self.milestones)
        if self.fade is None:
            return replace(self, milestones=milestones)
        start = round(self.fade[0] * factor)
        return replace(self, milestones=milestones, fade=(start, max(start + 1, round(self.fade[1] * factor))))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        fade = None if self.fade is None else list(self.fade)
        return {**asdict(self), "milestones": list(self.milestones), "fade": fade}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Optimiser":
        """The settings that `to_dict` described."""
        return cls(**check_fields(record, tuple(field.name for field in fields(cls)), by="optimiser"))
