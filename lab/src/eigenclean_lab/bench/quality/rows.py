"""Means over seeds of the cells of `eigenclean bench quality`, and means of those over the settings of a family."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eigenclean_lab.bench.quality.data import FAMILIES, HALVES
from eigenclean_lab.bench.quality.measure import FIGURES
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.store import Cell, measured_cells

_FEW_FLAGS = 50  # with fewer, the share of false ones is mostly chance
_MEANS = ("auroc", "average_precision", "noisy_f1", "ece")  # over settings with wrong labels
_TOLERATED = 0.15  # of false flags where .10 was asked


@dataclass(frozen=True, eq=False)
class QualityRow:
    """A line of the table: the mean over the seeds that were measured, or why there is none."""

    setting: str
    detector: str
    seeds: int
    note: str
    figures: Mapping[str, float | None]
    n_rows: int | None = None

    @property
    def half(self) -> str:
        """The half of the setting; "" for one that no longer exists."""
        return SETTINGS[self.setting].half if self.setting in SETTINGS else ""

    @property
    def family(self) -> str:
        """The family of the setting; "" for one that no longer exists."""
        return SETTINGS[self.setting].family if self.setting in SETTINGS else ""

    @property
    def is_clean(self) -> bool:
        """Whether no label is wrong."""
        return self.figures.get("noise_rate") == 0


@dataclass(frozen=True, eq=False)
class Means:
    """Means of one detector over the settings of a half and a family.

    Attributes:
        half: the half.
        family: the family; "all" for all of them.
        detector: the detector.
        n_settings: how many it was measured in.
        figures: "auroc", "average_precision", "noisy_f1", "ece" and "rate_error" (estimated against true noise
            rate) are means over settings with wrong labels, "clean_flagged" over those without;
            "rate_in_interval" is the share of settings whose interval holds the true noise rate, "kept_limit" the
            share with at most 15 % false flags under ``--max-false-flags 0.1``, of those with 50 flags or more;
            "seconds" is a sum.
    """

    half: str
    family: str
    detector: str
    n_settings: int
    figures: Mapping[str, float | None]


def paired_cells(cells: Iterable[Cell]) -> list[Cell]:
    """The cells of those seeds that every detector of a setting has, so that all are compared on the same draws."""
    by_setting: dict[str, list[Cell]] = {}
    for cell in cells:
        by_setting.setdefault(cell.task["setting"], []).append(cell)
    paired: list[Cell] = []
    for members in by_setting.values():
        seeds: dict[str, set[int]] = {}
        for cell in measured_cells(members):
            seeds.setdefault(cell.task["detector"], set()).add(cell.seed)
        common = set.intersection(*seeds.values()) if seeds else set()
        paired += [cell for cell in members if cell.seed in common or not common]
    return paired


def summary_rows(cells: Iterable[Cell]) -> list[QualityRow]:
    """Means over seeds, in the order of the cells; a figure that no seed has is None."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.task["setting"], cell.task["detector"]), []).append(cell)
    rows = []
    for (setting, detector), members in groups.items():
        measured = measured_cells(members)
        notes = [f"{cell.status}: {cell.note}" for cell in members if not cell.is_measured]
        figures = {figure: mean(cell.figures.get(figure) for cell in measured) for figure in FIGURES}
        n_rows = next((cell.facts["rows"] for cell in measured if "rows" in cell.facts), None)
        rows.append(
            QualityRow(setting, detector, len(measured), next(iter(notes), ""), figures if measured else {}, n_rows)
        )
    return rows


def family_means(rows: Sequence[QualityRow]) -> list[Means]:
    """Means by half, family and detector, and over all families of a half."""
    measured = [row for row in rows if row.figures]
    result = []
    for half in HALVES:
        for family in (*FAMILIES, "all"):
            members = [row for row in measured if row.half == half and family in (row.family, "all")]
            for detector in dict.fromkeys(row.detector for row in members):
                settings = [row for row in members if row.detector == detector]
                result.append(Means(half, family, detector, len(settings), family_figures(settings)))
    return result


def family_figures(rows: Sequence[QualityRow]) -> dict[str, float | None]:
    """The figures of `Means` for the rows of one detector."""
    noisy = [row.figures for row in rows if not row.is_clean]
    clean = [row.figures for row in rows if row.is_clean]
    many = [figures for figures in noisy if (figures.get("flags_at_10") or 0) >= _FEW_FLAGS]
    return {
        **{name: mean(figures.get(name) for figures in noisy) for name in _MEANS},
        "clean_flagged": mean(figures.get("clean_flagged") for figures in clean),
        "rate_error": mean(
            abs(estimated - true)
            for figures in noisy
            if (estimated := figures.get("estimated_noise_rate")) is not None
            and (true := figures.get("noise_rate")) is not None
        ),
        "rate_in_interval": mean(row.figures.get("rate_in_interval") for row in rows),
        "kept_limit": mean(
            float(false <= _TOLERATED)
            for figures in many
            if (false := figures.get("false_flags_at_10")) is not None
        ),
        "seconds": sum(row.figures.get("seconds") or 0.0 for row in rows),
    }


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; None without any.

    >>> mean([1.0, None, 2.0]), mean([])
    (1.5, None)
    """
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
