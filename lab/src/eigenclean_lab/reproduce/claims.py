"""What the paper says in words, and whether it is so in what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.rankings import count, gaps

ONE_PERCENT, SENSITIVITY = 0.97, 0.05  # bars of (b) and (e)


@dataclass(frozen=True)
class Claim:
    """One sentence.

    Attributes:
        says: the sentence.
        so: for each setting that it is about, is it so?
        detail: the numbers behind it.
    """

    says: str
    so: tuple[bool, ...]
    detail: str

    @property
    def passed(self) -> bool:
        """Is it so everywhere?"""
        return all(self.so)

    @property
    def verdict(self) -> str:
        """In words.

        >>> Claim("noise hurts", (True, False, True), "").verdict
        'in 2 of 3 settings'
        """
        if self.passed:
            return "holds"
        return f"in {sum(self.so)} of {len(self.so)} settings" if any(self.so) else "does not hold"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "passed": self.passed, "verdict": self.verdict}


def claims(table: Table) -> list[Claim]:
    """All that can be said about what was measured of an experiment; nothing about what was not."""
    own = _OWN.get(table.experiment.name)
    return [*(own(table) if own is not None else ()), *_orders(table)]


def _orders(table: Table) -> list[Claim]:
    """Of two rows, is the one better that the paper says? The first figure decides; others stand beside it."""
    found = []
    for better, other in table.experiment.orders:
        measured = {shown: gaps(table, better, other, shown) for shown in table.experiment.main_figures}
        first, *more = measured.items()
        if not first[1]:
            continue
        words = [f"{shown.title}: {count(gap.mean > 0 for gap in own.values())}" for shown, own in more if own]
        printed = [gap.paper > 0 for gap in first[1].values() if gap.paper is not None]
        words += [f"the paper: {count(printed)}"] if printed else []
        so = tuple(gap.mean > 0 for gap in first[1].values())
        found.append(Claim(f"{better} is better than {other} ({first[0].title})", so, "; ".join(words)))
    return found


def _perturbation(table: Table) -> list[Claim]:
    """(a): the first eigenvector is turned less than the second, and the more noise the more."""
    key = "shift.mean"
    rows = [row.name for row in table.experiment.rows]
    columns = [
        column.name
        for column in table.experiment.columns
        if all(table.value(row, column.name, key) is not None for row in rows)
    ]
    first, second = ([table.value(row, name, key) or 0.0 for name in columns] for row in rows)
    if not columns:
        return []
    below = Claim(
        "wrong labels turn the first eigenvector less than the second",
        tuple(one < two for one, two in zip(first, second, strict=True)),
        _pairs(columns, [f"{one:.3f} and {two:.3f}" for one, two in zip(first, second, strict=True)]),
    )
    if len(columns) < 2:
        return [below]
    grows = Claim(
        "the more noise, the more it is turned",
        tuple(bool(step > 0) for step in np.diff(first)),
        _pairs(columns, [f"{one:.3f}" for one in first]),
    )
    return [below, grows]


def _fractions(table: Table) -> list[Claim]:
    """(b): one per cent of a class of a thousand or more is enough for its eigenvector."""
    found = []
    for (_, column, _), cells in table.cells.items():
        large = [cell.figures["one_percent_large"] for cell in cells if "one_percent_large" in cell.figures]
        if large:
            worst = min(cell.figures["one_percent_worst"] for cell in cells if "one_percent_worst" in cell.figures)
            mean = float(np.mean(large))
            says = f"{column}: 1 % of a class of 1 000 or more gives its eigenvector, to a cosine of {ONE_PERCENT}"
            found.append(
                Claim(says, (mean >= ONE_PERCENT,), f"mean {mean:.3f}, worst class {worst:.3f}; the paper: 0.99")
            )
    return found


def _detectors(table: Table) -> list[Claim]:
    """(c): FINE's F is above MCD's and the small-loss mixture's."""
    found = []
    for column in table.experiment.columns:
        values = {row.name: table.value(row.name, column.name, "judge.f") for row in table.experiment.rows}
        ours, others = values.get("fine"), [values.get("mcd"), values.get("small-loss")]
        if ours is not None and all(other is not None for other in others):
            says = f"{column.name}: FINE's F is above that of MCD and of the small-loss mixture"
            detail = ", ".join(f"{name} {value:.3f}" for name, value in values.items() if value is not None)
            found.append(Claim(says, (all(ours > (other or 0.0) for other in others),), detail))
    return found


def _mean_vector(table: Table) -> list[Claim]:
    """(d): the eigenvector finds more than the class mean."""
    found = []
    for column in table.experiment.columns:
        eigen, mean = (table.value(row, column.name, "judge.f") for row in ("eigen", "mean"))
        if eigen is not None and mean is not None:
            printed = table.experiment.paper["judge.f"]
            detail = (
                f"{eigen:.3f} against {mean:.3f}; the paper: {printed['eigen', column.name].mean:.3f} against "
                f"{printed['mean', column.name].mean:.3f}"
            )
            says = f"{column.name}: F by the eigenvector is above F by the mean"
            found.append(Claim(says, (eigen > mean,), detail))
    return found


def _threshold(table: Table) -> list[Claim]:
    """(e): from 0.4 to 0.6 the threshold hardly matters."""
    found = []
    for column in table.experiment.columns:
        values = [table.value(row.name, column.name, "judge.f") for row in table.experiment.rows]
        known = [value for value in values if value is not None]
        if len(known) > 1:
            span = max(known) - min(known)
            says = f"{column.name}: ζ from 0.4 to 0.6 changes F by less than {SENSITIVITY}"
            found.append(Claim(says, (span < SENSITIVITY,), f"by {span:.3f}; in the paper by 0.045"))
    return found


def _theorem(table: Table) -> list[Claim]:
    found = []
    for (row, _, kind), cells in table.cells.items():
        for cell in cells:
            if kind == "theory" and cell.status == "measured":
                broken = {
                    name: value for name, value in cell.figures.items() if name.endswith("corrected_violated")
                }
                detail = " ".join(cell.curves.get("notes", ())) or str(broken)
                says = f"{row}: the corrected bound is never broken"
                found.append(Claim(says, (not any(broken.values()),), detail))
    return found


def _pairs(names: Sequence[str], values: Sequence[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


_OWN: dict[str, Callable[[Table], list[Claim]]] = {
    "table4": _perturbation,
    "fig3c": _perturbation,
    "fig3d": _fractions,
    "fig5": _detectors,
    "table5": _mean_vector,
    "table7": _threshold,
    "theorem1": _theorem,
    "theorem2": _theorem,
}
