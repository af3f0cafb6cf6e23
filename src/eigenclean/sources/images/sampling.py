"""A look at the first entries of a folder: whether it may be a folder of images, before all of it is listed."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from eigenclean.errors import InvalidData
from eigenclean.sources.images.files import REMOVED, SUFFIXES

MAX_ENTRIES = 20_000  # of files and folders that are looked at
MAX_FILES = 2_000  # of files that are enough to tell
MIN_SHARE = 0.1  # of images among them; annotations may be in files beside the images


def refuse_whole_disk(path: Path, *, name: str) -> None:
    """Raise `InvalidData` for the root of a file system and for the home folder: they are no folders of data.

    >>> refuse_whole_disk(Path("/"), name="/")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: / is the root of the file system and not a data set; give the folder of the data
    """
    folder = os.path.realpath(path)
    if os.path.dirname(folder) == folder:
        raise InvalidData(f"{name} is the root of the file system and not a data set; give the folder of the data")
    if folder == os.path.realpath(os.path.expanduser("~")):
        raise InvalidData(f"{name} is your home folder and not a data set; give the folder of the data")


def may_hold_images(path: Path) -> bool:
    """Whether the subfolders hold an image or a link, and in a large folder, whether many files are images."""
    n_files = n_images = n_links = 0
    for number, entry in enumerate(_entries(path), 1):
        if entry.is_symlink():
            n_links += 1  # whether it counts is for the reader to say
        elif not entry.is_dir(follow_symlinks=False):
            n_files += 1
            n_images += os.path.splitext(entry.name)[1].lower() in SUFFIXES
        if n_files >= MAX_FILES or number >= MAX_ENTRIES:
            return n_images >= MIN_SHARE * min(n_files, MAX_FILES) and n_images > 0
    return n_images + n_links > 0


def _entries(path: Path) -> Iterator[os.DirEntry[str]]:
    """What is in the subfolders, without hidden entries; folders are read one after the other, as they come."""
    with os.scandir(path) as entries:
        labels = sorted(
            entry.name
            for entry in entries
            if os.path.isdir(entry.path) and not entry.name.startswith(".") and entry.name != REMOVED
        )
    pending = [path / label for label in reversed(labels)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
