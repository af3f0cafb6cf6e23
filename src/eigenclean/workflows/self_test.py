"""A self-test of detectors on the user's own data: plant known errors, judge, and count how many are found."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenclean.arrays import Array, Bools
from eigenclean.detect import DEFAULT, DETECTORS, Detector
from eigenclean.detect.decisions import Decision
from eigenclean.errors import EigencleanWarning, InvalidOption, MissingExtra, TooFewSamples
from eigenclean.metrics import detection_quality
from eigenclean.noise import corrupt
from eigenclean.progress import track
from eigenclean.seeds import tagged_generator
from eigenclean.verdict import Verdict

SHARE = 0.05
SEEDS = (0, 1, 2)
# Detectors for `--method auto`: quick ones of different kinds. The default is first, and wins ties within _CLOSE.
CANDIDATES = tuple(dict.fromkeys((DEFAULT, "knn", "simifeat", "fine-relative", "fine")))
_CLOSE = 0.005  # average precisions that are as good as equal
LIMITS = (
    "Planted errors are drawn at random among the other classes; real mistakes are often between similar classes "
    "and harder to find, so take the recall as an optimistic figure. Flags on labels that were not planted may be "
    "real errors or false alarms, which nobody can tell without looking: precision is therefore a range. The "
    "planting itself adds noise, which makes the task a little harder than yours."
)


@dataclass(frozen=True)
class Planted:
    """The user's labels with some made wrong on purpose.

    Attributes:
        labels: what the detector sees.
        wrong: True where an error was planted.
    """

    labels: Array
    wrong: Bools


@dataclass(frozen=True)
class SelfTest:
    """What was measured, averaged over the seeds.

    Attributes:
        method: name of the detector.
        share: share of labels that were made wrong.
        n_planted: how many those are, in each run.
        seeds: one run each.
        recall: share of the planted errors that were flagged.
        recall_spread: standard deviation of the recall over the runs.
        precision_low: share of the flags that are on planted errors, as if every other flag were a false alarm.
        precision_high: the same, as if every flag that the detector also raises on the labels as given were a
            real error. Both are None when nothing was flagged.
        average_precision: of the planted errors in a list with the worst first; real errors count against it.
        suggestion_accuracy: share of the flagged planted errors whose suggestion is the label that was replaced.
    """

    method: str
    share: float
    n_planted: int
    seeds: tuple[int, ...]
    recall: float
    recall_spread: float
    precision_low: float | None
    precision_high: float | None
    average_precision: float
    suggestion_accuracy: float | None

    def as_dict(self) -> dict[str, Any]:
        """The figures by name with their limits in words, ready for JSON."""
        return {**asdict(self), "seeds": list(self.seeds), "limits": LIMITS}


def plant(labels: Array, share: float = SHARE, seed: int = 0) -> Planted:
    """Make exactly ``share`` of the labels wrong, each another class at random.

    >>> planted = plant(np.arange(100) % 4, share=0.1)
    >>> int(planted.wrong.sum()), bool((planted.labels != np.arange(100) % 4)[planted.wrong].all())
    (10, True)
    """
    check_share(share)
    # Another tag than that of noise: data that were corrupted with this seed get planted errors in other rows.
    rng = tagged_generator(seed, "self-test")
    corrupted = corrupt(labels, "symmetric", share, random_state=rng, inclusive=False)
    wrong = ~corrupted.truth.is_clean(corrupted.labels)
    if not wrong.any():
        raise TooFewSamples(
            f"self-test: {100 * share:g} % of {len(labels)} labels is not even one; plant a larger share"
        )
    return Planted(corrupted.labels, wrong)


def check_share(share: float) -> None:
    """Raise `InvalidOption` unless the share can be planted."""
    if isinstance(share, bool) or not 0 < share <= 0.5:
        raise InvalidOption(f"self-test: the planted share must be above 0 and at most 0.5, got {share!r}")


def self_test(
    detector: Detector,
    X: Array,
    y: Array,
    *,
    share: float = SHARE,
    seeds: Sequence[int] = SEEDS,
    decision: Decision | None = None,
    before: Verdict | None = None,
) -> SelfTest:
    """Plant errors in these very data and measure how many the detector finds; it is cloned, not changed.

    Args:
        detector: the detector with its options.
        X: features.
        y: the labels as given, with their errors.
        share: share of labels to make wrong.
        seeds: one run each; the figures are averages.
        decision: which labels are flagged; None for the detector's own threshold.
        before: the verdict on the labels as given, if it is known already.

    >>> from sklearn.datasets import load_digits
    >>> from eigenclean.detect import FINE
    >>> result = self_test(FINE(), *load_digits(return_X_y=True), share=0.1, seeds=[0])
    >>> result.n_planted, 0.3 < result.recall < 1
    (180, True)
    """
    if not seeds:
        raise InvalidOption("self-test: seeds must name at least one run, got none")
    unchanged = _judge(detector, X, y, decision) if before is None else before
    runs = []
    for seed in track(list(seeds), f"self-test of {detector.name}"):
        planted = plant(unchanged.labels, share, seed)
        runs.append(_measure(_judge(detector, X, planted.labels, decision), planted, unchanged))
    recalls = [run["recall"] for run in runs]
    return SelfTest(
        method=detector.name,
        share=float(share),
        n_planted=int(np.count_nonzero(planted.wrong)),
        seeds=tuple(int(seed) for seed in seeds),
        recall=float(np.mean(recalls)),
        recall_spread=float(np.std(recalls)),
        precision_low=_mean(run["precision_low"] for run in runs),
        precision_high=_mean(run["precision_high"] for run in runs),
        average_precision=float(np.mean([run["average_precision"] for run in runs])),
        suggestion_accuracy=_mean(run["suggestion_accuracy"] for run in runs),
    )


@dataclass(frozen=True)
class Choice:
    """The detector that did best in the self-test.

    Attributes:
        detector: the chosen detector, not fitted.
        tests: the self-test of every candidate that could run, the candidates' order.
        skipped: name and reason of those that could not.
    """

    detector: Detector
    tests: Mapping[str, SelfTest]
    skipped: Mapping[str, str]

    @property
    def reason(self) -> str:
        """Which and why, in one sentence."""
        chosen = self.tests[self.detector.name].average_precision
        if len(self.tests) == 1:
            return f"{self.detector.name} is the only candidate that can run; average precision {chosen:.3f}"
        best = max(test.average_precision for test in self.tests.values())
        others = ", ".join(
            f"{name} {test.average_precision:.3f}"
            for name, test in self.tests.items()
            if name != self.detector.name
        )
        how_good = (
            "best" if chosen == best else f"as well as the best, within {_CLOSE:g}, and stands first in the list"
        )
        return f"{self.detector.name} ranks planted errors {how_good}: average precision {chosen:.3f}; {others}"

    def as_dict(self) -> dict[str, Any]:
        """What was compared, ready for JSON."""
        return {
            "chosen": self.detector.name,
            "reason": self.reason,
            "average_precision": {name: test.average_precision for name, test in self.tests.items()},
            "skipped": dict(self.skipped),
        }


def choose(
    candidates: Sequence[Detector],
    X: Array,
    y: Array,
    *,
    share: float = SHARE,
    seeds: Sequence[int] = SEEDS,
    decision: Decision | None = None,
) -> Choice:
    """The candidate that ranks planted errors best, by average precision; the first of those nearly as good."""
    tests: dict[str, SelfTest] = {}
    skipped: dict[str, str] = {}
    for detector in track(candidates, "choosing a method"):
        try:
            tests[detector.name] = self_test(detector, X, y, share=share, seeds=seeds, decision=decision)
        except MissingExtra as error:
            skipped[detector.name] = str(error)
    if not tests:
        raise MissingExtra(f"method auto: no candidate can run: {'; '.join(skipped.values()) or 'none given'}")
    best = max(test.average_precision for test in tests.values())
    name = next(name for name, test in tests.items() if test.average_precision >= best - _CLOSE)
    return Choice(next(detector for detector in candidates if detector.name == name), tests, skipped)


def candidate_names() -> list[str]:
    """The names in `CANDIDATES` that are registered."""
    return [name for name in CANDIDATES if name in DETECTORS]


def _judge(detector: Detector, X: Array, y: Array, decision: Decision | None) -> Verdict:
    with warnings.catch_warnings():  # warnings about the data were given when the labels as given were judged
        warnings.simplefilter("ignore", EigencleanWarning)
        copy: Detector = clone(detector)
        return copy.fit_judge(X, y, decision=decision)


def _measure(verdict: Verdict, planted: Planted, unchanged: Verdict) -> dict[str, Any]:
    """Quality of one run; flags that are also in the ``unchanged`` verdict may be real errors."""
    quality = detection_quality(verdict.flagged, verdict.p_clean, ~planted.wrong, verdict.score)
    hits = verdict.flagged & planted.wrong
    n, n_hits = verdict.n_flagged, int(np.count_nonzero(hits))
    n_possible = int(np.count_nonzero(verdict.flagged & ~planted.wrong & unchanged.flagged))
    suggested_right = verdict.suggested[hits] == unchanged.labels[hits]
    return {
        "recall": quality.noisy_recall,
        "precision_low": n_hits / n if n else None,
        "precision_high": (n_hits + n_possible) / n if n else None,
        "average_precision": quality.average_precision,
        "suggestion_accuracy": float(np.mean(suggested_right)) if n_hits else None,
    }


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
