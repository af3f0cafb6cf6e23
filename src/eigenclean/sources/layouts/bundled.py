"""Data sets that come with scikit-learn: nothing to download, known by name on the command line."""

from collections.abc import Callable

import numpy as np

from eigenclean.sources.arrays.memory import MemorySource


def _digits() -> MemorySource:
    """1797 handwritten digits of 8 x 8 pixels, ten classes."""
    from sklearn.datasets import load_digits  # costs half a second that other sources need not pay

    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    images = np.round(pixels.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    return MemorySource("digits", pixels.astype(np.float32), labels, images=images)


def _wine() -> MemorySource:
    """178 wines with 13 measurements each, three grapes."""
    from sklearn.datasets import load_wine

    columns, codes = map(np.asarray, load_wine(return_X_y=True))
    # Columns in grams and in counts do not compare, so each is scaled to 0..1. Not centred: alignment with a vector
    # from the origin cannot tell a direction from its opposite.
    features = (columns - columns.min(axis=0)) / np.ptp(columns, axis=0)
    return MemorySource("wine", features.astype(np.float32), np.array(["barolo", "grignolino", "barbera"])[codes])


DATASETS: dict[str, Callable[[], MemorySource]] = {"digits": _digits, "wine": _wine}
