"""Fine-tuning a pretrained network on judged labels: the last layer first, then everything at a low rate."""

from dataclasses import replace

from eigenclean.train.presets import resolve_preset
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.builders import recipe_of
from eigenclean.train.selectors import FromDetector

_ONCE = 10_000  # epochs from one selection to the next: labels are judged when a stage begins, and not again
# Features that the network has before it is trained did not see the labels, so they are judged like any others.
_JUDGED = FromDetector("judge", {"views": "linear", "n_repeats": 1}, learn_from="all", soft=True)


def finetune(preset: str = "finetune", warm_up: int | None = None, epochs: int | None = None) -> Recipe:
    """Judge the labels by pretrained features, train the last layer on what is kept, then the whole network.

    The order is that of TURN (Ahn et al., 2023): the data are cleaned before the network is tuned, because then it
    learns wrong labels by heart. While the last layer is trained, the features stay as they are, so that both
    stages keep the same samples, weighted by the probability that their labels are right.

    Args:
        preset: a name from `PRESETS`; "finetune" trains the bundled image encoder.
        warm_up: epochs of the last layer alone.
        epochs: total number of epochs.

    >>> [(stage.epochs, (stage.optimiser or finetune().optimiser).backbone) for stage in finetune().stages]
    [(2, 0.0), (8, 0.1)]
    """
    settings = resolve_preset(preset, warm_up=warm_up, epochs=epochs)
    stages = (
        Stage(settings.warm_up, _JUDGED, refresh=_ONCE, optimiser=replace(settings.optimiser, backbone=0.0)),
        Stage(settings.epochs - settings.warm_up, _JUDGED, refresh=_ONCE),
    )
    return recipe_of("finetune", settings, stages)
