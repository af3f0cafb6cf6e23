"""The scripts in docs/ are no package; tests load them from their files."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Most pages train networks or judge many times and are run by `make test-all`; these are run by `make test` too.
FAST_PAGES = ("README.md", "own-detector.md", "pieces.md")


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
        marked = [pytest.param(page, marks=() if page.name in FAST_PAGES else pytest.mark.slow) for page in pages]
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
