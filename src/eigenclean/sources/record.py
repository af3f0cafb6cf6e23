"""Which source a run was made from, as a record that opens it again."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.paths import is_inside
from eigenclean.sources.base import Source
from eigenclean.sources.layouts.registry import is_layout
from eigenclean.sources.opening import open_source

_LISTS = ("feature_columns", "category_columns", "leave_out", "annotator_columns")
_COLUMNS = ("label_column", *_LISTS, "id_column", "text_column", "image_column", "annotator_column", "group_column")
OPTIONS = ("labels", *_COLUMNS, "image_root", "split")


class NeedsPermission(InvalidData):
    """A record asks for something that only the user may allow; the message names the option."""


def source_record(name: str, **options: Any) -> dict[str, Any]:
    """What `open_source` was called with, and the folder that paths were relative to, for JSON.

    >>> record = source_record("x.csv", label_column="y", labels=None)
    >>> record["name"], record["label_column"], "labels" in record
    ('x.csv', 'y', False)
    """
    values = {
        option: os.fspath(value) if isinstance(value, os.PathLike) else value
        for option, value in options.items()
        if value is not None
    }
    return {"name": os.fspath(name), "folder": os.getcwd(), **values}


def memory_record(name: str) -> dict[str, Any]:
    """The record of data that were given as Python objects, which nothing can open again.

    >>> memory_record("DataFrame")
    {'name': 'DataFrame', 'in_memory': True}
    """
    return {"name": name, "in_memory": True}


def reopen(
    record: Mapping[str, Any], *, image_root: str | os.PathLike[str] | None = None, follow_links: bool = False
) -> Source:
    """Open the source again: where it was, or by the same name in the current folder.

    The record may be somebody else's. It says which data to read, and never what may be read beside them: a folder
    of images outside that of the data, and links that lead out of it, are the user's own to allow.

    Args:
        record: what `source_record` gave.
        image_root: folder of the images, if it is not below that of the data.
        follow_links: see `open_source`.
    """
    if record.get("in_memory"):
        raise InvalidData("the data were in the memory of a Python program; name them with --source")
    options = {option: record[option] for option in OPTIONS if record.get(option) is not None}
    need_features = record.get("need_features") is not False
    name, folder = record.get("name"), record.get("folder", "")
    texts = [name, folder, *(value for option, value in options.items() if option not in _LISTS)]
    for columns in (options.get(option, []) for option in _LISTS):
        texts += [columns] if isinstance(columns, str) else columns if isinstance(columns, list) else [None]
    if not name or not all(isinstance(text, str) for text in texts):
        raise InvalidData("the run does not say which source it was made from; run `eigenclean detect` again")
    path = name
    for base in dict.fromkeys((Path(folder), Path())):
        placed = _placed(name, base)
        if placed is not None:
            path = placed
            for option in ("labels", "image_root"):
                if option in options:
                    options[option] = _placed(options[option], base) or options[option]
            break
    if image_root is not None:
        options["image_root"] = image_root
    elif "image_root" in options:
        _check_image_root(Path(path), options["image_root"])
    # Without a place it is a bundled data set, or the sentence says what is missing.
    return open_source(path, **options, follow_links=follow_links, need_features=need_features)


def _check_image_root(path: Path, image_root: str) -> None:
    if not is_inside(path if path.is_dir() else path.parent, image_root):
        raise NeedsPermission(
            f"the images of {path} are said to be in {image_root}, outside its folder; if that is right, add "
            f"--image-root {shlex.quote(image_root)}"
        )


def _placed(name: str, base: Path) -> str | None:
    """The name with its path in ``base``, when there is something."""
    if os.path.exists(base / name):  # unlike Path.exists, False for a name that no file can have
        return str(base / name)
    if is_layout(name):
        layout, _, rest = name.partition(":")
        path, mark, options = rest.partition("?")
        if os.path.exists(base / Path(path).expanduser()):
            return f"{layout}:{base / Path(path).expanduser()}{mark}{options}"
    return None
