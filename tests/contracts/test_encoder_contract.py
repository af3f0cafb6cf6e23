"""What holds for every encoder that needs no model of its own: one check suite over the table."""

from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.features import ENCODERS, Encoder, make_encoder
from eigenclean.features.encoders.loading import is_installed

RNG = np.random.default_rng(0)
CONTENTS: dict[str, list[Any]] = {
    "image": [
        Image.fromarray(RNG.integers(0, 256, (height, width, 3), dtype=np.uint8))
        for height, width in ((40, 40), (1, 1), (30, 90), (200, 20), (64, 64))
    ],
    "text": ["where is my card?", "a", "word " * 2000, "größer als €100 – 日本語 🙂", "UPPER lower"],
}


def alone(name: str) -> str:
    return f"{name}?size=64" if name.startswith("efficientnet") else name


@pytest.fixture(scope="module", params=[name for name, entry in ENCODERS.items() if entry.argument is None])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    missing = [library for library in ENCODERS[request.param].requires if not is_installed(library)]
    if missing:
        pytest.skip(f"needs {missing[0]}: pip install {ENCODERS[request.param].pip}")
    return make_encoder(alone(request.param), device="cpu")


def features(encoder: Encoder, contents: list[Any]) -> Array:
    return encoder.encode([encoder.prepare(one) for one in contents])


def test_one_finite_row_for_each_content(encoder: Encoder) -> None:
    found = features(encoder, CONTENTS[encoder.kind])
    assert found.shape[0] == 5 and found.ndim == 2 and found.dtype == encoder.dtype
    assert np.isfinite(found).all() and len(np.unique(found, axis=0)) == 5


def test_neighbours_and_order_do_not_matter(encoder: Encoder) -> None:
    contents = CONTENTS[encoder.kind]
    found = features(encoder, contents)
    scale = np.abs(found).max()
    np.testing.assert_allclose(features(encoder, contents[::-1])[::-1], found, atol=1e-4 * scale)
    for row, one in enumerate(contents):
        np.testing.assert_allclose(features(encoder, [one])[0], found[row], atol=1e-4 * scale)


def test_two_of_a_name_are_one(encoder: Encoder) -> None:
    other = make_encoder(alone(encoder.name), device="cpu")
    assert other.key() == encoder.key() and other.about() == encoder.about()
    np.testing.assert_array_equal(
        features(other, CONTENTS[encoder.kind]), features(encoder, CONTENTS[encoder.kind])
    )
    assert make_encoder(alone(encoder.name), device="cpu", half=True).key() != encoder.key()


def test_contents_are_left_alone(encoder: Encoder) -> None:
    contents = CONTENTS[encoder.kind]
    before = [np.array(one) for one in contents]
    features(encoder, contents)
    for one, old in zip(contents, before, strict=True):
        np.testing.assert_array_equal(np.array(one), old)
