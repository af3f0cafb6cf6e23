"""Presets: schedule, optimiser and network for a kind of data."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train.optimiser import Optimiser

T = TypeVar("T")


@dataclass(frozen=True)
class Preset:
    """Settings that all recipes share.

    Attributes:
        warm_up: epochs on all samples, before the first selection.
        epochs: total number of epochs.
        refresh: epochs from one selection to the next.
        optimiser: settings of the optimiser.
        net: the network.
        augment: random augmentation of training images.
        scale: how images are standardised.
    """

    warm_up: int
    epochs: int
    refresh: int
    optimiser: Optimiser
    net: str = "mlp"
    augment: str = "none"
    scale: str = "measured"


_CIFAR = Optimiser("sgd", lr=0.02, momentum=0.9, weight_decay=1e-3, gamma=0.01, batch_size=128)
_ADAMW = Optimiser("adamw", lr=1e-3, momentum=0.9, weight_decay=1e-2, fade=(10, 30))
PRESETS: dict[str, Preset] = {
    # Few images and a small network: minutes on a laptop. AdamW needs no tuning to the scale of the data; ten
    # epochs are enough to learn the classes and, at usual sizes, too few to memorise wrong labels. Then the
    # learning rate decays: with a constant one, wrong labels are memorised (decision 5).
    "small": Preset(10, 30, 5, _ADAMW),
    # Features of another network: seconds. A head on good features has learned the classes after an epoch or two
    # and memorised the wrong labels after ten.
    "head": Preset(3, 30, 5, _ADAMW),
    # The bundled image encoder, fine-tuned: minutes for some thousand images on two cores. The new head learns ten
    # times as fast as the pretrained layers. After two epochs it has learned the classes, after ten the errors.
    "finetune": Preset(
        2,
        10,
        2,
        Optimiser("adamw", lr=3e-3, momentum=0.9, weight_decay=1e-2, fade=(2, 10), batch_size=64, backbone=0.1),
        "encoder",
        "flip",
        "unit",
    ),
    # The protocol of the paper's Table 1.
    "cifar10": Preset(
        40, 120, 10, dataclasses.replace(_CIFAR, milestones=(40, 80)), "resnet34", "crop-flip", "cifar10"
    ),
    "cifar100": Preset(
        40, 150, 10, dataclasses.replace(_CIFAR, milestones=(80, 120)), "resnet34", "crop-flip", "cifar100"
    ),
    "clothing1m": Preset(
        1,
        10,
        1,
        Optimiser("sgd", lr=0.002, weight_decay=1e-3, milestones=(5, 6, 7, 8), gamma=0.01, batch_size=64),
        "resnet50",
        "crop-flip-224",
        "clothing1m",
    ),
    "webvision": Preset(
        40,
        100,
        10,
        Optimiser("sgd", lr=0.04, weight_decay=5e-4, milestones=(50,), gamma=0.1, batch_size=64),
        "inception-resnet-v2",
        "resize-crop-299",
        "imagenet",
    ),
}


# The protocol is that of the base; some methods have other values for asymmetric noise.
_BASES = {"cifar10-asymmetric": "cifar10"}
PRESETS |= {name: PRESETS[base] for name, base in _BASES.items()}


def image_preset(recipe: str) -> str:
    """The preset of a recipe for images, when none is named.

    >>> image_preset("judge"), image_preset("finetune")
    ('small', 'finetune')
    """
    return "finetune" if recipe == "finetune" else "small"


def for_preset(table: Mapping[str, T], preset: str, default: T) -> T:
    """The entry of the preset, or of the preset that it is a variant of.

    >>> for_preset({"cifar10": 40}, "cifar10-asymmetric", 10)
    40
    """
    return table.get(preset, table.get(_BASES.get(preset, preset), default))


def resolve_preset(
    preset: str,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    warm_up: int | None = None,
    epochs: int | None = None,
    refresh: int | None = None,
) -> Preset:
    """The preset of that name with the overrides of a method, then with those of the user.

    ``overrides`` has fields of the preset, by preset; ``"optimiser"`` may be a table of some of its settings. The
    schedule of the learning rate is scaled with the number of epochs.

    >>> resolve_preset("small", {"small": {"refresh": 1, "optimiser": {"lr": 0.1}}}, epochs=20).optimiser.lr
    0.1
    """
    check_name(preset, PRESETS, by="recipe", what="preset")
    changes = dict(for_preset(overrides or {}, preset, {}))
    settings = dataclasses.replace(PRESETS[preset].optimiser, **changes.pop("optimiser", {}))
    if epochs is not None:
        settings = settings.scaled(epochs / changes.get("epochs", PRESETS[preset].epochs))
    requested: dict[str, Any] = {"warm_up": warm_up, "epochs": epochs, "refresh": refresh}
    changes |= {name: value for name, value in requested.items() if value is not None}
    resolved = dataclasses.replace(PRESETS[preset], **changes, optimiser=settings)
    if not 0 < resolved.warm_up < resolved.epochs:
        raise InvalidOption(
            f"recipe: warm_up must be at least 1 and less than the {resolved.epochs} epochs, got {resolved.warm_up}"
        )
    return resolved
