"""From probabilities to flags: three rules that decide which labels are flagged."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidOption, MissingEvidence
from eigenclean.verdict import Verdict

# Share of right labels that look like another class to any detector, so that no probability accounts for them.
_UNFORESEEN = 0.0005
# The odds of being right are taken so many times as high as the detector says: probabilities are never calibrated
# exactly, and a limit has to hold where they are off. Chosen on the development half of `bench quality`.
_CAUTION = 12.0
_ROUNDING = 1e-12  # a mean of equal numbers may come out a little above them


def at_threshold(p_clean: Array, threshold: float) -> Bools:
    """Flag a label when P(right) is at most ``threshold``.

    >>> at_threshold(np.array([0.9, 0.5, 0.1]), 0.5)
    array([False,  True,  True])
    """
    _check_share(threshold, "threshold")
    return np.asarray(p_clean <= threshold)


def at_most_false_flags(p_clean: Array, share: float) -> Bools:
    """Flag as many labels as possible, the worst first, while at most ``share`` of the flags are expected wrong.

    The flag on a label that is right with probability p is wrong with probability p, so the expected number of
    wrong flags is the sum of P(right) over the flagged, and 5 in 10 000 samples more that no probability accounts
    for. Probabilities may be off, so the odds of being right are multiplied by 12 first. Where almost all labels
    are right, wrong flags would be most of the flags, so there nothing is flagged. Labels with equal probability
    are flagged together or not at all.

    >>> at_most_false_flags(np.array([0.9, 0.02, 0.01, 0.005, 0.9]), 0.15)
    array([False,  True,  True,  True, False])
    """
    _check_share(share, "max_false_flags")
    p = np.asarray(p_clean, dtype=np.float64)
    if len(p) == 0:
        return np.zeros(0, dtype=bool)
    worst_first = np.sort(p)
    ends = np.flatnonzero(np.append(worst_first[1:] != worst_first[:-1], True))  # the last of equal ones
    cautious = _CAUTION * worst_first / (1.0 + (_CAUTION - 1.0) * worst_first)
    expected = (np.cumsum(cautious)[ends] + _UNFORESEEN * len(p)) / (ends + 1)
    allowed = np.flatnonzero(expected <= share * (1 + _ROUNDING))
    return p <= worst_first[ends[allowed[-1]]] if len(allowed) else np.zeros(len(p), dtype=bool)


def budget(p_clean: Array, score: Array, n: int) -> Bools:
    """Flag the ``n`` labels most worth a look: lowest P(right) first, ties by score, then by row; all if fewer.

    >>> budget(np.array([0.9, 0.1, 0.1, 0.5]), np.array([3.0, 2.0, 1.0, 0.0]), 1)
    array([False, False,  True, False])
    """
    _check_budget(n)
    flagged = np.zeros(len(p_clean), dtype=bool)
    flagged[np.lexsort((score, p_clean))[:n]] = True
    return flagged


@dataclass(frozen=True)
class Decision:
    """Which labels to flag, as a value: exactly one of three rules.

    Attributes:
        threshold: flag when P(right) is at most this.
        max_false_flags: flag as many as possible while at most this share of the flags is expected to be wrong.
        budget: flag this many, those most worth a look.

    >>> decision = Decision(max_false_flags=0.1)
    >>> print(decision)
    as many flags as possible, at most 10 % of them expected to be wrong
    >>> decision.flags(np.array([0.9, 0.001, 0.5]), np.array([1.0, 0.2, 0.4]))
    array([False,  True, False])
    """

    threshold: float | None = None
    max_false_flags: float | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        options = [name for name, value in dataclasses.asdict(self).items() if value is not None]
        if len(options) != 1:
            raise InvalidOption(
                "decision: give exactly one of threshold, max_false_flags and budget, "
                f"got {' and '.join(options) or 'none'}"
            )
        if options[0] == "budget":
            _check_budget(self.budget)
        else:
            _check_share(self.value, options[0])

    @property
    def rule(self) -> str:
        """Name of the rule that was given."""
        return next(name for name, value in dataclasses.asdict(self).items() if value is not None)

    @property
    def value(self) -> float:
        """The number that belongs to the rule."""
        number: float = getattr(self, self.rule)
        return number

    def flags(self, p_clean: Array, score: Array) -> Bools:
        """A mask: True where the label is flagged."""
        if self.budget is not None:
            return budget(p_clean, score, self.budget)
        if self.max_false_flags is not None:
            return at_most_false_flags(p_clean, self.max_false_flags)
        assert self.threshold is not None
        return at_threshold(p_clean, self.threshold)

    def record(self, p_clean: Array, flagged: Bools) -> dict[str, Any]:
        """The decision as plain values: the rule, the threshold it came to, the wrong flags to be expected."""
        p_flagged = np.asarray(p_clean, dtype=np.float64)[flagged]
        threshold = self.value if self.threshold is not None else p_flagged.max(initial=0.0)
        return {
            "rule": self.rule,
            "value": int(self.value) if self.budget is not None else float(self.value),
            "threshold": float(threshold),
            "expected_false_flags": float(p_flagged.mean()) if len(p_flagged) else 0.0,
        }

    def __str__(self) -> str:
        if self.budget is not None:
            return f"the {self.budget} labels most worth a look"
        if self.max_false_flags is not None:
            share = f"{100 * self.max_false_flags:g} %"
            return f"as many flags as possible, at most {share} of them expected to be wrong"
        return f"labels that are right with probability {self.threshold:g} or less"


def decide(
    verdict: Verdict,
    *,
    threshold: float | None = None,
    max_false_flags: float | None = None,
    budget: int | None = None,
) -> Verdict:
    """The same verdict with other flags; give exactly one of the three rules of `Decision`.

    A label that is no longer flagged loses its suggestion. One that becomes flagged would need a suggestion, which
    only the detector can make: then `MissingEvidence` says so; judge again with ``judge(X, y, decision=...)``.

    >>> from sklearn.datasets import load_digits
    >>> from eigenclean.detect import FINE
    >>> X, y = load_digits(return_X_y=True)
    >>> y[:50] = (y[:50] + 1) % 10
    >>> decide(FINE().judge(X, y), budget=20).n_flagged
    20
    """
    rule = Decision(threshold=threshold, max_false_flags=max_false_flags, budget=budget)
    flagged = rule.flags(verdict.p_clean, verdict.score)
    n_without = int(np.count_nonzero(flagged & ~verdict.flagged))
    if n_without:
        raise MissingEvidence(
            f"decide: {n_without} {'label' if n_without == 1 else 'labels'} would be flagged without a suggestion; "
            f"judge again with judge(X, y, decision=Decision({rule.rule}={rule.value:g}))"
        )
    assert isinstance(verdict.made_by, Mapping)
    record = rule.record(verdict.p_clean, flagged)
    made_by = {**verdict.made_by, "threshold": record["threshold"], "decision": record}
    if "mixture" in made_by:  # the boundary belongs to the old threshold
        made_by["mixture"] = {key: value for key, value in made_by["mixture"].items() if key != "boundary"}
    return dataclasses.replace(
        verdict,
        flagged=flagged,
        suggested=np.where(flagged, verdict.suggested, verdict.labels),
        suggested_confidence=np.where(flagged, verdict.suggested_confidence, verdict.p_clean),
        made_by=made_by,
    )


def _check_share(value: Any, name: str) -> None:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InvalidOption(f"decision: {name} must be between 0 and 1, got {value!r}")


def _check_budget(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidOption(f"decision: budget must be a whole number from 1, got {value!r}")
