"""How images are varied while they are learned."""

from typing import TYPE_CHECKING

from eigenclean.errors import InvalidData

if TYPE_CHECKING:
    from eigenclean.train.augment.base import Augment

NONE = "none"


def variation(name: str, *, images: bool) -> "Augment | None":
    """The augmentation of that name; None when there is nothing to do, as with vectors it must be."""
    if name == NONE:
        return None
    if not images:
        raise InvalidData(
            f"recipe: augment {name!r} is for images, got vectors; give images, or set augment={NONE}"
        )
    from eigenclean.train.augment import make_augment

    return make_augment(name)
