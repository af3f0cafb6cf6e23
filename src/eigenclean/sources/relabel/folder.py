"""Folders of class folders of images: a new label means another folder."""

import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import make_folder, write_json
from eigenclean.patch import Patch
from eigenclean.sources.base import Source
from eigenclean.sources.images.files import ImageFiles, check_inside

MOVED = ".eigenclean-moved.json"  # original name -> current name; hidden, so it is no image and no class


@dataclass(frozen=True, eq=False)
class ImageLocations:
    """The files that hold the images of a patch now.

    Attributes:
        current: name of the file that holds each image; empty when it does not exist.
        is_moved: True where it has been moved to the folder of the new label.
    """

    current: Array
    is_moved: Bools


def is_class_folder(source: Source) -> bool:
    """Whether the labels of the source are the names of the folders that its images are in."""
    if not isinstance(source.images, ImageFiles) or source.labels.dtype.kind != "U" or source.ids.dtype.kind != "U":
        return False
    return bool((np.strings.partition(source.ids, "/")[0] == source.labels).all())


def find_images(root: Path, names: Array, patch: Patch) -> ImageLocations:
    """Look for each image under its original name and under the name that it was moved to."""
    existing, moves = set(names.tolist()), _read_moves(root)
    current, is_moved = [], []
    for id, new in zip(patch.ids.tolist(), patch.new.tolist(), strict=True):
        target = moves.get(id, "")
        moved = id not in existing and target in existing and target.startswith(f"{new}/")
        current.append(target if moved else id if id in existing else "")
        is_moved.append(moved)
    return ImageLocations(np.array(current, dtype=np.str_), np.array(is_moved, dtype=bool))


def move_images(root: Path, names: Array, patch: Patch, locations: ImageLocations, *, revert: bool) -> None:
    """Move the images to the folders of their new labels, or ``revert`` that; one rename each, so none is lost.

    A file keeps its name, unless the other folder has such a file: then the old label is added to it
    (``dog/1.from-cat.png``). All moves are recorded before the first one, so that a call after an interruption does
    the rest.
    """
    taken = {*names.tolist(), *patch.ids.tolist()}  # names in the patch stay reserved: reverting needs them
    moves: list[tuple[str, str]] = []
    recorded = _read_moves(root)
    for id, old, new, current, is_moved in zip(
        patch.ids.tolist(),
        patch.old.tolist(),
        patch.new.tolist(),
        locations.current.tolist(),
        locations.is_moved.tolist(),
        strict=True,
    ):
        if old == new or is_moved != revert:
            continue
        target = id if revert else _target(root, id, old, new, taken)
        if (root / target).exists():
            raise InvalidData(
                f"{root}: {current} should become {target}, but that is there already; nothing was moved"
            )
        taken.add(target)
        moves.append((current, target))
    if not revert:
        recorded |= dict(moves)
        write_json(root / MOVED, recorded)
    for current, target in moves:
        make_folder((root / target).parent)
        try:
            os.rename(root / current, root / target)
        except OSError as error:
            raise InvalidOption(
                f"cannot move {root / current} to {target}: {error.strerror or error}; do it again when that is "
                "solved"
            ) from None
    if revert:
        _drop_reverted(root, recorded)


def _target(root: Path, id: str, old: str, new: str, taken: set[str]) -> str:
    if new.startswith(".") or "/" in new or "\\" in new:
        raise InvalidData(f"labels of images are names of folders, which {new!r} cannot be; nothing was moved")
    target = PurePosixPath(new, *PurePosixPath(check_inside(id, by="patch")).parts[1:])
    if target.as_posix() not in taken and not (root / target).exists():
        return target.as_posix()
    return target.with_name(f"{target.stem}.from-{old}{target.suffix}").as_posix()


def _drop_reverted(root: Path, recorded: dict[str, str]) -> None:
    """Remove the images that have been moved back from the record, and the folders that are empty without them."""
    reverted = [id for id, target in recorded.items() if not (root / target).exists()]
    for id in reverted:
        folder = (root / recorded.pop(id)).parent
        while folder != root and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
    if recorded:
        write_json(root / MOVED, recorded)
    else:
        (root / MOVED).unlink(missing_ok=True)


def _read_moves(root: Path) -> dict[str, str]:
    """The current names of moved images by their original names."""
    try:
        record = json.loads((root / MOVED).read_text(encoding="utf-8"))
        return {str(id): check_inside(str(target), by=MOVED) for id, target in record.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        raise InvalidData(f"{root / MOVED}, which says where images were moved from, cannot be read") from None
