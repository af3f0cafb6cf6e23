"""DivideMix: two networks divide the samples for each other, and learn from all of them (Li et al., 2020)."""

import dataclasses
from typing import Any

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import Preset, choose
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.frame import assembled, selecting
from eigenclean.train.selectors import AveragedLosses, FromDetector, Selector

_SGD: dict[str, Any] = {"lr": 0.02, "weight_decay": 5e-4, "milestones": (150,), "gamma": 0.1, "batch_size": 128}
_CIFAR: dict[str, Any] = {"epochs": 301, "refresh": 1, "optimiser": _SGD, "net": "preact-resnet18"}
_WEB: dict[str, Any] = {"warm_up": 1, "epochs": 80, "refresh": 1}
OWN: dict[str, dict[str, Any]] = {
    "small": {"refresh": 1},
    "head": {"refresh": 1},
    "cifar10": {**_CIFAR, "warm_up": 10},
    "cifar100": {**_CIFAR, "warm_up": 30, "scale": "cifar100-dividemix"},
    "clothing1m": {**_WEB, "optimiser": {"lr": 0.002, "milestones": (40,), "gamma": 0.1, "batch_size": 32}},
    "webvision": {**_WEB, "optimiser": {"lr": 0.01, "milestones": (40,), "gamma": 0.1, "batch_size": 32}},
}
# Of each part, labelled and not; else that of the warm-up.
_BATCH = {"small": 64, "head": 64, "cifar10": 64, "cifar100": 64}
_PARTS = {"clothing1m": (64_000, 32_000)}  # samples of a warm-up and of a division: a million are too many
_STEP: dict[str, dict[str, Any]] = {
    "cifar100": {"lambda_u": 150.0},
    "clothing1m": {"lambda_u": None, "alpha": 0.5},
    "webvision": {"lambda_u": 0.0, "alpha": 0.5},
}
# What the authors used for each kind of noise, where it differs from the preset.
DIVIDEMIX_BY_NOISE: dict[str, dict[str, dict[str, Any]]] = {
    "cifar10": {
        "symmetric:0.2": {"lambda_u": 0.0},
        "symmetric:0.5": {"lambda_u": 25.0},
        "symmetric:0.8": {"lambda_u": 25.0},
        "symmetric:0.9": {"lambda_u": 50.0, "threshold": 0.6, "window": 5},
        "asymmetric:0.4": {"lambda_u": 0.0, "warm_up_loss": "confidence-penalty"},
    },
    "cifar100": {
        "symmetric:0.2": {"lambda_u": 25.0},
        "symmetric:0.5": {"lambda_u": 150.0},
        "symmetric:0.8": {"lambda_u": 150.0},
        "symmetric:0.9": {"lambda_u": 150.0, "threshold": 0.6, "window": 5},
    },
}


def dividemix(
    preset: str = "small",
    lambda_u: float | None = None,
    threshold: float = 0.5,
    window: int = 1,
    warm_up_loss: str | None = None,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Labels in the component of small losses are trusted; the other samples lend their inputs only.

    Args:
        preset: a name from `PRESETS`.
        lambda_u: weight of the samples whose labels are not trusted; `DIVIDEMIX_BY_NOISE` has the authors' values.
        threshold: labels are trusted when the posterior is above it; 0.6 at 90 % noise.
        window: rounds whose losses are averaged; 5 at 90 % noise.
        warm_up_loss: "confidence-penalty" for asymmetric noise.
        warm_up: epochs before the first division.
        epochs: epochs in all.
        refresh: epochs from one division to the next.

    >>> dividemix("cifar100").stages[1].step
    ComponentSpec('mixmatch', lambda_u=150.0)
    """
    chosen = choose(preset, OWN, warm_up=warm_up, epochs=epochs, refresh=refresh)
    first = warm_up_loss or ("confidence-penalty" if preset == "clothing1m" else "cross-entropy")
    some, fewer = _PARTS.get(preset, (None, None))
    stages = (
        Stage(chosen.warm_up, loss=ComponentSpec(first), warm_up=True, part=some),
        Stage(
            chosen.epochs - chosen.warm_up,
            small_losses(threshold, window),
            step=mixmatch(preset, lambda_u),
            refresh=chosen.refresh,
            optimiser=halves(preset, chosen),
            part=fewer,
        ),
    )
    return assembled("dividemix", chosen, stages, networks=2)


def small_losses(threshold: float, window: int = 1) -> Selector:
    """The division: one mixture on the losses of all samples, or on their mean over some rounds."""
    if window > 1:
        return AveragedLosses(window, threshold)
    return FromDetector("small-loss", {"head": None, "threshold": threshold}, learn_from="all", soft=True)


def mixmatch(preset: str, lambda_u: float | None, **options: Any) -> ComponentSpec:
    """The step with what the preset says."""
    usual = {"lambda_u": 25.0, **_STEP.get(preset, {}), **options}
    return ComponentSpec("mixmatch", usual if lambda_u is None else {**usual, "lambda_u": lambda_u})


def halves(preset: str, chosen: Preset) -> Any:
    """The optimiser with batches that are one half of what goes through the network."""
    size = _BATCH.get(preset, chosen.optimiser.batch_size)
    return dataclasses.replace(chosen.optimiser, batch_size=size)


f_dividemix = selecting(dividemix, "fine", "f-dividemix")
j_dividemix = selecting(dividemix, "judge", "j-dividemix")
