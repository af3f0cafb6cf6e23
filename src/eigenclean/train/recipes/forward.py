"""Forward correction: estimate the transition matrix, then train a fresh network with it (Patrini et al., 2017)."""

from typing import Any

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import resolve_preset
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.builders import recipe_of

_PRESETS: dict[str, dict[str, Any]] = {
    "cifar10": {"optimiser": {"lr": 0.1, "weight_decay": 1e-4, "gamma": 0.1}},
    "cifar100": {"optimiser": {"lr": 0.1, "weight_decay": 1e-3, "gamma": 0.1}},
}


def forward(preset: str = "small", discard: float | None = None, epochs: int | None = None) -> Recipe:
    """Train with cross-entropy, estimate the transition matrix, train a fresh network with the corrected loss.

    Args:
        preset: a name from `PRESETS`.
        discard: fraction of the most confident samples that the estimate ignores; by default 0.03 for up to ten
            classes and 0 for more.
        epochs: epochs of each of the two trainings.

    >>> [stage.loss.name for stage in forward().stages]
    ['cross-entropy', 'forward']
    """
    settings = resolve_preset(preset, _PRESETS, warm_up=1, epochs=epochs)
    stages = (
        Stage(settings.epochs, warm_up=True),
        Stage(settings.epochs, loss=ComponentSpec("forward", {"discard": discard}), restart=True),
    )
    return recipe_of("forward", settings, stages)
