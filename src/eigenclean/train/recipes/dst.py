"""DST, reconstructed: given labels, predicted labels, or a mixture of both as targets.

No code of the method (arXiv 2103.00813) is public; schedule and networks are those of DivideMix, so its results may
differ from the published ones.
"""

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import resolve_preset
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.builders import recipe_of
from eigenclean.train.recipes.dividemix import DIVIDEMIX_PRESETS, warm_up_component
from eigenclean.train.selectors import TwoLosses


def dst(
    preset: str = "small",
    threshold: float = 0.5,
    warm_up_loss: str | None = None,
    warm_up: int | None = None,
    epochs: int | None = None,
) -> Recipe:
    """Two networks; each is trained with MixUp on targets derived from the losses of the other.

    Args:
        preset: a name from `PRESETS`.
        threshold: a given or predicted label is taken when its posterior is above it.
        warm_up_loss: "confidence-penalty" for asymmetric noise.
        warm_up: epochs before the first division.
        epochs: total number of epochs.

    >>> dst().stages[1].step
    ComponentSpec('mixup')
    """
    settings = resolve_preset(preset, DIVIDEMIX_PRESETS, warm_up=warm_up, epochs=epochs)
    stages = (
        Stage(settings.warm_up, loss=warm_up_component(preset, warm_up_loss), warm_up=True),
        Stage(
            settings.epochs - settings.warm_up,
            TwoLosses(threshold),
            step=ComponentSpec("mixup"),
            refresh=settings.refresh,
        ),
    )
    return recipe_of("dst", settings, stages, networks=2)
