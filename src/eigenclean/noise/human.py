"""Human noise: labels that people gave, read from a file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, check_labels, preview
from eigenclean.errors import InvalidData
from eigenclean.files import reading_arrays
from eigenclean.names import check_name
from eigenclean.noise.base import Noise
from eigenclean.noise.corruption import locate
from eigenclean.sources.layouts.safe_pickle import read_pickled_arrays


@dataclass(frozen=True)
class Human(Noise):
    """Labels of human annotators, such as CIFAR-10N and CIFAR-100N.

    The file must also hold the right labels, and they must equal the given ones row by row, which proves
    that both are in the same order. Where the given labels are names, numbers in the file are class positions.

    Attributes:
        path: a CIFAR-N ``.pt`` file (read without running anything in it), ``.npz``, or structured ``.npy``.
        which: the label set: "aggregate", "worst", "random1" to "random3" (CIFAR-10N) or "noisy" (CIFAR-100N).

    >>> Human("CIFAR-10_human.pt", which="aggregate")
    Human(path='CIFAR-10_human.pt', which='aggregate')
    """

    path: str | os.PathLike[str]
    which: str = "worst"

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.fspath(self.path))
        # Names as in the files of CIFAR-N are accepted too.
        short = {key: name for name, keys in LABEL_SETS.items() for key in keys}
        object.__setattr__(self, "which", short.get(self.which, self.which))
        check_name(self.which, LABEL_SETS, by="human noise", what="which")

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        path = Path(self.path)
        sets = read_label_sets(path, ("clean", self.which))
        clean, noisy = (_codes_of(sets[name], classes, path) for name in ("clean", self.which))
        if len(clean) != len(codes):
            raise InvalidData(f"human noise: {path} is for {len(clean)} labels, got {len(codes)}")
        differ = clean != codes
        if differ.any():
            raise InvalidData(
                f"human noise: the clean labels in {path} must equal the given labels, but {int(differ.sum())} of "
                f"{len(codes)} differ, the first in row {int(np.argmax(differ))}; put the data in the file's order"
            )
        return noisy


def _codes_of(labels: Array, classes: Array, path: Path) -> Ints:
    named = classes.dtype.kind in "US"
    if labels.dtype.kind in "US" and not named:
        raise InvalidData(
            f"human noise: {path} has labels of type {labels.dtype}, but type {classes.dtype} was given"
        )
    known = np.arange(len(classes)) if named and labels.dtype.kind not in "US" else classes
    codes, unknown = locate(labels, known)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise InvalidData(
            f"human noise: label {labels[row].item()!r} in row {row} of {path} is not among the classes "
            f"{preview(known)}; give all of them as classes"
        )
    return codes


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
