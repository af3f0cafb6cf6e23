"""Cells of kind "theory": the theorems of the paper, simulated."""

from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import Measured
from eigenclean_lab.theory.theorem1 import run_theorem1
from eigenclean_lab.theory.theorem2 import run_theorem2

_SIMULATIONS = {"theorem1": run_theorem1, "theorem2": run_theorem2}


def measure_theorem(task: Task, seed: int, context: Context) -> Measured:
    """How often the printed and the corrected bounds are broken, over a grid of settings."""
    result = _SIMULATIONS[task.spec.method](context.profile.name, seed=seed)
    return Measured(result.numbers, {"cells": list(result.cells), "notes": list(result.notes)})
