"""The table of views. A view gives, for every row, out-of-sample log-scores of the classes.

`linear` and `kernel` need nothing but sums over rows, so they work on data of any size. The others are *fixed*:
they are computed once, from the given labels, and need all rows at once.
"""

from eigenclean.detect.judge.views.base import FixedView
from eigenclean.detect.judge.views.neighbours import NeighbourView
from eigenclean.detect.judge.views.probabilities import ProbabilityView
from eigenclean.detect.judge.views.trees import TreeView

MOMENT_VIEWS = ("linear", "kernel")
_FIXED: tuple[type[FixedView], ...] = (NeighbourView, TreeView, ProbabilityView)
FIXED_VIEWS = {view.name: view for view in _FIXED}
VIEWS = (*MOMENT_VIEWS, *FIXED_VIEWS)
AUTO = "auto"
