"""Presets: how long and how fast to train on a kind of data."""

from dataclasses import dataclass

from eigenclean.train.optimiser import Optimiser


@dataclass(frozen=True)
class Preset:
    """The numbers that recipes share.

    Attributes:
        warm_up: epochs on all samples, before the first selection.
        epochs: epochs in all.
        refresh: epochs from one selection to the next.
        optimiser: settings of the optimiser.
    """

    warm_up: int
    epochs: int
    refresh: int
    optimiser: Optimiser


PRESETS: dict[str, Preset] = {
    # Feature vectors and a small network: seconds on a laptop. AdamW asks for no tuning to the scale of the data;
    # ten epochs are enough to learn the classes and, at usual sizes, too few to learn the errors by heart.
    "small": Preset(10, 30, 5, Optimiser("adamw", lr=1e-3, momentum=0.9, weight_decay=1e-2, batch_size=128)),
}
