"""Symbolic links that lead out of a folder of data: left out, named, and followed only on request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.cli.app import run as command
from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.source import DataChoices
from eigenclean.sources import open_source, reopen, source_record
from eigenclean.sources.relabel import apply_patch
from eigenclean.verdict import Verdict
from eigenclean.workflows.export import export_run

Cli = Callable[..., Any]


def picture(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((4, 4, 3), value, dtype=np.uint8)).save(path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    for number, name in enumerate(("cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png")):
        picture(root / name, 40 * number)
    picture(tmp_path / "home" / "secret.png", 200)
    picture(tmp_path / "home" / "more" / "deep.png", 210)
    (root / "cat" / "3.png").symlink_to(tmp_path / "home" / "secret.png")  # an image
    (root / "cat" / "inner").symlink_to(tmp_path / "home" / "more")  # a folder in a class
    (root / "owl").symlink_to(tmp_path / "home")  # a class
    (root / "dog" / "same.png").symlink_to("../cat/1.png")  # stays inside
    (root / "cat" / "broken.png").symlink_to("nowhere.png")
    (root / "notes.txt").symlink_to(tmp_path / "home" / "secret.png")  # no image, so not counted
    return root


INSIDE = ["cat/1.png", "cat/2.png", "cat/broken.png", "dog/1.png", "dog/2.png", "dog/same.png"]
OUTSIDE = ["cat/3.png", "cat/inner/deep.png", "owl/more/deep.png", "owl/secret.png"]


def test_links_out_are_left_out_and_named(data: Path) -> None:
    source = open_source(data)
    assert source.ids.tolist() == INSIDE
    assert source.skipped_links == ("cat/3.png", "cat/inner", "owl")
    followed = open_source(data, follow_links=True)
    assert followed.ids.tolist() == sorted(INSIDE + OUTSIDE) and not followed.skipped_links
    assert followed.images is not None and source.images is not None
    assert followed.images[sorted(INSIDE + OUTSIDE).index("owl/secret.png")].max() == 200
    assert open_source(f"folder:{data}").skipped_links == source.skipped_links


def test_splits_that_are_links(data: Path, tmp_path: Path) -> None:
    split = tmp_path / "split"
    (split / "test").mkdir(parents=True)
    picture(split / "test" / "cat" / "1.png", 1)
    (split / "train").symlink_to(data)
    with pytest.raises(InvalidData, match="by a link; if that is wanted, add --follow-links"):
        open_source(split)
    assert len(open_source(split, split="test")) == 1
    assert len(open_source(split, follow_links=True)) == len(INSIDE + OUTSIDE)


def test_chains_of_links_end(tmp_path: Path) -> None:
    root = tmp_path / "data"
    picture(root / "a" / "1.png", 1)
    for number in range(12):  # each folder leads to the next one twice: 4096 ways
        folder = root / "a" / f"f{number}"
        folder.mkdir()
        picture(folder / "x.png", number)
        for name in ("p", "q"):
            (folder / name).symlink_to(f"../f{number + 1}")
    (root / "a" / "self").symlink_to(".")
    (root / "a" / "up").symlink_to("..")
    for follow in (False, True):
        assert len(open_source(root, follow_links=follow)) < 60


def test_a_folder_of_nothing_but_links_says_so(tmp_path: Path) -> None:
    picture(tmp_path / "home" / "1.png", 1)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cat").symlink_to(tmp_path / "home")
    with pytest.raises(InvalidData, match="1 links lead out of it, which --follow-links would read"):
        open_source(tmp_path / "data")
    assert len(open_source(tmp_path / "data", follow_links=True)) == 1


def test_a_link_beside_tables_does_not_make_them_images(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("label,f\na,1\nb,2\n")
    (tmp_path / "data" / "elsewhere").symlink_to(tmp_path / "home")
    assert len(open_source(tmp_path / "data")) == 2


def test_a_column_of_images(data: Path, tmp_path: Path) -> None:
    (data / "t.csv").write_text("label,path\n" + "".join(f"{n[0]},{n}\n" for n in ("cat/1.png", "cat/3.png")))
    images = open_source(data / "t.csv", image_column="path").images
    assert images is not None and images[0].max() == 0
    with pytest.raises(InvalidData, match=r"3\.png leads out of .* by a link; if that is wanted, add --follow-l"):
        images[1]
    followed = open_source(data / "t.csv", image_column="path", follow_links=True).images
    assert followed is not None and followed[1].max() == 200


def test_commands_say_what_is_left_out_and_the_summary_names_it(
    data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="an encoder of torch")
    assert torch
    monkeypatch.chdir(tmp_path)
    (data / "cat" / "broken.png").unlink()
    code = "import torch\nmake = lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3))\n"
    (tmp_path / "net.py").write_text(code)
    net = ["--encoder", "torch:net.py:make?size=2", "--cache", "cache"]
    assert command(["detect", "data", "--out", "run", "--method", "knn", "--no-report", *net]) == 0
    said = " ".join(capfd.readouterr().err.split())
    assert "3 links out of data are left out, such as cat/3.png; --follow-links reads what they lead to" in said
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["skipped_links"] == {"n": 3, "names": ["cat/3.png", "cat/inner", "owl"]}
    assert summary["n_samples"] == 5 and "follow_links" not in summary["source"]
    assert command(["embed", "data", "--out", "x.npz", "--json", *net]) == 0
    assert json.loads(capfd.readouterr().out)["skipped_links"]["n"] == 3
    assert command(["embed", "data", "--out", "y.npz", "--json", "--follow-links", *net]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["n_embedded"] == 9 and "skipped_links" not in facts


def reviewed(data: Path, run: Path, follow_links: bool) -> Verdict:
    """A run by hand: half of the rows are suspects."""
    source = open_source(data, follow_links=follow_links)
    n = len(source)
    flagged = np.arange(n) % 2 == 0
    scores = np.where(flagged, 0.1, 0.9)
    verdict = Verdict(source.ids, source.labels, scores, scores, flagged, source.labels[::-1].copy(), scores)
    record = source_record(str(data), follow_links=follow_links or None)
    verdict.save(run, data_hash="x", source=record)
    return verdict


def test_a_run_cannot_ask_for_links_to_be_followed(data: Path, tmp_path: Path) -> None:
    """Somebody's data and somebody's run together: what is shown of the user's own files is nothing."""
    (data / "cat" / "broken.png").unlink()
    verdict = reviewed(data, tmp_path / "run", follow_links=True)
    assert "owl/secret.png" in verdict.ids.tolist()
    review = Review.open(tmp_path / "run")
    assert review.images is None and "it was read with --follow-links, so add that" in " ".join(review.notes)
    review.close()
    trusted = Review.open(tmp_path / "run", choices=DataChoices(follow_links=True))
    assert trusted.images is not None
    trusted.close()


