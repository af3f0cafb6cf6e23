"""CONTRIBUTING.md names files, tables and commands; all of them exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from eigenclean.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "eigenclean"
LAB = ROOT / "lab" / "src" / "eigenclean_lab"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| [^|]+ \| (`[^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE)


def walk(command: str) -> list[str]:
    """The lines of the drawing below the heading of a command."""
    drawing = re.search(rf"^\*\*`eigenclean {command}\b.*?\n\n((?:    .*\n)+)", TEXT, re.MULTILINE)
    assert drawing is not None, command
    return drawing[1].splitlines()


@pytest.mark.parametrize("command", ["detect", "train", "review", "reproduce"])
def test_walks_name_files_that_exist(command: str) -> None:
    lines = walk(command)
    assert len(lines) >= 8
    folder = LAB if command == "reproduce" else PACKAGE
    for line in lines:
        paths = re.findall(r"[\w/]+\.py\b|(?<![\w/])[\w/]+/(?=[,\s)])", line.split("docs/paper.md")[0])
        here = folder
        for path in paths:
            if "/" in path.rstrip("/"):
                here = (folder / path).parent
            if path not in ("results/", "docs/"):
                assert (folder / path).exists() or (here / path).exists(), f"{path}, in: {line}"


def test_every_folder_for_new_things_exists_and_has_its_table() -> None:
    assert len(ROWS) >= 15
    for folders, line in ROWS:
        for folder in re.findall(r"`([\w/]+/)`", folders):
            assert (PACKAGE / folder).is_dir(), folder
        *names, path = re.findall(r"`([^`]+)`", line)
        module = import_module("eigenclean." + path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for name in names:
            assert hasattr(module, name), f"{path} has no {name}"


def test_every_folder_in_the_tree_exists() -> None:
    tree = TEXT.split("## The tree")[1].split("Imports go")[0]
    folders = re.findall(r"^ {6}(\w+/)", tree, re.MULTILINE) + re.findall(r"(?<=\S)  +(\w+/)  ", tree)
    assert len(set(folders)) >= 13
    for folder in folders:
        assert (PACKAGE / folder).is_dir(), folder


def test_walks_are_about_commands() -> None:
    names = {command.name for command in app.registered_commands}
    assert {"detect", "train", "review"} <= names
