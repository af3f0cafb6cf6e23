"""Where the data of benchmarks are: the folder of ``--data``, or the one that EIGENCLEAN_DATA names."""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources import open_source
from eigenclean_lab.store import MissingData

VARIABLE = "EIGENCLEAN_DATA"
FASHION = "fashion-mnist"
DEBIAN_FOLDER = Path("/usr/share/datasets") / FASHION


def data_folder(given: Path | None = None) -> Path | None:
    """The folder of the data: as given, or as EIGENCLEAN_DATA says; None when neither names one."""
    named = os.environ.get(VARIABLE)
    option = "--data" if given is not None else VARIABLE
    folder = given if given is not None else Path(named) if named else None
    if folder is not None and not folder.is_dir():
        raise InvalidData(f"there is no folder {folder}; check {option}")
    return folder


def data_file(folder: Path | None, name: str, *, fetched: bool = False) -> Path:
    """A file in the folder of the data; `MissingData` when it is not there.

    ``fetched``: whether `make bench-data` fetches it, which the sentence then says.
    """
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        hint = "; `make bench-data` fetches it" if fetched else ""
        raise MissingData(f"needs {name} in the folder that --data or {VARIABLE} names{hint}")
    return path


def fashion_mnist(folder: Path | None, split: str) -> tuple[Array, Array]:
    """Images (n x 28 x 28 bytes) and labels of Fashion-MNIST, from the folder or the Debian package."""
    places = [*([] if folder is None else [folder / FASHION, folder]), DEBIAN_FOLDER]
    prefix = "train" if split == "train" else "t10k"
    for place in places:
        if any(place.glob(f"{prefix}-labels*")):
            return _read_fashion_mnist(place, split)
    raise MissingData(
        f"needs the Debian package dataset-{FASHION}, or its four files in the folder {FASHION} "
        f"in the one that --data or {VARIABLE} names"
    )


@lru_cache(maxsize=2)
def _read_fashion_mnist(folder: Path, split: str) -> tuple[Array, Array]:
    source = open_source(f"{FASHION}:{folder}", split=split)
    return np.asarray(source.images), source.labels
