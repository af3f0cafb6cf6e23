"""The scripts in docs/ are no package; tests load them from their files."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Pages that train networks or judge many times; what they show is run by `make test-all`.
SLOW_PAGES = (
    "agents.md", "analyses.md", "annotators.md", "audit.md", "cluster.md", "coming-from-cleanlab.md",
    "coming-from-fine.md", "export.md", "file.md", "files.md", "gate.md", "images-and-texts.md", "judge-again.md",
    "judge.md", "larger-than-memory.md", "measure.md", "out-of-class.md", "patch.md", "quickstart.md",
    "report.md", "reproduce.md", "tables.md", "threshold.md", "train.md", "training-loop.md", "verdict.md",
)  # fmt: skip


def load(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name.removeprefix('docs_')}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shown_page" in metafunc.fixturenames:
        pages = load("docs_examples").pages()
        marked = [pytest.param(page, marks=pytest.mark.slow) if page.name in SLOW_PAGES else page for page in pages]
        metafunc.parametrize("shown_page", marked, ids=[str(path.relative_to(ROOT)) for path in pages])


@pytest.fixture(scope="session")
def examples() -> ModuleType:
    return load("docs_examples")


@pytest.fixture(scope="session")
def hooks() -> ModuleType:
    return load("docs_hooks")


@pytest.fixture(scope="session")
def pictures() -> ModuleType:
    return load("docs_pictures")


@pytest.fixture(scope="session")
def docstrings() -> ModuleType:
    return load("docs_docstrings")


@pytest.fixture(scope="session")
def notebooks() -> ModuleType:
    return load("docs_notebooks")
