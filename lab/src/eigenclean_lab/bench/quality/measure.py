"""The figures of one detector on one case of `eigenclean bench quality`."""

import time

from eigenclean.arrays import Array, Bools
from eigenclean.detect import at_most_false_flags, build_detector
from eigenclean.metrics import score_verdict
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.quality import baseline
from eigenclean_lab.bench.quality.settings import Case

FIGURES = (
    "f", "auroc", "average_precision", "ece", "noisy_precision", "noisy_recall", "clean_flagged",
    "false_flags_at_10", "found_at_10", "suggestion_accuracy", "noise_rate", "estimated_noise_rate",
    "flagged_share", "seconds",
)  # fmt: skip
_FALSE_FLAGS = 0.1  # as in `detect --max-false-flags 0.1`


def measure(name: str, case: Case, seed: int = 0) -> dict[str, float | None]:
    """The figures of one detector on one case; the truth is used only after the verdict."""
    verdict, seconds = _timed_verdict(name, case, seed)
    quality = score_verdict(verdict, case.truth).as_dict()
    if quality["noise_rate"] == 0:  # without wrong labels there is nothing to find, and 0 would look like a failure
        quality |= {"noisy_precision": None, "noisy_recall": None}
    figures = {**quality, "clean_flagged": 1.0 - (quality["recall"] or 0.0), "seconds": seconds}
    figures |= limited_false_flags(verdict.p_clean, case.truth.is_clean(case.labels))
    return {name: figures[name] for name in FIGURES}


def limited_false_flags(p_clean: Array, is_clean: Bools) -> dict[str, float | None]:
    """What ``--max-false-flags 0.1`` amounts to: the share of flags that are wrong, and of wrong labels flagged.

    Without a flag there is no such share; nor without a wrong label, where every flag is wrong by definition.

    >>> import numpy as np
    >>> limited_false_flags(np.array([0.0, 0.1, 0.9]), np.array([False, True, True]))
    {'false_flags_at_10': 0.5, 'found_at_10': 1.0}
    """
    if is_clean.all():
        return {"false_flags_at_10": None, "found_at_10": None}
    flagged = at_most_false_flags(p_clean, _FALSE_FLAGS)
    false = float(is_clean[flagged].mean()) if flagged.any() else None
    return {"false_flags_at_10": false, "found_at_10": float(flagged[~is_clean].mean())}


def _timed_verdict(name: str, case: Case, seed: int) -> tuple[Verdict, float]:
    started = time.perf_counter()
    if name == baseline.NAME:
        verdict = baseline.judge_with_cleanlab(case.features, case.labels)
    else:
        detector = build_detector(name, {}, seed=seed)
        verdict = detector.fit_judge(case.features, case.labels)
    return verdict, time.perf_counter() - started
