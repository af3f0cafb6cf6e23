"""Augmentations against slow loops, and what holds for all of them."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train.augment import AUGMENTS, make_augment
from eigenclean.train.augment.base import draw_flips


def images(n: int = 50, channels: int = 3, height: int = 12, width: int = 10) -> Tensor:
    return torch.rand(n, channels, height, width, generator=torch.Generator().manual_seed(1)) + 0.1


def generator_of(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("border", ["zero", "reflect"])
@pytest.mark.parametrize(
    ("pad", "size", "height", "width"), [(4, None, 12, 10), (0, 7, 12, 10), (2, 14, 12, 10), (3, None, 5, 5)]
)
def test_crop_flip_equals_a_slow_loop(border: str, pad: int, size: int | None, height: int, width: int) -> None:
    given = images(height=height, width=width)
    result = make_augment("crop-flip", pad=pad, size=size, border=border)(given, generator_of())
    again, down, across = generator_of(), size or height, size or width
    tops = torch.randint(height + 2 * pad - down + 1, (50,), generator=again).tolist()
    lefts = torch.randint(width + 2 * pad - across + 1, (50,), generator=again).tolist()
    turned = draw_flips(50, 0.5, again).tolist()
    mode = "constant" if border == "zero" else "reflect"
    for i in range(50):
        padded = functional.pad(given[i : i + 1], (pad,) * 4, mode=mode)[0]
        slow = padded[:, tops[i] : tops[i] + down, lefts[i] : lefts[i] + across]
        assert torch.equal(result[i], slow.flip(2) if turned[i] else slow)
    assert len({*tops}) > 2 and 10 < sum(turned) < 40


def test_every_place_is_equally_likely() -> None:
    given = torch.arange(9.0).view(1, 1, 3, 3).expand(9000, 1, 3, 3)
    corner = make_augment("crop-flip", pad=0, size=1, flip=0.0)(given, generator_of()).flatten().long()
    counts = torch.bincount(corner, minlength=9)
    assert (counts > 850).all() and (counts < 1150).all()


def test_padding_wider_than_the_image_reflects_again() -> None:
    given = torch.arange(3.0).view(1, 1, 1, 3)
    result = make_augment("crop-flip", pad=6, flip=0.0, border="reflect")(
        given.expand(200, 1, 1, 3), generator_of()
    )
    allowed = {(0.0, 1.0, 2.0), (1.0, 2.0, 1.0), (2.0, 1.0, 0.0), (1.0, 0.0, 1.0)}
    assert {tuple(row) for row in result.flatten(1).tolist()} == allowed


@pytest.mark.parametrize(("height", "width", "size"), [(20, 24, 9), (20, 24, 32), (15, 15, None)])
def test_resize_crop_equals_a_slow_loop(height: int, width: int, size: int | None) -> None:
    given = images(height=height, width=width)
    augment: Any = make_augment("resize-crop", size=size)
    result = augment(given, generator_of())
    again = generator_of()
    windows = augment.windows(50, height, width, again).tolist()
    turned = draw_flips(50, 0.5, again).tolist()
    for i, (top, left, tall, wide) in enumerate(windows):
        window = given[i : i + 1, :, top : top + tall, left : left + wide]
        assert window.shape[2:] == (tall, wide)  # nothing outside the image
        slow = functional.interpolate(window, size=(size or height, size or width), mode="bilinear")[0]
        torch.testing.assert_close(result[i], slow.flip(2) if turned[i] else slow, rtol=1e-4, atol=1e-4)


def test_windows_have_the_wanted_areas_and_shapes() -> None:
    augment: Any = make_augment("resize-crop", smallest=0.2, largest=0.5, ratio=1.5)
    top, left, tall, wide = augment.windows(4000, 100, 120, generator_of()).double().unbind(dim=1)
    share, shape = tall * wide / 12000, wide / tall
    assert share.min() > 0.19 and share.max() < 0.51 and share.mean() == pytest.approx(0.35, abs=0.02)
    assert shape.min() > 0.65 and shape.max() < 1.53 and shape.log().mean().abs() < 0.02
    assert top.min() == 0 and left.min() == 0 and (top + tall).max() == 100 and (left + wide).max() == 120


def test_when_no_window_fits_the_middle_is_taken() -> None:
    augment: Any = make_augment("resize-crop", smallest=1.0)
    assert augment.windows(3, 10, 90, generator_of()).tolist() == [[0, 38, 10, 13]] * 3
    assert augment.windows(3, 90, 10, generator_of()).tolist() == [[38, 0, 13, 10]] * 3


# What holds for all of them.


@pytest.fixture(params=sorted(AUGMENTS))
def augment(request: pytest.FixtureRequest) -> Any:
    return make_augment(request.param)


def large() -> Tensor:
    return images(4, 3, 304, 300)


def test_equal_seeds_give_equal_images_and_the_global_state_is_left_alone(augment: Any) -> None:
    state = torch.get_rng_state()
    first, second = augment(large(), generator_of(3)), augment(large(), generator_of(3))
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_generator_moves_on(augment: Any) -> None:
    generator = generator_of(3)
    first, second = augment(large(), generator), augment(large(), generator)
    assert torch.equal(first, second) == (type(augment).__name__ == "Unchanged")


def test_images_are_not_changed(augment: Any) -> None:
    given = large()
    before = given.clone()
    augment(given, generator_of())
    assert torch.equal(given, before)


def test_plain_has_the_size_of_the_varied_ones_and_is_the_middle(augment: Any) -> None:
    plain = augment.eval_transform(large())
    assert plain.shape == augment(large(), generator_of()).shape
    top, left = (304 - plain.shape[2] + 1) // 2, (300 - plain.shape[3] + 1) // 2
    assert torch.equal(plain, large()[:, :, top : top + plain.shape[2], left : left + plain.shape[3]])


def test_a_constant_image_stays_constant_inside(augment: Any) -> None:
    result = augment(torch.full((2, 1, 300, 300), 7.0), generator_of())[:, :, 8:-8, 8:-8]
    torch.testing.assert_close(result, torch.full_like(result, 7.0))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float64, torch.float16])
def test_other_types_of_pixels(dtype: torch.dtype) -> None:
    given = (images() * 200).to(dtype)
    result = make_augment("crop-flip")(given, generator_of())
    assert result.dtype == dtype
    torch.testing.assert_close(result.double(), make_augment("crop-flip")(given.double(), generator_of()))
    if dtype == torch.uint8:
        assert make_augment("resize-crop")(given, generator_of()).dtype == torch.float32


def test_an_empty_batch(augment: Any) -> None:
    assert len(augment(torch.zeros(0, 3, 300, 300), generator_of())) == 0


def test_a_batch_is_augmented_as_a_whole() -> None:
    """A loop over images would need more operations for a larger batch."""
    counts = []
    for n in (4, 128):
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            make_augment("crop-flip")(images(n), generator_of())
        counts.append(len(profiler.events()))
    assert 0 < counts[0] == counts[1] < 200


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("crop-flip", {"padding": 4}, "did you mean 'pad'"),
        ("crop-flip", {"pad": -1}, "pad must be an integer of at least 0, got -1"),
        ("crop-flip", {"size": 0}, "size must be an integer of at least 1, or None, got 0"),
        ("crop-flip", {"flip": 1.5}, "flip must be from 0 to 1, got 1.5"),
        ("crop-flip", {"border": "reflekt"}, "did you mean 'reflect'"),
        ("resize-crop", {"smallest": 0.0}, "0 < smallest <= largest <= 1, got 0.0 and 1.0"),
        ("resize-crop", {"ratio": 0.5}, "ratio must be at least 1, got 0.5"),
        ("crop", {}, "augment: name must be one of"),
    ],
)
def test_mistakes_get_a_sentence(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make_augment(name, **options)


def test_images_that_do_not_fit_get_a_sentence() -> None:
    with pytest.raises(InvalidData, match="a window of 224 x 224 does not fit into images of 12 x 10"):
        make_augment("crop-flip-224")(images(), generator_of())
    with pytest.raises(InvalidData, match="images must have at least 224 x 224 pixels, got 12 x 10"):
        make_augment("crop-flip-224").eval_transform(images())
    with pytest.raises(InvalidData, match=r"images must be n x channels x height x width, got shape \(5, 8\)"):
        make_augment("crop-flip")(torch.zeros(5, 8), generator_of())
