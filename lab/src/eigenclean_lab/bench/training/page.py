"""Means over seeds of the cells of `eigenclean bench train`, and the page that shows the committed ones."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenclean.train import RECIPES, Recipe, recipe
from eigenclean_lab.bench.quality.page_tables import number
from eigenclean_lab.bench.speed.training import FILE as SPEED
from eigenclean_lab.bench.training.measure import FIGURES
from eigenclean_lab.bench.training.suite import FILE, training_store
from eigenclean_lab.bench.training.targets import Difference, differences
from eigenclean_lab.store import Cell, measured_cells


@dataclass(frozen=True)
class Row:
    """A line of the table: mean and deviation over the seeds that were measured, or why there are none."""

    setting: str
    recipe: str
    seeds: int
    note: str
    mean: Mapping[str, float]
    deviation: Mapping[str, float]


def summary_rows(cells: Iterable[Cell]) -> list[Row]:
    """Means over seeds by setting, in the order of the cells; the deviation is that of a sample."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.task["setting"], cell.task["recipe"]), []).append(cell)
    rows = []
    for (setting, name), members in groups.items():
        measured = measured_cells(members)
        notes = [f"{cell.status}: {cell.note}" for cell in members if not cell.is_measured]
        values = (
            {figure: [cell.figures[figure] or 0.0 for cell in measured] for figure in FIGURES} if measured else {}
        )
        mean = {figure: float(np.mean(of_seeds)) for figure, of_seeds in values.items()}
        deviation = {
            figure: float(np.std(of_seeds, ddof=1)) for figure, of_seeds in values.items() if len(of_seeds) > 1
        }
        rows.append(Row(setting, name, len(measured), next(iter(notes), ""), mean, deviation))
    return rows


def by_family(names: Iterable[str]) -> list[str]:
    """The names, with recipes side by side that differ only in their selector: F-X follows X.

    >>> by_family(["gce+fine", "judge", "f-coteaching", "gce", "co-teaching", "fine", "standard"])
    ['standard', 'fine', 'judge', 'co-teaching', 'f-coteaching', 'gce', 'gce+fine']
    """
    families: list[tuple[Recipe, list[str]]] = []
    for name in RECIPES:
        with_fine = recipe(name).with_selector("fine")
        members = next((members for common, members in families if common == with_fine), None)
        if members is None:
            families.append((with_fine, [name]))
        else:
            members.append(name)
    wanted = set(names)
    return [name for _, members in families for name in members if name in wanted]


_HEAD = """# How well it trains

Recipes and settings of `eigenclean bench train`, on real data whose right labels are known. Generated from
`results/bench_train.json`, which that command makes (for Fashion-MNIST with `--epochs 24`);
[Which recipe is best](../howto/train.md#which-recipe-is-best) says how it measures. *Last* is the test accuracy of
the last epoch, with its deviation over the seeds; *best* that of the best epoch, which nobody could choose without
the test labels. *F* and *kept* are about what was learned from in the last epoch, right labels as positive.

![Last and best accuracy of every recipe in every setting](../img/bench_train.svg)
"""
_TARGETS = """
## Targets

Differences of last-epoch test accuracy in points, seed by seed: mean and deviation.
"""
_SPEED = """
## Speed

Ratios measured in one run of `eigenclean bench train --speed`.
"""
_NAMES = {
    "fashion": "Fashion-MNIST, 5 000 images, small CNN",
    "cifar10": "CIFAR-10 features, 5 000 rows, a head with a hidden layer",
    "digits": "Digits, a head with a hidden layer",
}


def train_page(results: Path) -> str:
    """Markdown: the recipes side by side, the targets, and the speed; ``results`` is the folder."""
    cells = [cell for cell in training_store(results / FILE).read() if cell.task["schedule"] == "preset"]
    rows = [row for row in summary_rows(cells) if row.seeds]
    lines = [_HEAD]
    for data in dict.fromkeys(_data(row) for row in rows):
        lines += _by_setting(data, [row for row in rows if _data(row) == data])
    with_target = [difference for difference in differences(cells) if difference.target is not None]
    if with_target:
        lines += [_TARGETS, "| Setting | | difference | target | | seeds |", "|---|---|---|---|---|---|"]
        lines += map(_difference_line, with_target)
    if (results / SPEED).exists():
        lines += [_SPEED, *_ratios(results / SPEED)]
    return "\n".join(lines) + "\n"


def _data(row: Row) -> str:
    return row.setting.split("/")[0]


def _by_setting(data: str, rows: Sequence[Row]) -> list[str]:
    """One table: recipes down, settings across, with F and kept behind the accuracies; the best last one bold."""
    settings = list(dict.fromkeys(row.setting for row in rows))
    table = {(row.setting, row.recipe): row for row in rows}
    best = {name: max(row.mean["last"] for row in rows if row.setting == name) for name in settings}
    names = [setting.split("/")[1] for setting in settings]
    lines = [f"\n## {_NAMES.get(data, data)}\n"]
    if len(settings) <= 2:
        lines += ["| Recipe | " + " | ".join(f"{name}: last | best | F | kept" for name in names) + " | seeds |"]
        lines += ["|---" * (2 + 4 * len(settings)) + "|"]
    else:
        lines += ["*last*, mean over the seeds.\n", "| Recipe | " + " | ".join(names) + " | seeds |"]
        lines += ["|---" * (2 + len(settings)) + "|"]
    for name in by_family(row.recipe for row in rows):
        members = [table.get((setting, name)) for setting in settings]
        numbers = [
            _cells(row, best[setting], full=len(settings) <= 2)
            for row, setting in zip(members, settings, strict=True)
        ]
        seeds = sorted({row.seeds for row in members if row is not None})
        lines.append(f"| `{name}` | {' | '.join(numbers)} | {' to '.join(map(str, seeds[:1] + seeds[1:][-1:]))} |")
    return lines


def _cells(row: Row | None, best: float, *, full: bool) -> str:
    if row is None:
        return " | ".join(["–"] * (4 if full else 1))
    last = number(row.mean["last"])
    if row.mean["last"] == best:
        last = f"**{last}**"
    if "last" in row.deviation and full:
        last += f" ± {number(row.deviation['last'])}"
    return " | ".join([last, *(number(row.mean[name]) for name in ("best", "f", "kept"))]) if full else last


def _difference_line(row: Difference) -> str:
    spread = "" if row.deviation is None else f" ± {100 * row.deviation:.1f}"
    outcome = "met" if row.passed else "**missed**"
    difference, target = f"{100 * row.difference:+.1f}{spread}", f"at least {100 * (row.target or 0.0):g}"
    return f"| {row.setting} | {row.better} over {row.than} | {difference} | {target} | {outcome} | {row.seeds} |"


def _ratios(file: Path) -> list[str]:
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    lines = ["| case | against | ratio | target |", "|---|---|---|---|"]
    for case in cases:
        outcome = {True: "met", False: "**missed**", None: ""}[case["passed"]]
        ratio = f"{case['ratio']:.2f}" if case["ratio"] >= 0.1 else f"{case['ratio']:.2g}"
        lines.append(f"| {case['case']} | {case['baseline']} | {ratio} | {case['target'] or ''} {outcome} |")
    return lines
