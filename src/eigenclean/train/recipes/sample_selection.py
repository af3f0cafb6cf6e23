"""Sample selection with one network: TopoFilter, CRUST, CORES²."""

from typing import Any, Literal

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import resolve_preset
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.builders import two_stages
from eigenclean.train.selectors import Crust, Sieve, make_selector

_ADAM = {"name": "adam", "lr": 1e-3, "weight_decay": 1e-4, "milestones": (60, 120), "gamma": 0.5}
# The first selection of TopoFilter is made after the 0-based epoch 30, that is after 31 epochs.
_TOPO: dict[str, Any] = {"warm_up": 31, "epochs": 180, "refresh": 5, "optimiser": _ADAM}
_CRUST: dict[str, Any] = {
    "warm_up": 5,
    "epochs": 120,
    "optimiser": {"lr": 0.1, "weight_decay": 5e-4, "milestones": (80, 100), "gamma": 0.1},
}
_PLAIN_SGD = {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0, "milestones": (50,), "gamma": 0.1, "batch_size": 64}
_CORES: dict[str, Any] = {"warm_up": 31, "epochs": 100, "refresh": 1, "optimiser": _PLAIN_SGD}


def topofilter(
    preset: str = "small",
    k_cc: int = 4,
    zeta: float = 0.5,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Train on the largest component of each class in the neighbour graph (Wu et al., 2020).

    >>> topofilter("cifar10").optimiser.name
    'adam'
    """
    overrides = {"cifar10": _TOPO, "cifar100": _TOPO}
    settings = resolve_preset(preset, overrides, warm_up=warm_up, epochs=epochs, refresh=refresh)
    select = make_selector("topofilter", k_cc=k_cc, zeta=zeta)
    return two_stages("topofilter", settings, select=select)


def crust(
    preset: str = "small",
    fraction: float = 0.5,
    radius: float | None = None,
    coreset: Literal["row-sums", "facility-location"] = "row-sums",
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int = 1,
) -> Recipe:
    """Train on a coreset of the gradients of each class (Mirzasoleiman et al., 2020).

    Args:
        preset: a name from `PRESETS`.
        fraction: of each class that is trained on.
        radius: of the medoids, for facility location.
        coreset: "row-sums" as in the released code, which made the published numbers: the samples with the largest
            sums of similarities to their class, with equal weights. "facility-location" as in the paper: weighted
            medoids, of which fewer are clean.
        warm_up: epochs before the first selection.
        epochs: total number of epochs.
        refresh: epochs between selections.

    >>> crust(fraction=0.4).stages[1].select
    Crust(fraction=0.4, radius=None, seed=0, coreset='row-sums')
    """
    overrides = {"cifar10": _CRUST, "cifar100": _CRUST}
    settings = resolve_preset(preset, overrides, warm_up=warm_up, epochs=epochs, refresh=refresh)
    return two_stages("crust", settings, select=Crust(fraction, radius, coreset=coreset))


def cores2(
    preset: str = "small",
    beta: float = 2.0,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Reward confident predictions, then train on the labels with less than average loss (Cheng et al., 2021).

    The sieve is applied inside each batch, so that the number of steps stays. The published method divides the
    learning rate by 1 + β; here the loss is divided, which is equivalent for SGD without momentum and weight decay.

    >>> cores2().stages[1].select
    Sieve()
    """
    every_epoch = {name: {"refresh": 1} for name in ("small", "head", "finetune", "webvision")}
    overrides = {**every_epoch, "cifar10": _CORES, "cifar100": _CORES}
    settings = resolve_preset(preset, overrides, warm_up=warm_up, epochs=epochs, refresh=refresh)
    start, ramp = max(1, round(0.1 * settings.epochs)), max(1, round(0.3 * settings.epochs))
    loss = ComponentSpec("cores2", {"beta": beta, "start": start, "ramp": ramp, "rescale": True})
    return two_stages("cores2", settings, select=Sieve(), loss=loss)
