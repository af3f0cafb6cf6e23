"""Fingerprints change with the code that a measurement runs, and with no other."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from eigenclean.detect import DETECTORS
from eigenclean_lab.bench.quality.measure import RUNNERS
from eigenclean_lab.bench.quality.measure import measure as measure_quality
from eigenclean_lab.bench.quality.settings import SETTINGS as QUALITY
from eigenclean_lab.components import component_modules
from eigenclean_lab.store.fingerprints import graph
from eigenclean_lab.store.import_graph import ImportGraph

FILES = {
    "__init__": "from pkg.fine import FINE\nfrom pkg.knn import KNN\n__all__ = ['FINE', 'KNN']\n",
    "fine": "from pkg.sums import total\n\n\nclass FINE:\n    def fit(self):\n        return total()\n",
    "knn": "from pkg.other import far\n\n\nclass KNN:\n    near = far\n",
    "sums": "def total():\n    from pkg.lazy import late\n\n    return late\n",
    "lazy": "late = 1\n",
    "other": "far = 2\n",
    "registry": "from pkg.fine import FINE\nfrom pkg.knn import KNN\nTABLE = {'fine': FINE, 'knn': KNN}\n\n\n"
    "def look_up(name):\n    return TABLE[name]\n",
    "user": "from typing import TYPE_CHECKING\n\nfrom pkg import FINE\nfrom pkg.registry import look_up\n\n"
    "if TYPE_CHECKING:\n    from pkg.knn import KNN\n\n\ndef use():\n    return look_up('fine'), FINE\n",
    "private": "from pkg.knn import KNN\n_TABLE = {'knn': KNN}\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def closure(package: Path, module: str) -> set[str]:
    return {name.removeprefix("pkg.") for name in ImportGraph({"pkg": package}).closure([f"pkg.{module}"])}


def test_imports_are_followed_into_functions_and_through_reexports(package: Path) -> None:
    assert closure(package, "fine") == {"fine", "sums", "lazy"}
    assert closure(package, "user") == {"user", "registry", "fine", "sums", "lazy"}


def test_a_registry_leads_nowhere_but_a_private_table_is_code(package: Path) -> None:
    assert closure(package, "registry") == {"registry"}
    assert closure(package, "private") == {"private", "knn", "other"}


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("lazy", "late = 1", "late = 2", True),
        ("sums", "    return late", "    return late + 1", True),
        ("sums", "def total():\n", 'def total():\n    """What it is."""\n', False),
        ("sums", "    return late", "    # why\n    return late", False),
        ("other", "far = 2", "far = 3", False),
        ("registry", "TABLE = {'fine': FINE, ", "TABLE = {'best': FINE, 'fine': FINE, ", False),
        ("registry", "return TABLE[name]", "return TABLE[name.lower()]", True),
        ("__init__", "__all__ = ['FINE', 'KNN']", "__all__ = ['FINE']", False),
    ],
)
def test_a_fingerprint_changes_with_code_that_is_used(
    file: str, old: str, new: str, changes: bool, package: Path
) -> None:
    before = ImportGraph({"pkg": package}).fingerprint(["pkg.user"])
    text = (package / f"{file}.py").read_text()
    assert old in text
    (package / f"{file}.py").write_text(text.replace(old, new))
    assert (ImportGraph({"pkg": package}).fingerprint(["pkg.user"]) != before) == changes


def test_relative_imports_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from . import b\n")
    with pytest.raises(ValueError, match="import by full name"):
        ImportGraph({"pkg": tmp_path}).closure(["pkg.a"])


def test_metrics_and_arrays_count_and_other_detectors_do_not() -> None:
    modules = graph().closure([measure_quality.__module__, *component_modules(["fine", {"cut": "gaussian"}])])
    assert {"eigenclean.arrays", "eigenclean.mixture", "eigenclean.moments"} <= modules
    assert any(module.startswith("eigenclean.metrics.") for module in modules)
    assert not any("baselines" in module for module in modules)


def modules_called(work: Callable[[], Any]) -> set[str]:
    """Modules of the library whose functions run during the call, in any thread."""
    called: set[str] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        # The body of a module runs when it is first imported, whether or not it is used afterwards.
        if (
            event == "call"
            and name.startswith("eigenclean")
            and frame.f_code.co_name not in ("<module>", "<lambda>")
        ):
            called.add(name)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called


@pytest.mark.parametrize("name", [name for name in DETECTORS if name not in ("judge", "vote")] + ["judge", "vote"])
def test_every_function_that_a_cell_calls_is_in_its_fingerprint(name: str) -> None:
    case = QUALITY["digits/sym-20"].make(None, 0)
    small = type(case)(case.features[:300], case.labels[:300], type(case.truth)(case.truth.labels[:300]))
    runner = RUNNERS["detector"].__module__
    covered = graph().closure([measure_quality.__module__, runner, *component_modules([name])])
    assert modules_called(lambda: measure_quality(name, small)) <= covered
