"""The settings of `eigenclean bench quality`: real data with errors whose truth is known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, encode_labels
from eigenclean.files import reading_arrays
from eigenclean.noise import Noise, corrupt, make_noise
from eigenclean.sources import DATASETS
from eigenclean.truth import Truth
from eigenclean_lab.data_folder import data_file, fashion_mnist

_MOST_IMAGES = 20_000  # of Fashion-MNIST, the first ones: as many as there are of CIFAR-10
# Functions that make features with a network, by the name of the data; imported on use, as some need torch.
NETWORKS = {
    "digits-net": ("eigenclean_lab.bench.quality.network_features", "digits_features"),
    "cifar10-net": ("eigenclean_lab.bench.quality.network_features", "cifar10_features"),
    "fashion-net": ("eigenclean_lab.bench.quality.network_features", "fashion_features"),
}
_RATIO = 10.0  # largest to smallest class where classes are imbalanced


@dataclass(frozen=True, eq=False)
class Case:
    """What a detector gets, and the truth that it does not get."""

    features: Array
    labels: Array
    truth: Truth


@dataclass(frozen=True)
class Setting:
    """Data and noise, as a value.

    Attributes:
        data: "cifar10" and "banking77" (features of a pretrained encoder), "fashion" and "digits" (pixels), or
            one of them with "-net": features of a small network that was trained on the noisy labels.
        noise: a noise, or the name of a label set that people made ("aggre"); None leaves the labels as they are.
        imbalanced: thin the classes out, exponentially from the first to the last, so that the largest has ten
            times the rows of the smallest.
        name: as the table shows it.
    """

    data: str
    noise: Noise | str | None
    imbalanced: bool = False
    name: str = field(default="", compare=False)

    @property
    def seeded(self) -> bool:
        """Whether the labels depend on the seed; otherwise one run is enough."""
        return isinstance(self.noise, Noise) or self.imbalanced

    @property
    def learned(self) -> bool:
        """Whether the features are those of a network that was trained on the noisy labels."""
        return self.data in NETWORKS

    def make(self, folder: Path | None, seed: int) -> Case:
        """The case for this seed; `MissingData` says which file is needed."""
        features, right, sets = _LOADERS[self.data.removesuffix("-net")](folder)
        if isinstance(self.noise, str):
            return Case(features, sets[self.noise], Truth(right))
        if self.imbalanced:
            rows = thinned(right, _RATIO, seed)
            features, right = features[rows], right[rows]
        if self.noise is None:
            labels, truth = right, Truth(right)
        else:
            noisy = corrupt(right, self.noise, random_state=seed, features=features)
            labels, truth = noisy.labels, noisy.truth
        if self.learned:
            module, function = NETWORKS[self.data]
            features = getattr(import_module(module), function)(features, labels, seed)
        return Case(features, labels, truth)


def _settings() -> dict[str, Setting]:
    def percents(kind: str, *rates: int, **options: Any) -> dict[str, Noise | None]:
        short = kind.replace("metric", "")
        return {f"{short}-{rate}": make_noise(kind, rate / 100, **options) if rate else None for rate in rates}

    table: list[tuple[str, str, bool, Mapping[str, Noise | str | None]]] = [
        ("cifar10", "cifar10", False, percents("symmetric", 0, 2, 20, 50, 80)),
        ("cifar10", "cifar10", False, percents("asymmetric", 40, map="cifar10")),
        ("cifar10", "cifar10", False, percents("instance", 40)),
        ("cifar10", "cifar10", False, {f"human-{which}": which for which in ("aggre", "rand1", "worst")}),
        ("cifar10-10to1", "cifar10", True, percents("symmetric", 20, 50)),
        ("cifar10-net", "cifar10-net", False, percents("symmetric", 0, 20, 50, 80)),
        ("cifar10-net", "cifar10-net", False, percents("asymmetric", 40, map="cifar10")),
        ("banking77", "banking77", False, percents("symmetric", 20, 50)),
        ("fashion", "fashion", False, percents("symmetric", 0, 20, 50, 80)),
        ("fashion", "fashion", False, percents("pair", 40)),
        ("fashion-net", "fashion-net", False, percents("symmetric", 0, 20, 50, 80)),
        ("fashion-net", "fashion-net", False, percents("pair", 40)),
        ("digits", "digits", False, percents("symmetric", 0, 20, 50)),
        ("digits-net", "digits-net", False, percents("symmetric", 0, 20, 50)),
    ]
    return {
        f"{group}/{kind}": Setting(data, noise, imbalanced, f"{group}/{kind}")
        for group, data, imbalanced, noises in table
        for kind, noise in noises.items()
    }


SETTINGS: dict[str, Setting] = _settings()
QUICK = "digits/*"


def thinned(labels: Array, ratio: float, seed: int) -> Ints:
    """Rows that are left, in order, when class k of K keeps a share ratio^(-k/(K-1)) of the smallest class's size.

    >>> rows = thinned(np.repeat([0, 1, 2], 100), ratio=4, seed=0)
    >>> np.bincount(np.repeat([0, 1, 2], 100)[rows])
    array([100,  50,  25])
    """
    classes, codes = encode_labels(labels)
    rng = np.random.default_rng(seed)
    smallest = int(np.bincount(codes).min())
    sizes = np.round(smallest * ratio ** -np.linspace(0, 1, len(classes))).astype(int)
    picked = [
        rng.choice(np.flatnonzero(codes == k), max(1, size), replace=False) for k, size in enumerate(sizes.tolist())
    ]
    return np.sort(np.concatenate(picked))


_Loaded = tuple[Array, Array, dict[str, Array]]


def _cifar10(folder: Path | None) -> _Loaded:
    return _read_cifar10(data_file(folder, "cifar10_lite1_20k.npz"))


def _banking77(folder: Path | None) -> _Loaded:
    return _read_banking77(data_file(folder, "banking77_minilm.npz"))


@lru_cache(maxsize=1)  # settings of the same data follow each other
def _read_cifar10(path: Path) -> _Loaded:
    with reading_arrays(path, "features") as content:
        features = content["features"].astype(np.float32)
        sets = {name: content[name].astype(np.int64) for name in ("aggre", "rand1", "worst")}
        return features, content["clean"].astype(np.int64), sets


@lru_cache(maxsize=1)
def _read_banking77(path: Path) -> _Loaded:
    with reading_arrays(path, "features") as content:
        return content["features"].astype(np.float32), content["labels"], {}


def _fashion(folder: Path | None) -> _Loaded:
    images, right = (array[:_MOST_IMAGES] for array in fashion_mnist(folder, "train"))
    return images.reshape(len(images), -1) / np.float32(255), right, {}


def _digits(folder: Path | None) -> _Loaded:
    source = DATASETS["digits"]()
    return source.features(), source.labels, {}


_LOADERS: dict[str, Callable[[Path | None], _Loaded]] = {
    "cifar10": _cifar10,
    "banking77": _banking77,
    "fashion": _fashion,
    "digits": _digits,
}
