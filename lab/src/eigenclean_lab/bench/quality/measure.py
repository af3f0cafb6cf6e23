"""The figures of one detector on one case of `eigenclean bench quality`."""

import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import f1_score

from eigenclean.arrays import Array, Bools
from eigenclean.detect import DETECTORS, at_most_false_flags
from eigenclean.metrics import score_verdict, verdict_interval
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.quality.baseline import judge_with_baseline
from eigenclean_lab.bench.quality.case import Case
from eigenclean_lab.bench.quality.contenders import judge_with_detector
from eigenclean_lab.bench.quality.peers import judge_with_peer

FIGURES = (
    "f", "auroc", "average_precision", "ece", "noisy_precision", "noisy_recall", "noisy_f1", "clean_flagged",
    "false_flags_at_10", "found_at_10", "flags_at_10", "hits_in_100", "suggestion_accuracy", "noise_rate",
    "estimated_noise_rate", "rate_in_interval", "interval_width", "flagged_share", "seconds",
)  # fmt: skip
# How a verdict is obtained. As a table, so that a cell depends on the code of its own kind of detector only.
RUNNERS: dict[str, Callable[[str, Case, int], tuple[Verdict, float]]] = {
    "detector": judge_with_detector,
    "baseline": judge_with_baseline,
    "peer": judge_with_peer,
}
_FALSE_FLAGS = 0.1  # as in `detect --max-false-flags 0.1`
_INSPECTED = 100


def measure(name: str, case: Case, seed: int = 0) -> dict[str, float | None]:
    """The figures of one detector on one case; the truth is used only after the verdict."""
    verdict, seconds = _timed_verdict(name, case, seed)
    is_clean = case.truth.is_clean(case.labels)
    quality = score_verdict(verdict, case.truth).as_dict()
    if quality["noise_rate"] == 0:  # without wrong labels there is nothing to find, and 0 would look like a failure
        quality |= {"noisy_precision": None, "noisy_recall": None}
    figures = {**quality, "clean_flagged": 1.0 - (quality["recall"] or 0.0), "seconds": seconds}
    figures |= limited_false_flags(verdict.p_clean, is_clean)
    figures["noisy_f1"] = None if is_clean.all() else float(f1_score(~is_clean, verdict.flagged, zero_division=0))
    figures |= {"hits_in_100": hits(verdict, is_clean), **interval_figures(verdict, float(np.mean(~is_clean)))}
    return {name: figures[name] for name in FIGURES}


def limited_false_flags(p_clean: Array, is_clean: Bools) -> dict[str, float | None]:
    """What ``--max-false-flags 0.1`` amounts to: flags, the share that is wrong, and of wrong labels flagged.

    Without a flag there is no such share; nor without a wrong label, where every flag is wrong by definition.

    >>> limited_false_flags(np.array([0.0, 0.01, 0.9]), np.array([False, True, True]))
    {'false_flags_at_10': 0.5, 'found_at_10': 1.0, 'flags_at_10': 2.0}
    """
    flagged = at_most_false_flags(p_clean, _FALSE_FLAGS)
    count = {"flags_at_10": float(flagged.sum())}
    if is_clean.all():
        return {"false_flags_at_10": None, "found_at_10": None, **count}
    false = float(is_clean[flagged].mean()) if flagged.any() else None
    return {"false_flags_at_10": false, "found_at_10": float(flagged[~is_clean].mean()), **count}


def hits(verdict: Verdict, is_clean: Bools) -> float | None:
    """Wrong labels among the 100 most doubtful ones; None where no label is wrong."""
    if is_clean.all():
        return None
    return float(np.count_nonzero(~is_clean[verdict.rank <= _INSPECTED]))


def interval_figures(verdict: Verdict, noise_rate: float) -> dict[str, float | None]:
    """Whether the interval of the noise rate that the report shows holds the true rate, and its width."""
    low, high = verdict_interval(verdict)
    return {"rate_in_interval": float(low <= noise_rate <= high), "interval_width": float(high - low)}


def _timed_verdict(name: str, case: Case, seed: int) -> tuple[Verdict, float]:
    started = time.perf_counter()
    verdict, shared = RUNNERS[runner_of(name)](name, case, seed)
    return verdict, time.perf_counter() - started + shared


def runner_of(name: str) -> str:
    """Key of `RUNNERS` for a detector, the baseline or a peer."""
    if name in DETECTORS:
        return "detector"
    return "baseline" if name == "cleanlab-knn" else "peer"
