"""Human noise: labels with real annotation errors, from a file."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array, Ints, preview
from eigenclean.errors import InvalidData
from eigenclean.names import check_name
from eigenclean.noise.base import Noise
from eigenclean.noise.corruption import locate
from eigenclean.noise.human_file import LABEL_SETS, read_label_sets


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
