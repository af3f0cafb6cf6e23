"""Features of pretrained encoders, from files: CIFAR-10 and CIFAR-100 (images), banking77 (texts)."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from eigenclean.files import reading_arrays
from eigenclean_lab.bench.quality.data.loaded import Loaded
from eigenclean_lab.data_folder import data_file

_LABEL_SETS = ("aggre", "rand1", "rand2", "rand3", "worst")
_HALVES = {"cifar10-dev": slice(0, 10_000), "cifar10-conf": slice(-10_000, None)}  # of 20 000 rows
_MOST_CIFAR100 = 10_000


def load_cifar10(folder: Path | None, name: str) -> Loaded:
    """CIFAR-10 with the labels that people gave: all rows, the first half or the last one."""
    whole = _read_cifar10(data_file(folder, "cifar10_lite1_20k.npz"))
    return whole if name not in _HALVES else whole.take(np.arange(len(whole.labels))[_HALVES[name]])


def load_cifar100(folder: Path | None, name: str) -> Loaded:
    """The first 10 000 rows of CIFAR-100's training set."""
    return _read_cifar100(data_file(folder, "cifar100_lite1_25k.npz"))


def load_banking77(folder: Path | None, name: str) -> Loaded:
    """Requests of bank customers in 77 classes."""
    return _read_banking77(data_file(folder, "banking77_minilm.npz"))


@lru_cache(maxsize=1)  # settings of the same data follow each other
def _read_cifar10(path: Path) -> Loaded:
    with reading_arrays(path, "features") as content:
        sets = {name: content[name].astype(np.int64) for name in _LABEL_SETS if name in content}
        return Loaded(content["features"].astype(np.float32), content["clean"].astype(np.int64), sets)


@lru_cache(maxsize=1)
def _read_cifar100(path: Path) -> Loaded:
    with reading_arrays(path, "train_features") as content:
        rows = slice(0, _MOST_CIFAR100)
        return Loaded(content["train_features"][rows].astype(np.float32), content["train_labels"][rows], {})


@lru_cache(maxsize=1)
def _read_banking77(path: Path) -> Loaded:
    with reading_arrays(path, "features") as content:
        return Loaded(content["features"].astype(np.float32), content["labels"], {})
