"""Co-teaching and Co-teaching+: two networks pick samples for each other (Han et al., 2018; Yu et al., 2019)."""

from typing import Any

from eigenclean.train.presets import choose
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.frame import selecting, two_stages
from eigenclean.train.selectors import Disagreement, SmallestLosses

_OWN: dict[str, dict[str, Any]] = {  # as in the paper's comparison
    "cifar10": {"optimiser": {"lr": 0.01, "weight_decay": 1e-4}},
    "cifar100": {"optimiser": {"lr": 0.01, "weight_decay": 1e-4}},
}
_ADAM = {
    "name": "adam",
    "lr": 1e-3,
    "weight_decay": 0.0,
    "milestones": (),
    "fade": (80, 120),
    "late_momentum": 0.1,
}
_PLUS: dict[str, dict[str, Any]] = {
    "cifar10": {"warm_up": 20, "epochs": 120, "optimiser": _ADAM},
    "cifar100": {"warm_up": 5, "epochs": 120, "optimiser": _ADAM},
}
_RAMP = {"cifar10": 40, "cifar100": 40, "clothing1m": 3}


def co_teaching(
    preset: str = "small",
    forget_rate: float = 0.2,
    ramp: int | None = None,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Two networks; each learns from the samples of smallest loss that the other finds in a batch.

    Args:
        preset: a name from `PRESETS`.
        forget_rate: share of each batch that is not learned from in the end. The original takes the noise rate,
            the paper's comparison 0.9 times it.
        ramp: epochs in which that share grows from 0.
        warm_up: only a mark for other selectors: this one is at work from the first epoch.
        epochs: epochs in all.
        refresh: epochs from one selection to the next, for other selectors.

    >>> co_teaching(forget_rate=0.4).stages[1].select
    SmallestLosses(forget_rate=0.4, ramp=10)
    """
    chosen = choose(preset, _OWN, warm_up=warm_up, epochs=epochs, refresh=refresh)
    select = SmallestLosses(forget_rate, _RAMP.get(preset, 10) if ramp is None else ramp)
    return two_stages("co-teaching", chosen, select=select, warm_up_select=select, networks=2)


def co_teaching_plus(
    preset: str = "small",
    forget_rate: float = 0.2,
    ramp: int | None = None,
    warm_up: int | None = None,
    epochs: int | None = None,
) -> Recipe:
    """Co-teaching in the warm-up; then only samples on which the networks disagree.

    >>> [stage.select.kind for stage in co_teaching_plus().stages]
    ['smallest-losses', 'disagreement']
    """
    chosen = choose(preset, _PLUS, warm_up=warm_up, epochs=epochs)
    length = _RAMP.get(preset, 10) if ramp is None else ramp
    return two_stages(
        "co-teaching+",
        chosen,
        select=Disagreement(forget_rate, length),
        warm_up_select=SmallestLosses(forget_rate, length),
        networks=2,
    )


f_coteaching = selecting(co_teaching, "fine", "f-coteaching")
j_coteaching = selecting(co_teaching, "judge", "j-coteaching")
