"""Images in files, decoded on access; no name and no link may lead out of their folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.paths import refuse_links_out
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.sources.read_errors import explain_read_errors

REMOVED = "_removed"  # folder of images that a patch took out: no class
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"}


class ImageFiles(LazyImages):
    """Image files as if they were one array; see `LazyImages`.

    Args:
        root: folder that the names are relative to.
        names: one per image.
        resize: side of the square that every image becomes, or None.
        grey: brightness only.
        boundary: folder that no link may lead out of; by default ``root``.
        follow_links: links may lead anywhere.
    """

    def __init__(
        self,
        root: Path,
        names: Array,
        *,
        resize: int | None = None,
        grey: bool = False,
        boundary: Path | None = None,
        follow_links: bool = False,
    ) -> None:
        super().__init__(resize=resize, grey=grey, by=root)
        self.root = root
        self.names = names
        self.boundary = root if boundary is None else boundary
        self.follow_links = follow_links
        self._inside: set[Path] = set()  # folders that do not lead out

    def __len__(self) -> int:
        return len(self.names)

    def with_files(self, names: Sequence[str]) -> "ImageFiles":
        """These images and further ones below the same folder."""
        return ImageFiles(
            self.root,
            np.array([*self.names.tolist(), *names]),
            resize=self.resize,
            grey=self.grey,
            boundary=self.boundary,
            follow_links=self.follow_links,
        )

    def fingerprint_as(self, moved: Mapping[str, str]) -> str:
        """The fingerprint if some files had other names: ``moved`` says which; files are in the order of names."""
        names = [moved.get(name, name) for name in self.names.tolist()]
        return self.fingerprint(sorted(range(len(names)), key=names.__getitem__) if moved else None)

    def read(self, row: int) -> bytes:
        """The bytes of the file; links that lead out of the folder are refused unless they are followed."""
        path = Path(self.root, str(self.names[row]))
        if not self.follow_links:
            self._refuse_links(path)
        if not path.is_file():
            raise InvalidData(f"there is no image {path}; check that the data set is complete")
        with explain_read_errors(str(path), "image"):
            return path.read_bytes()

    def _refuse_links(self, path: Path) -> None:
        """Raise `InvalidData` for an image outside; a folder is resolved once, which takes longer than reading."""
        if path.parent not in self._inside:
            refuse_links_out(self.boundary, path.parent, by="image")
            self._inside.add(path.parent)
        if path.is_symlink():
            refuse_links_out(self.boundary, path, by="image")

    def title(self, row: int) -> str:
        """What error messages call the image: the path of its file."""
        return str(self.root / self.names[row])
