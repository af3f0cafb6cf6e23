"""The paragraph about large data in the documentation, written from the results of `eigenclean bench scale`."""

from pathlib import Path

from eigenclean_lab.bench.scale.estimate import GB, Rates, estimate
from eigenclean_lab.bench.scale.run import LARGE_RUN, RATES
from eigenclean_lab.bench.scale.suite import figures_of, scale_store

MARK = "<!-- measured by bench scale -->"
_ROWS, _COLUMNS, _CLASSES, _WORKERS = 10**9, 1024, 1000, 100


def measured(path: Path) -> str:
    """A table of ratios, and the estimate for a billion rows; a sentence where nothing was measured yet."""
    cells = scale_store(path).read()
    if not cells:
        return "Nothing has been measured on this machine yet: run `eigenclean bench scale`."
    lines = ["| case | against | ratio | target |", "|---|---|---|---|"]
    for cell in cells:
        ratio = cell.figures.get("ratio")
        if cell.task["baseline"] is not None and ratio is not None:
            outcome = {True: "met", False: "**missed**", None: ""}[cell.facts["passed"]]
            target = f"{cell.facts['target'] or ''} {outcome}"
            lines.append(f"| {cell.task['case']} | {cell.task['baseline']} | {ratio:.3g} | {target} |")
    rates, large = figures_of(cells, RATES), figures_of(cells, LARGE_RUN)
    if rates is None or large is None:
        return "\n".join(lines)
    threads = next(cell.facts["machine"]["threads"] for cell in cells if cell.task["case"] == RATES)
    cost = estimate(Rates(**rates), large, rows=_ROWS, columns=_COLUMNS, classes=_CLASSES, workers=_WORKERS)
    lines += [
        "",
        f"A calculation, not a run: {_ROWS:,} rows of {_COLUMNS} float32 features ({cost.gigabytes / 1000:.1f} TB) "
        f"in {_CLASSES} classes on {_WORKERS} workers of one core take about **{cost.hours:.1f} hours** "
        f"({cost.worker_hours:.0f} worker hours), and {cost.table_gigabytes:.1f} GB of tables on each. It is "
        f"reading twice at {rates['read_bytes'] / GB:.1f} GB/s a worker and the judge's products at "
        f"{rates['discriminants'] / 1e9:.0f} billion multiplications a second on {threads} "
        f"cores, {large['rounds']} rounds of it, times the {large['ratio']:.2f} that a run of {large['rows']:,} "
        "rows took of both. It leaves out a network that is slower than the disk.",
    ]
    return "\n".join(lines)