def test_a_page_shows_no_image_from_outside(data: Path, tmp_path: Path) -> None:
    table = data / "t.csv"
    table.write_text("id,label,path,f\n0,a,cat/3.png,1\n1,b,cat/1.png,2\n")
    record = source_record(str(table), image_column="path", label_column="label", id_column="id")
    flagged = np.array([True, False])
    scores = np.array([0.1, 0.9])
    ids, labels = np.array([0, 1]), np.array(["a", "b"])
    Verdict(ids, labels, scores, scores, flagged, labels[::-1].copy(), scores).save(
        tmp_path / "run", data_hash="x", source=record
    )
    review = Review.open(tmp_path / "run")
    assert review.images is None and "leads out of" in " ".join(review.notes)
    review.close()
    with pytest.raises(InvalidData, match="does not say which source"):
        reopen({**record, "image_column": 7})


def test_exports_say_what_they_would_need(data: Path, tmp_path: Path) -> None:
    (data / "cat" / "broken.png").unlink()
    reviewed(data, tmp_path / "run", follow_links=True)
    summary = tmp_path / "run" / "summary.json"
    (tmp_path / "run" / "manifest.json").unlink(missing_ok=True)
    said: list[str] = []
    export_run(tmp_path / "run", "csv", tmp_path / "x.csv", notify=said.append)
    assert len(said) == 1 and "it was read with --follow-links, so add that if you trust the links in it" in said[0]
    (data / "t.csv").write_text("label,path\na,secret.png\nb,secret.png\n")
    record = source_record(str(data / "t.csv"), image_column="path", image_root=str(tmp_path / "home"))
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "source": record}))
    export_run(tmp_path / "run", "csv", tmp_path / "x.csv", notify=said.append)
    assert len(said) == 2 and "outside its folder; if that is right, add --image-root" in said[1]


# --- Patches ------------------------------------------------------------------------------------------------------


def patch_of(source: Any, changes: dict[str, str]) -> Patch:
    hashed = source.data_hash()
    return Patch.from_records(
        {"id": id, "decision": "relabel", "old": id.split("/")[0], "new": new, "data_hash": hashed}
        for id, new in changes.items()
    )


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_images_are_not_moved_through_a_link(data: Path, tmp_path: Path) -> None:
    (data / "cat" / "broken.png").unlink()
    before = names(tmp_path)
    patch = patch_of(open_source(data), {"cat/1.png": "dog", "cat/2.png": "owl"})
    with pytest.raises(InvalidData, match=r"owl/2\.png leads out of .* by a link"):
        apply_patch(open_source(data), patch, data, data)
    assert names(tmp_path) == before  # not even the first one, which stays inside
    assert command(["patch", "apply", str(data), str(patch.save(tmp_path / "p.jsonl")), "--in-place"]) == 2
    source = open_source(data, follow_links=True)
    patch = patch_of(source, {"cat/2.png": "owl"})
    apply_patch(source, patch, data, data)
    assert (tmp_path / "home" / "2.png").is_file()
    with pytest.raises(EigencleanError):  # reverting needs the same permission
        apply_patch(open_source(data), patch, data, data, revert=True)
    apply_patch(open_source(data, follow_links=True), patch, data, data, revert=True)
    assert names(tmp_path) == sorted([*before, "p.jsonl"])


def test_records_beside_the_data_are_never_links(tmp_path: Path) -> None:
    from eigenclean.publication import _read_manifest
    from eigenclean.sources.relabel.folder import MOVED, _read_moves
    from eigenclean.sources.relabel.update import UndoLog

    (tmp_path / "outside.json").write_text('{"eigenclean": 1, "files": {}, "removed": [], "a": "b"}')
    folder = tmp_path / "data"
    folder.mkdir()
    for name in (MOVED, "x.csv.undo.json", "manifest.json"):
        (folder / name).symlink_to(tmp_path / "outside.json")
    with pytest.raises(InvalidData, match="cannot be read"):
        _read_moves(folder)
    assert UndoLog.load(folder / "x.csv").types == []
    assert _read_manifest(folder) is None


def test_a_link_to_itself_is_an_image_that_cannot_be_read(tmp_path: Path) -> None:
    for number in range(4):
        path = tmp_path / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(path)
    (tmp_path / "a" / "loop.png").symlink_to("loop.png")
    (tmp_path / "c").symlink_to("c")
    source = open_source(str(tmp_path))
    assert set(source.ids.tolist()) <= {"a/0.png", "a/2.png", "b/1.png", "b/3.png", "a/loop.png"}
