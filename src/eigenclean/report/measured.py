"""What was measured where the truth is known: figures, and how far the probabilities can be believed."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenclean.metrics.calibration import Reliability
from eigenclean.metrics.shares import wilson_interval
from eigenclean.report.formatting import percent
from eigenclean.verdict import Verdict

_QUALITY = (  # key, name, what it says; shares are shown in percent
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


def measured(
    verdict: Verdict, quality: Mapping[str, Any] | None, reliability: Reliability | None
) -> dict[str, Any]:
    """The part of the summary that needs the truth; without it, the lists are empty."""
    measures = []
    for key, name, meaning, is_share in _QUALITY:
        value = finite((quality or {}).get(key))
        if value is not None:
            text = percent(value) if is_share else f"{value:.3f}"
            measures.append({"key": key, "name": name, "meaning": meaning, "value": value, "text": text})
    texts = {measure["key"]: measure["text"] for measure in measures}
    return {
        "verdict": fingerprint(verdict),
        "measures": measures,
        "right_flags": texts.get("noisy_precision") if verdict.n_flagged else None,
        "reliability": None if reliability is None else _curve(reliability),
    }


def fingerprint(verdict: Verdict) -> str:
    """Tells this verdict from others, so that nobody adds figures to the report of another run."""
    digest = hashlib.sha256(np.ascontiguousarray(verdict.p_clean, dtype=np.float64).tobytes())
    digest.update(np.packbits(verdict.flagged).tobytes())
    return digest.hexdigest()[:16]


def finite(value: Any) -> float | None:
    """The number, or None where there is none that JSON could hold."""
    return float(value) if value is not None and np.isfinite(value) else None


def _curve(reliability: Reliability) -> dict[str, Any]:
    low, high = wilson_interval(reliability.observed, reliability.count)
    columns = {"said": reliability.mean_predicted, "was": reliability.observed, "low": low, "high": high}
    return {
        "error": reliability.expected_error,
        "bins": [
            {"count": int(count), **{name: finite(values[number]) for name, values in columns.items()}}
            for number, count in enumerate(reliability.count)
        ],
    }
