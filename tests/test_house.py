"""House rules that no linter knows: how long files are, how full folders are, and which words are not used."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("src", "lab/src", "attacks", "walk") for path in (ROOT / folder).rglob("*.py"))
TEXTS = sorted(
    path
    for folder in ("src", "lab/src", "docs", "examples")
    for pattern in ("*.py", "*.md", "*.html", "*.js")
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


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def test_no_folder_has_more_than_20_modules() -> None:
    modules = Counter(relative(path.parent) for path in SOURCES if path.name != "__init__.py")
    assert {folder: n for folder, n in modules.items() if n > 20} == {}


@pytest.mark.parametrize("word", OLD_WORDS)
def test_an_old_word_is_not_used(word: str) -> None:
    whole = re.compile(rf"\b{word}\b")
    used = [relative(path) for path in SOURCES if whole.search(path.read_text(encoding="utf-8"))]
    assert used == [], f"write {OLD_WORDS[word]}"


def test_nothing_that_users_read_names_a_folder_of_one_machine() -> None:
    private = re.compile(r"\.\./\w+/data\b|(?<![\w.])/(?:root|Users)/")
    assert [relative(path) for path in TEXTS if private.search(path.read_text(encoding="utf-8"))] == []
