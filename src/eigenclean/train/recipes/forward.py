"""Forward correction: learn how labels get wrong, then train anew with that knowledge (Patrini et al., 2017)."""

from typing import Any

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import choose
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.frame import assembled

_OWN: dict[str, dict[str, Any]] = {
    "cifar10": {"optimiser": {"lr": 0.1, "weight_decay": 1e-4, "gamma": 0.1}},
    "cifar100": {"optimiser": {"lr": 0.1, "weight_decay": 1e-3, "gamma": 0.1}},
}


def forward(preset: str = "small", discard: float | None = None, epochs: int | None = None) -> Recipe:
    """Cross-entropy first; its network estimates the transition matrix that a fresh one is trained with.

    Args:
        preset: a name from `PRESETS`.
        discard: share of the surest samples that the estimate passes over; by default 0.03 for up to ten
            classes and 0 for more.
        epochs: of each of the two trainings.

    >>> [stage.loss.name for stage in forward().stages]
    ['cross-entropy', 'forward']
    """
    chosen = choose(preset, _OWN, warm_up=1, epochs=epochs)
    stages = (
        Stage(chosen.epochs, warm_up=True),
        Stage(chosen.epochs, loss=ComponentSpec("forward", {"discard": discard}), restart=True),
    )
    return assembled("forward", chosen, stages)
