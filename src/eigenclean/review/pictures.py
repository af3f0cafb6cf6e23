"""Pictures of the samples that the page may show, and of no others."""

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.sources.images.display import brightness, channels_last, encoded, stretched
from eigenclean.sources.images.lazy import LazyImages

LARGE, SMALL = 1024, 192  # pixels of the longer side
EXACT = 128  # larger ones are photographs, of which JPEG keeps enough
_LOOKED_AT = 64  # samples that settle how bright is bright
_KEPT_BYTES = 1 << 26


class Pictures:
    """Encodes pictures when they are asked for, and keeps the small ones that were asked for last.

    >>> pictures = Pictures(np.zeros((3, 8, 8), dtype=np.uint8), np.array([2]))
    >>> pictures.get(2, SMALL)[1], pictures.get(0, SMALL)
    ('image/png', None)
    """

    def __init__(self, images: Array | LazyImages, rows: Ints) -> None:
        self._images = images
        self._rows = frozenset(rows.tolist())
        self._between = brightness([self._picture(row) for row in rows[:_LOOKED_AT].tolist()])
        self._kept: OrderedDict[tuple[int, int], tuple[bytes, str]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, row: int, side: int) -> tuple[bytes, str] | None:
        """The encoded picture and its media type; None for a row that is not on the list."""
        if row not in self._rows:
            return None
        with self._lock:
            if (row, side) in self._kept:
                self._kept.move_to_end((row, side))
                return self._kept[row, side]
        made = encoded(stretched(self._picture(row), self._between), side, exact=EXACT)
        with self._lock:
            if (row, side) not in self._kept:
                self._kept[row, side] = made
                self._size += len(made[0])
            while self._size > _KEPT_BYTES and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1][0])
        return made

    def coarse(self, row: int) -> bool:
        """Whether it has so few pixels that they should stay visible."""
        return bool(max(self._picture(row).shape[:2]) < SMALL // 2)

    def _picture(self, row: int) -> Array:
        images = self._images
        image: Any = images.look(row, shortest=LARGE) if isinstance(images, LazyImages) else images[row]
        return channels_last(np.asarray(image), by="review")
