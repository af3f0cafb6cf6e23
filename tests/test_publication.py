"""A set of files is replaced as one, whatever happens and when; readers see the old set or the new one."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from attacks.faults import FULL, FaultyDisk, Killed, every_fault
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.publication import (
    MANIFEST,
    PENDING,
    check_shards,
    finish_publication,
    publication,
    read_together,
)

NAMES = ["summary.json", "verdict.parquet"]
Set = dict[str, str]
OLD: Set = {"verdict.parquet": "old verdict", "summary.json": "old summary", "report.html": "old page"}
NEW: Set = {"verdict.parquet": "new verdict", "summary.json": "new", "verdict.csv": "new copy"}


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncs are counted, but nobody waits for them."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def write(folder: Path, files: Set) -> None:
    with publication(folder, removes=["verdict.csv", "report.html", "report.json"]) as staging:
        for name, text in files.items():
            (staging / name).parent.mkdir(exist_ok=True)
            (staging / name).write_text(text)


def read(folder: Path) -> Set:
    """All files that are not hidden, as our readers see them."""

    def contents() -> Set:
        # Hidden folders are those of writers at work, and vanish at any time.
        visible = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
        files = [file for path in visible for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
        return {file.relative_to(folder).as_posix(): file.read_text() for file in files if file.name != MANIFEST}

    return read_together(folder, NAMES, contents)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_set_replaces_another_and_takes_away_what_is_about_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "review.sqlite").write_text("decisions")
    write(tmp_path, OLD)
    mine = {"notes.txt": "mine", "review.sqlite": "decisions"}
    assert read(tmp_path) == OLD | mine
    write(tmp_path, NEW)
    assert read(tmp_path) == NEW | mine  # the old page is gone, what is not ours has stayed
    assert hidden(tmp_path) == []


def test_a_file_and_a_folder_of_blocks_replace_each_other(tmp_path: Path) -> None:
    blocks = {
        "verdict.parquet/part-00000.parquet": "a",
        "verdict.parquet/part-00001.parquet": "b",
        "summary.json": "1",
    }
    for files in (OLD, blocks, {**blocks, "summary.json": "2"}, NEW):
        write(tmp_path, files)
        assert read(tmp_path) == files
        assert hidden(tmp_path) == []


@pytest.mark.parametrize("old", [{}, OLD, {"verdict.parquet/part-00000.parquet": "a", "summary.json": "1"}])
def test_a_kill_at_any_moment_leaves_the_old_set_or_the_new_one(tmp_path: Path, old: Set) -> None:
    run = tmp_path / "run"
    seen: list[Set] = []

    def prepare() -> None:
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        (run / "mine.txt").write_text("mine")
        if old:
            write(run, old)

    def check(raised: BaseException | None) -> None:
        assert raised is None or isinstance(raised, Killed)
        result = read(run)
        assert result.pop("mine.txt") == "mine"
        result = {name: text for name, text in result.items() if not name.startswith(".")}
        assert result in (old, NEW)
        seen.append(result)
        write(run, OLD)  # and whatever was left behind, the next set is written
        assert {name: text for name, text in read(run).items() if name in OLD} == OLD
        assert not (run / PENDING).exists()

    n = every_fault(run, lambda: write(run, NEW), check, prepare=prepare)
    assert n > 20
    assert seen == sorted(seen, key=lambda result: result == NEW)  # the old set up to one moment, then the new one
    assert seen[0] == old and seen[-1] == NEW
    assert seen.count(NEW) > 8  # kills after that moment, too


def test_a_reader_may_be_killed_as_well(tmp_path: Path) -> None:
    run = tmp_path / "run"

    def prepare() -> None:
        shutil.rmtree(run, ignore_errors=True)
        write(run, OLD)
        with FaultyDisk(run) as disk:
            write(run, NEW)
        moved = 1 + disk.log.index(next(entry for entry in disk.log if entry.startswith("rename .publication")))
        write(run, OLD)
        with pytest.raises(Killed), FaultyDisk(run, moved + 2):
            write(run, NEW)
        assert (run / PENDING).exists()

    every_fault(run, lambda: read(run), lambda raised: _equal(read(run), NEW), prepare=prepare)


def _equal(result: Set, expected: Set) -> None:
    assert result == expected


@pytest.mark.parametrize("old", [{}, OLD])
def test_a_full_disk_at_any_moment_changes_nothing_and_is_one_sentence(tmp_path: Path, old: Set) -> None:
    run = tmp_path / "run"

    def prepare() -> None:
        shutil.rmtree(run, ignore_errors=True)
        if old:
            write(run, old)

    def check(raised: BaseException | None) -> None:
        if raised is None:
            return _equal(read(run), NEW)
        assert isinstance(raised, EigencleanError) and "\n" not in str(raised)
        if isinstance(raised, InvalidOption):
            assert f"no space left on the disk of {tmp_path}" in str(raised)
            assert "; nothing was changed: make room there, or choose another place" in str(raised)
            assert run.exists() == bool(old)
            if old:
                _equal(read(run), old)
                assert hidden(run) == []
        else:  # the set counts already, and is moved to its places as soon as somebody looks
            assert "the results in" in str(raised) and "are complete" in str(raised)
            _equal(read(run), NEW)
        return None

    assert every_fault(run, lambda: write(run, NEW), check, prepare=prepare, error=FULL) > 15


@pytest.mark.parametrize("name", NAMES)
def test_a_mixture_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a", OLD)
    write(tmp_path / "b", NEW)
    shutil.copyfile(tmp_path / "b" / name, tmp_path / "a" / name)
    with pytest.raises(
        InvalidData, match=f"are not of one run: {name} is not as manifest.json describes it"
    ) as error:
        read(tmp_path / "a")
    assert "\n" not in str(error.value)
    (tmp_path / "a" / MANIFEST).unlink()  # as the sentence says
    assert read(tmp_path / "a")[name] == NEW[name]


def test_a_file_of_the_set_beside_one_that_is_not_is_a_mixture(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text("of another run")
    write(tmp_path, OLD)
    with pytest.raises(InvalidData, match=r"not of one run: model\.json"):
        read_together(tmp_path, ["model.json", "verdict.parquet"], lambda: None)


def test_files_without_a_manifest_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "verdict.parquet").write_text("of an earlier version")
    assert read(tmp_path) == {"verdict.parquet": "of an earlier version"}


def test_files_that_are_replaced_while_they_are_read_are_read_again(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    replaced = iter([NEW, OLD, NEW])

    def slow_read() -> tuple[str, str]:
        verdict = (tmp_path / "verdict.parquet").read_text()
        for files in replaced:
            write(tmp_path, files)
            break
        return verdict, (tmp_path / "summary.json").read_text()

    assert read_together(tmp_path, NAMES, slow_read) == ("new verdict", "new")


def test_many_writers_and_readers_at_once(tmp_path: Path) -> None:
    sets = [{"verdict.parquet": str(n), "summary.json": str(n)} for n in range(4)]
    write(tmp_path, sets[0])
    problems: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            for _ in range(25):
                work()
        except BaseException as problem:
            problems.append(problem)

    def check() -> None:
        result = read(tmp_path)
        assert {name: result[name] for name in NAMES} in [{name: s[name] for name in NAMES} for s in sets]

    workers = [threading.Thread(target=guarded, args=(lambda s=s: write(tmp_path, s),)) for s in sets]
    workers += [threading.Thread(target=guarded, args=(check,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert problems == []
    assert hidden(tmp_path) == []


def test_a_manifest_or_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    for name, content in ((MANIFEST, '{"name": "my app"}'), ("report.html/precious", "mine")):
        folder = tmp_path / name.partition(".")[0]
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(content)
        with pytest.raises(InvalidOption, match=r"another (folder|place)"):
            write(folder, OLD)
        assert (folder / name).read_text() == content
        assert not (folder / "verdict.parquet").exists()


@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000, '{"eigenclean": 2}', '{"eigenclean": 1, "files": {"../x": {}}}']
)
def test_a_damaged_manifest_is_one_sentence(tmp_path: Path, text: str) -> None:
    write(tmp_path, OLD)
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InvalidData, match="damaged, or of a later version") as error:
        read(tmp_path)
    assert "\n" not in str(error.value)


def _forge(run: Path, names: list[str], removed: list[str] | None = None) -> Path:
    """A published set that waits to be moved, as an attacker would write it."""
    staging = run / PENDING / ("0" * 16)
    (staging / ".old").mkdir(parents=True)
    files = {name: {"size": 0, "blake2b": ""} for name in names}
    (staging / MANIFEST).write_text(
        json.dumps({"eigenclean": 1, "id": "0", "files": files, "removed": removed or []})
    )
    return staging


@pytest.mark.parametrize(
    "name", ["../victim", "/etc/victim", "..", ".hidden", "a/../../victim", "review.sqlite", "a\\b"]
)
def test_a_forged_set_leads_out_of_nothing_and_replaces_no_decisions(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "victim").write_text("precious")
    (run / "review.sqlite").write_text("decisions")
    staging = _forge(run, [name])
    (staging / "review.sqlite").write_text("forged")
    with pytest.raises(InvalidData, match="damaged"):
        finish_publication(run)
    assert (tmp_path / "victim").read_text() == "precious"
    assert (run / "review.sqlite").read_text() == "decisions"


def test_a_forged_set_removes_nothing_but_results(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "victim").write_text("precious")
    (run / "review.sqlite").write_text("decisions")
    _forge(run, [], removed=["review.sqlite", "../victim", "report.html"])
    finish_publication(run)
    assert (tmp_path / "victim").read_text() == "precious"
    assert (run / "review.sqlite").read_text() == "decisions"


@pytest.mark.parametrize("link", [PENDING, f"{PENDING}/{'0' * 16}"])
def test_a_link_instead_of_the_hidden_folder_is_not_followed(tmp_path: Path, link: str) -> None:
    run, victim = tmp_path / "run", tmp_path / "victim"
    staging = _forge(victim, ["summary.json"])
    (staging / "summary.json").write_text("precious")
    (run / link).parent.mkdir(parents=True)
    os.symlink(victim / PENDING if link == PENDING else staging, run / link)
    finish_publication(run)
    assert (staging / "summary.json").read_text() == "precious"
    assert not (run / "summary.json").exists()


def test_nothing_is_moved_through_a_link_for_old_files(tmp_path: Path) -> None:
    run, victim = tmp_path / "run", tmp_path / "victim"
    victim.mkdir()
    (victim / "report.html").write_text("precious")
    staging = _forge(run, ["summary.json"], removed=["report.html"])
    (run / "report.html").write_text("forged")
    (staging / ".old").rmdir()
    (staging / ".old").symlink_to(victim)
    with pytest.raises(InvalidData, match=r"was not written by eigenclean"):
        finish_publication(run)
    assert (victim / "report.html").read_text() == "precious"


def test_a_forged_set_replaces_no_folder_of_the_user(tmp_path: Path) -> None:
    staging = _forge(tmp_path, ["data/part-00000.parquet"])
    for folder in (staging / "data", tmp_path / "data"):
        folder.mkdir()
        (folder / "precious").write_text("mine")
    with pytest.raises(InvalidOption, match="a folder with other files in it"):
        finish_publication(tmp_path)
    assert (tmp_path / "data" / "precious").read_text() == "mine"


def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, OLD)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    _forge(tmp_path, ["summary.json"])
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(
        InvalidData, match=r"complete, but cannot be moved .*Permission denied; run the same command"
    ):
        read(tmp_path)


def test_shards_of_two_data_sets_are_refused(tmp_path: Path) -> None:
    shards = {"part-00000.arrow": "aaaa", "part-00001.arrow": "bb", "embedding.json": "{}"}
    write(tmp_path, shards)
    names = ["part-00000.arrow", "part-00001.arrow"]
    check_shards(tmp_path, names)
    for wrong in (names[:1], [*names, "part-00002.arrow"]):
        with pytest.raises(InvalidData, match="not of one run"):
            check_shards(tmp_path, wrong)
    (tmp_path / names[1]).write_text("longer")
    with pytest.raises(InvalidData, match="not of one run: part-00001"):
        check_shards(tmp_path, names)
    check_shards(tmp_path, ["mine.arrow"])  # somebody's own files are not ours to check


def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "summary.json")
    with pytest.raises(InvalidData, match=r"summary\.json is not an ordinary file"):
        read_together(tmp_path, ["summary.json"], (tmp_path / "summary.json").read_bytes)
