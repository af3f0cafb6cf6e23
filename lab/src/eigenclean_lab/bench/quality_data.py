"""The settings of `eigenclean bench quality`: real data with errors whose truth is known."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, encode_labels
from eigenclean.errors import InvalidData
from eigenclean.extras import require
from eigenclean.files import reading_arrays
from eigenclean.noise import Noise, corrupt, make_noise
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.truth import Truth
from eigenclean.workflows.demo import network_features
from eigenclean_lab.bench.idx import read_idx

VARIABLE = "EIGENCLEAN_DATA"
_NEIGHBOUR = Path("..") / "shared" / "data"
_FASHION = "fashion-mnist"
_DEBIAN = Path("/usr/share/datasets") / _FASHION
_MOST = 20_000  # images of Fashion-MNIST, the first ones: as many as there are of CIFAR-10
_RATIO = 10.0  # largest to smallest class where classes are imbalanced


class MissingData(InvalidData):
    """A setting needs a file that is not there."""


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
        """Do the labels depend on the seed? Otherwise one run says it all."""
        return isinstance(self.noise, Noise) or self.imbalanced

    @property
    def learned(self) -> bool:
        """Are the features those of a network that was trained on the noisy labels?"""
        return self.data in _NETWORKS

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
            made = corrupt(right, self.noise, random_state=seed, features=features)
            labels, truth = made.labels, made.truth
        if self.learned:
            features = _NETWORKS[self.data](features, labels, seed)
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


def data_folder(given: Path | None = None) -> Path | None:
    """Where files of features are: the given folder, that in EIGENCLEAN_DATA, ../shared/data, or nowhere."""
    if given is not None:
        if not given.is_dir():
            raise InvalidData(f"bench quality: there is no folder {given}; check --data")
        return given
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    return _NEIGHBOUR if _NEIGHBOUR.is_dir() else None


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


def _file(folder: Path | None, name: str) -> Path:
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        raise MissingData(f"needs {name} in the folder that --data or {VARIABLE} names")
    return path


def _cifar10(folder: Path | None) -> _Loaded:
    return _read_cifar10(_file(folder, "cifar10_lite1_20k.npz"))


def _banking77(folder: Path | None) -> _Loaded:
    return _read_banking77(_file(folder, "banking77_minilm.npz"))


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
    names = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    places = [*([] if folder is None else [folder / _FASHION, folder]), _DEBIAN]
    for place in places:
        if all((place / name).is_file() for name in names):
            return _read_fashion(*(place / name for name in names))
    raise MissingData(
        f"needs the Debian package dataset-{_FASHION}, or {names[0]} and {names[1]} in the folder {_FASHION} "
        f"in the one that --data or {VARIABLE} names"
    )


@lru_cache(maxsize=1)
def _read_fashion(images: Path, labels: Path) -> _Loaded:
    pixels, right = read_idx(images, _MOST), read_idx(labels, _MOST)
    if pixels.ndim != 3 or right.shape != pixels.shape[:1]:
        raise InvalidData(f"{images} and {labels} do not belong together: {pixels.shape} and {right.shape}")
    return pixels.reshape(len(pixels), -1) / np.float32(255), right.astype(np.int64), {}


def _digits(folder: Path | None) -> _Loaded:
    source = DATASETS["digits"]()
    return source.features(), source.labels, {}


_LOADERS: dict[str, Callable[[Path | None], _Loaded]] = {
    "cifar10": _cifar10,
    "banking77": _banking77,
    "fashion": _fashion,
    "digits": _digits,
}


def _digits_net(features: Array, labels: Array, seed: int) -> Array:
    return network_features(features / 16, labels, seed=seed)


def _cifar10_net(features: Array, labels: Array, seed: int) -> Array:
    _require_torch("cifar10-net")
    from eigenclean_lab.bench.network_features import from_vectors

    return from_vectors(features, labels, seed=seed)


def _fashion_net(features: Array, labels: Array, seed: int) -> Array:
    _require_torch("fashion-net")
    from eigenclean_lab.bench.network_features import from_images

    return from_images(features, labels, seed=seed)


def _require_torch(data: str) -> None:
    for library in ("torch", "accelerate"):
        require(library, extra="train", caller=f"bench quality, {data}")


_NETWORKS: dict[str, Callable[[Array, Array, int], Array]] = {
    "digits-net": _digits_net,
    "cifar10-net": _cifar10_net,
    "fashion-net": _fashion_net,
}
