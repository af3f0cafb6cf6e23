"""Asymmetric noise: labels of a class are flipped to one other class, which a map gives."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from eigenclean.arrays import Array, Ints, preview
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.noise.base import RatedNoise, rows_independent, rows_overall, rows_per_class

BLOCK = 5  # CIFAR-100 has 20 superclasses of 5 classes; the usual noise takes 5 consecutive indices instead

# The superclass of each of the 100 fine classes, both in their official (alphabetical) order.
CIFAR100_SUPERCLASS = (
    *(4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11),
    *(6, 11, 5, 10, 7, 6, 13, 15, 3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5),
    *(5, 19, 8, 8, 15, 13, 14, 17, 18, 10, 16, 4, 17, 4, 2, 0, 17, 4, 18, 17),
    *(10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16, 12, 9, 13, 15, 13),
    *(16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13),
)


def cifar10_targets() -> Ints:
    """Truck to automobile, bird to airplane, cat and dog for each other, deer to horse; the rest to themselves.

    >>> cifar10_targets()
    array([0, 1, 0, 5, 7, 3, 6, 7, 8, 1])
    """
    targets = np.arange(10)
    targets[[9, 2, 3, 5, 4]] = [1, 0, 5, 3, 7]
    return targets


def block_targets() -> Ints:
    """The next index inside blocks of five consecutive indices, circularly: the convention of the published tables.

    The blocks are alphabetical, not the superclasses, whatever the papers' wording suggests.

    >>> block_targets()[:10]
    array([1, 2, 3, 4, 0, 6, 7, 8, 9, 5])
    """
    return np.roll(np.arange(100).reshape(-1, BLOCK), -1, axis=1).ravel()


def superclass_targets() -> Ints:
    """The next class inside the true superclass, circularly.

    >>> int(superclass_targets()[4]), int(superclass_targets()[95])  # beaver to dolphin, whale to beaver
    (30, 4)
    """
    members = np.argsort(CIFAR100_SUPERCLASS, kind="stable").reshape(-1, BLOCK)
    targets = np.empty(100, dtype=np.intp)
    targets[members] = np.roll(members, -1, axis=1)
    return targets


def swap_targets(rng: np.random.Generator) -> Ints:
    """In each block of five consecutive indices, two random classes for each other; the rest to themselves.

    ELR and FINE make the noise of their validation set this way.

    >>> int(np.count_nonzero(swap_targets(np.random.default_rng(0)) != np.arange(100)))
    40
    """
    blocks = np.arange(100).reshape(-1, BLOCK)
    first, second = rng.permuted(blocks, axis=1)[:, :2].T
    targets = np.arange(100)
    targets[first], targets[second] = second, first
    return targets


MAPS: dict[str, tuple[int, Callable[[np.random.Generator], Ints]]] = {  # name: number of classes, their targets
    "cifar10": (10, lambda rng: cifar10_targets()),
    "cifar100-blocks": (100, lambda rng: block_targets()),
    "cifar100-superclass": (100, lambda rng: superclass_targets()),
    "cifar100-swap": (100, swap_targets),
}
_AUTO = {10: "cifar10", 100: "cifar100-blocks"}
_DRAWS = ("auto", "class", "set", "independent", "chained")


@dataclass(frozen=True)
class Asymmetric(RatedNoise):
    """A share of the labels is replaced by the target of their class in a map; classes without a target stay right.

    Attributes:
        rate: share p of labels that are put through the map.
        map: a dict from label to label, or "cifar10" (half of the classes have a target, so p/2 end up wrong),
            "cifar100-blocks" (next index in blocks of five), "cifar100-superclass" (next class in the true
            superclass) or "cifar100-swap" (one random pair in each block). "auto" takes "cifar10" for 10 classes
            and "cifar100-blocks" for 100. The named maps count classes by position.
        draw: "class" takes exactly p of each class, "set" exactly p of all rows, "independent" each row with
            probability p. "auto" does as the published tables say: "independent" for CIFAR-100, else "class".
            "chained" is what the released loops of ELR and FINE do on CIFAR-10: they take p of each class in turn
            in the labels that they are changing, so that a cat that became a dog can become a cat again. At p = 0.4
            then 24 % of the cats are dogs, 40 % of the dogs cats, and 18.4 % of all labels wrong instead of 20 %.

    >>> noise = Asymmetric(1.0, map={"cat": "dog"})
    >>> noise.apply(np.array([0, 1, 2]), np.array(["cat", "dog", "elk"]), np.random.default_rng(0))
    array([1, 1, 2])
    """

    map: str | Mapping[Any, Any] | tuple[tuple[Any, Any], ...] = "auto"
    draw: Literal["auto", "class", "set", "independent", "chained"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self.draw, _DRAWS, by="asymmetric noise", what="draw")
        if isinstance(self.map, Mapping):
            object.__setattr__(self, "map", tuple(self.map.items()))  # hashable, as a value should be
        elif not isinstance(self.map, tuple):
            check_name(self.map, ("auto", *MAPS), by="asymmetric noise", what="map, unless it is a dict,")

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        targets = self._targets(classes, rng)
        draw = self.draw
        if draw == "auto":
            draw = "independent" if self._map_name(len(classes)).startswith("cifar100") else "class"
        if draw == "chained":
            return _changed_in_place(codes, targets, self.rate, rng)
        if draw == "class":
            chosen = rows_per_class(codes, len(classes), self.rate, rng)
        elif draw == "set":
            chosen = rows_overall(len(codes), self.rate, rng)
        else:
            chosen = rows_independent(len(codes), self.rate, rng)
        return np.where(chosen, targets[codes], codes)

    def _map_name(self, n_classes: int) -> str:
        if not isinstance(self.map, str):
            return "custom"
        return _AUTO.get(n_classes, "auto") if self.map == "auto" else self.map

    def _targets(self, classes: Array, rng: np.random.Generator) -> Ints:
        if not isinstance(self.map, str):
            return _custom_targets(tuple(self.map), classes)
        name = self._map_name(len(classes))
        if name == "auto":
            raise InvalidOption(
                f"asymmetric noise: there is a map for 10 and for 100 classes, got {len(classes)}; "
                "give map as a dict from label to label, or use pair noise"
            )
        n_classes, targets = MAPS[name]
        if len(classes) != n_classes:
            raise InvalidOption(
                f"asymmetric noise: map {name!r} is for {n_classes} classes, got {len(classes)}; give all of them "
                "as classes, or map as a dict"
            )
        return targets(rng)


def _changed_in_place(codes: Ints, targets: Ints, rate: float, rng: np.random.Generator) -> Ints:
    """Class after class, a share of the labels that are of this class now gets its target."""
    changed = codes.copy()
    for k, target in enumerate(targets):
        if target != k:
            rows = np.flatnonzero(changed == k)
            changed[rng.permutation(rows)[: math.ceil(rate * len(rows) - 1e-9)]] = target
    return changed


def _custom_targets(pairs: tuple[Any, ...], classes: Array) -> Ints:
    position = {label: code for code, label in enumerate(classes.tolist())}
    targets = np.arange(len(classes))
    for pair in pairs:
        for label in pair:
            if label not in position:
                raise InvalidOption(
                    f"asymmetric noise: map has the label {label!r}, the classes are {preview(classes)}"
                )
        source, target = pair
        targets[position[source]] = position[target]
    return targets
