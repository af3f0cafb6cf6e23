"""eigenclean finds wrong labels in a data set and trains well in spite of them.

>>> import eigenclean
>>> from sklearn.datasets import load_digits
>>> X, y = load_digits(return_X_y=True)
>>> result = eigenclean.audit(X, label=y)
"""

from typing import TYPE_CHECKING, Any

from eigenclean.deprecation import install as _install_moved_modules
from eigenclean.version import __version__

if TYPE_CHECKING:
    from eigenclean.detect import FINE, detector, find_label_issues
    from eigenclean.evidence import Evidence
    from eigenclean.noise import add_noise
    from eigenclean.sources import open_source
    from eigenclean.train import RobustClassifier, recipe
    from eigenclean.verdict import Verdict
    from eigenclean.workflows.audit import Audit, audit

_install_moved_modules()

# Where each public name lives. Names resolve on first use, so that importing eigenclean costs nothing.
_HOMES = {
    "Audit": "eigenclean.workflows.audit",
    "audit": "eigenclean.workflows.audit",
    "FINE": "eigenclean.detect",
    "detector": "eigenclean.detect",
    "find_label_issues": "eigenclean.detect",
    "add_noise": "eigenclean.noise",
    "open_source": "eigenclean.sources",
    "RobustClassifier": "eigenclean.train",
    "recipe": "eigenclean.train",
    "Evidence": "eigenclean.evidence",
    "Verdict": "eigenclean.verdict",
}

__all__ = [
    "FINE",
    "Audit",
    "Evidence",
    "RobustClassifier",
    "Verdict",
    "__version__",
    "add_noise",
    "audit",
    "detector",
    "find_label_issues",
    "open_source",
    "recipe",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'eigenclean' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # next time Python finds it by itself
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
