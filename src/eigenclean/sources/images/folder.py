"""A folder of class folders of images; links that lead out of it are left out and named."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.paths import FOLLOW, inside, is_inside
from eigenclean.sources.images.files import REMOVED, SUFFIXES, ImageFiles
from eigenclean.sources.images.source import ImageSource, choose_split

_SPLITS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def open_image_folder(
    path: Path,
    *,
    name: str,
    split: str | None = None,
    labels: Array | None = None,
    resize: int | None = None,
    grey: bool = False,
    follow_links: bool = False,
) -> ImageSource:
    """One class per subfolder, images at any depth in it; or such folders under ``train``, ``val`` and ``test``.

    Ids are the names of the files relative to the folder, labels the names of the subfolders. Links to images, and
    class folders that are links, count when they stay inside ``path``. With ``follow_links`` they count
    wherever they lead, and so do links to folders inside class folders.
    """
    splits = _splits(path)
    root = path
    if splits:
        chosen = splits[choose_split(split, [*splits], by=name)]
        root = inside(path, chosen, by=name, follow_links=follow_links)
    else:
        choose_split(split, [], by=name)
    walk = _Walk(root, path, follow_links)
    files = sorted(walk.files())
    if not files:
        raise InvalidData(
            f"{name} has no class folders of images ({', '.join(sorted(SUFFIXES))}): one folder per class"
            + (f"; {len(walk.skipped)} links lead out of it, which {FOLLOW} would read" if walk.skipped else "")
        )
    names = np.array(files)
    ids = np.array([_readable(file) for file in files])
    if labels is None:
        labels = np.array([id.split("/", 1)[0] for id in ids.tolist()])
    images = ImageFiles(root, names, resize=resize, grey=grey, boundary=path, follow_links=follow_links)
    source = ImageSource(name, images, labels, ids=ids, splits=tuple(splits))
    source.skipped_links = tuple(map(_readable, sorted(walk.skipped)))
    return source


def _readable(name: str) -> str:
    """The name as text: bytes that are no UTF-8, which Linux allows in names, are spelled out."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_image_folder(path: Path) -> bool:
    """Whether there are images, or links to some, in the folder's subfolders."""
    walk = _Walk(path, path, follow_links=False)
    if next(walk.files(), None) is not None:
        return True
    return any(_is_image(name) or any(_is_image(e.name) for e in _entries(path / name)) for name in walk.skipped)


def _splits(path: Path) -> dict[str, str]:
    """Standard name of each split and the name of its folder; empty when the subfolders are classes."""
    folders = _folders(path)
    if not folders or any(folder.lower() not in _SPLITS for folder in folders):
        return {}
    # Classes may be called "train" and "test" too: splits have folders in them.
    if not all(_folders(path / folder) for folder in folders):
        return {}
    return {_SPLITS[folder.lower()]: folder for folder in folders}


def _folders(path: Path) -> list[str]:
    return sorted(
        entry.name
        for entry in os.scandir(path)
        if _is_folder(entry) and not entry.name.startswith(".") and entry.name != REMOVED
    )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder or a link to one; unlike `DirEntry.is_dir` no error for a link to itself."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in the folder, but for hidden entries; nothing when it may not be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []


def _is_image(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in SUFFIXES


class _Walk:
    """Finds images below the class folders of ``root``.

    Attributes:
        skipped: names of links that lead out of ``boundary``, as far as `files` has come.
    """

    def __init__(self, root: Path, boundary: Path, follow_links: bool) -> None:
        self._root, self._boundary, self._follow_links = root, boundary, follow_links
        self.skipped: list[str] = []

    def files(self) -> Iterator[str]:
        """Names of images relative to ``root``, with forward slashes, in no order."""
        for label in _folders(self._root):
            if self._counts(label):
                yield from self._below(label)

    def _below(self, label: str) -> Iterator[str]:
        pending = [label]
        entered = {os.path.realpath(self._root / label)}  # by links, of which a chain could be endless
        while pending:
            folder = pending.pop()
            for entry in _entries(self._root / folder):
                name, is_link = f"{folder}/{entry.name}", entry.is_symlink()
                if _is_folder(entry):
                    if not is_link or (self._counts(name) and self._enters(name, entered)):
                        pending.append(name)
                elif _is_image(entry.name) and (not is_link or self._counts(name)):
                    yield name

    def _enters(self, link: str, entered: set[str]) -> bool:
        target = os.path.realpath(self._root / link)
        if not self._follow_links or target in entered:
            return False
        entered.add(target)
        return True

    def _counts(self, name: str) -> bool:
        if self._follow_links or is_inside(self._boundary, self._root / name):
            return True
        self.skipped.append(name)
        return False
