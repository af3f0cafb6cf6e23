"""The page of `eigenclean bench quality`: the confirmation half first, where the judge loses, then the rest."""

from collections.abc import Sequence
from pathlib import Path

from eigenclean.detect import DEFAULT
from eigenclean_lab.bench.quality.page_tables import (
    SettingComparison,
    clean_table,
    comparisons,
    family_table,
    hits_table,
    losses,
    noisy_table,
    seed_table,
)
from eigenclean_lab.bench.quality.peer_table import ALL_DATA, TABLES, common_settings, peer_table
from eigenclean_lab.bench.quality.rows import QualityRow, paired_cells, summary_rows
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.bench.quality.suite import QualitySuite, quality_store
from eigenclean_lab.store import Cell, measured_cells

_HEAD = """# How good it is

Detectors and settings of `eigenclean bench quality`, on real data whose right labels are known. Generated from
`results/bench_quality.json`, which that command makes; a setting that has not been measured is not shown.
[Measure](../howto/measure.md#all-detectors-on-real-data) says what the names of settings and detectors mean.
Noise is drawn anew for every seed; the people's labels (`human-…`) are what they are.

The data are split: choices are made on the **development half**, and the **confirmation half** shares no data with
it. Some constants of the present judge are older than the split. They were set while looking at CIFAR-10 and
digits, as [its page](judge.md) says, so those rows are to that extent not out of sample.

*AUROC* and *AP* (average precision) measure the ranking. *Best other* is the best of all other detectors in
that setting, for each figure another one if need be: no single detector is that good everywhere. Bold: best, or
within .003 of it. *F1* is that of the flags, *ECE* the calibration error of P(right), *rate* the estimated share
of wrong labels beside the true one, *≤ 10 %* the true share of false flags under `--max-false-flags 0.1` (kept: at
most 15 %, in settings with 50 flags or more), *time* that of the judge over that of `cleanlab-knn`; a machine that
did other work as well makes it rough.
"""
_HALVES = {
    "confirmation": ("The confirmation half", ""),
    "development": ("The development half", "Choices are made here, so these numbers flatter the judge."),
    "earlier": (
        "Settings of earlier versions",
        "All 20 000 rows of CIFAR-10, on which the first judge was made, and networks on Fashion-MNIST.\n\n"
        "![F and AUROC of every detector in these settings](../img/bench_quality.svg)",
    ),
}
_UNCONFIRMED = """
## The confirmation half

It has not been measured yet: nothing on this page is a confirmation.
"""
_LOSSES = """
## Where it loses

Every setting, of all halves, in which the judge's AUROC or AP is more than .01 behind the best other, worst first.
"""


def quality_page(results: Path) -> str:
    """Markdown: means and settings of the confirmation half, where the judge loses, then the other settings."""
    cells = quality_store(results).read()
    rows = summary_rows(paired_cells(cells))
    compared = comparisons(rows)
    by_half = {half: [comparison for comparison in compared if comparison.judge.half == half] for half in _HALVES}
    behind = losses(compared)
    lines = [_HEAD, *_age(cells)]
    for half, members in by_half.items():
        lines += _section(half, members)
        if half == "confirmation":
            lines += [*_by_seed(cells), *_peers(rows), _LOSSES, *(behind or ["There is none."])]
    return "\n".join(lines) + "\n"


def _age(cells: Sequence[Cell]) -> list[str]:
    """A paragraph about cells that other code has measured, if there are some."""
    suite = QualitySuite()
    measured = [cell for cell in cells if cell.is_measured and cell.task["setting"] in SETTINGS]
    older = [cell for cell in measured if not cell.is_current(suite.request(cell))]
    n_judge = sum(cell.task["detector"] == DEFAULT for cell in older)
    if not older:
        return []
    return [
        f"**{len(older)} of the {len(measured)} measurements on this page, {n_judge} of them of the judge, are of "
        "an earlier version of the code** and not confirmed since: the present judge may be better or worse.\n"
    ]


def _by_seed(cells: Sequence[Cell]) -> list[str]:
    """The judge alone, one line for each seed: settings in which several were measured."""
    ours = [cell for cell in measured_cells(cells) if cell.task["detector"] == DEFAULT]
    by_seed: dict[int, dict[str, Cell]] = {}
    for cell in ours:
        if cell.task["setting"] in SETTINGS and SETTINGS[cell.task["setting"]].half == "confirmation":
            by_seed.setdefault(cell.seed, {})[cell.task["setting"]] = cell
    common = set.intersection(*map(set, by_seed.values())) if by_seed else set()
    if len(by_seed) < 2 or not common:
        return []
    lines = seed_table({seed: summary_rows(of_seed[name] for name in common) for seed, of_seed in by_seed.items()})
    return [
        "\n### The judge, seed by seed\n",
        f"Means over the {len(common)} settings that were measured with each of these seeds; the tables above "
        "compare detectors on the seeds that all of them have.\n",
        *lines,
    ]


def _peers(rows: Sequence[QualityRow]) -> list[str]:
    """Tables of the judge beside its peers, where all of them were measured."""
    lines = []
    for title, names, family in (("all kinds of data", ALL_DATA, None), ("tables", TABLES, "tables")):
        settings = common_settings(rows, names, "confirmation", family)
        if settings:
            lines += [
                f"\n### Beside its peers: {title}\n",
                f"Means over {len(settings)} settings in which all of them were measured; seconds are medians.\n",
                *peer_table(rows, names, settings),
            ]
    return lines


def _section(half: str, members: Sequence[SettingComparison]) -> list[str]:
    if not members:
        return [_UNCONFIRMED] if half == "confirmation" else []
    title, text = _HALVES[half]
    lines = [f"\n## {title}\n", *([f"{text}\n"] if text else []), *family_table(members)]
    tables = {
        "Wrong labels": noisy_table(members),
        "Nothing is wrong": clean_table(members),
        "Errors of people among the 100 most doubtful labels": hits_table(members),
    }
    for name, table in tables.items():
        if table:
            lines += [f"\n### {name}: {half}\n", *table]
    return lines
