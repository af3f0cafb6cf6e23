"""What the paper says in words, and whether it is so in what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eigenclean.experiments.reproduce.compare import Table
from eigenclean.experiments.reproduce.values import Shown

ONE_PERCENT, SENSITIVITY = 0.97, 0.05  # bars of (b) and (e)
_CLAIMED = ("C10 S50", "C10 S80", "C10 A40")  # where (c) is said, whatever the network


@dataclass(frozen=True)
class Claim:
    """One sentence.

    Attributes:
        says: the sentence.
        passed: is it so?
        detail: the numbers behind it.
    """

    says: str
    passed: bool
    detail: str


def claims(table: Table) -> list[Claim]:
    """All that can be said about what was measured of an experiment; nothing about what was not."""
    own = _OWN.get(table.experiment.name)
    return [*(own(table) if own is not None else ()), *_orders(table)]


def _orders(table: Table) -> list[Claim]:
    """Of two rows, is the one better that the paper says, where both were measured?"""
    found = []
    shown = table.experiment.figures[0]
    for better, other in table.experiment.orders:
        gaps = [_gap(table, better, other, column.name, shown) for column in table.experiment.columns]
        measured = [gap for gap in gaps if gap is not None]
        if not measured:
            continue
        wins = sum(ours > 0 for ours in measured)
        printed = _printed_gaps(table, better, other, shown)
        paper = f"; in the paper in {sum(gap > 0 for gap in printed)} of {len(printed)}" if printed else ""
        each = ", ".join(f"{gap:+.{shown.digits}f}" for gap in measured)
        says = f"{better} is better than {other} ({shown.title})"
        found.append(Claim(says, wins == len(measured), f"in {wins} of {len(measured)} settings ({each}){paper}"))
    return found


def _gap(table: Table, better: str, other: str, column: str, shown: Shown) -> float | None:
    ours, theirs = (table.value(row, column, shown.key) for row in (better, other))
    return None if ours is None or theirs is None else ours - theirs


def _printed_gaps(table: Table, better: str, other: str, shown: Shown) -> list[float]:
    printed = table.experiment.paper.get(shown.key, {})
    names = [column.name for column in table.experiment.columns]
    return [
        printed[better, name].mean - printed[other, name].mean
        for name in names
        if (better, name) in printed and (other, name) in printed
    ]


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
        all(one < two for one, two in zip(first, second, strict=True)),
        _pairs(columns, [f"{one:.3f} and {two:.3f}" for one, two in zip(first, second, strict=True)]),
    )
    if len(columns) < 2:
        return [below]
    grows = Claim(
        "the more noise, the more it is turned",
        all(np.diff(first) > 0),
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
                Claim(says, mean >= ONE_PERCENT, f"mean {mean:.3f}, worst class {worst:.3f}; the paper: 0.99")
            )
    return found


def _detectors(table: Table) -> list[Claim]:
    """(c): FINE's F is above MCD's and the small-loss mixture's."""
    found = []
    for column in table.experiment.columns:
        values = {row.name: table.value(row.name, column.name, "judge.f") for row in table.experiment.rows}
        ours, others = values.get("fine"), [values.get("mcd"), values.get("small-loss")]
        if column.name.startswith(_CLAIMED) and ours is not None and all(other is not None for other in others):
            says = f"{column.name}: FINE's F is above that of MCD and of the small-loss mixture"
            detail = ", ".join(f"{name} {value:.3f}" for name, value in values.items() if value is not None)
            found.append(Claim(says, all(ours > (other or 0.0) for other in others), detail))
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
            found.append(Claim(f"{column.name}: F by the eigenvector is above F by the mean", eigen > mean, detail))
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
            found.append(Claim(says, span < SENSITIVITY, f"by {span:.3f}; in the paper by 0.045"))
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
                found.append(Claim(f"{row}: the corrected bound is never broken", not any(broken.values()), detail))
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
