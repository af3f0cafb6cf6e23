"""Images of CIFAR-10, and what the bundled encoder makes of them: maps of its first blocks, or features."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from eigenclean.arrays import Array, row_chunks
from eigenclean.features import encoder_maps, make_encoder
from eigenclean.files import reading_arrays
from eigenclean.seeds import tagged_generator
from eigenclean.train import held_out
from eigenclean.truth import Truth
from eigenclean_lab.bench.embed.data import cifar10_images
from eigenclean_lab.data_folder import data_file
from eigenclean_lab.reproduce.data import PaperCase
from eigenclean_lab.reproduce.loaders import TEST_SHARE
from eigenclean_lab.reproduce.profile import MAPS

_TEST_IMAGES = 1_000  # at most: they are tested on after every epoch
_ENCODER = f"efficientnet-lite1?size={MAPS['size']}"  # for methods that train no network: the pixels of the others
_CHUNK_ROWS = 64


def load_pixels(source: str, people: str | None, folder: Path | None, seed: int, most: int) -> PaperCase:
    """The images: the rows that a seed draws are those of the features of the same images."""
    return _load(people, folder, seed, most, cifar10_images)


def load_maps(source: str, people: str | None, folder: Path | None, seed: int, most: int) -> PaperCase:
    """Maps of the same images by the blocks of the encoder that the profile `medium` does not train."""
    return _load(people, folder, seed, most, lambda folder, index: _maps_of(folder, tuple(index.tolist())))


def load_features(source: str, people: str | None, folder: Path | None, seed: int, most: int) -> PaperCase:
    """Features of the same images in the same size by the encoder as it was pretrained."""
    return _load(people, folder, seed, most, lambda folder, index: _features_of(folder, tuple(index.tolist())))


def _load(
    people: str | None, folder: Path | None, seed: int, most: int, read: Callable[[Path, Array], Array]
) -> PaperCase:
    path = data_file(folder, "cifar10_lite1_20k.npz")  # which images, and their labels
    with reading_arrays(path, "labels") as content:
        index, right = content["index"], content["clean"].astype(np.int64)
        given = right if people is None else content[people].astype(np.int64)
    is_test = held_out(right, TEST_SHARE, random_state=seed)
    rows, test_rows = (
        np.sort(tagged_generator(seed, "rows").permutation(np.flatnonzero(mask))[:size])
        for mask, size in ((~is_test, most), (is_test, min(most, _TEST_IMAGES)))
    )
    inputs, test = (read(path.parent, index[subset]) for subset in (rows, test_rows))
    return PaperCase(inputs, given[rows], Truth(right[rows]), None, (test, right[test_rows]))


@lru_cache(maxsize=2)  # cells of the same seed have the same images, to learn from and to test on
def _maps_of(folder: Path, index: tuple[int, ...]) -> Array:
    images = cifar10_images(folder, np.array(index))
    return encoder_maps(images, first_block=MAPS["first_block"], size=MAPS["size"])


@lru_cache(maxsize=2)
def _features_of(folder: Path, index: tuple[int, ...]) -> Array:
    encoder, images = make_encoder(_ENCODER), cifar10_images(folder, np.array(index))
    prepared = (
        [encoder.prepare(Image.fromarray(image)) for image in images[chunk]]
        for chunk in row_chunks(len(images), 1, _CHUNK_ROWS)
    )
    return np.concatenate([encoder.encode(batch) for batch in prepared])
