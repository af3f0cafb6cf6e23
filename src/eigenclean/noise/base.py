"""The base of all noise models: they turn right labels into partly wrong ones."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidOption


@dataclass(frozen=True)
class Noise(ABC):
    """A noise model as a value: it prints, compares and hashes by its options.

    A new kind of noise is one subclass in one file and one line in `NOISES`; its fields are its options.
    """

    @property
    def name(self) -> str:
        """Name in the `NOISES` table."""
        return type(self).__name__.lower()

    @property
    def nominal_rate(self) -> float | None:
        """The requested noise rate; None for noise without such an option."""
        return None

    @abstractmethod
    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows; ``codes`` is not changed.

        Args:
            codes: the right class of each row, as its position in ``classes``.
            classes: all classes, at least two.
            rng: the source of all randomness.
            features: one row per label, for noise that depends on the sample.
        """


@dataclass(frozen=True)
class RatedNoise(Noise):
    """A noise model with a rate: the share of labels to corrupt. Each kind documents how many become wrong."""

    rate: float = 0.2

    def __post_init__(self) -> None:
        check_share(self.rate, by=self.name, what="rate")

    @property
    def nominal_rate(self) -> float | None:
        """The requested noise rate."""
        return float(self.rate)


def check_share(value: Any, *, by: str, what: str) -> None:
    """Raise `InvalidOption` unless ``value`` is a number from 0 to 1.

    >>> check_share(1.5, by="symmetric", what="rate")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: symmetric noise: rate must be a number from 0 to 1, got 1.5
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InvalidOption(f"{by} noise: {what} must be a number from 0 to 1, got {value!r}")
