"""The verdict measured against the known truth: quality figures and the reliability of the probabilities."""

from typing import Any

from eigenclean.metrics.calibration import Reliability
from eigenclean.metrics.noise_rate import wilson_interval
from eigenclean.report.formatting import percent
from eigenclean.report.sections.base import ReportInput, finite

_QUALITY = (  # key, name, explanation, whether it is a share and shown in percent
    ("noisy_precision", "Flags that are right", "precision of the flags", True),
    ("noisy_recall", "Wrong labels found", "recall of the flags", True),
    ("noisy_f", "F score of the flags", "balance of the two", True),
    ("suggestion_accuracy", "Suggestions that are right", "of the wrong labels found", True),
    ("noise_rate", "True noise rate", "share of wrong labels", True),
    ("estimated_noise_rate", "Estimated noise rate", "what the detector thought", True),
    ("precision", "Kept labels that are right", "precision, right = positive", True),
    ("recall", "Right labels kept", "recall, right = positive", True),
    ("f", "F score of the kept", "right = positive", True),
    ("auroc", "AUROC", "1 ranks every wrong label below every right one", False),
    ("average_precision", "Average precision", "of the ranking, wrong = positive", False),
    ("ece", "Calibration error", "0 means probabilities can be taken at their word", False),
)


def evaluation(inputs: ReportInput) -> dict[str, Any]:
    """Quality figures and the reliability curve; without the truth there are none."""
    measures = []
    for key, name, meaning, is_share in _QUALITY:
        value = finite((inputs.quality or {}).get(key))
        if value is not None:
            text = percent(value) if is_share else f"{value:.3f}"
            measures.append({"key": key, "name": name, "meaning": meaning, "value": value, "text": text})
    texts = {measure["key"]: measure["text"] for measure in measures}
    return {
        "measures": measures,
        "right_flags": texts.get("noisy_precision") if inputs.verdict.n_flagged else None,
        "reliability": None if inputs.reliability is None else _curve(inputs.reliability),
    }


def _curve(reliability: Reliability) -> dict[str, Any]:
    low, high = wilson_interval(reliability.observed, reliability.count)
    columns = {"predicted": reliability.mean_predicted, "observed": reliability.observed, "low": low, "high": high}
    return {
        "error": reliability.expected_error,
        "bins": [
            {"count": int(count), **{name: finite(values[number]) for name, values in columns.items()}}
            for number, count in enumerate(reliability.count)
        ],
    }
