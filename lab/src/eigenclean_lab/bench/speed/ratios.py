"""A ratio of something measured to a baseline of the same run, and the target that it should meet."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from eigenclean_lab.machine import timing_facts

THREADS = 2


@dataclass(frozen=True)
class RatioTarget:
    """A bound on a ratio: ``"at most"`` so many times the baseline, or ``"faster"`` by at least that factor."""

    kind: Literal["at most", "faster"]
    bound: float

    def is_met(self, ratio: float) -> bool:
        """Whether the ratio keeps to the bound."""
        return ratio <= self.bound if self.kind == "at most" else ratio >= self.bound

    def __str__(self) -> str:
        return f"<= {self.bound:g}x" if self.kind == "at most" else f">= {self.bound:g}x faster"


@dataclass(frozen=True)
class Ratio:
    """One line of a table of ratios.

    Attributes:
        case: what was measured.
        baseline: what it is compared with.
        seconds: best time of the case; None where the ratio is not one of times.
        baseline_seconds: best time of the baseline; likewise.
        ratio: case to baseline, except where the target is to be faster: then baseline to case.
        target: the target as text; None for information only.
        passed: whether it is met; None without a target.
        note: a remark, such as the numbers behind the ratio.
    """

    case: str
    baseline: str
    seconds: float | None
    baseline_seconds: float | None
    ratio: float
    target: str | None
    passed: bool | None
    note: str = ""

    @classmethod
    def timed(
        cls, case: str, baseline: str, times: tuple[float, float], target: RatioTarget | None = None
    ) -> "Ratio":
        """From the seconds of the case and of the baseline."""
        seconds, reference = times
        ratio = reference / seconds if target and target.kind == "faster" else seconds / reference
        return cls(case, baseline, seconds, reference, ratio, *_outcome(target, ratio))

    @classmethod
    def measured(cls, case: str, baseline: str, ratio: float, target: RatioTarget, note: str) -> "Ratio":
        """A ratio of other quantities than times."""
        return cls(case, baseline, None, None, ratio, *_outcome(target, ratio), note)


def record(ratios: Sequence[Ratio], date: str, load: float | None = None, threads: int = THREADS) -> dict[str, Any]:
    """The ratios and the facts about this machine, ready for JSON.

    ``date`` is the day of the run, ``load`` the result of `busy_processors` before it.
    """
    return {
        "date": date,
        "machine": {**timing_facts(threads), "busy_before": load},
        "cases": [asdict(ratio) for ratio in ratios],
    }


def ratio_table(facts: dict[str, Any]) -> list[str]:
    """The lines of a table for a page, from what `record` gives; missed targets are named.

    >>> ratio = Ratio.timed("judge", "X.T @ X", (3.0, 1.0), RatioTarget("at most", 2))
    >>> print("\\n".join(ratio_table(record([ratio], "2026-01-31"))))
    | case | against | ratio | target | |
    |---|---|---|---|---|
    | judge | X.T @ X | 3.00 | <= 2x | missed |
    """
    lines = ["| case | against | ratio | target | |", "|---|---|---|---|---|"]
    for case in facts["cases"]:
        outcome = {True: "met", False: "missed", None: ""}[case["passed"]]
        lines.append(
            f"| {case['case']} | {case['baseline']} | {case['ratio']:.2f} | {case['target'] or ''} | {outcome} |"
        )
    return lines


def _outcome(target: RatioTarget | None, ratio: float) -> tuple[str | None, bool | None]:
    return (None, None) if target is None else (str(target), target.is_met(ratio))
