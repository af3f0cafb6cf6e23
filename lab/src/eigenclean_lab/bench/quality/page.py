"""Means over seeds of the cells of `eigenclean bench quality`, and the page that shows the committed ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenclean.detect import DEFAULT
from eigenclean_lab.bench.quality.baseline import NAME as BASELINE
from eigenclean_lab.bench.quality.measure import FIGURES
from eigenclean_lab.bench.quality.suite import quality_store
from eigenclean_lab.store import Cell, measured_cells


@dataclass(frozen=True, eq=False)
class Row:
    """A line of the table: the mean over the seeds that were measured, or why there is none."""

    setting: str
    detector: str
    seeds: int
    note: str
    figures: Mapping[str, float | None]


def summary_rows(cells: Iterable[Cell]) -> list[Row]:
    """Means over seeds, in the order of the cells; a figure that no seed has is None."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.task["setting"], cell.task["detector"]), []).append(cell)
    rows = []
    for (setting, detector), members in groups.items():
        measured = measured_cells(members)
        notes = [f"{cell.status}: {cell.note}" for cell in members if not cell.is_measured]
        figures = {figure: _mean(cell.figures.get(figure) for cell in measured) for figure in FIGURES}
        rows.append(Row(setting, detector, len(measured), next(iter(notes), ""), figures if measured else {}))
    return rows


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


_TIED = 0.003

_HEAD = """# How good it is

Detectors and settings of `eigenclean bench quality`, on real data whose right labels are known. Generated from
`results/bench_quality.json`, which that command makes; what is empty in the picture has not been measured.
Noise is drawn anew for every seed, and how many there were is said in the last column; the people's labels
(`human-…`) are what they are. `cleanlab-knn` is cleanlab's own way with features: votes of the ten nearest, then
confident learning.

Some constants of the judge were set while looking at CIFAR-10 and digits, as [its page](judge.md) says. Those
rows are to that extent not out of sample.

![F and AUROC of every detector in every setting](../img/bench_quality.svg)

## The default judge beside the others

F counts kept right labels (right = positive), AUROC the ranking. *Best other* is the best of all other
detectors, for each figure another one if need be. Bold: best, or within 0.003 of it.
"""
_DETAIL = """
## What a user of the judge meets

*Flags right* and *errors found* are precision and recall of the flags, *ECE* the calibration error of P(right),
*≤ 10 %* the true share of wrong flags under `--max-false-flags 0.1`, *suggestions* the share of found errors
whose suggestion is right, *time* that of the judge over that of `cleanlab-knn`; a machine that did other work
as well makes it rough.
"""


def quality_page(results: Path) -> str:
    """Markdown: the judge against the best other, then what its user meets."""
    rows = [row for row in summary_rows(quality_store(results).read()) if row.figures]
    settings = list(dict.fromkeys(row.setting for row in rows))
    tables = {name: {row.detector: row for row in rows if row.setting == name} for name in settings}
    judged = {name: table for name, table in tables.items() if DEFAULT in table and len(table) > 1}
    rule = "|---|---|---|---|---|---|---|"
    lines = [_HEAD, "| Setting | F | best other | AUROC | best other | flagged | seeds |", rule]
    lines += [_against(name, table) for name, table in judged.items()]
    lines += [_DETAIL, "| Setting | flags right | errors found | ECE | ≤ 10 % | suggestions | time |"]
    lines += [rule, *(_met(name, table) for name, table in judged.items())]
    return "\n".join(lines) + "\n"


def _against(setting: str, table: Mapping[str, Row]) -> str:
    judge, others = table[DEFAULT], [row for name, row in table.items() if name != DEFAULT]
    cells = [setting]
    for figure in ("f", "auroc"):
        ours, best = judge.figures[figure], _best(others, figure)
        tied = ours is not None and best is not None and ours >= (best.figures[figure] or 0.0) - _TIED
        cells.append(f"**{number(ours)}**" if tied else number(ours))
        cells.append(f"{number(best.figures[figure])} {best.detector}" if best is not None else "–")
    return "| " + " | ".join([*cells, share(judge.figures["flagged_share"]), str(judge.seeds)]) + " |"


def _best(rows: Sequence[Row], figure: str) -> Row | None:
    having = [row for row in rows if row.figures[figure] is not None]
    return max(having, key=lambda row: row.figures[figure] or 0.0) if having else None


def _met(setting: str, table: Mapping[str, Row]) -> str:
    figures = table[DEFAULT].figures
    theirs = table[BASELINE].figures["seconds"] if BASELINE in table else None
    ours = figures["seconds"]
    cells = [
        setting,
        *(number(figures[name]) for name in ("noisy_precision", "noisy_recall", "ece", "false_flags_at_10")),
        number(figures["suggestion_accuracy"]),
        f"{ours / theirs:.2f}x" if ours is not None and theirs else "–",
    ]
    return "| " + " | ".join(cells) + " |"


def number(value: float | None) -> str:
    """Three digits after the point.

    >>> number(0.98765), number(None)
    ('.988', '–')
    """
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def share(value: float | None) -> str:
    """A percentage.

    >>> share(0.0014)
    '0.1 %'
    """
    return "–" if value is None else f"{100 * value:.1f} %"
