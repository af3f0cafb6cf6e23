"""Robust losses on all samples, and each of them with FINE (the paper's Table 6)."""

from typing import Any

from eigenclean.train.component import ComponentSpec
from eigenclean.train.presets import for_preset, resolve_preset
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes.builders import two_stages, with_detector

# With robust losses the paper warms up for 50 epochs; on Clothing1M the learning rate is halved and drops once.
_PRESETS: dict[str, dict[str, Any]] = {
    "cifar10": {"warm_up": 50},
    "cifar100": {"warm_up": 50},
    "clothing1m": {"optimiser": {"lr": 0.001, "milestones": (5,)}},
}
_GCE_PRESETS: dict[str, dict[str, Any]] = {  # the one exception that the paper names
    **_PRESETS,
    "cifar100": {"warm_up": 50, "optimiser": {"lr": 0.01, "weight_decay": 1e-4, "gamma": 0.1}},
}
_SCE = {"cifar100": (1.0, 0.4)}  # α and β; elsewhere 0.1 and 1
_ELR = {"cifar10-asymmetric": (0.9, 1.0), "cifar100": (0.9, 7.0)}  # β and λ; elsewhere 0.7 and 3


def bootstrap(
    preset: str = "small",
    kind: str = "soft",
    beta: float | None = None,
    detach: bool = True,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Bootstrapping (Reed et al., 2015), "soft" or "hard".

    >>> bootstrap(kind="hard").stages[0].loss
    ComponentSpec('bootstrap', kind='hard', detach=True)
    """
    options = {"kind": kind, **({} if beta is None else {"beta": beta}), "detach": detach}
    settings = resolve_preset(preset, warm_up=warm_up, epochs=epochs, refresh=refresh)
    return two_stages("bootstrap", settings, loss=ComponentSpec("bootstrap", options))


def gce(
    preset: str = "small",
    q: float = 0.7,
    truncate: float | None = None,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Generalised cross-entropy (Zhang & Sabuncu, 2018); ``truncate=0.5`` leaves improbable labels out.

    >>> gce("cifar100").optimiser.lr
    0.01
    """
    settings = resolve_preset(preset, _GCE_PRESETS, warm_up=warm_up, epochs=epochs, refresh=refresh)
    options: dict[str, Any] = {"q": q}
    if truncate is not None:  # from the epoch of the first drop of the learning rate: 40, for CIFAR-100 80
        start = settings.optimiser.milestones[0] if settings.optimiser.milestones else settings.warm_up
        options |= {"truncate": truncate, "start": start, "every": 10}
    return two_stages("gce", settings, loss=ComponentSpec("gce", options))


def sce(
    preset: str = "small",
    alpha: float | None = None,
    beta: float | None = None,
    clip: float = -4.0,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Symmetric cross-entropy (Wang et al., 2019).

    >>> sce("cifar100").stages[0].loss
    ComponentSpec('sce', alpha=1.0, beta=0.4, clip=-4.0)
    """
    defaults = for_preset(_SCE, preset, (0.1, 1.0))
    options = {"alpha": defaults[0] if alpha is None else alpha, "beta": defaults[1] if beta is None else beta}
    settings = resolve_preset(preset, _PRESETS, warm_up=warm_up, epochs=epochs, refresh=refresh)
    return two_stages("sce", settings, loss=ComponentSpec("sce", {**options, "clip": clip}))


def elr(
    preset: str = "small",
    beta: float | None = None,
    lambda_: float | None = None,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Recipe:
    """Early-learning regularisation (Liu et al., 2020).

    The preset "cifar10-asymmetric" has the authors' values for asymmetric noise, 0.9 and 1.

    >>> elr("cifar100").stages[0].loss
    ComponentSpec('elr', beta=0.9, lambda_=7.0)
    """
    defaults = for_preset(_ELR, preset, (0.7, 3.0))
    options = {
        "beta": defaults[0] if beta is None else beta,
        "lambda_": defaults[1] if lambda_ is None else lambda_,
    }
    settings = resolve_preset(preset, _PRESETS, warm_up=warm_up, epochs=epochs, refresh=refresh)
    return two_stages("elr", settings, loss=ComponentSpec("elr", options))


gce_fine = with_detector(gce, "fine", "gce+fine")
sce_fine = with_detector(sce, "fine", "sce+fine")
elr_fine = with_detector(elr, "fine", "elr+fine")
