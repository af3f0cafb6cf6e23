"""The judge beside its peers: means over the settings in which all of them were measured."""

from collections.abc import Mapping, Sequence

import numpy as np

from eigenclean.detect import DEFAULT
from eigenclean_lab.bench.quality.baseline import NAME as BASELINE
from eigenclean_lab.bench.quality.rows import QualityRow, family_figures
from eigenclean_lab.formatting import decimals, markdown_table, percent

# Detectors of a table and how a reader knows them. cleanlab's users call find_label_issues on the probabilities of
# a cross-validated model, with its default filter.
ALL_DATA: Mapping[str, str] = {
    DEFAULT: "**eigenclean**, the judge",
    "logistic-prune": "cleanlab, logistic regression",
    BASELINE: "cleanlab, k-NN on features",
    "knn": "k-NN vote",
    "simifeat": "SimiFeat",
    "fine-relative": "FINE, class-relative",
    "fine": "FINE",
}
TABLES: Mapping[str, str] = {
    DEFAULT: "**eigenclean**, the judge",
    "trees-prune": "cleanlab, extremely randomised trees",
    "boosting-prune": "cleanlab, gradient boosting",
    "logistic-prune": "cleanlab, logistic regression",
}
_HEADS = ("", "AUROC", "AP", "F1 of flags", "flagged when nothing is wrong", "ECE", "seconds")


def common_settings(
    rows: Sequence[QualityRow], names: Mapping[str, str], half: str, family: str | None = None
) -> list[str]:
    """The settings of a half (and a family) in which every named detector was measured."""
    measured: dict[str, set[str]] = {}
    for row in rows:
        if row.figures and row.half == half and family in (None, row.family):
            measured.setdefault(row.setting, set()).add(row.detector)
    return [setting for setting, detectors in measured.items() if detectors >= set(names)]


def peer_table(rows: Sequence[QualityRow], names: Mapping[str, str], settings: Sequence[str]) -> list[str]:
    """Markdown: a line for each named detector, with means over these settings and the median time."""
    lines = []
    for detector, title in names.items():
        members = [row for row in rows if row.detector == detector and row.setting in set(settings)]
        figures = family_figures(members)
        seconds = float(np.median([row.figures["seconds"] or 0.0 for row in members])) if members else 0.0
        lines.append(
            [
                title,
                *(decimals(figures[name]) for name in ("auroc", "average_precision", "noisy_f1")),
                percent(figures["clean_flagged"]),
                decimals(figures["ece"]),
                f"{seconds:.1f}",
            ]
        )
    return markdown_table(_HEADS, lines) if settings else []
