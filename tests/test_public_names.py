"""What `import eigenclean` offers, and what it costs."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import eigenclean


def loaded_by(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running ``code``."""
    script = (
        f"{code}\nimport sys, json; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_at_most_a_dozen_names_and_all_resolve() -> None:
    assert len(eigenclean.__all__) <= 12
    assert len(set(eigenclean.__all__)) == len(eigenclean.__all__)
    for name in eigenclean.__all__:
        value = getattr(eigenclean, name)
        assert value.__doc__, f"{name} has no documentation"
        assert name in dir(eigenclean)
    assert {"FINE", "detector", "find_label_issues", "add_noise", "Verdict"} <= set(eigenclean.__all__)


def test_dir_lists_the_public_names_once_and_nothing_else() -> None:
    assert dir(eigenclean) == sorted(eigenclean.__all__)


def test_public_names_are_the_same_objects_as_at_home() -> None:
    assert eigenclean.FINE is importlib.import_module("eigenclean.detect.fine.fine").FINE
    assert eigenclean.Verdict is importlib.import_module("eigenclean.verdict").Verdict


def test_unknown_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="module 'eigenclean' has no attribute 'fine_'"):
        _ = eigenclean.fine_
    with pytest.raises(ImportError):
        exec("from eigenclean import no_such_name")


def test_version() -> None:
    assert eigenclean.__version__.count(".") == 2


def test_importing_the_package_costs_nothing() -> None:
    heavy = {"numpy", "scipy", "sklearn", "pyarrow", "torch", "matplotlib", "pandas", "polars", "typer", "rich"}
    assert not loaded_by("import eigenclean") & heavy


UNWANTED = {"torch", "matplotlib", "polars", "rich", "typer", "jinja2", "dask"}


@pytest.mark.parametrize("module", ["eigenclean.detect", "eigenclean.verdict", "eigenclean.sources"])
def test_judging_needs_no_torch_no_plots_no_console(module: str) -> None:
    assert not loaded_by(f"import {module}") & UNWANTED


@pytest.mark.parametrize("module", ["eigenclean.verdict", "eigenclean.sources"])
def test_pandas_is_never_imported(module: str) -> None:
    # Not so for detect: scikit-learn itself imports pandas where it is installed.
    assert "pandas" not in loaded_by(f"import {module}")


def test_a_whole_verdict_needs_none_of_them_either() -> None:
    code = (
        "import numpy as np, eigenclean\n"
        "X = np.random.default_rng(0).random((60, 3)); y = np.arange(60) % 2\n"
        "eigenclean.FINE().judge(X, y)"
    )
    assert not loaded_by(code) & UNWANTED


def test_importing_leaves_the_process_alone() -> None:
    code = (
        "import os, sys, warnings, numpy as np\n"
        "before = os.getcwd(), dict(os.environ), list(warnings.filters), np.random.get_state()[1].tobytes()\n"
        "import eigenclean.detect\n"
        "after = os.getcwd(), dict(os.environ), list(warnings.filters), np.random.get_state()[1].tobytes()\n"
        "print([a == b for a, b in zip(before, after)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    same_folder, same_environment, _, same_random = json.loads(done.stdout.lower())
    assert same_folder
    assert same_environment
    assert same_random


def test_importing_the_package_takes_little_of_the_standard_library() -> None:
    folder = Path(eigenclean.__file__).parents[1]
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import eigenclean; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "importlib.abc",
        "importlib.resources",
        "importlib.metadata",
        "inspect",
        "tempfile",
        "numpy",
        "pyarrow",
    }
    assert not heavy & set(done.stdout.split())
