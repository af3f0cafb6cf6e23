"""The paper's two theorems: their bounds, as printed and as they hold, and simulations of both."""

from eigenclean.metrics import perturbation
from eigenclean_lab.theory.perturbation_bound import Bound, perturbation_bound
from eigenclean_lab.theory.run import TheoremRun
from eigenclean_lab.theory.selection_bounds import precision_bound, recall_bound
from eigenclean_lab.theory.theorem1 import run_theorem1
from eigenclean_lab.theory.theorem2 import run_theorem2

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
