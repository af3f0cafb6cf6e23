"""Rows with labels by several annotators and known truth: people's labels of CIFAR-10, and simulated crowds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.evidence import Annotations
from eigenclean.sources import DATASETS
from eigenclean_lab.data_folder import data_file

N_ANNOTATORS = 30
MOST_PER_ROW = 5
HUMAN_SETS = ("rand1", "rand2", "rand3")
_FILE = "cifar10_lite1_20k.npz"


@dataclass(frozen=True, eq=False)
class LabelledCrowd:
    """Rows to label.

    Attributes:
        annotations: the labels.
        truth: the right class of each row, a number.
        features: n x d, or None.
        aggregated: other labels of the same rows, whose errors are ranked; None if there are none.
    """

    annotations: Annotations
    truth: Ints
    features: Array | None
    aggregated: Ints | None = None


def people(folder: Path | None, seed: int) -> LabelledCrowd:
    """CIFAR-10N: three people's labels of 20 000 images."""
    with np.load(data_file(folder, _FILE)) as data:
        table = np.stack([data[name].astype(np.int64) for name in HUMAN_SETS], axis=1)
        features, aggregated = data["features"].astype(np.float32), data["aggre"].astype(np.intp)
        truth = data["clean"].astype(np.intp)
    return LabelledCrowd(Annotations.from_matrix(table, HUMAN_SETS), truth, features, aggregated)


def people_with_gaps(folder: Path | None, seed: int) -> LabelledCrowd:
    """Labels by people for images, one to three for each image."""
    whole = people(folder, seed)
    rng = np.random.default_rng(seed)
    n = len(whole.truth)
    table = np.full((n, len(HUMAN_SETS)), -1)
    table[whole.annotations.rows, whole.annotations.annotators] = whole.annotations.codes
    order = rng.permuted(np.tile(np.arange(len(HUMAN_SETS)), (n, 1)), axis=1)
    table[order >= rng.integers(1, len(HUMAN_SETS) + 1, n)[:, None]] = -1
    return LabelledCrowd(Annotations.from_matrix(table, HUMAN_SETS), whole.truth, whole.features)


def crowd_of_images(folder: Path | None, seed: int) -> LabelledCrowd:
    """CIFAR-10 labelled by 30 simulated annotators who confuse what people confuse."""
    with np.load(data_file(folder, _FILE)) as data:
        truth, features = data["clean"].astype(np.intp), data["features"].astype(np.float32)
        confusions = sum(np.histogram2d(truth, data[name], bins=10)[0] for name in HUMAN_SETS)
    return LabelledCrowd(simulate(truth, np.asarray(confusions), seed), truth, features)


def crowd_of_digits(folder: Path | None, seed: int) -> LabelledCrowd:
    """Digits labelled by 30 simulated annotators who confuse all classes alike."""
    digits = DATASETS["digits"]()
    truth = digits.labels.astype(np.intp)
    return LabelledCrowd(simulate(truth, np.ones((10, 10)), seed), truth, digits.features())


CROWDS: dict[str, Callable[[Path | None, int], LabelledCrowd]] = {
    "people, 3 labels per row": people,
    "people, 1-3 labels per row": people_with_gaps,
    "30 annotators of images": crowd_of_images,
    "30 annotators of digits": crowd_of_digits,
}


def simulate(truth: Ints, confusions: Float64s, seed: int) -> Annotations:
    """One to five labels per row by 30 annotators: one guesses, one is contrary, one says the same always."""
    rng = np.random.default_rng(seed)
    n, k = len(truth), len(confusions)
    wrong = confusions * (1.0 - np.eye(k))
    wrong /= wrong.sum(axis=1, keepdims=True)
    right = rng.beta(8, 2, N_ANNOTATORS)
    transitions = (1.0 - right)[:, None, None] * wrong + right[:, None, None] * np.eye(k)
    transitions[0] = 1.0 / k
    transitions[1] = 0.1 / k + 0.9 * np.roll(np.eye(k), 1, axis=1)
    transitions[2] = np.eye(k)[[0] * k]
    cumulative = transitions.cumsum(axis=2)[:, truth]  # annotators x rows x classes
    labels = (rng.random((N_ANNOTATORS, n))[:, :, None] > cumulative).sum(axis=2)
    order = rng.permuted(np.tile(np.arange(N_ANNOTATORS), (n, 1)), axis=1)
    labels[rng.integers(1, MOST_PER_ROW + 1, n) <= order.T] = -1
    return Annotations.from_matrix(np.minimum(labels.T, k - 1))
