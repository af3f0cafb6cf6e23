"""Noise by class: flagged share and estimated noise rate of every class, the noisiest first."""

from typing import Any

import numpy as np

from eigenclean.metrics.noise_rate import noise_rate_intervals
from eigenclean.report.sections.base import ReportInput

MAX_CLASSES = 500


def noise_by_class(inputs: ReportInput) -> dict[str, Any]:
    """The classes by share of flagged labels, then by their number."""
    classes, p_wrong = inputs.classes, inputs.p_wrong
    sizes, n_flagged = classes.count_given(), classes.count_given(classes.flagged)
    expected_wrong = classes.count_given(weights=p_wrong)
    low, high = noise_rate_intervals(1.0 - p_wrong, classes.given, classes.n_given)
    share = n_flagged / np.maximum(sizes, 1)
    order = np.lexsort((np.arange(classes.n_given), -n_flagged, -share))
    return {
        "rows": [
            {
                "label": classes.names[k],
                "n_samples": int(sizes[k]),
                "n_flagged": int(n_flagged[k]),
                "flagged_share": float(share[k]),
                "noise_rate": float(expected_wrong[k] / sizes[k]),
                "noise_interval": [float(low[k]), float(high[k])],
            }
            for k in order[:MAX_CLASSES].tolist()
        ],
        "n_hidden": max(0, classes.n_given - MAX_CLASSES),
        "n_untouched": int(np.count_nonzero(n_flagged == 0)),
    }
