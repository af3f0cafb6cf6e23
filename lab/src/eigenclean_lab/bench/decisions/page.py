"""The tables of `eigenclean bench decisions` on the page about judging again, and whether bars are met."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.review import ORDERS
from eigenclean_lab.formatting import decimals, markdown_table, percent, write_between_marks

NAME = "bench decisions"
BAR_DECISIONS, MAX_RATE_ERROR, MAX_CALIBRATION_ERROR = 200, 0.015, 0.03
_HEADS = ("Labels", "Wrong", "Decisions", "Noise rate off by", "ECE", "F1 of the other flags")
_FLAGS = ("False flags", "at a limit of 10 %")
_ORDER_HEADS = ("Labels", "Order", "Errors found per decision", *_HEADS[3:], "Bits per decision")


def tables(results: dict[str, Any]) -> str:
    """More and more decisions, the bars, and the first decisions in each order; means over seeds ± deviation."""
    steps = [{**each, "rate_error": abs(each["estimated"] - each["noise_rate"])} for each in results["steps"]]
    rows = []
    for (name, count), group in _groups(steps, "setting", "n_decisions").items():
        numbers = [_spread(group, "rate_error"), _spread(group, "calibration_error"), _change(group)]
        shares = [percent(_mean(group, key)) for key in ("false_flags", "false_flags_at_limit")]
        rows.append([name, percent(_mean(group, "noise_rate")), str(count), *numbers, *shares])
    measured = sorted(results["orders"], key=lambda each: ORDERS.index(each["order"]))
    names = list(dict.fromkeys(each["setting"] for each in results["steps"]))
    orders = _groups(sorted(measured, key=lambda each: names.index(each["setting"])), "setting", "order")
    orders |= {
        ("*all, mean*", name): [each for each in results["orders"] if each["order"] == name] for name in ORDERS
    }
    order_rows = [[name, f"`{order}`", *_order_cells(group)] for (name, order), group in orders.items() if group]
    tables = [markdown_table((*_HEADS, *_FLAGS), rows), _bars(steps), markdown_table(_ORDER_HEADS, order_rows)]
    return "\n\n".join("\n".join(table) for table in tables)


def _order_cells(group: Sequence[dict[str, Any]]) -> list[str]:
    rate = f"{decimals(_mean(group, 'noise_error_before'))} → {_spread(group, 'noise_error')}"
    bits = f"{_mean(group, 'uncertainty_removed'):+.1f}"
    if not any(each["n_decisions"] for each in group):
        return ["nothing is listed", "–", "–", "–", "–"]
    return [_spread(group, "errors_found"), rate, _spread(group, "calibration_error"), _change(group), bits]


def write_tables(page: Path, results: dict[str, Any]) -> None:
    """Put the tables between the marks of a page."""
    write_between_marks(page, NAME, tables(results))


def _bars(steps: Sequence[dict[str, Any]]) -> list[str]:
    """Per setting, whether the bars are met after so many decisions; the means over settings, which should fall."""
    lines = []
    for (setting, count), group in _groups(steps, "setting", "n_decisions").items():
        if count != BAR_DECISIONS:
            continue
        rate, error = _mean(group, "rate_error") or 0.0, _mean(group, "calibration_error") or 0.0
        words = [
            f"noise rate within {100 * MAX_RATE_ERROR:g} points: {_met(rate <= MAX_RATE_ERROR)} ({decimals(rate)})",
            f"ECE at most {MAX_CALIBRATION_ERROR:g}: {_met(error <= MAX_CALIBRATION_ERROR)} ({decimals(error)})",
        ]
        lines.append(f"* {setting}, {count} decisions: {'; '.join(words)}")
    counts = sorted({each["n_decisions"] for each in steps})
    for key, name in (("rate_error", "error of the noise rate"), ("calibration_error", "ECE")):
        means = [_mean([each for each in steps if each["n_decisions"] == count], key) or 0.0 for count in counts]
        numbers = ", ".join(f"{decimals(mean)} ({count})" for mean, count in zip(means, counts, strict=True))
        falls = all(later <= earlier for earlier, later in pairwise(means))
        lines.append(f"* mean {name} over all settings (after so many decisions): {numbers}; falls: {_met(falls)}")
    return lines


def _groups(rows: Sequence[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for each in rows:
        groups.setdefault(tuple(each[key] for key in keys), []).append(each)
    names = list(dict.fromkeys(each[keys[0]] for each in rows))
    return dict(sorted(groups.items(), key=lambda item: names.index(item[0][0])))


def _met(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def _values(group: Sequence[dict[str, Any]], key: str) -> list[float]:
    return [each[key] for each in group if each[key] is not None]


def _mean(group: Sequence[dict[str, Any]], key: str) -> float | None:
    values = _values(group, key)
    return float(np.mean(values)) if values else None


def _spread(group: Sequence[dict[str, Any]], key: str) -> str:
    """The mean ± the standard deviation of a sample, if there are several values."""
    values = _values(group, key)
    deviation = f" ± {decimals(float(np.std(values, ddof=1)))}" if len(values) > 1 else ""
    return decimals(_mean(group, key)) + deviation


def _change(group: Sequence[dict[str, Any]]) -> str:
    before, after = _mean(group, "f_before"), _mean(group, "f")
    return "–" if after is None else f"{decimals(before)} → {decimals(after)}"
