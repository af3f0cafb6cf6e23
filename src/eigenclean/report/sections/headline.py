"""The head of the report: cautions, how many labels look wrong, and how certain that is: measured, or estimated."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeGuard

from eigenclean.metrics.certainty import CERTAINTY_BANDS, count_by_certainty
from eigenclean.metrics.noise_rate import verdict_interval
from eigenclean.report.formatting import between, count, in_ten, none_sentence, percent, plain, plural, probability
from eigenclean.report.sections.base import ReportInput


def headline(inputs: ReportInput) -> dict[str, Any]:
    """Counts, the estimated noise rate with its interval, and the sentences that state them.

    ``cautions`` come before everything else. ``certainty`` is what the self-test has measured, if there was one.
    What people found out about labels comes before the estimate for the others, which is called the detector's own.
    """
    classes, p_wrong = inputs.classes, inputs.p_wrong
    n, n_flagged = len(inputs.verdict), len(classes.flagged)
    expected_right = float(p_wrong[classes.flagged].sum())
    run = inputs.run or {}
    decided = _decided(run.get("decisions"))
    # Rows that people have corrected are not flagged again, and hide nothing.
    expected_missed = max(float(p_wrong.sum()) - expected_right - (decided.corrected if decided else 0), 0.0)
    measured = _measured(run.get("self_test"))
    estimated = _certainty(n, n_flagged, expected_right, expected_missed)
    return {
        "n_samples": n,
        "n_classes": classes.n_given,
        "n_flagged": n_flagged,
        "flagged_share": n_flagged / n if n else 0.0,
        "noise_rate": float(p_wrong.mean()) if n else 0.0,
        "noise_interval": list(verdict_interval(inputs.verdict)),
        "expected_right": expected_right,
        "expected_missed": expected_missed,
        "cautions": [plain(caution, 1000) for caution in inputs.made_by.get("cautions") or []],
        "sentence": _sentence(n, n_flagged),
        "n_none": inputs.verdict.n_none,
        "none_sentence": none_sentence(inputs.verdict.n_none),
        "is_measured": measured is not None,
        "is_reviewed": decided is not None,
        "certainty": measured or (f"{decided.sentence} {estimated}" if decided else estimated),
    }


def certainty_bands(inputs: ReportInput) -> list[dict[str, Any]]:
    """How many flags fall into each range of P(wrong)."""
    counts = count_by_certainty(inputs.p_wrong[inputs.classes.flagged])
    return [
        {"name": band.name, "rule": band.rule, "count": number}
        for band, number in zip(CERTAINTY_BANDS, counts, strict=True)
    ]


def _sentence(n: int, n_flagged: int) -> str:
    if n == 0:
        return "There are no labels to judge"
    if n_flagged == 0:
        return f"None of the {count(n)} labels is surely wrong"
    if n_flagged == n:
        return f"All {count(n)} labels look wrong"
    verb = "looks" if n_flagged == 1 else "look"
    return f"{count(n_flagged)} of {count(n)} labels {verb} wrong\u00a0— about {percent(n_flagged / n)}"


def _certainty(n: int, n_flagged: int, expected_right: float, expected_missed: float) -> str:
    if n == 0:
        return ""
    if n_flagged == 0:
        if expected_missed < 0.5:
            return "By the detector’s own estimate, not a single label is wrong."
        hidden = plural(round(expected_missed), "wrong label")
        return f"By the detector’s own estimate, about {hidden} may still hide among them."
    if n_flagged == 1:
        p_right = probability(expected_right)
        certainty = f"By the detector’s own estimate, this flag is right with a probability of {p_right}"
    else:
        share = in_ten(expected_right / n_flagged)
        certainty = f"By the detector’s own estimate, {share} of these flags should be right"
    n_missed = round(expected_missed)
    if n_missed == 0:
        return f"{certainty}."
    return f"{certainty}, and about {plural(n_missed, 'more wrong label')} may hide among the rest."


def _measured(test: Any) -> str | None:
    """What the self-test has measured on these data, in a sentence; None where there was none.

    The record may come from the folder of somebody else.
    """
    if not isinstance(test, Mapping) or not (_is_number(test.get("n_planted")) and _is_number(test.get("recall"))):
        return None
    recall = (
        f"Measured on these data: of {plural(int(test['n_planted']), 'label')} made wrong in a copy, "
        f"{percent(test['recall'])} were flagged"
    )
    low, high = test.get("precision_low"), test.get("precision_high")
    right = (
        f", and {between(low, high)} of the flags there were right" if _is_number(low) and _is_number(high) else ""
    )
    return f"{recall}{right}. Planted errors are random; real ones may be harder to find."


class _Decided(NamedTuple):
    """What people found out: in a sentence, and how many labels they have corrected that are still given."""

    sentence: str
    corrected: int


def _decided(facts: Any) -> _Decided | None:
    """The decisions that the judge was told; None where nobody has said of a label that it is right or wrong."""
    if not isinstance(facts, Mapping):
        return None
    names = ("confirmed", "corrected", "removed", "applied")
    confirmed, corrected, removed, applied = (facts[k] if type(facts.get(k)) is int else 0 for k in names)
    n, n_wrong = confirmed + corrected + removed, corrected + removed + applied
    if not 0 <= n_wrong <= n or n == 0:
        return None
    were = "was" if n_wrong == 1 else "were"
    share = f" ({percent(n_wrong / n)})" if n > 1 else ""
    return _Decided(
        f"Measured by people: of {plural(n, 'label')} that they decided about, {count(n_wrong)} {were} wrong{share}"
        ". They chose which ones to look at, so this is not the noise rate.",
        corrected,
    )


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)
