"""Random augmentations of training images. A new one is one file and one line in `AUGMENTS`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenclean.errors import InvalidData
from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.train.augment.base import Augment

__all__ = ["AUGMENTS", "augmentation_by_name", "make_augment"]

NONE = "none"

# Where each augmentation lives, and what its options are under this name. Names are known without torch.
AUGMENTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "none": ("eigenclean.train.augment.unchanged", "Unchanged", {}),
    "flip": ("eigenclean.train.augment.crop_flip", "CropFlip", {"pad": 0}),
    "crop-flip": ("eigenclean.train.augment.crop_flip", "CropFlip", {}),  # CIFAR
    "crop-flip-224": ("eigenclean.train.augment.crop_flip", "CropFlip", {"pad": 0, "size": 224}),  # Clothing1M
    "resize-crop": ("eigenclean.train.augment.resize_crop", "ResizeCrop", {}),
    "resize-crop-299": ("eigenclean.train.augment.resize_crop", "ResizeCrop", {"size": 299}),  # WebVision
}


def make_augment(name: str, **options: Any) -> "Augment":
    """The augmentation of that name: call it with images (n x C x H x W) and a `torch.Generator`.

    >>> make_augment("crop-flip", pad=2)
    CropFlip(pad=2, size=None, flip=0.5, border='zero')
    >>> make_augment("crop-flop")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: augment: name must be one of ..., got 'crop-flop'; did you mean 'crop-flip'?
    """
    check_name(name, AUGMENTS, by="augment", what="name")
    module, class_name, defaults = AUGMENTS[name]
    augment_class: type[Augment] = getattr(import_module(module), class_name)
    for option in options:
        check_name(option, augment_class.__dataclass_fields__, by=f"augment {name}", what="option")
    return augment_class(**{**defaults, **options})


def augmentation_by_name(name: str, *, images: bool) -> "Augment | None":
    """The augmentation that a recipe names, or None for "none"; feature vectors cannot be augmented."""
    if name == NONE:
        return None
    if not images:
        raise InvalidData(
            f"recipe: augment {name!r} is for images, got vectors; give images, or set augment={NONE}"
        )
    return make_augment(name)
