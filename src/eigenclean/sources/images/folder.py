"""A folder of class folders of images."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.images.files import SUFFIXES, ImageFiles
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
) -> ImageSource:
    """One class per subfolder, images at any depth in it; or such folders under ``train``, ``val`` and ``test``.

    Ids are the names of the files relative to the folder, labels the names of the subfolders.
    """
    splits = _splits(path)
    root = path
    if splits:
        root = path / splits[choose_split(split, [*splits], by=name)]
    else:
        choose_split(split, [], by=name)
    files = sorted(_files(root))
    if not files:
        raise InvalidData(
            f"{name} has no class folders of images ({', '.join(sorted(SUFFIXES))}): one folder per class"
        )
    names = np.array(files)
    ids = np.array([_readable(file) for file in files])
    if labels is None:
        labels = np.array([id.split("/", 1)[0] for id in ids.tolist()])
    return ImageSource(
        name, ImageFiles(root, names, resize=resize, grey=grey), labels, ids=ids, splits=tuple(splits)
    )


def _readable(name: str) -> str:
    """The name as text: bytes that are no UTF-8, which Linux allows in names, are spelled out."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_image_folder(path: Path) -> bool:
    """Whether there are images in the folder's subfolders."""
    return next(_files(path), None) is not None


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
    return sorted(entry.name for entry in os.scandir(path) if entry.is_dir() and not entry.name.startswith("."))


def _files(root: Path) -> Iterator[str]:
    """Images below the class folders, as names relative to ``root`` with forward slashes."""
    for label in _folders(root):
        for folder, subfolders, files in os.walk(root / label):
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
            for file in sorted(files):
                if os.path.splitext(file)[1].lower() in SUFFIXES and not file.startswith("."):
                    yield (Path(folder) / file).relative_to(root).as_posix()
