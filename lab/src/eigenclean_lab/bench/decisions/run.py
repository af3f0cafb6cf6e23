"""All settings and seeds of `eigenclean bench decisions`, and their file."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from eigenclean.review import ORDERS
from eigenclean_lab.bench.decisions.review import OrderStep, Step, compare_orders, judge, simulate
from eigenclean_lab.bench.decisions.settings import settings
from eigenclean_lab.store import today

FILE = "bench_decisions.json"


class MeasuredDecisions(NamedTuple):
    """What was measured: steps of more and more decisions, and of the orders."""

    steps: list[Step]
    orders: list[OrderStep]

    def has(self, setting: str, seed: int) -> bool:
        """Whether a setting was measured with a seed."""
        return any((step.setting, step.seed) == (setting, seed) for step in self.steps)

    def missing_orders(self, setting: str, seed: int) -> list[str]:
        """The orders that were not measured for a setting with a seed."""
        done = {step.order for step in self.orders if (step.setting, step.seed) == (setting, seed)}
        return [order for order in ORDERS if order not in done]


def run(
    folder: Path | None, n: int = 4000, *, seeds: int = 3, measured: MeasuredDecisions | None = None
) -> Iterator[MeasuredDecisions]:
    """All that is measured so far, after each setting for which there are data; known ones are left out."""
    known = MeasuredDecisions([], []) if measured is None else measured
    for seed in range(seeds):
        for setting in settings(folder, n, seed):
            has_errors = bool((setting.labels != setting.truth).any())
            missing = known.missing_orders(setting.name, seed) if has_errors else []
            if known.has(setting.name, seed) and not missing:
                continue
            before = judge(setting)
            steps = [] if known.has(setting.name, seed) else simulate(setting, before)
            orders = compare_orders(setting, before, orders=missing)
            known = MeasuredDecisions(known.steps + steps, known.orders + orders)
            yield known


def load(path: Path) -> MeasuredDecisions:
    """What an earlier run measured; nothing if there is no file."""
    if not path.is_file():
        return MeasuredDecisions([], [])
    record = json.loads(path.read_text(encoding="utf-8"))
    return MeasuredDecisions(
        [Step(**each) for each in record["steps"]], [OrderStep(**each) for each in record["orders"]]
    )


def facts(measured: MeasuredDecisions) -> dict[str, Any]:
    """What `results/bench_decisions.json` holds."""
    return {
        "date": today(),
        "steps": [asdict(step) for step in measured.steps],
        "orders": [asdict(step) for step in measured.orders],
    }
