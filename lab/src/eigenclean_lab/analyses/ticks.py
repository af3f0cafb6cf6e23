"""Names of classes on an axis."""

import numpy as np

from eigenclean.arrays import Array
from eigenclean.report import plain, short

_MOST_NAMES = 20  # on an axis


def class_ticks(names: Array) -> tuple[list[int], list[str]]:
    """Where to write which class on an axis; of many, some.

    >>> class_ticks(np.array(["cat", "dog"]))
    ([0, 1], ['cat', 'dog'])
    """
    step = -(-len(names) // _MOST_NAMES)
    places = np.arange(0, len(names), step).tolist()
    return places, [short(plain(names[place].item()), 18) for place in places]
