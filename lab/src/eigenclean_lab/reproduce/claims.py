"""Claims about the paper's tables, its own and this project's, checked against the measured cells."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from eigenclean_lab.reproduce.compare import Table, gaps

ONE_PERCENT, SENSITIVITY = 0.97, 0.05  # thresholds of the claims about subsets and about ζ
_PAPER_COSINE = "0.99 with some 45 vectors"
_EQUAL = 1e-9  # accuracies of as many right predictions differ by less, whatever was rounded on the way


@dataclass(frozen=True)
class Claim:
    """One claim about a table or figure.

    Attributes:
        sentence: the claim as a sentence.
        holds_in: for each setting that it concerns, whether it holds.
        detail: the numbers behind it.
        setting: the setting that it is about, where each has a claim of its own.
        in_paper: what the paper says about it; "" when it says nothing, and the claim is this project's.
        settings: names of those in ``holds_in``, if they have names.
        equal: in how many of the settings in which it does not hold both sides are equal.
        by_other_metrics: in how many settings it holds by metrics that do not decide.
        with_every_seed: in how many of the settings with several seeds it holds with each of them; "" without such.
    """

    sentence: str
    holds_in: tuple[bool, ...]
    detail: str
    setting: str = ""
    in_paper: str = ""
    settings: tuple[str, ...] = ()
    equal: int = 0
    by_other_metrics: tuple[str, ...] = ()
    with_every_seed: str = ""

    @property
    def text(self) -> str:
        """The sentence with its setting.

        >>> Claim("noise hurts", (True,), "", "C10 S50").text
        'C10 S50: noise hurts'
        """
        return f"{self.setting}: {self.sentence}" if self.setting else self.sentence

    @property
    def passed(self) -> bool:
        """Whether it holds in all settings."""
        return all(self.holds_in)

    @property
    def verdict(self) -> str:
        """The outcome as text.

        >>> Claim("noise hurts", (True, False, True), "").verdict
        'in 2 of 3 settings'
        >>> Claim("noise hurts", (True, False, True), "", equal=1).verdict
        'in 2 of 3 settings, equal in 1'
        >>> Claim("noise hurts", (False,), "", equal=1).verdict
        'both are equal'
        >>> Claim("noise hurts", (False, False), "").verdict
        'in none of 2 settings'
        """
        if self.passed:
            return "holds"
        if len(self.holds_in) == 1:
            return "both are equal" if self.equal else "does not hold"
        equal = f", equal in {self.equal}" if self.equal else ""
        return f"in {sum(self.holds_in) or 'none'} of {len(self.holds_in)} settings{equal}"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "passed": self.passed, "verdict": self.verdict}


def merged(stated: Iterable[Claim]) -> list[Claim]:
    """Claims that say the same of several settings as one; the numbers of single settings are left out.

    >>> merged([Claim("noise hurts", (True,), "", "C10"), Claim("noise hurts", (False,), "", "C100")])[0].verdict
    'in 1 of 2 settings'
    """
    by_sentence: dict[str, Claim] = {}
    for claim in stated:
        known = by_sentence.get(claim.sentence, Claim(claim.sentence, (), "", in_paper=claim.in_paper))
        by_sentence[claim.sentence] = replace(
            known,
            holds_in=known.holds_in + claim.holds_in,
            settings=known.settings + (claim.settings or ((claim.setting,) if claim.setting else ())),
            equal=known.equal + claim.equal,
            by_other_metrics=known.by_other_metrics + claim.by_other_metrics,
            with_every_seed=claim.with_every_seed,  # such claims are about all settings, and stand alone
        )
    return list(by_sentence.values())


def claims(table: Table) -> list[Claim]:
    """The claims about an experiment, as far as its cells were measured."""
    specific = _CLAIMS.get(table.experiment.name)
    return [*(specific(table) if specific is not None else ()), *_ranking_claims(table)]


def _ranking_claims(table: Table) -> list[Claim]:
    """Whether the row is better that the paper says is; the first metric decides, others are reported."""
    results = []
    for better, other in table.experiment.rankings:
        measured = {metric: gaps(table, better, other, metric) for metric in table.experiment.main_metrics}
        first, *more = measured.items()
        if not first[1]:
            continue
        by_other_metrics = tuple(
            f"{metric.title}: {_count(gap.mean > _EQUAL for gap in by_setting.values())}"
            for metric, by_setting in more
            if by_setting
        )
        lowest = [gap.lowest > _EQUAL for gap in first[1].values() if gap.lowest is not None]
        with_every_seed = f"with every seed: {_count(lowest)}" if lowest else ""
        in_paper = _outcome_in_paper(table, better, other)
        stated = f"the paper: {in_paper}" if in_paper else ""
        detail = "; ".join(filter(None, (with_every_seed, *by_other_metrics, stated)))
        holds_in = tuple(gap.mean > _EQUAL for gap in first[1].values())
        equal = sum(abs(gap.mean) <= _EQUAL for gap in first[1].values())
        results.append(
            Claim(
                f"{better} is better than {other} ({first[0].title})",
                holds_in,
                detail,
                in_paper=in_paper,
                settings=tuple(first[1]),
                equal=equal,
                by_other_metrics=by_other_metrics,
                with_every_seed=with_every_seed,
            )
        )
    return results


def _outcome_in_paper(table: Table, better: str, other: str) -> str:
    """In how many of its settings the paper has one row above the other; "in a figure" if it prints no numbers."""
    experiment = table.experiment
    if (better, other) in experiment.own_rankings:
        return ""
    printed = experiment.paper.get(experiment.metrics[0].key, {})
    columns = [column for row, column in printed if row == better and (other, column) in printed]
    if not columns:
        return "in a figure"
    return _count(printed[better, column].mean > printed[other, column].mean for column in columns)


def _perturbation(table: Table) -> list[Claim]:
    """(a): the first eigenvector is turned less than the second, and the more noise the more."""
    key = "shift.mean"
    rows = [row.name for row in table.experiment.rows]
    paired = {column.name: table.paired(rows, column.name, key) for column in table.experiment.columns}
    known = {column: values for column, values in paired.items() if values is not None}
    if not known:
        return []
    columns, (first, second) = list(known), zip(*known.values(), strict=True)
    below = Claim(
        "wrong labels turn the first eigenvector less than the second",
        tuple(low < high for low, high in zip(first, second, strict=True)),
        _pairs(columns, [f"{low:.3f} and {high:.3f}" for low, high in zip(first, second, strict=True)]),
        in_paper="stated",
        settings=tuple(columns),
    )
    if len(columns) < 2:
        return [below]
    grows = Claim(
        "the more noise, the more it is turned",
        tuple(bool(step > 0) for step in np.diff(first)),
        _pairs(columns, [f"{value:.3f}" for value in first]),
        in_paper="stated",
    )
    return [below, grows]


def _fractions(table: Table) -> list[Claim]:
    """(b): one per cent of a class of a thousand or more is enough for its eigenvector."""
    results = []
    for (_, column, _), cells in table.cells.items():
        large, lowest = (
            [value for cell in cells if (value := cell.figures.get(f"one_percent_{name}")) is not None]
            for name in ("large", "worst")
        )
        if large:
            mean, worst = float(np.mean(large)), min(lowest)
            sentence = f"1 % of a class of 1 000 or more gives its eigenvector, to a cosine of {ONE_PERCENT}"
            detail = f"mean {mean:.3f}, worst class {worst:.3f}; the paper: {_PAPER_COSINE}"
            results.append(Claim(sentence, (mean >= ONE_PERCENT,), detail, column, _PAPER_COSINE))
    return results


def _mean_vector(table: Table) -> list[Claim]:
    """(c): the eigenvector finds more than the class mean."""
    results = []
    for column in table.experiment.columns:
        paired = table.paired(("eigen", "mean"), column.name, "judge.f")
        if paired is not None:
            eigen, mean = paired
            printed = table.experiment.paper["judge.f"]
            detail = (
                f"{eigen:.3f} against {mean:.3f}; the paper: {printed['eigen', column.name].mean:.3f} against "
                f"{printed['mean', column.name].mean:.3f}"
            )
            sentence = "F by the eigenvector is above F by the mean"
            results.append(Claim(sentence, (eigen > mean,), detail, column.name, "3 of 3"))
    return results


def _threshold(table: Table) -> list[Claim]:
    """(d): from 0.4 to 0.6 the threshold hardly matters."""
    results = []
    for column in table.experiment.columns:
        rows = [row.name for row in table.experiment.rows]
        known = table.paired(
            [row for row in rows if table.value(row, column.name, "judge.f") is not None], column.name, "judge.f"
        )
        if known is not None and len(known) > 1:
            span = max(known) - min(known)
            sentence = f"ζ from 0.4 to 0.6 changes F by less than {SENSITIVITY}"
            detail = f"by {span:.3f}; in the paper by 0.045"
            results.append(Claim(sentence, (span < SENSITIVITY,), detail, column.name, "stated"))
    return results


def _while_it_learns_errors(table: Table) -> list[Claim]:
    """Of this project: as a network learns the errors, its losses find fewer of them, and FINE does not."""
    results = []
    for column in table.experiment.columns:
        begin, end = (
            {
                row: table.value(row, column.name, f"rounds.{epoch}")
                for row in ("fine", "small-loss", "train accuracy")
            }
            for epoch in ("epoch_1", "last")
        )
        ends = [(begin[row], end[row]) for row in begin]
        known = [(first, last) for first, last in ends if first is not None and last is not None]
        if len(known) == len(ends):
            (fine, late_fine), (loss, late_loss), _ = known
            sentence = "as the network learns the errors, F of the small loss falls, and FINE's does not"
            detail = _pairs(list(begin), [f"{first:.3f} to {last:.3f}" for first, last in known])
            results.append(Claim(sentence, (late_loss < loss and late_fine >= fine,), detail, column.name))
            sentence = "when the network has learned the errors, FINE's F is above that of the small loss"
            detail = f"{late_fine:.3f} and {late_loss:.3f}"
            results.append(Claim(sentence, (late_fine > late_loss,), detail, column.name))
    return results


def _theorem(table: Table) -> list[Claim]:
    results = []
    for (row, _, kind), cells in table.cells.items():
        for cell in cells:
            if kind == "theory" and cell.is_measured:
                broken = {
                    name: value for name, value in cell.figures.items() if name.endswith("corrected_violated")
                }
                detail = " ".join(cell.curves.get("notes", ())) or str(broken)
                sentence = f"the bound of {row}, as corrected here, is never broken"
                results.append(Claim(sentence, (not any(broken.values()),), detail))
    return results


def _count(outcomes: Iterable[bool]) -> str:
    """The number of true values as text.

    >>> _count([True, False, True])
    '2 of 3'
    """
    known = list(outcomes)
    return f"{sum(known)} of {len(known)}"


def _pairs(names: Sequence[str], values: Sequence[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


_CLAIMS: dict[str, Callable[[Table], list[Claim]]] = {
    "table4": _perturbation,
    "fig3c": _perturbation,
    "fig3d": _fractions,
    "table5": _mean_vector,
    "table7": _threshold,
    "rounds": _while_it_learns_errors,
    "theorem1": _theorem,
    "theorem2": _theorem,
}
