"""Where suspects gather in the columns of a table: values that more of the flagged rows have than of all rows."""

from typing import Any

import numpy as np

from eigenclean.arrays import Ints
from eigenclean.report.formatting import count, isolate, percent, plain
from eigenclean.report.sections.base import ReportInput
from eigenclean.tables.groups import QUANTILES, ColumnGroups, column_groups

MAX_FINDINGS = 12
MAX_OF_COLUMN = 2
_MIN_FLAGGED = 3
_MIN_LIFT = 1.5  # the share among the flagged rows over that among all rows
_LEVEL = 0.01  # of the binomial test, for all groups together


def column_findings(inputs: ReportInput) -> dict[str, Any]:
    """The groups of rows with the most flagged labels beyond what their size explains."""
    table, n_flagged = inputs.table, len(inputs.classes.flagged)
    if table is None or n_flagged < _MIN_FLAGGED:
        return {"findings": [], "sentence": None}
    encoding = table.encoding
    n_groups = len(encoding.feature_names) + len(QUANTILES) * len(encoding.encoders)  # about as many are tested
    findings = [
        finding
        for groups in column_groups(encoding, table.features)
        for finding in _findings(groups, table.sampled, table.flagged, _LEVEL / n_groups)
    ]
    findings.sort(key=lambda finding: (-finding["excess"], finding["column"], finding["values"]))
    scale = n_flagged / len(table.flagged)
    listed = [{**f, "n_flagged": round(scale * f["n_flagged"])} for f in findings[:MAX_FINDINGS]]
    return {"findings": listed, "sentence": _sentence(listed[0], n_flagged) if listed else None}


def _findings(groups: ColumnGroups, sampled: Ints, suspects: Ints, level: float) -> list[dict[str, Any]]:
    from scipy.stats import binom  # slow to import

    n_groups = len(groups.groups)
    share = np.bincount(groups.codes[sampled], minlength=n_groups) / max(len(sampled), 1)
    n_flagged = np.bincount(groups.codes[suspects], minlength=n_groups)
    expected = len(suspects) * share
    gathers = (n_flagged >= _MIN_FLAGGED) & (n_flagged >= _MIN_LIFT * expected)
    gathers &= binom.sf(n_flagged - 1, len(suspects), share) <= level
    excess = n_flagged - expected
    order = sorted(np.flatnonzero(gathers).tolist(), key=lambda group: -excess[group])[:MAX_OF_COLUMN]
    return [
        {
            "column": plain(groups.column) or "the column without a name",
            "values": plain(groups.groups[group], 80),
            "n_flagged": int(n_flagged[group]),
            "flagged_share": float(n_flagged[group] / len(suspects)),
            "row_share": float(share[group]),
            "excess": float(excess[group]),
        }
        for group in order
    ]


def _sentence(finding: dict[str, Any], n_flagged: int) -> str:
    group = f"{isolate(finding['column'])} {isolate(finding['values'])}"
    return (
        f"{percent(finding['flagged_share'])} of the flagged labels ({count(finding['n_flagged'])} of "
        f"{count(n_flagged)}) are where {group}, as are {percent(finding['row_share'])} of all rows."
    )
