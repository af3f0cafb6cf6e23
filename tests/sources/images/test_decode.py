"""Whatever cameras and programs write is decoded, or refused with its name; nothing crashes."""

import io
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.images.decode import decode, silent_decoders
from eigenclean.sources.images.lazy import square

RNG = np.random.default_rng(0)
SMOOTH = np.asarray(Image.fromarray(RNG.integers(0, 256, (6, 9, 3), dtype=np.uint8)).resize((90, 60)))


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pixels(data: bytes, **options: Any) -> Array:
    return np.asarray(decode(data, title="x.jpg", **options)).astype(np.int64)


def bomb(side: int) -> bytes:
    """A valid PNG header of that many pixels, in a few bytes."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        whole = kind + content
        return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


JPEG = encoded(Image.fromarray(SMOOTH), "JPEG", quality=95)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"x\.jpg is empty, 0 bytes"),
        (b"just some words, not an image", r"x\.jpg is not a readable image: no known format"),
        (JPEG[: len(JPEG) // 2], r"x\.jpg is not a readable image: .*truncated"),
        (JPEG[:20], r"x\.jpg is not a readable image"),
        (bomb(50_000), r"x\.jpg is not a readable image: .*2500000000 pixels"),
        (bomb(9_450), r"x\.jpg has 9450 x 9450 pixels, the most is 89000000; shrink it"),
        (bomb(100), r"x\.jpg is not a readable image"),
    ],
    ids=["empty", "text", "truncated", "header", "bomb", "large", "no pixels"],
)
def test_what_cannot_be_read_is_refused_by_name(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidData, match=reason) as caught:
        decode(data, title="x.jpg")
    assert "\n" not in str(caught.value) and "BytesIO" not in str(caught.value)


def test_cmyk_has_the_same_colours() -> None:
    data = encoded(Image.fromarray(SMOOTH).convert("CMYK"), "JPEG", quality=98)
    assert Image.open(io.BytesIO(data)).mode == "CMYK"
    assert np.abs(pixels(data) - SMOOTH).mean() < 8


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_keep_their_shades(kind: str) -> None:
    shades = np.linspace(0, 65_535, 256).round().astype(np.uint16).reshape(16, 16)
    result = pixels(encoded(Image.fromarray(shades), kind))
    np.testing.assert_array_equal(result[:, :, 0], np.arange(256).reshape(16, 16))


def test_numbers_of_any_range_become_visible() -> None:
    result = pixels(encoded(Image.fromarray(np.linspace(-3, 5, 64, dtype=np.float32).reshape(8, 8)), "TIFF"))
    assert result.min() == 0 and result.max() == 255
    result = pixels(encoded(Image.fromarray(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)), "TIFF"))
    assert result.min() == 0 and result.max() == 255


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_it_is_the_first_frame(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue", "green")]
    options = {"lossless": True} if kind == "WEBP" else {}
    result = pixels(encoded(frames[0], kind, save_all=True, append_images=frames[1:], duration=100, **options))
    assert np.abs(result - [255, 0, 0]).max() <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_the_picture_upright(orientation: int) -> None:
    upright = Image.fromarray(SMOOTH)
    back = {
        2: [Image.Transpose.FLIP_LEFT_RIGHT],
        3: [Image.Transpose.ROTATE_180],
        4: [Image.Transpose.FLIP_TOP_BOTTOM],
        5: [Image.Transpose.TRANSPOSE],
        6: [Image.Transpose.ROTATE_90],
        7: [Image.Transpose.TRANSVERSE],
        8: [Image.Transpose.ROTATE_270],
    }
    stored = upright
    for turn in back.get(orientation, []):
        stored = stored.transpose(turn)
    exif = Image.Exif()
    exif[0x0112] = orientation
    result = pixels(encoded(stored, "JPEG", quality=95, exif=exif))
    assert result.shape == SMOOTH.shape
    assert np.abs(result - SMOOTH).mean() < 4


def test_a_damaged_exif_tag_does_no_harm() -> None:
    data = encoded(Image.fromarray(SMOOTH), "JPEG", quality=95, exif=b"Exif\0\0II*\0\xff\xff\xff\x7f broken")
    with silent_decoders():
        assert np.abs(pixels(data) - SMOOTH).mean() < 4


def test_a_large_jpeg_is_decoded_small_enough_and_no_smaller() -> None:
    data = encoded(Image.fromarray(SMOOTH).resize((1600, 1200)), "JPEG")
    assert pixels(data).shape == (1200, 1600, 3)
    assert pixels(data, min_side=300).shape == (300, 400, 3)
    assert pixels(data, min_side=301).shape == (600, 800, 3)
    assert pixels(data, min_side=2000).shape == (1200, 1600, 3)


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_bytes_are_an_image_or_a_sentence(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"]))
    content = bytearray(encoded(Image.fromarray(SMOOTH), kind))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(1, len(content))) :]
    with silent_decoders():
        try:
            assert decode(bytes(content), title="x", min_side=16).mode == "RGB"
        except InvalidData as error:
            assert str(error).startswith("x ") and "\n" not in str(error)


def test_odd_metadata_is_passed_over_in_silence(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with silent_decoders():
            decode(encoded(Image.new("P", (4, 4)), "PNG", transparency=bytes([0, 10])), title="x")
    assert heard == []


@pytest.mark.parametrize("size", [(2000, 3), (3, 2000), (1, 1), (5000, 1)])
def test_strips_become_squares_without_growing_first(size: tuple[int, int]) -> None:
    assert square(Image.new("RGB", size, "red"), 16).size == (16, 16)
    assert np.asarray(square(Image.new("RGB", size, "red"), 16))[8, 8].tolist() == [255, 0, 0]
