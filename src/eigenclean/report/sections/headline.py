"""The head of the report: how many labels look wrong, and how certain the detector is."""

from typing import Any

from eigenclean.metrics.certainty import CERTAINTY_BANDS, count_by_certainty
from eigenclean.metrics.noise_rate import verdict_interval
from eigenclean.report.formatting import count, in_ten, percent, plural, probability
from eigenclean.report.sections.base import ReportInput


def headline(inputs: ReportInput) -> dict[str, Any]:
    """Counts, the estimated noise rate with its interval, and two sentences that state them."""
    classes, p_wrong = inputs.classes, inputs.p_wrong
    n, n_flagged = len(inputs.verdict), len(classes.flagged)
    expected_right = float(p_wrong[classes.flagged].sum())
    expected_missed = float(p_wrong.sum()) - expected_right
    return {
        "n_samples": n,
        "n_classes": classes.n_given,
        "n_flagged": n_flagged,
        "flagged_share": n_flagged / n if n else 0.0,
        "noise_rate": float(p_wrong.mean()) if n else 0.0,
        "noise_interval": list(verdict_interval(inputs.verdict)),
        "expected_right": expected_right,
        "expected_missed": expected_missed,
        "sentence": _sentence(n, n_flagged),
        "certainty": _certainty(n, n_flagged, expected_right, expected_missed),
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
            return "The detector does not expect a single wrong label."
        return (
            f"By its own estimate, about {plural(round(expected_missed), 'wrong label')} may still hide among them."
        )
    if n_flagged == 1:
        certainty = f"The detector is {probability(expected_right)} sure of this flag"
    else:
        share = in_ten(expected_right / n_flagged)
        certainty = f"By the detector’s own estimate, {share} of these flags should be right"
    n_missed = round(expected_missed)
    if n_missed == 0:
        return f"{certainty}."
    return f"{certainty}, and about {plural(n_missed, 'more wrong label')} may hide among the rest."
