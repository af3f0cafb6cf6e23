"""Files of the repository that say the same thing twice say it equally: versions, bounds, make targets."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.version import Version

from eigenclean.version import __version__

ROOT = Path(__file__).parents[2]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]  # type: ignore[no-any-return]


def lower_bounds() -> dict[str, set[str]]:
    """For every library, the lower bounds that the base install and the extras state."""
    extras = project()["optional-dependencies"]
    wanted = [*project()["dependencies"], *(line for name in extras if name != "docs" for line in extras[name])]
    bounds: dict[str, set[str]] = {}
    for line in wanted:
        match = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\w.]+)", line)
        if match:
            bounds.setdefault(match[1], set()).add(match[2])
    return bounds


def test_the_lowest_versions_that_are_run_are_those_that_are_allowed() -> None:
    lines = (ROOT / "constraints" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    bounds = lower_bounds()
    for name, version in pinned.items():
        assert Version(version) in map(Version, bounds[name]), f"{name}: {version}, {bounds[name]}"
    base = {re.split(r"[\[>]", line)[0] for line in project()["dependencies"]}
    assert base <= pinned.keys()


def test_one_version_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    headings = re.findall(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == __version__
    assert headings == sorted(headings, key=lambda text: [int(number) for number in text.split(".")], reverse=True)


def test_the_changelog_uses_the_sections_of_keep_a_changelog() -> None:
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    _, *versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for text in versions:
        sections = re.findall(r"^### (.*)$", text, re.MULTILINE)
        assert sections and sections == [name for name in order if name in sections]
        # A heading that was pasted into the end of an item is no heading.
        assert (
            re.findall(rf"\b(?:{'|'.join(order)})\b(?: \(.*\))?$", re.sub(r"^###.*", "", text, flags=re.M), re.M)
            == []
        )


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_github_files_are_yaml_and_run_targets_that_exist(path: Path) -> None:
    record = yaml.safe_load(path.read_text(encoding="utf-8"))
    steps = [step for job in record.get("jobs", {}).values() for step in job["steps"]]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for step in steps:
        if "run" in step:
            command, target = step["run"].split()[:2]
            assert command == "make"
            assert target in targets


def test_the_workflow_runs_every_python_that_the_package_names() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    prefix = "Programming Language :: Python :: 3."
    named = [line.removeprefix(prefix) for line in project()["classifiers"] if line.startswith(prefix)]
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in named]
