"""The settings of `eigenclean bench train`: wrong labels to learn from, right ones to test on, on real data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.noise import Noise, corrupt, make_noise
from eigenclean.seeds import tagged_generator
from eigenclean.train import held_out
from eigenclean.truth import Truth
from eigenclean_lab.bench.quality.data.embeddings import load_cifar10
from eigenclean_lab.bench.quality.data.loaded import Loaded
from eigenclean_lab.bench.quality.data.pixels import load_digits
from eigenclean_lab.bench.quality.data.tables import load_mlbench
from eigenclean_lab.data_folder import fashion_mnist

SAMPLES = 5_000  # to learn from at most, and as many to test on: hours on a laptop instead of days
_TEST_SHARE = 0.25  # share of the rows that are tested on, where the data have no test set of their own
# Tables of mlbench. The first four belong to the data on which the judge was developed, the other two do not.
TABLES = ("Vehicle", "Vowel", "DNA", "Ionosphere", "Satellite", "LetterRecognition")
_FEWER = {"LetterRecognition": 3_000}  # samples to learn from: 26 classes, and methods that fit a model to each


@dataclass(frozen=True, eq=False)
class TrainingCase:
    """What a recipe gets to learn from, what it is tested on, and the truth that it does not get.

    Attributes:
        inputs: images or features to learn from.
        labels: their labels, some of them wrong.
        truth: their right labels.
        test: inputs and right labels of samples that are not learned from.
        net: the network for such inputs.
    """

    inputs: Array
    labels: Array
    truth: Truth
    test: tuple[Array, Array]
    net: str


@dataclass(frozen=True)
class TrainingSetting:
    """Data and noise, as a value.

    Attributes:
        data: "fashion" (images), "cifar10" (features of a pretrained encoder), "digits" (pixels), or one of
            `TABLES`, encoded.
        noise: a noise, or the name of a label set that people made ("worst"); None leaves the labels right.
        name: as the table shows it.
    """

    data: str
    noise: Noise | str | None
    name: str = field(default="", compare=False)

    @property
    def net(self) -> str:
        """The network for such data: convolutions for images, else a head with hidden layers."""
        return "small-cnn" if self.data == "fashion" else "mlp"

    def make(self, folder: Path | None, seed: int, samples: int = SAMPLES) -> TrainingCase:
        """The case for this seed, which draws test rows, then noise; `MissingData` says what is needed."""
        make = _images if self.data == "fashion" else _vectors
        return make(self, folder, seed, samples)


def _settings() -> dict[str, TrainingSetting]:
    def symmetric(*rates: int) -> dict[str, Noise | None]:
        return {f"sym-{rate}": make_noise("symmetric", rate / 100) if rate else None for rate in rates}

    people = ("aggre", "rand1", "worst")
    table: list[tuple[str, Mapping[str, Noise | str | None]]] = [
        ("fashion", symmetric(50)),
        ("fashion", {"pair-40": make_noise("pair", 0.4)}),  # nobody has published a map of its classes
        ("cifar10", symmetric(0, 20, 50, 80)),
        ("cifar10", {"asym-40": make_noise("asymmetric", 0.4, map="cifar10")}),
        ("cifar10", {"instance-40": make_noise("instance", 0.4)}),
        ("cifar10", {f"human-{which}": which for which in people}),
        ("digits", symmetric(50)),
        ("digits", {"pair-40": make_noise("pair", 0.4)}),
        *((name, {**symmetric(20), "pair-30": make_noise("pair", 0.3)}) for name in TABLES),
    ]
    return {
        f"{data}/{kind}": TrainingSetting(data, noise, f"{data}/{kind}")
        for data, noises in table
        for kind, noise in noises.items()
    }


def _images(setting: TrainingSetting, folder: Path | None, seed: int, samples: int) -> TrainingCase:
    """Fashion-MNIST: some of the images to learn from, as many of the test images, both drawn by the seed."""
    train, test = (_sample(*fashion_mnist(folder, split), samples, seed) for split in ("train", "test"))
    return _case(setting, *train, test, seed)


def _vectors(setting: TrainingSetting, folder: Path | None, seed: int, samples: int) -> TrainingCase:
    """Rows of features; a share of each class is held out for the test, with its right labels."""
    whole = _LOADERS[setting.data](folder, setting.data)
    right = whole.labels
    is_test = held_out(right, _TEST_SHARE, random_state=seed)
    rows = _draw(np.flatnonzero(~is_test), min(samples, _FEWER.get(setting.data, samples)), seed)
    test_rows = _draw(np.flatnonzero(is_test), samples, seed)
    test = (whole.features[test_rows], right[test_rows])
    if isinstance(setting.noise, str):
        given = whole.label_sets[setting.noise]
        return TrainingCase(whole.features[rows], given[rows], Truth(right[rows]), test, setting.net)
    return _case(setting, whole.features[rows], right[rows], test, seed)


def _case(
    setting: TrainingSetting, inputs: Array, right: Array, test: tuple[Array, Array], seed: int
) -> TrainingCase:
    if setting.noise is None:
        return TrainingCase(inputs, right, Truth(right), test, setting.net)
    assert isinstance(setting.noise, Noise)
    noisy = corrupt(right, setting.noise, random_state=seed, features=inputs.reshape(len(inputs), -1))
    return TrainingCase(inputs, noisy.labels, noisy.truth, test, setting.net)


def _sample(inputs: Array, labels: Array, most: int, seed: int) -> tuple[Array, Array]:
    rows = _draw(np.arange(len(labels)), most, seed)
    return inputs[rows], labels[rows]


def _draw(rows: Ints, most: int, seed: int) -> Ints:
    """At most so many of the rows, in order; drawn from another stream of random numbers than the noise."""
    return np.sort(tagged_generator(seed, "rows").permutation(rows)[:most])


_LOADERS: dict[str, Callable[[Path | None, str], Loaded]] = {
    "cifar10": load_cifar10,
    "digits": load_digits,
    **dict.fromkeys(TABLES, load_mlbench),
}
SETTINGS: dict[str, TrainingSetting] = _settings()
QUICK = "digits/*"
