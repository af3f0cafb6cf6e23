"""What a run on a cluster would take, calculated from rates that were measured on one machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eigenclean_lab.bench.speed.ratios import THREADS

GB = 1e9
_SHRINKAGES = 7  # amounts that the judge tries in its first round; later rounds try two


@dataclass(frozen=True)
class Rates:
    """Operations of the machine in a second, measured in the run.

    Attributes:
        read_bytes: bytes read from the file in order.
        second_moments: multiplications in zᵀz.
        discriminants: multiplications of rows with the directions of all classes.
    """

    read_bytes: float
    second_moments: float
    discriminants: float

    def blas_seconds(self, n: int, d: int, k: int, rounds: int) -> float:
        """Seconds that the judge's matrix products take."""
        # One fold of five tries all amounts of shrinkage at first, and then the neighbours of the last one.
        passes = rounds + (_SHRINKAGES + 2 * (rounds - 1)) / 5
        return n * d * d / self.second_moments + passes * n * d * k / self.discriminants


@dataclass(frozen=True)
class Estimate:
    """What a run on a cluster would take, by calculation.

    Attributes:
        hours: wall time.
        worker_hours: of all workers together.
        gigabytes: size of the features.
        table_gigabytes: what each worker keeps of its rows.
    """

    hours: float
    worker_hours: float
    gigabytes: float
    table_gigabytes: float


def estimate(
    rates: Rates, large_run: Mapping[str, Any], *, rows: int, columns: int, classes: int, workers: int
) -> Estimate:
    """From measured rates: reading and multiplying, times what the large run took beyond both.

    A worker has one core; the rates were measured on `THREADS` of them.
    """
    seconds = 2 * rows * columns * 4 / (rates.read_bytes * workers)
    seconds += rates.blas_seconds(rows, columns, classes, int(large_run["rounds"])) * THREADS / workers
    hours = seconds * large_run["ratio"] / 3600
    tables = rows * (min(classes, 64) * 6 if classes > 200 else classes * 4) / workers
    return Estimate(hours, hours * workers, rows * columns * 4 / GB, tables / GB)
