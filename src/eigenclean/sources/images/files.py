"""Images in files, decoded on access; no name may lead out of their folder."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.sources.read_errors import explain_read_errors

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"}
_SUSPICIOUS = re.compile(r"^[./]*$|^/|\.\.|[\\:\0]")


class ImageFiles(LazyImages):
    """Image files as if they were one array; see `LazyImages`.

    Args:
        root: folder that the names are relative to.
        names: one per image.
        resize: side of the square that every image becomes, or None.
        grey: brightness only.
    """

    def __init__(self, root: Path, names: Array, *, resize: int | None = None, grey: bool = False) -> None:
        super().__init__(resize=resize, grey=grey, by=root)
        self.root = root
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def fingerprint_as(self, moved: Mapping[str, str]) -> str:
        """The fingerprint if some files had other names: ``moved`` says which; files are in the order of names."""
        names = [moved.get(name, name) for name in self.names.tolist()]
        return self.fingerprint(sorted(range(len(names)), key=names.__getitem__) if moved else None)

    def read(self, row: int) -> bytes:
        """The file's bytes."""
        path = Path(self.root, str(self.names[row]))
        if not path.is_file():
            raise InvalidData(f"there is no image {path}; check that the data set is complete")
        with explain_read_errors(str(path), "image"):
            return path.read_bytes()

    def title(self, row: int) -> str:
        """The file's path."""
        return str(self.root / self.names[row])


def check_inside(name: str, *, by: str) -> str:
    """Return ``name`` if it stays inside the folder that it is relative to; raise `InvalidData` otherwise.

    >>> check_inside("images/../../etc/passwd", by="list.txt, line 3")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: list.txt, line 3: names of images must stay inside the data set, got
    'images/../../etc/passwd'
    """
    # Lists have a million names, nearly all of them harmless: one regular expression sorts out those to parse.
    if _SUSPICIOUS.search(name):
        path = PurePosixPath(name.replace("\\", "/"))
        if (
            path.is_absolute()
            or PureWindowsPath(name).drive
            or ".." in path.parts
            or not path.parts
            or "\0" in name
        ):
            raise InvalidData(f"{by}: names of images must stay inside the data set, got {name!r}")
    return name
