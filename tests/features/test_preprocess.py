"""Preprocessing against slow loops and invariances; contents and their cache keys."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features.choose import parse
from eigenclean.features.contents import (
    Contents,
    EncodedImageContents,
    ImageArrayContents,
    TextContents,
    contents_of,
)
from eigenclean.features.encoders.preprocess import Preprocess
from eigenclean.sources import open_source
from eigenclean.sources.images.lazy import square

RESAMPLINGS = ["nearest", "bilinear", "bicubic", "lanczos"]


def noise(height: int, width: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def slow_nearest(pixels: Array, side: int) -> Array:
    """Pixel by pixel: the middle of each output pixel lies in one input pixel."""
    height, width, _ = pixels.shape
    scale = min(height, width) / side
    left, top = (int(length / scale - side) // 2 for length in (width, height))
    result = np.empty((side, side, 3), np.uint8)
    for i in range(side):
        for j in range(side):
            result[i, j] = pixels[int((i + top + 0.5) * scale), int((j + left + 0.5) * scale)]
    return result


@settings(max_examples=40)
@given(
    side=st.integers(1, 8),
    factor=st.integers(1, 4),
    longer=st.integers(0, 9),
    shrink=st.booleans(),
    upright=st.booleans(),
)
def test_nearest_equals_a_slow_loop(side: int, factor: int, longer: int, shrink: bool, upright: bool) -> None:
    # Whole factors, because the borders of pixels are exact numbers then.
    shorter = side * factor if shrink else side
    size = side if shrink else side * factor
    longer = shorter + (longer * factor if shrink else longer)
    pixels = noise(*((longer, shorter) if upright else (shorter, longer)))
    prepared = Preprocess(size, resampling="nearest")(Image.fromarray(pixels))
    np.testing.assert_array_equal(prepared, slow_nearest(pixels, size))


@pytest.mark.parametrize("resampling", RESAMPLINGS)
@settings(max_examples=20)
@given(height=st.integers(1, 40), width=st.integers(1, 40), size=st.integers(1, 24), colour=st.integers(0, 255))
def test_every_image_becomes_a_square_and_one_colour_stays_it(
    resampling: str, height: int, width: int, size: int, colour: int
) -> None:
    image = Image.new("RGB", (width, height), (colour, 255 - colour, 7))
    prepared = Preprocess(size, resampling=resampling)(image)
    assert prepared.dtype == np.uint8
    np.testing.assert_array_equal(prepared, np.full((size, size, 3), (colour, 255 - colour, 7)))


@pytest.mark.parametrize("resampling", RESAMPLINGS[1:])
@pytest.mark.parametrize(("height", "width"), [(12, 20), (20, 12), (16, 16), (5, 7)])
def test_a_mirrored_or_turned_image_gives_the_mirrored_or_turned_square(
    resampling: str, height: int, width: int
) -> None:
    """Up to rounding. The sizes leave as many pixels on both sides, so that the middle is the same."""
    preprocess = Preprocess(2 * min(height, width), resampling=resampling)
    pixels = noise(height, width) // 4 + 96  # low contrast: nothing is clipped between two passes
    prepared = preprocess(Image.fromarray(pixels)).astype(int)
    mirrored = preprocess(Image.fromarray(np.ascontiguousarray(pixels[:, ::-1])))
    turned = preprocess(Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 0, 2))))
    np.testing.assert_allclose(mirrored, prepared[:, ::-1], atol=1)
    # Pillow rounds after each of its two passes, and filters with negative weights spread such an error.
    np.testing.assert_allclose(turned, prepared.transpose(1, 0, 2), atol=2)


@pytest.mark.parametrize(("height", "width"), [(2, 900), (900, 2), (1, 333)])
def test_a_thin_strip_is_not_scaled_as_a_whole_but_its_middle_is_the_same(height: int, width: int) -> None:
    side = 4
    image = Image.fromarray(noise(height, width))
    scale = side // min(height, width)
    whole = np.asarray(image.resize((width * scale, height * scale), Image.Resampling.BILINEAR))
    top, left = (height * scale - side) // 2, (width * scale - side) // 2
    middle = whole[top : top + side, left : left + side].astype(int)
    np.testing.assert_allclose(np.asarray(square(image, side)), middle, atol=1)


def test_an_enormous_strip_takes_no_enormous_memory() -> None:
    strip = Image.new("L", (1_000_000, 1))
    assert square(strip, 224).size == (224, 224)  # scaled as a whole it would be 50 GB


def test_a_number_stands_for_three_channels_and_everything_is_in_the_description() -> None:
    options: dict[str, Any] = {"mean": 0.5, "std": [1, 2, 4]}  # as parsed from a description
    plain, listed = Preprocess(8, **options), Preprocess(8, mean=(0.5, 0.5, 0.5), std=(1.0, 2.0, 4.0))
    assert plain == listed and plain.about() == listed.about()
    assert json.loads(json.dumps(plain.about())) == {
        "size": 8,
        "mean": [0.5, 0.5, 0.5],
        "std": [1.0, 2.0, 4.0],
        "resampling": "bicubic",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be a number of pixels from 1 to 4096, got 0"),
        ({"size": 4097}, "size must be"),
        ({"size": True}, "size must be"),
        ({"size": 8.0}, "size must be"),
        ({"mean": (0.5, 0.5)}, r"mean must be a number or one for red, green, blue, got \(0.5, 0.5\)"),
        ({"mean": "0.5"}, "mean must be"),
        ({"mean": (0.5, True, 0.5)}, "mean must be"),
        ({"std": (1, 0, 1)}, "std must not be 0"),
        ({"std": 0}, "std must not be 0"),
        ({"resampling": "bilinar"}, "did you mean 'bilinear'"),
    ],
)
def test_mistakes_get_a_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        Preprocess(**options)


@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 1), (1, 5, 6), (5, 6, 3), (3, 5, 6), (5, 6, 4), (4, 5, 6)])
def test_arrays_of_pixels_become_rgb_whatever_the_order_of_their_axes(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (2, *shape), dtype=np.uint8)
    contents = ImageArrayContents(pixels)
    image = contents.decode(contents.read(1), 1, None)
    assert image.mode == "RGB" and image.size == (6, 5)
    for y in range(5):
        for x in range(6):
            if len(shape) == 2:
                channels = [pixels[1, y, x]]
            elif shape[:2] == (5, 6):
                channels = [*pixels[1, y, x]]
            else:
                channels = [*pixels[1, :, y, x]]
            expected = tuple(int(value) for value in (channels * 3 if len(channels) == 1 else channels[:3]))
            assert image.getpixel((x, y)) == expected


@pytest.mark.parametrize("shape", [(5, 6, 2), (2, 5, 6), (0, 6), (5, 0, 3)])
def test_other_arrays_are_no_images(shape: tuple[int, ...]) -> None:
    contents = ImageArrayContents(np.zeros((1, *shape), dtype=np.uint8))
    with pytest.raises(InvalidData, match="row 0: images must have 1, 3 or 4 channels"):
        contents.decode(contents.read(0), 0, None)


def test_keys_of_pixels_depend_on_values_and_shape_but_not_on_memory() -> None:
    pixels = noise(6, 4)
    views = np.stack([pixels, pixels])[:, ::-1][:, ::-1]
    keys = {
        ImageArrayContents(array).key(ImageArrayContents(array).read(0)) for array in (views, pixels[None].copy())
    }
    assert len(keys) == 1
    contents = ImageArrayContents(pixels[None])
    assert contents.key(pixels.reshape(4, 6, 3)) not in keys
    changed = pixels.copy()
    changed[5, 3, 2] ^= 1
    assert contents.key(changed) not in keys


@given(first=st.text(max_size=5), second=st.text(max_size=5))
def test_keys_of_texts_are_equal_for_equal_texts_only(first: str, second: str) -> None:
    contents = TextContents([first, second])
    keys = [contents.key(contents.read(row)) for row in range(len(contents))]
    assert (keys[0] == keys[1]) == (first == second)


@given(st.text(st.characters(), max_size=5))  # halves of surrogate pairs too, as badly decoded files have them
def test_texts_for_encoders_are_valid_unicode_and_never_blank(text: str) -> None:
    contents = TextContents([text])
    assert contents.key(text)
    if not text.strip():
        with pytest.raises(InvalidData, match="the text of row 0 is empty"):
            contents.decode(contents.read(0), 0, None)
        return
    decoded = contents.decode(contents.read(0), 0, None)
    assert decoded.encode("utf-8").decode() == decoded and len(decoded) == len(text)
    valid = [ours for ours, given in zip(decoded, text, strict=True) if not "\ud800" <= given <= "\udfff"]
    assert valid == [given for given in text if not "\ud800" <= given <= "\udfff"]


def test_images_come_before_texts_unless_texts_are_wanted(tmp_path: Path) -> None:
    pixels = np.zeros((2, 4, 4), dtype=np.uint8)
    both = open_source({"features": np.eye(2), "labels": [0, 1], "images": pixels, "texts": ["a", "b"]})
    chosen: list[Contents] = [contents_of(both), contents_of(both, "image"), contents_of(both, "text")]
    assert [type(contents) for contents in chosen] == [ImageArrayContents, ImageArrayContents, TextContents]
    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        Image.new("RGB", (4, 4)).save(tmp_path / label / "0.png")
    folder = open_source(tmp_path)
    assert isinstance(contents_of(folder), EncodedImageContents)
    with pytest.raises(InvalidData, match="there are no texts to embed, it has images"):
        contents_of(folder, "text")
    with pytest.raises(InvalidData, match="there are no images or texts to embed, it has neither"):
        contents_of(open_source((np.eye(2), [0, 1])))


NAMES = st.from_regex(r"[a-z0-9-]{1,8}", fullmatch=True).filter(lambda name: not name.endswith("onnx"))
MODELS = st.from_regex(r"[A-Za-z0-9_/:-]{1,12}", fullmatch=True)
OPTIONS = st.dictionaries(
    st.from_regex(r"[a-z]{1,5}", fullmatch=True),
    st.one_of(st.integers(-99, 99), st.booleans(), st.sampled_from(["mean", "last", "no number"])),
    max_size=3,
)


@given(name=NAMES, model=st.none() | MODELS, options=OPTIONS)
def test_what_a_description_says_is_parsed(name: str, model: str | None, options: dict[str, Any]) -> None:
    spelled = "&".join(
        f"{key}={json.dumps(value) if not isinstance(value, str) else value.replace(' ', '+')}"
        for key, value in options.items()
    )
    text = name + (f":{model}" if model else "") + (f"?{spelled}" if options else "")
    assert parse(text) == (name, model, options)
