"""Paths that come out of an artefact stay inside its folder: every reader of such a path asks here.

An artefact is anything that may be somebody else's: a data set, a list of files, a patch, a record of moved images,
a run. A path in it is relative, has no ``..``, and is not led out of the folder by a symbolic link on the way.
"""

import os
import re
from pathlib import Path

from eigenclean.errors import InvalidData

FOLLOW = "--follow-links"
_SUSPICIOUS = re.compile(r"^[./]*$|^/|\.\.|[\\:\0]")
_DRIVE = re.compile(r"[A-Za-z]:([\\/]|$)")


def check_relative(name: str, *, by: str) -> str:
    """Return ``name`` if it stays inside the folder that it is relative to, links aside; else raise `InvalidData`.

    >>> check_relative("images/../../etc/passwd", by="list.txt, line 3")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: list.txt, line 3: paths must stay inside the folder of the data, got
    'images/../../etc/passwd'
    """
    # Lists have a million names, nearly all of them harmless: one regular expression sorts out those to parse.
    if _SUSPICIOUS.search(name) and _leaves(name, windows=os.name == "nt"):
        raise InvalidData(f"{by}: paths must stay inside the folder of the data, got {name!r}")
    return name


def is_inside(root: str | os.PathLike[str], path: str | os.PathLike[str]) -> bool:
    """Whether ``path``, with all links resolved, is ``root`` or below it.

    >>> is_inside("/data", "/data/cat/1.png"), is_inside("/data", "/data/../etc"), is_inside("/data", "/database")
    (True, False, False)
    """
    base, real = os.path.realpath(root), os.path.realpath(path)
    return real == base or real.startswith(base.rstrip(os.sep) + os.sep)


def inside(root: str | os.PathLike[str], name: str, *, by: str, follow_links: bool = False) -> Path:
    """The path of ``name`` in ``root``; `InvalidData` when it would lie outside, by its words or by a link.

    Args:
        root: the folder of the artefact.
        name: a path from the artefact, relative to ``root``.
        by: what names the path, for messages.
        follow_links: links may lead anywhere, because the user said so.

    >>> inside("/data", "cat/1.png", by="list.txt").as_posix()
    '/data/cat/1.png'
    """
    path = Path(root, check_relative(name, by=by))
    if not follow_links:
        refuse_links_out(root, path, by=by)
    return path


def refuse_links_out(root: str | os.PathLike[str], path: str | os.PathLike[str], *, by: str) -> None:
    """Raise `InvalidData` if a link on the way leads ``path`` out of ``root``."""
    if not is_inside(root, path):
        raise InvalidData(f"{by}: {path} leads out of {root} by a link; if that is wanted, add {FOLLOW}")


def _leaves(name: str, *, windows: bool) -> bool:
    """Whether a relative path means something outside, on this system or, for forms that nobody uses, on any."""
    parts = name.replace("\\", "/").split("/")
    if "\0" in name or parts[0] == "" or ".." in parts or set(parts) <= {".", ""} or _DRIVE.match(name):
        return True
    # Windows takes "A:1" for a place on the disk A, "x:y" for a stream of x, and drops dots and blanks at the end.
    return windows and (
        ":" in name or any(name_part != "." and name_part and not name_part.strip(" .") for name_part in parts)
    )
