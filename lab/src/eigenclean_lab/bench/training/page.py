"""Means over seeds of the cells of `eigenclean bench train`, and the page that shows the committed ones."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenclean.train import RECIPES, Recipe, recipe
from eigenclean_lab.bench.speed.training import FILE as SPEED
from eigenclean_lab.bench.training.contenders import CLASSIFIERS, NAMES, PROBE
from eigenclean_lab.bench.training.measure import FIGURES
from eigenclean_lab.bench.training.recipes import PUBLISHED
from eigenclean_lab.bench.training.settings import SETTINGS, TABLES
from eigenclean_lab.bench.training.suite import FILE, TrainingSuite, training_store
from eigenclean_lab.bench.training.targets import Difference, differences
from eigenclean_lab.formatting import decimals
from eigenclean_lab.store import Cell, measured_cells


@dataclass(frozen=True)
class TrainingRow:
    """A line of the table: mean and deviation over the seeds that were measured, or why there are none."""

    setting: str
    recipe: str
    seeds: int
    note: str
    mean: Mapping[str, float]
    deviation: Mapping[str, float]


def summary_rows(cells: Iterable[Cell]) -> list[TrainingRow]:
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
        rows.append(TrainingRow(setting, name, len(measured), next(iter(notes), ""), mean, deviation))
    return rows


def by_family(names: Iterable[str]) -> list[str]:
    """The names, with recipes side by side that differ only in their selector: F-X follows X.

    What trains without a network comes first.

    >>> by_family(["gce+fine", "judge", "f-coteaching", "gce", "co-teaching", "fine", "standard", "probe"])
    ['probe', 'standard', 'fine', 'judge', 'co-teaching', 'f-coteaching', 'gce', 'gce+fine']
    """
    families: list[tuple[Recipe, list[str]]] = []
    for name in RECIPES:
        with_fine = recipe(name).with_selector("fine")
        members = next((members for common, members in families if common == with_fine), None)
        if members is None:
            families.append((with_fine, [name]))
        else:
            members.append(name)
    listed = set(names)
    ordered = [PROBE, *CLASSIFIERS, *(name for _, members in families for name in members)]
    return [name for name in ordered if name in listed]


_HEAD = """# How well it trains

