"""No path out of an artefact leaves its folder: the rule itself, and an attack on every module that reads paths."""

import ast
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import eigenclean
from eigenclean import Audit, paths
from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.patch import Patch
from eigenclean.paths import check_relative, inside, is_inside
from eigenclean.review import Review
from eigenclean.sources import open_source, reopen
from eigenclean.sources.images.column import image_column
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.layouts.file_lists import read_names, read_numbered
from eigenclean.sources.relabel import apply_patch
from eigenclean.sources.unlabelled import open_unlabelled
from eigenclean.verdict import Verdict
from eigenclean.workflows.agents.tools import AgentTools
from eigenclean.workflows.detection.carried import carried_decisions, carried_groups

OUT_BY_WORDS = (
    "../secret.png",
    "a/../../secret.png",
    "/secret.png",
    "//host/secret.png",
    "..",
    "a/..",
    ".",
    "",
    "a\0.png",
    "..\\secret.png",
    "a\\..\\..\\secret.png",
    "\\secret.png",
    "\\\\host\\share\\secret.png",
    "C:/secret.png",
    "C:\\secret.png",
    "C:",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of images; beside it something secret, to which a link leads, as a file and as a folder."""
    secret = tmp_path / "outside"
    secret.mkdir()
    folder = tmp_path / "data"
    for name in ("a/1.png", "a/2.png", "b/1.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4), len(name), dtype=np.uint8)).save(folder / name)
    Image.fromarray(np.full((4, 4), 99, dtype=np.uint8)).save(secret / "secret.png")
    (folder / "a" / "link.png").symlink_to(secret / "secret.png")
    (folder / "linked").symlink_to(secret)
    return folder


@pytest.mark.parametrize("name", OUT_BY_WORDS)
def test_words_that_lead_out_are_refused(name: str, root: Path) -> None:
    with pytest.raises(InvalidData, match="paths must stay inside the folder of the data"):
        check_relative(name, by="list")
    with pytest.raises(InvalidData, match="paths must stay inside the folder of the data"):
        inside(root, name, by="list", follow_links=True)  # links are allowed then, words are not


@pytest.mark.parametrize("name", ["a/link.png", "linked/secret.png", "linked/new.png", "linked"])
def test_links_that_lead_out_are_refused(name: str, root: Path) -> None:
    with pytest.raises(InvalidData, match="by a link; if that is wanted, add --follow-links"):
        inside(root, name, by="list")
    assert inside(root, name, by="list", follow_links=True) == root / name


def test_links_that_stay_inside_are_fine(root: Path, tmp_path: Path) -> None:
    (root / "a" / "again.png").symlink_to("../b/1.png")
    (root / "c").symlink_to("b")
    (tmp_path / "here").symlink_to(root)
    for name in ("a/1.png", "a/again.png", "c/1.png", "no/such/file", "A:1/x.png", "...", "a..b/..c"):
        assert inside(root, name, by="list") == root / name
        assert inside(tmp_path / "here", name, by="list") == tmp_path / "here" / name
    (root / "loop").symlink_to("loop")
    assert inside(root, "loop", by="list") == root / "loop"


@pytest.mark.parametrize("name", ["A:1/x.png", "x:stream", "a/.. /x", "a/. ./x", "a/ /x", "a/.../x"])
def test_what_only_windows_takes_for_elsewhere(name: str) -> None:
    assert paths._leaves(name, windows=True)
    assert not paths._leaves(name, windows=False)


@given(st.text(st.sampled_from("ab./\\: ~"), max_size=12))
def test_what_passes_is_below_the_folder(name: str) -> None:
    try:
        path = inside("/data/set", name, by="x")
    except InvalidData:
        return
    assert os.path.normpath(path).startswith("/data/set/")
    assert is_inside("/data/set", path)


# --- One attack for each module that reads paths ------------------------------------------------------------------


def attack_files(root: Path, name: str) -> None:
    ImageFiles(root, np.array([name])).read(0)


def attack_folder(root: Path, name: str) -> None:
    """Names come from the file system here, so that only links can lead out; they must not become rows."""
    source = open_source(root)
    assert source.ids.tolist() == ["a/1.png", "a/2.png", "b/1.png"]
    assert source.skipped_links == ("a/link.png", "linked")
    raise InvalidData("held")


def attack_column(root: Path, name: str) -> None:
    image_column(pa.chunked_array([[name]]), root=root, by="table").read(0)


def attack_file_lists(root: Path, name: str) -> None:
    if not name.strip() or len(name.splitlines()) > 1:
        raise InvalidData("no name at all")
    (root / "list.txt").write_text(f"{name}\n")
    (root / "numbers.txt").write_text(f"{name} 1\n")
    with pytest.raises(InvalidData):
        ImageFiles(root, np.array(list(read_numbered(root / "numbers.txt", 5)))).read(0)
    ImageFiles(root, np.array(read_names(root / "list.txt"))).read(0)


def attack_hf(root: Path, name: str) -> None:
    table = pa.table({"label": ["x", "y"], "f": [1.0, 2.0]})
    for place in (root.parent / "outside" / "secret.png", root.parent / "secret.png"):
        with pa.OSFile(str(place), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    (root / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    open_source(root)


def attack_shards(root: Path, name: str) -> None:
    shards = root / "shards"
    shards.mkdir(exist_ok=True)
    (root.parent / "outside" / "x.csv").write_text("label,f\na,1\nb,2\n")
    if not (shards / "x.csv").is_symlink():
        (shards / "x.csv").symlink_to(root.parent / "outside" / "x.csv")
    assert len(open_source(shards, follow_links=True)) == 2
    open_source(shards)


def attack_moves(root: Path, name: str) -> None:
    """Both ends of a move: keys and values of the record of earlier moves, and ids of a patch."""
    before = tree(root.parent)
    record = {"decision": "relabel", "old": "b", "new": "a", "data_hash": "x"}
    for moved, id in (({name: "a/2.png"}, name), ({"b/9.png": name}, "b/9.png"), ({}, name)):
        (root / ".eigenclean-moved.json").write_text(json.dumps(moved))
        for revert in (True, False):
            with suppress(EigencleanError):  # or there is nothing to do
                patch = Patch.from_records([{**record, "id": id or "empty"}])
                apply_patch(open_source(root), patch, root, root, revert=revert, by_id=True)
    (root / ".eigenclean-moved.json").unlink()
    assert tree(root.parent) == before
    raise InvalidData("held")


def attack_image_root(root: Path, name: str) -> None:
    """The record of a run says where images are; only folders below that of the data are believed."""
    (root / "t.csv").write_text("label,path\nx,secret.png\ny,secret.png\n")
    for place in (root.parent / "outside", "/", "..", root / "linked"):
        record = {"name": str(root / "t.csv"), "image_column": "path", "image_root": str(place)}
        with pytest.raises(InvalidData, match=r"outside its folder; if that is right, add --image-root"):
            reopen(record)
        assert reopen(record, image_root=place).images is not None  # the user's own choice
    raise InvalidData("held")


def attack_store(root: Path, name: str) -> None:
    """A link in the place of the file of decisions would have the user's own files written to."""
    outside = root.parent / "outside" / "mine"
    outside.write_bytes(b"")
    run = root.parent / "run"
    if not run.exists():
        scores = np.zeros(3)
        labels = np.array(["a", "a", "b"])
        verdict = Verdict(np.arange(3), labels, scores, scores, scores > 1, labels, scores)
        verdict.save(run, data_hash="x")
        (run / "review.sqlite").symlink_to(outside)
    try:
        Review.open(run)
    finally:
        assert outside.read_bytes() == b"" and sorted(os.listdir(outside.parent)) == ["mine", "secret.png"]


def attack_annotations(root: Path, name: str) -> None:
    """A link in the place of the labels of annotators would show the user's own files on the page."""
    run = root.parent / "run"
    if not run.exists():
        scores, labels = np.zeros(3), np.array(["a", "a", "b"])
        Verdict(np.arange(3), labels, scores, scores, scores > 1, labels, scores).save(run, data_hash="x")
        (run / "annotations.parquet").symlink_to(root.parent / "outside" / "secret.png")
    Review.open(run)


def attack_carried(root: Path, name: str) -> None:
    """Links in the place of groups and decisions would have the user's own files read with the run."""
    run, outside = root.parent / "run", root.parent / "outside" / "secret.png"
    if not run.exists():
        run.mkdir()
        (run / "groups.parquet").symlink_to(outside)
        (run / "known_decisions.jsonl").symlink_to(outside)
    with pytest.raises(InvalidData, match="judging again"):
        carried_groups(run, open_source((np.zeros((3, 1)), np.array(["a", "a", "b"]))))
    carried_decisions(run)


def attack_report(root: Path, name: str) -> None:
    """A link in the place of the report would have the user's own files copied into a page that is handed on."""
    run, outside = root.parent / "run", root.parent / "outside" / "secret.png"
    scores, labels = np.zeros(3), np.array(["a", "a", "b"])
    if not run.exists():
        Verdict(np.arange(3), labels, scores, scores, scores > 1, labels, scores).save(run, data_hash="x")
        (run / "report.html").symlink_to(outside)
        (run / "report.json").symlink_to(outside)
    audit = Audit.load(run)
    assert "labels" in audit._repr_html_()
    Audit.load(run).save(root.parent / "copy")
    assert not (root.parent / "copy" / "report.html").exists()
    audit.report(root.parent / "page.html")


def attack_agent(root: Path, name: str) -> None:
    """An agent that was told to read elsewhere."""
    if (root / name).resolve() == root.resolve():  # the data themselves
        raise InvalidData("held")
    AgentTools(root, root.parent / "runs").audit(name, "run")


def attack_unlabelled(root: Path, name: str) -> None:
    """Names come from the file system here too."""
    assert open_unlabelled(str(root / "a")).ids.tolist() == ["1.png", "2.png"]
    raise InvalidData("held")


ATTACKS: dict[str, Callable[[Path, str], None]] = {
    "review/run.py": attack_store,
    "review/shown/annotations.py": attack_annotations,
    "sources/images/column.py": attack_column,
    "sources/images/files.py": attack_files,
    "sources/images/folder.py": attack_folder,
    "sources/layouts/file_lists.py": attack_file_lists,
    "sources/record.py": attack_image_root,
    "sources/relabel/folder.py": attack_moves,
    "sources/tabular/hf.py": attack_hf,
    "sources/tabular/shards.py": attack_shards,
    "sources/unlabelled.py": attack_unlabelled,
    "workflows/agents/tools.py": attack_agent,
    "workflows/audit/result.py": attack_report,
    "workflows/detection/carried.py": attack_carried,
}
OUT = (*(name for name in OUT_BY_WORDS if name and "\0" not in name), "a/link.png", "linked/secret.png")


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".eigenclean-moved.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_every_module_that_asks_about_paths_is_attacked() -> None:
    package = Path(eigenclean.__file__).parent
    readers = {
        path.relative_to(package).as_posix(): names
        for path in package.rglob("*.py")
        if (names := _imported(path)) - {"FOLLOW"}
    }
    assert sorted(readers) == sorted(ATTACKS), "a new reader of paths needs an attack in this file"


def _imported(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    nodes: list[Any] = [*ast.walk(ast.parse(text))] if "eigenclean.paths" in text else []
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "eigenclean.paths"]
    return {alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("module", sorted(ATTACKS))
def test_attacks_get_a_sentence_and_nothing_from_outside(module: str, root: Path) -> None:
    for name in OUT:
        with pytest.raises(InvalidData) as refused:
            ATTACKS[module](root, name)
        assert "\n" not in str(refused.value)
