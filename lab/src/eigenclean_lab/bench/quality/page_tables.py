"""Tables of the page of `eigenclean bench quality`: the judge beside the best other detector in each setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eigenclean.detect import DEFAULT
from eigenclean_lab.bench.quality.baseline import NAME as BASELINE
from eigenclean_lab.bench.quality.data import FAMILIES
from eigenclean_lab.bench.quality.rows import QualityRow, family_figures, mean
from eigenclean_lab.formatting import decimals, markdown_table, percent

TIED = 0.003
BEHIND = 0.01
_RANKINGS = ("auroc", "average_precision")
_COMPARED = (*_RANKINGS, "noisy_f1")


@dataclass(frozen=True, eq=False)
class SettingComparison:
    """The judge and the others in one setting."""

    judge: QualityRow
    others: Sequence[QualityRow]

    @property
    def setting(self) -> str:
        """Name of the setting."""
        return self.judge.setting

    def best(self, figure: str) -> QualityRow | None:
        """The other detector with the highest figure; None if none has it."""
        having = [row for row in self.others if row.figures.get(figure) is not None]
        return max(having, key=lambda row: row.figures[figure] or 0.0) if having else None

    def lead(self, figure: str) -> float | None:
        """By how much the judge is better than the best other; negative where it is worse."""
        best, ours = self.best(figure), self.judge.figures.get(figure)
        theirs = None if best is None else best.figures[figure]
        return None if ours is None or theirs is None else ours - theirs


def comparisons(rows: Sequence[QualityRow]) -> list[SettingComparison]:
    """Settings in which the judge was measured, with the others if there are any, in the order of the rows."""
    settings: dict[str, dict[str, QualityRow]] = {}
    for row in rows:
        if row.figures:
            settings.setdefault(row.setting, {})[row.detector] = row
    return [
        SettingComparison(table[DEFAULT], [row for name, row in table.items() if name != DEFAULT])
        for table in settings.values()
        if DEFAULT in table
    ]


def noisy_table(compared: Sequence[SettingComparison]) -> list[str]:
    """Markdown: the judge and the best other detector in every setting with wrong labels."""
    noisy = [comparison for comparison in compared if not comparison.judge.is_clean]
    heads = ["Setting", "AUROC", "best other", "AP", "best other", "F1", "best other", "ECE", "rate", "true",
             "≤ 10 %", "time"]  # fmt: skip
    return markdown_table(heads, [_noisy_cells(comparison) for comparison in noisy])


def _noisy_cells(comparison: SettingComparison) -> list[str]:
    figures, cells = comparison.judge.figures, [comparison.setting]
    for figure in _COMPARED:
        best, lead, ours = comparison.best(figure), comparison.lead(figure), decimals(figures.get(figure))
        cells.append(f"**{ours}**" if lead is not None and lead >= -TIED else ours)
        cells.append(f"{decimals(best.figures[figure])} {best.detector}" if best is not None else "–")
    names = ("ece", "estimated_noise_rate", "noise_rate", "false_flags_at_10")
    return [*cells, *(decimals(figures.get(name)) for name in names), _time(comparison)]


def _time(comparison: SettingComparison) -> str:
    """Time of the judge over that of cleanlab-knn; a machine that did other work as well makes it rough."""
    theirs = next((row.figures.get("seconds") for row in comparison.others if row.detector == BASELINE), None)
    ours = comparison.judge.figures.get("seconds")
    return f"{ours / theirs:.2f}x" if ours is not None and theirs else "–"


def clean_table(compared: Sequence[SettingComparison]) -> list[str]:
    """Settings in which no label is wrong: every flag is a false one."""
    heads = ["Setting", "rows", "flagged", "fewest of the others", "ECE", "rate"]
    lines = []
    for comparison in (comparison for comparison in compared if comparison.judge.is_clean):
        figures = comparison.judge.figures
        others = [row for row in comparison.others if row.figures.get("flagged_share") is not None]
        fewest = min(others, key=lambda row: row.figures["flagged_share"] or 0.0, default=None)
        shown = "–" if fewest is None else f"{percent(fewest.figures['flagged_share'])} {fewest.detector}"
        n_rows = "–" if comparison.judge.n_rows is None else f"{comparison.judge.n_rows:,}".replace(",", " ")
        ours = percent(figures.get("flagged_share"))
        calibration = (decimals(figures.get(name)) for name in ("ece", "estimated_noise_rate"))
        lines.append([comparison.setting, n_rows, ours, shown, *calibration])
    return markdown_table(heads, lines)


def hits_table(compared: Sequence[SettingComparison]) -> list[str]:
    """Wrong labels among the 100 most doubtful ones, where people made the errors."""
    lines = []
    for comparison in compared:
        best, ours = comparison.best("hits_in_100"), comparison.judge.figures.get("hits_in_100")
        if "/human-" in comparison.setting and ours is not None and best is not None:
            theirs = f"{best.figures['hits_in_100']:.0f} {best.detector}"
            lines.append([comparison.setting, f"{ours:.0f}", theirs])
    return markdown_table(["Setting", "hits", "best other"], lines)


def family_table(compared: Sequence[SettingComparison]) -> list[str]:
    """Means over the settings of each family, against the best other of each setting."""
    heads = ["Family", "settings", "AUROC", "best other", "AP", "best other", "F1", "best other", "ECE",
             "rate off by", "flagged when clean", "rate in interval", "≤ 10 % kept"]  # fmt: skip
    lines = []
    for family in (*FAMILIES, "all"):
        members = [comparison for comparison in compared if family in (comparison.judge.family, "all")]
        if members:
            lines.append([family, str(len(members)), *_family_cells(members)])
    return markdown_table(heads, lines)


def seed_table(rows_by_seed: Mapping[int, Sequence[QualityRow]]) -> list[str]:
    """Means of the judge over the same settings, one line for each seed."""
    heads = ["Seed", "AUROC", "AP", "F1", "ECE", "rate off by", "flagged when clean", "rate in interval",
             "≤ 10 % kept"]  # fmt: skip
    lines = []
    for seed, rows in sorted(rows_by_seed.items()):
        figures = family_figures(rows)
        lines.append([str(seed), *(decimals(figures[name]) for name in _COMPARED), *_own_cells(figures)])
    return markdown_table(heads, lines)


def _own_cells(figures: Mapping[str, float | None]) -> list[str]:
    return [
        *(decimals(figures[name]) for name in ("ece", "rate_error")),
        *(percent(figures[name]) for name in ("clean_flagged", "rate_in_interval", "kept_limit")),
    ]


def _family_cells(members: Sequence[SettingComparison]) -> list[str]:
    ours = family_figures([comparison.judge for comparison in members])
    cells = []
    for figure in _COMPARED:
        bests = [best.figures[figure] for comparison in members if (best := comparison.best(figure)) is not None]
        cells += [decimals(ours[figure]), decimals(mean(bests))]
    return [*cells, *_own_cells(ours)]


def losses(compared: Sequence[SettingComparison]) -> list[str]:
    """Every setting where the judge ranks more than .01 worse than the best other, worst first."""
    behind = []
    for comparison in compared:
        leads = {figure: comparison.lead(figure) for figure in _RANKINGS}
        worst = min((lead for lead in leads.values() if lead is not None), default=0.0)
        if worst < -BEHIND:
            shown = [_loss(comparison, figure, lead) for figure, lead in leads.items()]
            behind.append((worst, [comparison.setting, comparison.judge.half, *shown]))
    return markdown_table(["Setting", "half", "AUROC", "AP"], [cells for _, cells in sorted(behind)])


def _loss(comparison: SettingComparison, figure: str, lead: float | None) -> str:
    best = comparison.best(figure)
    if lead is None or best is None or lead >= -BEHIND:
        return decimals(comparison.judge.figures.get(figure))
    return f"{decimals(comparison.judge.figures[figure])}, {best.detector} {decimals(best.figures[figure])}"
