"""Images of the samples that the page may show, encoded on request."""

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.sources.images.display import brightness, channels_last, encoded, stretched
from eigenclean.sources.images.lazy import LazyImages

LARGE, SMALL = 1024, 192  # pixels of the longer side
LOSSLESS_UP_TO = 128  # pixels; larger images are photographs, for which JPEG is good enough
_BRIGHTNESS_SAMPLES = 64  # images from which the common brightness range is estimated
_CACHE_BYTES = 1 << 26


class SampleImages:
    """Encodes the images of ``rows`` and no others, with a cache of those that were requested last.

    The list of rows is a security boundary: a request for any other row is refused.

    >>> images = SampleImages(np.zeros((3, 8, 8), dtype=np.uint8), np.array([2]))
    >>> images.get(2, SMALL)[1], images.get(0, SMALL)
    ('image/png', None)
    """

    def __init__(self, images: Array | LazyImages, rows: Ints) -> None:
        self._images = images
        self._rows = frozenset(rows.tolist())
        self._brightness = brightness([self._pixels(row) for row in rows[:_BRIGHTNESS_SAMPLES].tolist()])
        self._cache: OrderedDict[tuple[int, int], tuple[bytes, str]] = OrderedDict()
        self._cached_bytes = 0
        self._lock = threading.Lock()

    def get(self, row: int, side: int) -> tuple[bytes, str] | None:
        """The encoded image and its media type; None for a row that may not be shown."""
        if row not in self._rows:
            return None
        with self._lock:
            if (row, side) in self._cache:
                self._cache.move_to_end((row, side))
                return self._cache[row, side]
        image = encoded(stretched(self._pixels(row), self._brightness), side, exact=LOSSLESS_UP_TO)
        with self._lock:
            if (row, side) not in self._cache:
                self._cache[row, side] = image
                self._cached_bytes += len(image[0])
            while self._cached_bytes > _CACHE_BYTES and len(self._cache) > 1:
                _, (evicted, _) = self._cache.popitem(last=False)
                self._cached_bytes -= len(evicted)
        return image

    def is_coarse(self, row: int) -> bool:
        """Whether the image has so few pixels that the page should not smooth them."""
        return bool(max(self._pixels(row).shape[:2]) < SMALL // 2)

    def _pixels(self, row: int) -> Array:
        images = self._images
        image: Any = images.preview(row, min_side=LARGE) if isinstance(images, LazyImages) else images[row]
        return channels_last(np.asarray(image), by="review")
