"""DivideMix: two networks divide the samples for each other and are trained on all of them (Li et al., 2020)."""

import dataclasses
from typing import Any

from eigenclean.train.component import ComponentSpec
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.presets import Preset, for_preset, resolve_preset
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes.builders import recipe_of, with_detector
from eigenclean.train.selectors import AveragedLosses, FromDetector, Selector

_SGD: dict[str, Any] = {"lr": 0.02, "weight_decay": 5e-4, "milestones": (150,), "gamma": 0.1, "batch_size": 128}
_CIFAR: dict[str, Any] = {"epochs": 301, "refresh": 1, "optimiser": _SGD, "net": "preact-resnet18"}
_WEB: dict[str, Any] = {"warm_up": 1, "epochs": 80, "refresh": 1}
DIVIDEMIX_PRESETS: dict[str, dict[str, Any]] = {
    "small": {"refresh": 1},
    "head": {"refresh": 1},
    "finetune": {"refresh": 1},
    "cifar10": {**_CIFAR, "warm_up": 10},
    "cifar100": {**_CIFAR, "warm_up": 30, "scale": "cifar100-dividemix"},
    "clothing1m": {**_WEB, "optimiser": {"lr": 0.002, "milestones": (40,), "gamma": 0.1, "batch_size": 32}},
    "webvision": {**_WEB, "optimiser": {"lr": 0.01, "milestones": (40,), "gamma": 0.1, "batch_size": 32}},
}
# Batch size of the kept samples and of the rest; by default that of the warm-up.
_HALF_BATCH = {"small": 64, "head": 64, "cifar10": 64, "cifar100": 64}
_SUBSETS = {
    "clothing1m": (64_000, 32_000)
}  # subset sizes of the warm-up and of a division; all images are a million
_STEP: dict[str, dict[str, Any]] = {
    "cifar10-asymmetric": {"lambda_u": 0.0},
    "cifar100": {"lambda_u": 150.0},
    "clothing1m": {"lambda_u": None, "alpha": 0.5},
    "webvision": {"lambda_u": 0.0, "alpha": 0.5},
}
_PENALISED = ("cifar10-asymmetric", "clothing1m")  # presets whose warm-up has the confidence penalty
# The authors' settings for each kind of noise, where they differ from the preset.
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
    """Labels in the mixture component of small losses are trusted; of the other samples only the inputs are used.

    Args:
        preset: a name from `PRESETS`.
        lambda_u: weight of the samples whose labels are not trusted; `DIVIDEMIX_BY_NOISE` has the authors' values.
        threshold: labels are trusted when the posterior is above it; 0.6 at 90 % noise.
        window: divisions whose losses are averaged; 5 at 90 % noise.
        warm_up_loss: "confidence-penalty" for asymmetric noise.
        warm_up: epochs before the first division.
        epochs: total number of epochs.
        refresh: epochs between divisions.

    >>> dividemix("cifar100").stages[1].step
    ComponentSpec('mixmatch', lambda_u=150.0)
    """
    settings = resolve_preset(preset, DIVIDEMIX_PRESETS, warm_up=warm_up, epochs=epochs, refresh=refresh)
    warm_up_subset, subset = for_preset(_SUBSETS, preset, (None, None))
    stages = (
        Stage(
            settings.warm_up,
            loss=warm_up_component(preset, warm_up_loss),
            warm_up=True,
            subset_size=warm_up_subset,
        ),
        Stage(
            settings.epochs - settings.warm_up,
            small_losses(threshold, window),
            step=mixmatch(preset, lambda_u),
            refresh=settings.refresh,
            optimiser=half_batches(preset, settings),
            subset_size=subset,
        ),
    )
    return recipe_of("dividemix", settings, stages, networks=2)


def warm_up_component(preset: str, name: str | None) -> ComponentSpec:
    """The loss of the warm-up: that of this name, or the preset's."""
    return ComponentSpec(name or ("confidence-penalty" if preset in _PENALISED else "cross-entropy"))


def small_losses(threshold: float, window: int = 1) -> Selector:
    """The division: one mixture on the losses of all samples, or on their mean over several divisions."""
    if window > 1:
        return AveragedLosses(window, threshold)
    return FromDetector("small-loss", {"head": None, "threshold": threshold}, learn_from="all", soft=True)


def mixmatch(preset: str, lambda_u: float | None, **options: Any) -> ComponentSpec:
    """The MixMatch step with the options of the preset."""
    defaults = {"lambda_u": 25.0, **for_preset(_STEP, preset, {}), **options}
    return ComponentSpec("mixmatch", defaults if lambda_u is None else {**defaults, "lambda_u": lambda_u})


def half_batches(preset: str, settings: Preset) -> Optimiser:
    """The optimiser with half batches: a batch of kept samples and one of the rest go through the network."""
    size = for_preset(_HALF_BATCH, preset, settings.optimiser.batch_size)
    return dataclasses.replace(settings.optimiser, batch_size=size)


f_dividemix = with_detector(dividemix, "fine", "f-dividemix")
j_dividemix = with_detector(dividemix, "judge", "j-dividemix")
