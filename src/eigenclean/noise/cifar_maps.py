"""Maps of asymmetric noise on CIFAR-10 and CIFAR-100: the target of each class, by position."""

import numpy as np

from eigenclean.arrays import Ints

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