Recipes and settings of `eigenclean bench train`, on real data whose right labels are known. Generated from
`results/bench_train.json`, which that command makes (for Fashion-MNIST with `--epochs 24`);
[Which recipe is best](../howto/train.md#which-recipe-is-best) says how it measures. *Last* is the test accuracy of
the last epoch, with its deviation over the seeds; *best* that of the best epoch, which nobody could choose without
the test labels; what trains without epochs has one accuracy. *F* and *kept* are about what was learned from in the
last epoch, right labels as positive. *s* are the seconds of a training on one core of a machine that was busy at
times, so that they say no more than the order of magnitude. `logistic`, `trees` and `boosting` are classifiers of
scikit-learn as they are; `+judge` is `RobustClassifier(estimator=…)` with them, `+cleanlearning` is cleanlab's
`CleanLearning` with them. Bold is the best of the rows with most seeds.
"""
_FIGURE = "\n![Last and best accuracy in the settings of images and features](../img/bench_train.svg)\n"
_TARGETS = """
## Targets

Differences of last-epoch test accuracy in points, seed by seed: mean and deviation. *The best of all others* is
chosen among those that were measured with the same seeds, as many as the number in brackets says, by the accuracies
that are compared: it is at an advantage, the more so the fewer rows are tested on (88 of Ionosphere, some 200 of
Vehicle and Vowel).
"""
_AUTHORS = """
## With the settings of their authors

The comparison above gives all recipes the same optimiser and learning rates, which may suit some better than
others. Here each recipe has the optimiser, learning rates, batch size, warm-up and augmentation that its authors
used for CIFAR-10 (`--schedule published`, the preset `cifar10`), shortened in proportion to the same number of
epochs; network, images, noise and seeds are as above. With a tenth of the images and a fifth or less of the epochs,
these settings end after a fiftieth of the steps that they were made for, or fewer. *last*, and the difference to
the table above in points, seed by seed.
"""
_SPEED = """
## Speed

Ratios measured in one run of `eigenclean bench train --speed`.
"""
_NAMES = {
    "fashion": "Fashion-MNIST, 5 000 images, small CNN",
    "cifar10": "CIFAR-10 features, 5 000 rows; networks are heads with a hidden layer",
    "digits": "Digits; networks are heads with a hidden layer",
    "sym-20": "Tables, symmetric noise 20 %; networks have one hidden layer",
    "pair-30": "Tables, 30 % of each class labelled as the next class; networks have one hidden layer",
}
_WIDE = 2  # more settings than these stand side by side with one accuracy each


def train_page(results: Path) -> str:
    """Markdown: the recipes side by side, the targets, and the speed; ``results`` is the folder."""
    every = training_store(results / FILE).read()
    cells = [cell for cell in every if cell.task["schedule"] == "preset"]
    published = [cell for cell in every if cell.task["schedule"] == PUBLISHED]
    rows = [row for row in summary_rows(cells) if row.seeds]
    lines = [_HEAD, *_age([*cells, *published]), _FIGURE]
    for group in dict.fromkeys(map(_group, rows)):
        lines += _by_setting(group, [row for row in rows if _group(row) == group])
    lines += _by_authors(cells, published)
    with_target = [difference for difference in differences(cells) if difference.target is not None]
    if with_target:
        lines += [_TARGETS, "| Setting | | difference | target | | seeds |", "|---|---|---|---|---|---|"]
        lines += map(_difference_line, with_target)
    if (results / SPEED).exists():
        lines += [_SPEED, *_ratios(results / SPEED)]
    return "\n".join(lines) + "\n"


def _age(cells: Sequence[Cell]) -> list[str]:
    """A paragraph about cells that other code has measured, if there are some."""
    suite = TrainingSuite()
    measured = [
        cell for cell in measured_cells(cells) if cell.task["setting"] in SETTINGS and cell.task["recipe"] in NAMES
    ]
    requests = [suite.request(cell) for cell in measured]
    pairs = list(zip(measured, requests, strict=True))
    older = sum(not cell.is_current(request) for cell, request in pairs)
    if not older:
        return []
    other = sum(cell.key != request.key for cell, request in pairs)
    alike = f"{older - other} of them had the same recipe, rows and noise as now"
    return [
        f"**{older} of the {len(measured)} measurements on this page are of an earlier version of the code**: "
        f"{alike}, {other} had another recipe or other rows for the same seed.\n"
    ]


def _group(row: TrainingRow) -> str:
    """The heading that a row belongs to: its data, or for tables its noise."""
    data, noise = row.setting.split("/")
    return noise if data in TABLES else data


def _by_setting(group: str, rows: Sequence[TrainingRow]) -> list[str]:
    """One table: recipes down, settings across, the best last accuracy of those with most seeds bold.

    Two settings have their F and kept behind the accuracies, more of them share the means of these.
    """
    settings = list(dict.fromkeys(row.setting for row in rows))
    table = {(row.setting, row.recipe): row for row in rows}
    best = {name: _best_last([row for row in rows if row.setting == name]) for name in settings}
    full = len(settings) <= _WIDE
    names = [setting.split("/")[0 if group in setting.split("/")[1:] else 1] for setting in settings]
    if full:
        heads = [*(f"{name}: last | best | F | kept" for name in names), "seeds"]
    else:
        heads = [*names, "mean: last | best | F | kept | s", "seeds"]
    lines = [f"\n## {_NAMES.get(group, group)}\n", *([] if full else ["*last*, mean over the seeds.\n"])]
    head = " | ".join(heads)
    lines += [f"| Recipe | {head} |", "|---" * (2 + head.count("|")) + "|"]
    for name in by_family(row.recipe for row in rows):
        members = [table.get((setting, name)) for setting in settings]
        numbers = [_cells(row, best[setting], full=full) for row, setting in zip(members, settings, strict=True)]
        if not full:
            numbers.append(_means(members))
        seeds = sorted({row.seeds for row in members if row is not None})
        lines.append(f"| `{name}` | {' | '.join(numbers)} | {' to '.join(map(str, seeds[:1] + seeds[1:][-1:]))} |")
    return lines


def _by_authors(cells: Sequence[Cell], published: Sequence[Cell]) -> list[str]:
    """A table of what was measured with the published settings, beside the same seeds of the comparison above."""
    rows = {(row.setting, row.recipe): row for row in summary_rows(published) if row.seeds}
    if not rows:
        return []
    settings = list(dict.fromkeys(setting for setting, _ in rows))
    best = {name: _best_last([row for row in rows.values() if row.setting == name]) for name in settings}
    lines = [
        _AUTHORS,
        f"| Recipe | {' | '.join(f'{setting}: last | difference | seeds' for setting in settings)} |",
        "|---" * (1 + 3 * len(settings)) + "|",
    ]
    common = {(cell.task["setting"], cell.task["recipe"], cell.seed): cell for cell in measured_cells(cells)}
    gains: dict[tuple[str, str], list[float]] = {}
    for cell in measured_cells(published):
        setting, name = cell.task["setting"], cell.task["recipe"]
        other = common.get((setting, name, cell.seed))
        if other is not None:
            gains.setdefault((setting, name), []).append(
                100 * ((cell.figures["last"] or 0.0) - (other.figures["last"] or 0.0))
            )
    for name in by_family(name for _, name in rows):
        numbers = []
        for setting in settings:
            row, gain = rows.get((setting, name)), gains.get((setting, name))
            if row is None:
                numbers.append("– | – | –")
                continue
            last = decimals(row.mean["last"])
            last = f"**{last}**" if row.mean["last"] == best[setting] else last
            numbers.append(f"{last} | {'–' if gain is None else f'{np.mean(gain):+.1f}'} | {row.seeds}")
        lines.append(f"| `{name}` | {' | '.join(numbers)} |")
    return lines


def _best_last(rows: Sequence[TrainingRow]) -> float:
    """The best accuracy among the rows with most seeds: one seed may be an easy one."""
    most = max(row.seeds for row in rows)
    return max(row.mean["last"] for row in rows if row.seeds == most)


def _means(members: Sequence[TrainingRow | None]) -> str:
    """Means over the settings, if the recipe was measured in all of them."""
    rows = [row for row in members if row is not None]
    if len(rows) < len(members):
        return " | ".join(["–"] * 5)
    mean = {figure: float(np.mean([row.mean[figure] for row in rows])) for figure in FIGURES}
    return " | ".join([*(decimals(mean[name]) for name in ("last", "best", "f", "kept")), f"{mean['seconds']:.2g}"])


def _cells(row: TrainingRow | None, best: float, *, full: bool) -> str:
    if row is None:
        return " | ".join(["–"] * (4 if full else 1))
    last = decimals(row.mean["last"])
    if row.mean["last"] == best:
        last = f"**{last}**"
    if "last" in row.deviation and full:
        last += f" ± {decimals(row.deviation['last'])}"
    return " | ".join([last, *(decimals(row.mean[name]) for name in ("best", "f", "kept"))]) if full else last


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
