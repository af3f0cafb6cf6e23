"""Samples as vectors, with right labels to test on: features of images and texts."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.files import reading_arrays
from eigenclean.seeds import tagged_generator
from eigenclean.train import held_out
from eigenclean.truth import Truth
from eigenclean_lab.bench.quality.data.embeddings import load_banking77
from eigenclean_lab.bench.training.settings import TrainingSetting
from eigenclean_lab.data_folder import data_file
from eigenclean_lab.reproduce.data import PaperCase

TEST_SHARE = 0.25  # share of the texts and images that are tested on


def load_rows(source: str, people: str | None, folder: Path | None, seed: int, most: int) -> PaperCase:
    """A data set of `bench train`."""
    case = TrainingSetting(source, people).make(folder, seed, most)
    return PaperCase(case.inputs, case.labels, case.truth, None, case.test)


def load_texts(source: str, people: str | None, folder: Path | None, seed: int, most: int) -> PaperCase:
    """Features of texts; a quarter of each class is tested on."""
    texts = load_banking77(folder, source)
    is_test = held_out(texts.labels, TEST_SHARE, random_state=seed)
    rows = np.flatnonzero(~is_test)
    rows = np.sort(tagged_generator(seed, "rows").permutation(rows)[:most])
    labels = texts.labels[rows]
    return PaperCase(
        texts.features[rows], labels, Truth(labels), None, (texts.features[is_test], texts.labels[is_test])
    )


def load_cifar100(source: str, people: str | None, folder: Path | None, seed: int, most: int) -> PaperCase:
    """Features of CIFAR-100's images: some to learn from, drawn by the seed, and all of those to test on."""
    train, labels, test, test_labels = _read_cifar100(data_file(folder, "cifar100_lite1_25k.npz"))
    rows = np.sort(tagged_generator(seed, "rows").permutation(len(labels))[:most])
    return PaperCase(train[rows], labels[rows], Truth(labels[rows]), None, (test, test_labels))


@lru_cache(maxsize=1)
def _read_cifar100(path: Path) -> tuple[Array, ...]:
    with reading_arrays(path, "train_features") as content:
        return tuple(
            np.asarray(content[f"{split}_{name}"], dtype=np.float32 if name == "features" else None)
            for split in ("train", "test")
            for name in ("features", "labels")
        )
