"""Every promise names tests that exist, and the table of the attack is that of the committed run."""

import ast
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from attacks.artefacts.run import FAMILIES
from attacks.fuzz.targets import TARGETS
from attacks.kill.run import SCENARIOS
from attacks.server.probes import PROBES

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


def test_the_committed_attack_has_tried_everything_and_broken_nothing() -> None:
    record = json.loads((ROOT / "results" / "attack.json").read_text(encoding="utf-8"))
    tried = {row["kind"]: row["tried"] for row in record["kinds"]}
    assert record["scale"] == 1 and record["violations"] == 0 and record["broken"] == []
    assert sum(n for kind, n in tried.items() if kind.startswith("fuzz/")) >= 1500
    assert {f"fuzz/{target.name}" for target in TARGETS} <= tried.keys()
    assert all(tried[f"kill/{scenario.name}"] >= scenario.kills for scenario in SCENARIOS)
    for kind in ("detect", "stream", "dask", "train", "embed", "patch", "review"):
        assert tried[f"kill/{kind}"] >= 40
    assert {f"artefacts/{family}" for family in FAMILIES} <= tried.keys()
    assert {f"server/{family}" for family in PROBES} <= tried.keys()


def test_the_page_shows_the_committed_attack(hooks: ModuleType) -> None:
    record = json.loads((ROOT / "results" / "attack.json").read_text(encoding="utf-8"))
    shown = hooks.on_page_markdown(PAGE)
    assert hooks.ATTACK in PAGE and hooks.ATTACK not in shown
    assert all(f"| {row['kind']} | {row['tried']} | {row['violations']} |" in shown for row in record["kinds"])
