"""Folders of class folders of images: a new label means another folder, and so does taking an image out.

Ids and labels of a patch and names in the record of earlier moves may be somebody else's: both ends of every move
go through `eigenclean.paths.inside` before the first file is touched.
"""

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import folder_made_for, parse_json, write_json
from eigenclean.patch import REMOVE, Patch
from eigenclean.paths import check_relative, inside, is_inside
from eigenclean.sources.base import Source
from eigenclean.sources.images.files import REMOVED, ImageFiles

MOVED = ".eigenclean-moved.json"  # original name -> current name; hidden, so it is no image and no class
_MAX_NAME = 255  # bytes, on all usual file systems


@dataclass(frozen=True, eq=False)
class ImageLocations:
    """The files that hold the images of a patch now.

    Attributes:
        current: name of the file that holds each image; empty when it does not exist.
        is_moved: True where it has been moved to the folder of the new label, or to that of removed images.
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
    for id, new, decision in zip(patch.ids.tolist(), patch.new.tolist(), patch.decision.tolist(), strict=True):
        target = moves.get(id, "")
        if decision == REMOVE:
            moved = id not in existing and target.startswith(f"{REMOVED}/") and os.path.lexists(root / target)
        else:
            moved = id not in existing and target in existing and target.startswith(f"{new}/")
        current.append(target if moved else id if id in existing else "")
        is_moved.append(moved)
    return ImageLocations(np.array(current, dtype=np.str_), np.array(is_moved, dtype=bool))


def move_images(
    images: ImageFiles,
    names: Array,
    patch: Patch,
    locations: ImageLocations,
    *,
    revert: bool,
    drop_removed: bool = False,
) -> None:
    """Move the images to the folders of their new labels, or ``revert`` that; one rename each, so none is lost.

    With ``drop_removed``, images that people removed go to the folder `REMOVED`, which is no class.

    A file keeps its name, unless the other folder has such a file: then the old label is added to it
    (``dog/1.from-cat.png``). All moves are recorded before the first one, so that a call after an interruption does
    the rest. A link to a folder outside is not followed, unless the images were opened with ``follow_links``.
    """
    root, follow_links = images.root, images.follow_links
    taken = {*names.tolist(), *patch.ids.tolist()}  # names in the patch stay reserved: reverting needs them
    moves: list[tuple[str, str]] = []
    recorded = _read_moves(root)
    for id, decision, old, new, current, is_moved in zip(
        patch.ids.tolist(),
        patch.decision.tolist(),
        patch.old.tolist(),
        patch.new.tolist(),
        locations.current.tolist(),
        locations.is_moved.tolist(),
        strict=True,
    ):
        is_dropped = decision == REMOVE and (drop_removed or revert)
        if (old == new and not is_dropped) or is_moved != revert:
            continue
        target = id
        if not revert:
            target = (
                f"{REMOVED}/{check_relative(id, by='patch')}" if is_dropped else _target(root, id, old, new, taken)
            )
        for end in (current, target):
            inside(root, end, by="patch", follow_links=follow_links)
        if os.path.lexists(root / target):
            raise InvalidData(
                f"{root}: {current} should become {target}, but that is there already; nothing was moved"
            )
        taken.add(target)
        moves.append((current, target))
    with ExitStack() as folders:  # when something fails, new folders that are still empty are removed
        for folder in dict.fromkeys((root / target).parent for _, target in moves):
            folders.enter_context(folder_made_for(folder))
        if not revert:
            recorded |= dict(moves)
            write_json(root / MOVED, recorded)
        for current, target in moves:
            try:
                os.rename(root / current, root / target)
            except OSError as error:
                raise InvalidOption(
                    f"cannot move {root / current} to {target}: {error.strerror or error}; do it again when that "
                    "is solved"
                ) from None
    if revert:
        _drop_reverted(root, recorded, follow_links)


def check_folder_name(label: str) -> None:
    """Raise `InvalidData` unless the label can be the name of a class folder."""
    if (
        label.startswith(".")
        or label == REMOVED
        or "/" in label
        or "\\" in label
        or len(label.encode()) > _MAX_NAME
    ):
        raise InvalidData(f"labels of images are names of folders, which {label!r} cannot be")


def _target(root: Path, id: str, old: str, new: str, taken: set[str]) -> str:
    try:
        check_folder_name(new)
    except InvalidData as error:
        raise InvalidData(f"{error}; nothing was moved") from None
    target = PurePosixPath(new, *PurePosixPath(check_relative(id, by="patch")).parts[1:])
    if target.as_posix() not in taken and not os.path.lexists(root / target):
        return target.as_posix()
    return target.with_name(f"{target.stem}.from-{old}{target.suffix}").as_posix()


def _drop_reverted(root: Path, recorded: dict[str, str], follow_links: bool) -> None:
    """Remove the images that have been moved back from the record, and the folders that are empty without them."""
    reverted = [id for id, target in recorded.items() if not os.path.lexists(root / target)]
    for id in reverted:
        folder = (root / recorded.pop(id)).parent
        if not follow_links and not is_inside(root, folder):
            continue
        while folder != root and folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
    if recorded:
        with suppress(InvalidOption):  # a record of files that are no longer there is passed over
            write_json(root / MOVED, recorded)
    else:
        (root / MOVED).unlink(missing_ok=True)


def _read_moves(root: Path) -> dict[str, str]:
    """The current names of moved images by their original names."""
    path = root / MOVED
    try:
        record = None if path.is_symlink() else parse_json(path.read_text(encoding="utf-8"))  # we make no links
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict) or not all(isinstance(target, str) for target in record.values()):
        raise InvalidData(f"{path}, which says where images were moved from, cannot be read")
    return {check_relative(id, by=str(path)): check_relative(target, by=str(path)) for id, target in record.items()}
