"""Kills of `patch apply` and `patch revert`: labels are the old or the new ones, and no image is lost."""

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from attacks import seeds, table_seeds
from attacks.kill.scenario import Scenario, run_again
from eigenclean.cli.app import run
from eigenclean.sources import open_source

ROWS = (7, 17, 27)
_OTHER = {"ant": "bee, the", "bee": "cat", "cat": "ant", "0": 1, "1": 2, "2": 0}


class PatchFile(Scenario):
    """`patch apply --in-place` to a file."""

    name = "patch"
    file = "data.csv"
    verb, inverse = "apply", "revert"

    def build(self, folder: Path) -> None:
        """The data and a patch."""
        write_data(folder, self.file)
        source = open_source(str(folder / self.file))
        old = source.labels[list(ROWS)].tolist()
        new = [_OTHER[str(label)] for label in old]
        text = seeds.decisions(source.ids[list(ROWS)].tolist(), old, new, source.data_hash())
        (folder / "patch.jsonl").write_text(text, encoding="utf-8")
        shutil.copyfile(folder / self.file, folder / "original")

    def command(self, folder: Path, verb: str) -> list[str]:
        """Apply or revert in place."""
        return ["patch", verb, str(folder / self.file), str(folder / "patch.jsonl"), "--in-place"]

    def work(self, folder: Path) -> None:
        """Apply, or revert."""
        assert run(self.command(folder, self.verb)) == 0

    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """The bytes are the old or the new ones; a second try gives the new ones, the way back the old ones."""
        before, after = self.states(folder, done)
        if (folder / self.file).read_bytes() not in (before, after):
            yield "the file is neither the old one nor the new one"
        yield from run_again(self.command(folder, self.verb), folder)
        if (folder / self.file).read_bytes() != after:
            yield "after a second try the file is not the new one"
        yield from run_again(self.command(folder, self.inverse), folder)
        if (folder / self.file).read_bytes() != before:
            yield f"{self.inverse} does not restore the bytes"

    def states(self, folder: Path, done: Path) -> tuple[bytes, bytes]:
        """The bytes before and after the work."""
        return (folder / "original").read_bytes(), (done / self.file).read_bytes()


class PatchParquet(PatchFile):
    """`patch apply --in-place` to a Parquet file, whose bytes depend on the library that writes them."""

    name = "patch-parquet"
    file = "data.parquet"
    kills = 20


class PatchArray(PatchFile):
    """`patch apply --in-place` to an .npz file."""

    name = "patch-npz"
    file = "data.npz"
    kills = 20


class PatchJsonLines(PatchFile):
    """`patch apply --in-place` to JSON lines."""

    name = "patch-json-lines"
    file = "data.jsonl"
    kills = 20


class PatchCompressed(PatchFile):
    """`patch apply --in-place` to a compressed CSV file."""

    name = "patch-csv-gz"
    file = "data.csv.gz"
    kills = 20


class PatchWorkbook(PatchFile):
    """`patch apply --in-place` to an Excel workbook."""

    name = "patch-excel"
    file = "data.xlsx"
    kills = 20


class RevertFile(PatchFile):
    """`patch revert --in-place` of a CSV file whose cells were respelled."""

    name = "patch-revert"
    kills = 20
    verb, inverse = "revert", "apply"

    def build(self, folder: Path) -> None:
        """The data with the patch applied."""
        super().build(folder)
        assert run(self.command(folder, "apply")) == 0
        shutil.copyfile(folder / self.file, folder / "original")


class PatchImages(Scenario):
    """`patch apply --in-place` to class folders: images move one after the other."""

    name = "patch-images"
    verb, inverse = "apply", "revert"

    def build(self, folder: Path) -> None:
        """Images, of which some have the same name in both folders, and a patch that moves five."""
        seeds.write_images(folder)
        for name in ("cat", "dog"):
            (folder / "images" / name / "same.png").write_bytes(seeds.picture(len(name) + ord(name[0])))
        source = open_source(str(folder / "images"))
        rows = [0, 3, 6, len(source.ids) - 2, len(source.ids) - 1]
        old = source.labels[rows].tolist()
        new = ["dog" if label == "cat" else "cat" for label in old]
        text = seeds.decisions(source.ids[rows].tolist(), old, new, source.data_hash())
        (folder / "patch.jsonl").write_text(text, encoding="utf-8")
        shutil.copytree(folder / "images", folder / "original")

    def command(self, folder: Path, verb: str) -> list[str]:
        """Apply or revert in place."""
        return ["patch", verb, str(folder / "images"), str(folder / "patch.jsonl"), "--in-place"]

    def work(self, folder: Path) -> None:
        """Apply, or revert."""
        assert run(self.command(folder, self.verb)) == 0

    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """Every image is there once; a second try does the rest; the way back restores every name."""
        original = _images(folder / "original")
        if Counter(_images(folder / "images").values()) != Counter(original.values()):
            yield "an image is lost, doubled or changed"
        yield from run_again(self.command(folder, self.verb), folder)
        if _images(folder / "images") != _images(done / "images"):
            yield "after a second try the images are not where they should be"
        yield from run_again(self.command(folder, self.inverse), folder)
        if _images(folder / "images") != original:
            yield f"{self.inverse} does not bring every image back"


class RevertImages(PatchImages):
    """`patch revert --in-place` of class folders."""

    name = "patch-images-revert"
    verb, inverse = "revert", "apply"
    kills = 20

    def build(self, folder: Path) -> None:
        """Images that have been moved."""
        super().build(folder)
        assert run(self.command(folder, "apply")) == 0
        shutil.rmtree(folder / "original")
        shutil.copytree(folder / "images", folder / "original")


def write_data(folder: Path, name: str) -> None:
    """A data file of that name."""
    WRITERS[name](folder)


WRITERS = {
    "data.csv": table_seeds.write_csv,
    "data.csv.gz": table_seeds.write_compressed,
    "data.jsonl": table_seeds.write_json_lines,
    "data.npz": table_seeds.write_npz,
    "data.parquet": table_seeds.write_parquet,
    "data.xlsx": table_seeds.write_workbook,
}


def _images(root: Path) -> dict[str, str]:
    """Digest of every image by its name."""
    return {
        path.relative_to(root).as_posix(): hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
