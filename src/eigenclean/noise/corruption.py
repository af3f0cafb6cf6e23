"""Corrupted labels together with the right ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Ints, check_labels, encode_labels, preview
from eigenclean.errors import InvalidData, InvalidOption, TooFewSamples
from eigenclean.noise.base import Noise
from eigenclean.seeds import tagged_generator
from eigenclean.truth import Truth


@dataclass(frozen=True, eq=False)
class Corruption:
    """The result of a noise model on a set of labels.

    Attributes:
        labels: the noisy labels, of the type of the right ones.
        truth: the right labels.
        noise: the noise model.
    """

    labels: Array
    truth: Truth
    noise: Noise

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Corruption by {self.noise}: {100 * self.true_rate:.1f} % of {len(self)} labels are wrong"

    @property
    def rate(self) -> float | None:
        """The nominal rate; None for noise without a rate."""
        return self.noise.nominal_rate

    @property
    def true_rate(self) -> float:
        """Share of labels that are wrong; below the nominal rate where a redrawn label may equal the right one."""
        return self.truth.noise_rate(self.labels)


def corruption(
    labels: ArrayLike, noise: Noise, *, random_state: Any, features: ArrayLike | None, classes: ArrayLike | None
) -> Corruption:
    """Apply ``noise`` to ``labels`` of any type; the work behind `corrupt` and `add_noise`."""
    given = np.asarray(labels)
    right = check_labels(given, by="add_noise")
    if len(right) == 0:
        raise TooFewSamples("add_noise: there are no labels; give at least one")
    known, codes = encode_labels(right) if classes is None else _locate_given(right, classes)
    if len(known) < 2:
        raise TooFewSamples(
            f"add_noise: at least two classes are needed to make labels wrong, got only {known[0].item()!r}; "
            "give all of them as classes"
        )
    table = None if features is None else np.asanyarray(features)
    noisy = known[noise.apply(codes, known, _generator(random_state), table)]
    if given.dtype.kind in "Of":  # checked as text or integers; returned in the given type
        return Corruption(noisy.astype(given.dtype), Truth(right.astype(given.dtype)), noise)
    return Corruption(noisy, Truth(right.copy()), noise)


def locate(labels: Array, classes: Array) -> tuple[Ints, Array]:
    """Position of each label among distinct ``classes`` in any order, and which labels are not among them.

    >>> locate(np.array([7, 3]), np.array([9, 7]))
    (array([1, 1]), array([False,  True]))
    """
    order = np.argsort(classes, kind="stable")
    codes = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return codes, np.asarray(classes[codes] != labels)


def _locate_given(labels: Array, classes: ArrayLike) -> tuple[Array, Ints]:
    known = check_labels(classes, by="add_noise: classes")
    if known.dtype.kind != labels.dtype.kind and {known.dtype.kind, labels.dtype.kind} & set("US"):
        raise InvalidOption(f"add_noise: classes have type {known.dtype}, labels {labels.dtype}; give both alike")
    if len(known) == 0 or len(np.unique(known)) < len(known):
        raise InvalidOption(f"add_noise: classes must name each class once, got {preview(known)}")
    codes, unknown = locate(labels, known)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise InvalidData(
            f"add_noise: label {labels[row].item()!r} in row {row} is not among the classes {preview(known)}"
        )
    if labels.dtype.kind in "US":  # a longer name must not be cut short
        return known.astype(np.result_type(known, labels)), codes
    same_type = known.astype(labels.dtype)
    if (same_type != known).any():
        raise InvalidOption(f"add_noise: classes {preview(known)} do not fit the labels' type {labels.dtype}")
    return same_type, codes


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return tagged_generator(random_state, "noise")
    except (TypeError, ValueError):
        raise InvalidOption(
            f"add_noise: random_state must be an integer from 0, a numpy Generator or None, got {random_state!r}"
        ) from None
