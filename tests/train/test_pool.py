"""Samples as tensors: indexing, standardisation, fingerprints."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.train import InputSpec, Pool, as_inputs, take_rows
from eigenclean.train.augment import make_augment
from eigenclean.train.data.images import ChannelFirstImages, as_images

CLASSES = np.array(["cat", "dog"])


def pixels(n: int = 6, side: int = 5) -> Array:
    return np.random.default_rng(0).integers(0, 256, (n, 3, side, side)).astype(np.uint8)


class Files:
    """Images that count how often they are decoded."""

    def __init__(self, images: Array) -> None:
        self.images, self.shape, self.decoded = images, images.shape, 0

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, rows: Any) -> Array:
        self.decoded += len(np.atleast_1d(np.arange(len(self))[rows]))
        return np.asarray(self.images[rows])

    def fingerprint(self) -> str:
        return str(self.images.sum())


@settings(max_examples=30)
@given(rows=st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_rows_are_standardised_by_channel_as_numpy_does(rows: list[int]) -> None:
    images = pixels()
    spec = InputSpec.fit(images, "measured")
    pool = spec.pool(images, np.arange(6) % 2, CLASSES)
    fractions = images / 255
    mean, scale = fractions.mean(axis=(0, 2, 3)), fractions.std(axis=(0, 2, 3))
    expected = (fractions[rows] - mean[:, None, None]) / scale[:, None, None]
    np.testing.assert_allclose(pool.eval_inputs(torch.tensor(rows)).numpy(), expected, atol=1e-4)
    assert np.array_equal(pool.raw(torch.tensor(rows)).numpy(), images[rows].astype(np.float32))


def test_images_in_files_give_the_same_tensors_and_only_the_rows_asked_for_are_decoded() -> None:
    images = pixels()
    files = Files(images.transpose(0, 2, 3, 1))
    lazy = ChannelFirstImages(files)
    assert lazy.shape == images.shape and files.decoded == 0
    spec = InputSpec.fit(images, "measured")
    in_memory, in_files = (spec.pool(array, np.arange(6) % 2, CLASSES) for array in (images, lazy))
    rows = torch.tensor([4, 1, 1])
    assert torch.equal(in_memory.eval_inputs(rows), in_files.eval_inputs(rows))
    assert files.decoded == 3
    assert np.array_equal(lazy.take(np.array([5, 2]))[np.array([1])], images[[2]])


@pytest.mark.parametrize("as_files", [False, True])
def test_taken_rows_are_those_of_the_array(as_files: bool) -> None:
    images = pixels()
    array: Any = ChannelFirstImages(Files(images.transpose(0, 2, 3, 1))) if as_files else images
    rows = np.array([3, 0, 3])
    taken = take_rows(take_rows(array, np.array([5, 4, 3, 2, 1, 0])), rows)
    assert np.array_equal(np.asarray(taken[np.arange(3)]), images[[2, 5, 2]])


@pytest.mark.parametrize("change", ["pixel", "label", "shape", "trusted", "type"])
def test_the_fingerprint_changes_with_the_data(change: str) -> None:
    images, codes = pixels(), np.arange(6) % 2
    original = Pool.from_arrays(images.copy(), codes.copy(), CLASSES)
    assert Pool.from_arrays(images.copy(), codes.copy(), CLASSES).digest() == original.digest()
    trusted = np.zeros(6, dtype=bool)
    if change == "pixel":
        images[5, 2, 4, 4] ^= 1
    elif change == "label":
        codes[0] = 1
    elif change == "shape":
        images = images.reshape(6, 3, 25, 1)
    elif change == "type":
        images = images.view(np.int8)
    else:
        trusted[2] = True
    assert Pool.from_arrays(images, codes, CLASSES).with_trusted(trusted).digest() != original.digest()


def test_a_mask_without_confirmed_labels_is_no_mask_and_a_mask_is_copied() -> None:
    pool = Pool.from_arrays(np.zeros((4, 2), np.float32), np.arange(4) % 2, CLASSES)
    assert pool.with_trusted(np.zeros(4, dtype=bool)).trusted is None
    mask = np.array([True, False, False, False])
    trusted = pool.with_trusted(mask).trusted
    mask[1] = True
    assert trusted is not None and trusted.tolist() == [True, False, False, False]


def test_read_only_arrays_are_taken_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    features = np.ones((4, 2), np.float32)
    features.setflags(write=False)
    pool = Pool.from_arrays(features, np.arange(4) % 2, CLASSES)
    assert torch.equal(pool.raw(slice(None)), torch.ones(4, 2)) and not recwarn.list
    assert pool.labels.tolist() == ["cat", "dog", "cat", "dog"] and pool.n_classes == 2 and len(pool) == 4


def test_the_network_gets_images_of_the_size_of_the_eval_transform() -> None:
    images = pixels(side=8)
    spec = InputSpec.fit(images, "measured", make_augment("crop-flip", pad=0, size=6))
    assert spec.shape == (3, 8, 8) and spec.network_shape == (3, 6, 6) and spec.are_images
    assert spec.pool(images, np.arange(6) % 2, CLASSES).eval_inputs(slice(None)).shape == (6, 3, 6, 6)
    vectors = InputSpec.fit(np.ones((3, 4)), "measured")
    assert vectors.network_shape == 4 and not vectors.are_images


@settings(max_examples=40)
@given(
    n=st.integers(1, 4), height=st.integers(5, 9), width=st.integers(5, 9), channels=st.sampled_from([0, 1, 3, 4])
)
def test_channels_come_first_whatever_the_layout(n: int, height: int, width: int, channels: int) -> None:
    shape = (n, height, width) if channels == 0 else (n, height, width, channels)
    values = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    images = as_images(values, by="images")
    assert images.shape == (n, channels or 1, height, width)
    channel_last = images.transpose(0, 2, 3, 1)
    assert np.array_equal(channel_last[..., 0] if channels == 0 else channel_last, values)
    assert np.array_equal(as_images(images, by="images"), images)  # already in order
    assert as_images(values.astype(np.int32), by="images").dtype == np.float32


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((3, 5)), "X has 5 features, but model is expecting 4 features as input"),
        (np.zeros((3, 1, 6, 6)), "model: fitted on 4 features, got images of 1 x 6 x 6"),
        (np.zeros((3, 6, 0)), "images must be numbers, n x height x width"),
        (np.full((1, 6, 6), np.nan), "some pixels are NaN or infinite"),
    ],
)
def test_other_shapes_than_those_of_the_training_get_a_sentence(X: Array, message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        InputSpec.fit(np.ones((3, 4)), "measured").check(X, by="model")


def test_vectors_and_images_are_told_apart_by_their_dimensions() -> None:
    assert as_inputs([[1.0, 2.0], [3.0, 4.0]], by="model").shape == (2, 2)
    assert as_inputs(np.zeros((2, 6, 6)), by="model").shape == (2, 1, 6, 6)
