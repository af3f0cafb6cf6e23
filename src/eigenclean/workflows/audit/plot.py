"""Figures of an audit with matplotlib, which is imported when one is asked for."""

from typing import Any

import numpy as np

from eigenclean.extras import require
from eigenclean.names import check_name
from eigenclean.report.formatting import plain
from eigenclean.verdict import Verdict

MAX_CLASSES = 30
_KEPT, _FLAGGED = "#4a7fa8", "#cf5a1c"


def plot_audit(verdict: Verdict, kind: str, ax: Any = None) -> Any:
    """Draw one of `KINDS` on ``ax`` or on new axes; return the axes."""
    check_name(kind, KINDS, by="Audit.plot", what="kind")
    if ax is None:
        pyplot: Any = require("matplotlib.pyplot", extra=None, caller="Audit.plot")
        _, ax = pyplot.subplots()
    KINDS[kind](verdict, ax)
    return ax


def _classes(verdict: Verdict, ax: Any) -> None:
    """Estimated noise rate and share of flagged labels of each class, the noisiest on top."""
    classes = sorted(verdict.per_class(), key=lambda row: -row["estimated_noise_rate"])[:MAX_CLASSES][::-1]
    places = np.arange(len(classes))
    noise = [100 * row["estimated_noise_rate"] for row in classes]
    flagged = [100 * row["n_flagged"] / row["n_samples"] for row in classes]
    ax.barh(places + 0.2, noise, height=0.4, color=_KEPT, label="estimated noise rate")
    ax.barh(places - 0.2, flagged, height=0.4, color=_FLAGGED, label="flagged")
    ax.set_yticks(places, [plain(row["label"], 30).replace("$", r"\$") for row in classes])
    ax.set_xlabel("% of the labels of the class")
    ax.legend()


def _probabilities(verdict: Verdict, ax: Any) -> None:
    """How many labels have which P(right)."""
    p_right, flagged = np.asarray(verdict.p_clean), np.asarray(verdict.flagged)
    ax.hist([p_right[~flagged], p_right[flagged]], bins=40, range=(0, 1), stacked=True, color=[_KEPT, _FLAGGED])
    ax.legend(["kept", "flagged"])
    ax.set_yscale("log")
    ax.set_xlabel("P(right)")
    ax.set_ylabel("labels")


KINDS = {"classes": _classes, "probabilities": _probabilities}
