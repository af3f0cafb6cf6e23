"""Images, networks of one's own, validation, and what the run tells from outside."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate.state import AcceleratorState  # type: ignore[import-untyped]
from PIL import Image
from torch import Tensor, nn

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.sampling import held_out
from eigenclean.sources.images.files import ImageFiles
from eigenclean.train import RobustClassifier, recipe
from eigenclean.train.data.images import ChannelFirstImages, as_images
from eigenclean.train.data.scaling import CONSTANTS, image_scaling
from eigenclean.train.tensorboard import TensorBoard

SMALL = recipe("fine", warm_up=2, epochs=5, refresh=2)


class TwoLayers(nn.Module):
    """A network of one's own."""

    def __init__(self, shape: Any, n_classes: int) -> None:
        super().__init__()
        self.flat = int(np.prod(shape))
        self.body, self.head = nn.Linear(self.flat, 12), nn.Linear(12, n_classes)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        features = self.body(inputs.reshape(-1, self.flat)).relu()
        return features, self.head(features)


@pytest.fixture
def images() -> tuple[Array, Ints]:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    pixels = rng.integers(0, 90, (90, 10, 12, 3), dtype=np.uint8)
    for k in range(3):
        pixels[labels == k, :, :, k] += 140
    return pixels, labels


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((5, 8, 9), (5, 1, 8, 9)),
        ((5, 8, 9, 3), (5, 3, 8, 9)),
        ((5, 8, 8, 1), (5, 1, 8, 8)),
        ((5, 3, 8, 9), (5, 3, 8, 9)),
        *((shape, shape) for shape in ((5, 112, 4, 4), (5, 96, 3, 3), (5, 192, 2, 2), (5, 320, 1, 1))),  # maps
    ],
)
def test_layouts_of_images_and_maps(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert as_images(np.zeros(shape, dtype=np.uint8), by="me").shape == expected


def test_pixels_are_bytes_or_32_bit_numbers() -> None:
    assert as_images(np.zeros((2, 4, 4)), by="me").dtype == np.float32


def test_images_of_mixed_sizes_or_with_nan_get_a_sentence(images: tuple[Array, Ints]) -> None:
    mixed = np.empty(2, dtype=object)
    mixed[:] = [np.zeros((4, 4)), np.zeros((5, 4))]
    with pytest.raises(InvalidData, match="images must all have one size, got 4 x 4, 5 x 4; resize them first"):
        RobustClassifier(SMALL).fit(mixed, [0, 1])
    broken = np.zeros((4, 3, 3), dtype=np.float32)
    broken[1] = np.nan
    with pytest.raises(InvalidData, match="images must be finite"):
        RobustClassifier(SMALL).fit(broken, [0, 1, 0, 1])
    with pytest.raises(InvalidData, match="images must be numbers"):
        as_images(np.zeros((2, 3, 3, 3, 3)), by="me")


def test_channels_are_standardised_by_what_is_measured_or_known(images: tuple[Array, Ints]) -> None:
    pixels = as_images(images[0], by="me")
    measured = image_scaling(pixels)
    np.testing.assert_allclose(measured.mean, pixels.mean(axis=(0, 2, 3)) / 255)
    np.testing.assert_allclose(measured.scale, pixels.std(axis=(0, 2, 3)) / 255)
    assert image_scaling(pixels, "cifar10").mean.tolist() == list(CONSTANTS["cifar10"][0])
    with pytest.raises(InvalidOption, match="did you mean 'cifar10'"):
        image_scaling(pixels, "cifar1")


def test_a_network_of_ones_own_trains_and_comes_back(images: tuple[Array, Ints], tmp_path: Path) -> None:
    pixels, labels = images
    model = RobustClassifier(SMALL, net=TwoLayers, device="cpu").fit(pixels, labels)
    model.save(tmp_path)
    back = RobustClassifier.load(tmp_path, net=TwoLayers)
    assert np.array_equal(back.predict_proba(pixels), model.predict_proba(pixels))
    with pytest.raises(InvalidOption, match="a network of your own: give the function that makes it"):
        RobustClassifier.load(tmp_path)


def test_images_in_files_are_learned_without_being_loaded(images: tuple[Array, Ints], tmp_path: Path) -> None:
    pixels, labels = images
    names = np.array([f"{row}.png" for row in range(len(labels))])
    for name, image in zip(names, pixels, strict=True):
        Image.fromarray(image).save(tmp_path / name)
    files = ImageFiles(tmp_path, names)
    options: dict[str, Any] = {"net": TwoLayers, "validation_fraction": 0.2, "device": "cpu"}
    lazy = RobustClassifier(SMALL, **options).fit(files, labels)
    held = RobustClassifier(SMALL, **options).fit(pixels, labels)
    assert lazy.history_ == held.history_
    assert np.array_equal(lazy.predict_proba(files), held.predict_proba(pixels))
    images_taken = ChannelFirstImages(files).take(np.array([3, 1]))
    assert np.array_equal(images_taken[slice(0, 2)], as_images(pixels[[3, 1]], by="me"))
    (tmp_path / "7.png").write_bytes(b"no image")
    with pytest.raises(InvalidData, match=r"7\.png"):
        RobustClassifier(SMALL, **options).fit(files, labels)


def test_cropped_images_have_the_size_that_the_network_sees(images: tuple[Array, Ints], tmp_path: Path) -> None:
    from eigenclean.train.augment import make_augment
    from eigenclean.train.data.inputs import InputSpec

    pixels = as_images(images[0], by="me")
    inputs = InputSpec.fit(pixels, "measured", make_augment("crop-flip", pad=0, size=8))
    assert inputs.shape == (3, 10, 12)
    assert inputs.network_shape == (3, 8, 8)
    pool = inputs.pool(pixels, images[1], np.arange(3))
    assert pool.eval_inputs(slice(0, 4)).shape == (4, 3, 8, 8)


def test_validation_chooses_the_best_epoch_and_both_are_kept(blobs: tuple[Array, Ints], tmp_path: Path) -> None:
    features, given = blobs
    model = RobustClassifier("standard", epochs=12, validation_fraction=0.3, device="cpu").fit(features, given)
    accuracies = [record["val_accuracy"] for record in model.history_]
    best = max(range(12), key=lambda epoch: (accuracies[epoch], epoch))
    assert model.best_epoch_ == best + 1
    assert len(model.verdict_) == 84
    model.save(tmp_path)
    back = RobustClassifier.load(tmp_path)
    assert np.array_equal(back.predict_proba(features), model.predict_proba(features))
    back.networks_ = back.last_networks_
    model.networks_ = model.last_networks_
    assert np.array_equal(back.predict_proba(features), model.predict_proba(features))


def test_accuracies_of_all_of_each_and_among_five() -> None:
    from eigenclean.train.data.pool import Pool
    from eigenclean.train.loop.evaluation import accuracies

    class Fixed(nn.Module):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.tensor(factor))

        def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
            return inputs, self.factor * inputs

    inputs = np.tile(np.arange(12, dtype=np.float32), (4, 1))  # class 11 is the likeliest, then 10, …
    pool = Pool.from_arrays(inputs, np.array([11, 10, 7, 0]), np.arange(12))
    by_suffix = accuracies([Fixed(2.0), Fixed(-1.0)], pool)
    assert by_suffix == {"": 0.25, "_each": [0.25, 0.25], "_top5": 0.75}


