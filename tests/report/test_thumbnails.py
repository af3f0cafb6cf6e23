"""Pictures of suspects: right pixels, small files, clear refusals."""

import base64
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.errors import InvalidData
from eigenclean.report.thumbnails import SIDE, thumbnails

FIRST = np.array([0])


def _pixels(thumbnail: dict[str, Any]) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(thumbnail["src"].split(",")[1]))) as image:
        return np.asarray(image)


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3), (9, 7, 4)])
def test_bytes_come_through_unchanged(shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert (_pixels(thumbnails(image[None], FIRST)[0]) == image).all()


def test_one_channel_and_channels_first_are_understood() -> None:
    image = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    assert (_pixels(thumbnails(np.moveaxis(image, 2, 0)[None], FIRST)[0]) == image).all()
    assert (_pixels(thumbnails(image[None, :, :, :1], FIRST)[0]) == image[:, :, 0]).all()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0.0, 0.5, 0.6]]), [0, 127, 153]),  # shares of white
        (np.array([[0.0, 8.0, 16.0]]), [0, 127, 255]),  # digits
        (np.array([[0, 8, 16]], dtype=np.uint8), [0, 127, 255]),
        (np.array([[-1.0, 0.0, 1.0]]), [0, 127, 255]),  # normalised
        (np.array([[False, True, True]]), [0, 255, 255]),
        (np.array([[np.nan, 0.0, 1.0]]), [0, 0, 255]),
        (np.array([[5.0, 5.0, 5.0]]), [0, 0, 0]),
    ],
)
def test_other_numbers_are_stretched(values: np.ndarray, expected: list[int]) -> None:
    assert _pixels(thumbnails(values[None], FIRST)[0]).ravel().tolist() == expected


def test_a_photograph_is_shrunk_and_a_list_may_mix_sizes() -> None:
    rng = np.random.default_rng(0)
    photo = np.kron(rng.integers(0, 256, (20, 30, 3)), np.ones((40, 40, 1))).astype(np.uint8)
    small = rng.integers(0, 256, (8, 8), dtype=np.uint8)
    first, second = thumbnails([photo, small], np.array([0, 1]))
    assert max(_pixels(first).shape) == SIDE
    assert len(first["src"]) < 30_000
    assert (first["coarse"], second["coarse"]) == (False, True)


@pytest.mark.parametrize("shape", [(4,), (5, 5, 2), (2, 3, 4, 5), (0, 4)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidData, match=r"^report: images must be height x width.* got shape"):
        thumbnails(np.zeros((1, *shape)), FIRST)


def test_words_are_no_pictures() -> None:
    with pytest.raises(InvalidData, match="images must be numbers"):
        thumbnails(np.full((1, 2, 2), "a"), FIRST)
