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

MOVED = ".eigenclean-moved.json"  # what was called what before it was moved; hidden, so it is no image and no class


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """Where the images of a patch are now.

    Attributes:
        now: name of the file that holds each image now; empty when it is nowhere.
        is_new: True where it has been moved to the folder of the new label.
    """

    now: Array
    is_new: Bools


def is_class_folder(source: Source) -> bool:
    """Whether the labels of the source are the names of the folders that its images are in."""
    if not isinstance(source.images, ImageFiles) or source.labels.dtype.kind != "U" or source.ids.dtype.kind != "U":
        return False
    return bool((np.strings.partition(source.ids, "/")[0] == source.labels).all())


def find_images(root: Path, names: Array, patch: Patch) -> Whereabouts:
    """Look for each image under its own name, and where it was moved to."""
    there, moved = set(names.tolist()), _moved(root)
    now, is_new = [], []
    for id, new in zip(patch.ids.tolist(), patch.new.tolist(), strict=True):
        target = moved.get(id, "")
        gone = id not in there and target in there and target.startswith(f"{new}/")
        now.append(target if gone else id if id in there else "")
        is_new.append(gone)
    return Whereabouts(np.array(now, dtype=np.str_), np.array(is_new, dtype=bool))


def move_images(root: Path, names: Array, patch: Patch, where: Whereabouts, *, back: bool) -> None:
    """Move the images to the folders of their new labels, or ``back``; one rename each, so none is ever lost.

    A file keeps its name, unless there is such a file in the other folder already: then it also says where it comes
    from (``dog/1.from-cat.png``). All moves are written down before the first one, so when they are interrupted,
    doing it again does the rest.
    """
    taken = {*names.tolist(), *patch.ids.tolist()}  # a name of the patch is never free: its image may come back
    moves: list[tuple[str, str]] = []
    known = _moved(root)
    for id, old, new, now, is_new in zip(
        patch.ids.tolist(),
        patch.old.tolist(),
        patch.new.tolist(),
        where.now.tolist(),
        where.is_new.tolist(),
        strict=True,
    ):
        if old == new or is_new != back:
            continue
        target = id if back else _target(root, id, old, new, taken)
        if (root / target).exists():
            raise InvalidData(f"{root}: {now} should become {target}, but that is there already; nothing was moved")
        taken.add(target)
        moves.append((now, target))
    if not back:
        known |= dict(moves)
        write_json(root / MOVED, known)
    for now, target in moves:
        make_folder((root / target).parent)
        try:
            os.rename(root / now, root / target)
        except OSError as error:
            raise InvalidOption(
                f"cannot move {root / now} to {target}: {error.strerror or error}; do it again when that is solved"
            ) from None
    if back:
        _forget(root, known)


def _target(root: Path, id: str, old: str, new: str, taken: set[str]) -> str:
    if new.startswith(".") or "/" in new or "\\" in new:
        raise InvalidData(f"labels of images are names of folders, which {new!r} cannot be; nothing was moved")
    plain = PurePosixPath(new, *PurePosixPath(check_inside(id, by="patch")).parts[1:])
    if plain.as_posix() not in taken and not (root / plain).exists():
        return plain.as_posix()
    return plain.with_name(f"{plain.stem}.from-{old}{plain.suffix}").as_posix()


def _forget(root: Path, known: dict[str, str]) -> None:
    """What has come back, now or earlier, is moved no more, and folders that were made for it go."""
    returned = [id for id, target in known.items() if not (root / target).exists()]
    for id in returned:
        folder = (root / known.pop(id)).parent
        while folder != root and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
    if known:
        write_json(root / MOVED, known)
    else:
        (root / MOVED).unlink(missing_ok=True)


def _moved(root: Path) -> dict[str, str]:
    """Where images went, by the names they had."""
    try:
        record = json.loads((root / MOVED).read_text(encoding="utf-8"))
        return {str(id): check_inside(str(target), by=MOVED) for id, target in record.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        raise InvalidData(f"{root / MOVED}, which says where images were moved from, cannot be read") from None
