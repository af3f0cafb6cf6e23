"""Simulations of the theorems: grids of settings, and the result with its table and figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from eigenclean.names import check_name
from eigenclean_lab.theory.gaussian_class import GaussianClass

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Number = float | int | bool
DELTA = 0.05  # how often a bound may fail, everywhere in the simulations


@dataclass(frozen=True)
class TheoremRun:
    """A simulated theorem.

    Attributes:
        name: as on the command line.
        title: one line that says what was simulated.
        numbers: the summary, ready for JSON.
        columns: header of the table.
        rows: the table, as text.
        notes: sentences about the outcome.
        cells: every setting of the grid with its numbers, ready for JSON.
        draw: draws into an empty figure.
        size: of that figure, in inches.
    """

    name: str
    title: str
    numbers: dict[str, Number]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    cells: tuple[Mapping[str, Number], ...]
    draw: Callable[["Figure"], None]
    size: tuple[float, float] = (9.0, 4.2)


@dataclass(frozen=True)
class Grid:
    """Settings to simulate: all combinations of the values, with ``draws`` random draws of each."""

    tau: tuple[float, ...]
    degrees: tuple[float, ...]
    sigma: tuple[float, ...]
    d: tuple[int, ...]
    n_clean: tuple[int, ...]
    draws: int

    def models(self) -> list[GaussianClass]:
        """One model for each combination.

        >>> len(PROFILES["smoke"].models())
        48
        """
        combinations = product(self.tau, self.degrees, self.sigma, self.d, self.n_clean)
        return [
            GaussianClass(tau, float(np.radians(angle)), sigma, d, n) for tau, angle, sigma, d, n in combinations
        ]


PROFILES: dict[str, Grid] = {
    "smoke": Grid((0.1, 0.4), (60, 80, 90), (0.05, 0.2), (8, 128), (500, 2000), draws=20),
    "small": Grid(
        (0.1, 0.2, 0.4, 0.8), (45, 75, 90), (0.02, 0.05, 0.1, 0.2, 0.5), (8, 64, 256), (500, 5000), draws=100
    ),
    "paper": Grid(
        (0.02, 0.1, 0.2, 0.4, 0.8),
        (30, 45, 60, 75, 85, 90),
        (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
        (8, 64, 512),
        (500, 5000, 50_000),
        draws=100,
    ),
}


def grid_of(profile: str, *, by: str) -> Grid:
    """The grid of a profile; an unknown name is refused on behalf of ``by``."""
    check_name(profile, PROFILES, by=by, what="profile")
    return PROFILES[profile]