def test_a_split_takes_its_share_of_every_class() -> None:
    labels = np.repeat(["a", "b", "c"], [100, 10, 1])
    mask = held_out(labels, 0.1, random_state=1)
    assert [int(mask[labels == name].sum()) for name in "abc"] == [10, 1, 0]
    assert np.array_equal(mask, held_out(labels, 0.1, random_state=1))
    assert not np.array_equal(mask, held_out(labels, 0.1, random_state=2))
    assert not held_out(labels, 0.0).any()
    with pytest.raises(InvalidOption, match="validation_fraction must be from 0 to below 1"):
        RobustClassifier(SMALL, validation_fraction=1.0).fit(np.eye(4), [0, 1, 0, 1])


def test_test_labels_must_be_among_the_classes(blobs: tuple[Array, Ints]) -> None:
    features, given = blobs
    with pytest.raises(InvalidData, match="test: label 7 in row 0 was not seen in fit"):
        RobustClassifier(SMALL, device="cpu").fit(features, given, test=(features[:1], [7]))
    with pytest.raises(InvalidData, match="X has 5 features, but RobustClassifier: test is expecting 8 features"):
        RobustClassifier(SMALL, device="cpu").fit(features, given, test=(features[:, :5], given))


def test_tensorboard_is_asked_for_when_it_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingExtra, match=r"TensorBoard logging needs tensorboard, .*pip install tensorboard"):
        TensorBoard(tmp_path)


def test_tensorboard_gets_every_number(
    monkeypatch: pytest.MonkeyPatch, blobs: tuple[Array, Ints], tmp_path: Path
) -> None:
    written: list[tuple[str, int]] = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            assert purge_step == 1

        def add_scalar(self, name: str, value: float, step: int) -> None:
            written.append((name, step))

        def close(self) -> None:
            written.append(("closed", 0))

    fake = type(sys)("torch.utils.tensorboard")
    fake.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorboard", type(sys)("tensorboard"))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    RobustClassifier(SMALL, device="cpu", callbacks=[TensorBoard(tmp_path)]).fit(*blobs)
    assert {("loss", 1), ("kept_fraction", 5), ("train_accuracy", 3)} <= set(written)
    assert written[-1] == ("closed", 0)


@pytest.fixture
def fresh_accelerate() -> Iterator[None]:
    """Its state belongs to the process: another precision needs another one."""
    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.usefixtures("fresh_accelerate")
@pytest.mark.parametrize("name", ["fine", "co-teaching", "dividemix"])
def test_half_precision_trains(name: str, blobs: tuple[Array, Ints], tmp_path: Path) -> None:
    features, given = blobs
    model = RobustClassifier(name, epochs=6, mixed_precision="bf16", device="cpu").fit(features, given)
    assert all(np.isfinite(record["loss"]) for record in model.history_)
    assert model.score(features, given) > 0.8
    model.save(tmp_path)
    assert np.array_equal(RobustClassifier.load(tmp_path).predict(features), model.predict(features))
    assert torch.get_default_dtype() == torch.float32
