"""What the documentation says about large data, from the results of `bench scale`."""

import json
from pathlib import Path

from eigenclean_lab.bench.scale import GB, estimate

MARK = "<!-- measured by bench scale -->"
_ROWS, _COLUMNS, _CLASSES, _WORKERS = 10**9, 1024, 1000, 100


def measured(path: Path) -> str:
    """A table of ratios, and the estimate for a billion rows; a sentence where nothing was measured yet."""
    if not path.exists():
        return "Nothing has been measured on this machine yet: run `eigenclean bench scale`."
    record = json.loads(path.read_text(encoding="utf-8"))
    lines = ["| case | against | ratio | must be |", "|---|---|---|---|"]
    for case in record["cases"]:
        kept = {True: "kept", False: "**missed**", None: ""}[case["passed"]]
        lines.append(
            f"| {case['case']} | {case['yardstick']} | {case['ratio']:.3g} | {case['must'] or ''} {kept} |"
        )
    cost = estimate(record, rows=_ROWS, columns=_COLUMNS, classes=_CLASSES, workers=_WORKERS)
    large, rates = record["large"], record["costs"]
    lines += [
        "",
        f"A calculation, not a run: {_ROWS:,} rows of {_COLUMNS} float32 features ({cost.gigabytes / 1000:.1f} TB) "
        f"in {_CLASSES} classes on {_WORKERS} workers of one core take about **{cost.hours:.1f} hours** "
        f"({cost.worker_hours:.0f} worker hours), and {cost.table_gigabytes:.1f} GB of tables on each. It is "
        f"reading twice at {rates['read_bytes'] / GB:.1f} GB/s a worker and the judge's products at "
        f"{rates['discriminants'] / 1e9:.0f} billion multiplications a second on {record['machine']['threads']} "
        f"cores, {large['rounds']} rounds of it, times the {large['ratio']:.2f} that a run of {large['rows']:,} "
        "rows took of both. It leaves out a network that is slower than the disk.",
    ]
    return "\n".join(lines)
