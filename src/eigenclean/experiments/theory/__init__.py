"""The paper's two theorems: their bounds, as printed and as they hold, and simulations of both."""

from eigenclean.experiments.theory.perturbation import perturbation
from eigenclean.experiments.theory.perturbation_bound import Bound, perturbation_bound
from eigenclean.experiments.theory.run import TheoremRun
from eigenclean.experiments.theory.selection_bounds import precision_bound, recall_bound
from eigenclean.experiments.theory.theorem1 import run_theorem1
from eigenclean.experiments.theory.theorem2 import run_theorem2

__all__ = [
    "Bound",
    "TheoremRun",
    "perturbation",
    "perturbation_bound",
    "precision_bound",
    "recall_bound",
    "run_theorem1",
    "run_theorem2",
]
