"""Random generators whose stream depends on the seed and on what is drawn."""

import zlib
from typing import Any

import numpy as np


def tagged_generator(random_state: Any, tag: str) -> np.random.Generator:
    """A generator for one purpose: equal seeds give other numbers for another ``tag``, and to the user's own code.

    Users split their data with ``np.random.default_rng(0).permutation(n)`` and corrupt labels with the seed 0. From
    the same stream, the rows that become wrong would be the first ones of that very permutation: all errors in one
    part of the split.

    Args:
        random_state: an integer from 0 (or several), or None for other numbers each time; a generator is returned
            as it is, because its owner decides what it is for.
        tag: what is drawn.

    >>> untagged, tagged = np.random.default_rng(0), tagged_generator(0, "noise")
    >>> untagged.integers(1000) == tagged.integers(1000)
    np.False_
    >>> int(tagged_generator(0, "noise").integers(1000)) == int(tagged_generator(0, "noise").integers(1000))
    True
    """
    if random_state is None or isinstance(random_state, np.random.Generator | np.random.BitGenerator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(zlib.crc32(tag.encode()),)))
