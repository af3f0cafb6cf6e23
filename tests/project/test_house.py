"""House rules that no linter knows: lengths of files, sizes of folders, old words, and one name for one thing."""

import ast
import re
import statistics
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("src", "lab/src", "attacks", "walk") for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted(path for folder in ("tests", "lab/tests") for path in (ROOT / folder).rglob("*.py"))
TEXTS = sorted(
    path
    for folder in ("src", "lab/src", "docs", "examples")
    for pattern in ("*.py", "*.md", "*.html", "*.js", "*.css")
    for path in (ROOT / folder).rglob(pattern)
) + [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")]

# Words of an earlier vocabulary, each with the term of the field that took its place.
OLD_WORDS = {
    "glances": "instance-dependent noise",
    "lots": "row hashes, block statistics",
    "Lessons": "epoch runner",
    "rivals": "alternative classes",
    "Whereabouts": "a name for what it locates",
    "TOGETHER": "a name for the batch or group size",
    "give_back": "a name for what is returned",
    "one_of_many": "is_partial",
    "everyone": "given-label entries",
    "Weighed": "block scores",
    "yardstick": "baseline, reference",
    "ahead": "prefetched",
}
# Classes of that vocabulary; the words themselves are common.
OLD_CLASSES = {"Fit", "Learned", "Line", "Look", "Part", "Passes", "Pictures", "Shown", "Turn", "Way"}
# Names of variables that say nothing about what they hold.
EMPTY_NAMES = {
    "alone", "apart", "beside", "far", "found", "here", "made", "one", "own", "part", "said", "thing", "together",
}  # fmt: skip


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


def is_deprecation(value: ast.expr) -> bool:
    """Whether a value is that of an old attribute, which `RenamedAttribute` answers for one more release."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "RenamedAttribute"


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {relative(path): len(text(path).splitlines()) for path in SOURCES}
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def test_no_file_of_tests_is_longer_than_450_lines() -> None:
    lengths = {relative(path): len(text(path).splitlines()) for path in TESTS}
    assert {name: n for name, n in lengths.items() if n > 450} == {}


def test_no_folder_has_more_than_20_modules() -> None:
    modules = Counter(relative(path.parent) for path in SOURCES + TESTS if path.name != "__init__.py")
    assert {folder: n for folder, n in modules.items() if n > 20} == {}


@pytest.mark.parametrize("package", ["src", "lab/src"])
def test_the_median_file_is_one_idea_and_not_one_function(package: str) -> None:
    files = [text(path).splitlines() for path in (ROOT / package).rglob("*.py")]
    lengths = [len(lines) for lines in files if len(lines) > 1]  # an __init__ may be nothing but a docstring
    assert 90 <= statistics.median(lengths) <= 160


@pytest.mark.parametrize("package", ["src", "lab/src"])
def test_a_class_name_has_one_meaning_in_a_package(package: str) -> None:
    files: dict[str, list[str]] = {}
    for path in (ROOT / package).rglob("*.py"):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files.setdefault(node.name, []).append(relative(path))
    assert {name: paths for name, paths in files.items() if len(paths) > 1 or name in OLD_CLASSES} == {}


@pytest.mark.parametrize("word", OLD_WORDS)
def test_an_old_word_is_not_used(word: str) -> None:
    whole = re.compile(rf"\b{word}\b")
    used = [relative(path) for path in {*SOURCES, *TEXTS} if whole.search(text(path))]
    assert used == [], f"write {OLD_WORDS[word]}"


def test_variables_say_what_they_hold() -> None:
    used = []
    for path in SOURCES:
        nodes = list(ast.walk(tree(path)))
        old = [node.targets[0] for node in nodes if isinstance(node, ast.Assign) and is_deprecation(node.value)]
        for node in nodes:
            if isinstance(node, ast.arg) and node.arg in EMPTY_NAMES:
                used.append(f"{relative(path)}:{node.lineno} {node.arg}")
            is_target = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in old
            if isinstance(node, ast.Name) and is_target and node.id in EMPTY_NAMES:
                used.append(f"{relative(path)}:{node.lineno} {node.id}")
    assert used == []


def test_nothing_that_users_read_names_a_folder_of_one_machine() -> None:
    private = re.compile(r"\.\./\w+/data\b|(?<![\w.])/(?:root|Users)/")
    assert [relative(path) for path in TEXTS if private.search(text(path))] == []
