"""Files of human labels: CIFAR-N's ``.pt``, or the same label sets as ``.npz`` or structured ``.npy``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, check_labels
from eigenclean.errors import InvalidData
from eigenclean.files import reading_arrays
from eigenclean.sources.layouts.safe_pickle import read_pickled_arrays

LABEL_SETS = {  # our name: its names in files, CIFAR-N's own first ("worse" is its spelling of worst)
    "clean": ("clean_label", "clean"),
    "aggregate": ("aggre_label", "aggre", "aggregate"),
    "worst": ("worse_label", "worst_label", "worst"),
    "random1": ("random_label1", "rand1", "random1"),
    "random2": ("random_label2", "rand2", "random2"),
    "random3": ("random_label3", "rand3", "random3"),
    "noisy": ("noisy_label", "noise_label", "noisy"),
}


def read_label_sets(path: Path, names: tuple[str, ...]) -> dict[str, Array]:
    """The label sets of those names (as in `LABEL_SETS`), checked, of equal length."""
    if not path.is_file():
        raise InvalidData(f"human noise: there is no file {path}")
    if path.suffix not in (".pt", ".npz", ".npy"):
        raise InvalidData(f"human noise: labels must come as .pt, .npz or .npy, got {path}")
    if path.suffix == ".pt":
        return _pick(read_pickled_arrays(path), names, path)
    with reading_arrays(path, "arrays") as content:
        if isinstance(content, np.ndarray):
            fields = content.dtype.names or ()
            content = {name: content[name] for name in fields}
        return _pick(content, names, path)


def _pick(content: Mapping[str, Any], names: tuple[str, ...], path: Path) -> dict[str, Array]:
    keys_in_file = {name: key for name, keys in LABEL_SETS.items() for key in keys if key in content}
    for name in names:
        if name not in keys_in_file:
            raise InvalidData(
                f"{path} has no {name} labels, expected an array {LABEL_SETS[name][0]!r}; "
                f"it has {', '.join(keys_in_file) or 'no known label set'}"
            )
    sets = {name: check_labels(content[keys_in_file[name]], by=f"{path}, {keys_in_file[name]}") for name in names}
    if len({len(labels) for labels in sets.values()}) > 1:
        raise InvalidData(f"{path}: label sets must have equal length, {' and '.join(names)} differ")
    return sets
