"""DST: given labels, predicted labels, or a mixture of both as targets. A reconstruction.

No code of the method (arXiv 2103.00813) is public; schedule and networks are DivideMix's, and the paper's numbers
are not to be expected from it.
"""

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import choose
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.dividemix import OWN
from eigenclean.train.recipes.frame import assembled
from eigenclean.train.selectors import TwoLosses


def dst(
    preset: str = "small", threshold: float = 0.5, warm_up: int | None = None, epochs: int | None = None
) -> Recipe:
    """Two networks, each with targets that the other one's losses suggest; supervised, with mix-up.

    >>> dst().stages[1].step
    ComponentSpec('mixup')
    """
    chosen = choose(preset, OWN, warm_up=warm_up, epochs=epochs)
    stages = (
        Stage(chosen.warm_up, warm_up=True),
        Stage(
            chosen.epochs - chosen.warm_up,
            TwoLosses(threshold),
            step=ComponentSpec("mixup"),
            refresh=chosen.refresh,
        ),
    )
    return assembled("dst", chosen, stages, networks=2)
