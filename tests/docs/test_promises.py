"""Every promise names tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!Promise|---)(.+) \| (.+) \|$", PAGE, re.MULTILINE)
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert (ROOT / path).is_file()
    assert not function or function in functions(ROOT / path)


def test_every_promise_names_a_test() -> None:
    assert len(ROWS) >= 30
    for promise, tests in ROWS:
        assert re.fullmatch(r"`tests/[\w/.:]+`(, `tests/[\w/.:]+`)*", tests), promise


def test_the_page_of_promises_is_in_security_and_in_the_navigation() -> None:
    assert "(docs/promises.md)" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "promises.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
