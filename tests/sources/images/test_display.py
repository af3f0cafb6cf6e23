"""Arrays as images for a browser, against slow loops and the bytes that Pillow reads back."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.sources.images.display import brightness, channels_last, encoded, stretched

PIXELS = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6))
NUMBERS = hnp.arrays(np.float32, (3, 4), elements=st.floats(-1000, 1000, width=32))


@given(image=PIXELS, axis=st.sampled_from([0, 2]))
def test_one_channel_may_be_first_last_or_absent(image: Array, axis: int) -> None:
    np.testing.assert_array_equal(channels_last(image, by="t"), image)
    # A side of 1, 3 or 4 pixels can be taken for channels, so that only larger images are unambiguous.
    large = np.pad(image, ((5, 0), (5, 0)))
    np.testing.assert_array_equal(channels_last(np.expand_dims(large, axis), by="t"), large)


@pytest.mark.parametrize("channels", [3, 4])
def test_channels_are_moved_to_the_end(channels: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (6, 7, channels), dtype=np.uint8)
    for given_image in (image, np.moveaxis(image, 2, 0)):
        np.testing.assert_array_equal(channels_last(given_image, by="t"), image)


@given(image=NUMBERS)
def test_stretching_equals_a_slow_loop(image: Array) -> None:
    between = brightness([image])
    assert between is not None
    low, high = between
    result = stretched(image, between)
    assert result.dtype == np.uint8
    for row in range(3):
        for column in range(4):
            exact = 255 * (float(image[row, column]) - low) / ((high - low) or 1)
            assert abs(int(result[row, column]) - min(max(exact, 0), 255)) <= 1.001  # cut, not rounded


@given(image=NUMBERS)
def test_the_darkest_value_is_black_and_the_brightest_white(image: Array) -> None:
    low, high = brightness([image]) or (0.0, 255.0)
    if not (image.min() >= 0 and image.max() <= 1) and image.max() - image.min() > 1e-3:
        assert (low, high) == (image.min(), image.max())
        result = stretched(image, (low, high))
        assert result[image == image.max()].min() >= 254 and result[image == image.min()].max() == 0


def test_images_of_one_set_share_their_brightness() -> None:
    dark, bright = np.full((2, 2), 10.0), np.full((2, 2), 30.0)
    assert brightness([dark, bright]) == (10.0, 30.0)
    assert stretched(dark, (10.0, 30.0)).max() == 0 and stretched(bright, (10.0, 30.0)).min() == 255
    assert brightness([]) is None
    assert brightness([np.array([[0.0, 0.5]])]) == (0.0, 1.0)  # from 0 to 1 is a convention, not a range
    digits = np.array([[0, 16]], dtype=np.uint8)
    assert brightness([digits]) == (0.0, 16.0) and brightness([digits, digits + 48]) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_black(value: float) -> None:
    image = np.array([[value, 0.0, 1.0]])
    between = brightness([image])
    assert between == (0.0, 1.0) and stretched(image, between).tolist() == [[0, 0, 255]]


@given(
    image=hnp.arrays(
        np.uint8,
        st.one_of(hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), st.just((5, 6, 3)), st.just((6, 5, 4))),
    )
)
def test_small_images_keep_every_pixel(image: Array) -> None:
    content, media_type = encoded(image, side=9)
    assert media_type == "image/png"
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), image)


@pytest.mark.parametrize(
    ("shape", "size"), [((40, 80, 3), (20, 10)), ((80, 40), (10, 20)), ((21, 21, 3), (20, 20))]
)
def test_large_images_are_shrunk_in_proportion(shape: tuple[int, ...], size: tuple[int, int]) -> None:
    image = np.full(shape, 120, dtype=np.uint8)
    content, media_type = encoded(image, side=20)
    shrunk = Image.open(io.BytesIO(content))
    assert media_type == "image/jpeg" and shrunk.format == "JPEG" and shrunk.size == size
    assert np.abs(np.asarray(shrunk).astype(int) - 120).max() <= 3


def test_transparent_images_stay_transparent_when_they_shrink() -> None:
    image: Any = np.zeros((40, 40, 4), dtype=np.uint8)
    content, media_type = encoded(image, side=20)
    assert media_type == "image/png" and Image.open(io.BytesIO(content)).mode == "RGBA"


def test_images_above_the_exact_size_are_photographs() -> None:
    image = np.full((12, 12, 3), 9, dtype=np.uint8)
    assert encoded(image, side=20, exact=12)[1] == "image/png"
    assert encoded(image, side=20, exact=11)[1] == "image/jpeg"
