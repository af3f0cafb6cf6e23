"""Which source a run was made from, as a record that opens it again."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.sources.base import Source
from eigenclean.sources.layouts.registry import is_layout
from eigenclean.sources.opening import open_source

_COLUMNS = ("label_column", "feature_columns", "id_column", "text_column", "image_column")
OPTIONS = ("labels", *_COLUMNS, "image_root", "split")


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


def reopen(record: Mapping[str, Any]) -> Source:
    """Open the source again: where it was, or by the same name in the current folder."""
    name, folder = str(record.get("name", "")), Path(str(record.get("folder", "")))
    options = {option: record[option] for option in OPTIONS if record.get(option) is not None}
    if not name:
        raise InvalidData("the run does not say which source it was made from; run `eigenclean detect` again")
    for base in dict.fromkeys((folder, Path())):
        path = _placed(name, base)
        if path is not None:
            for option in ("labels", "image_root"):
                if isinstance(options.get(option), str):
                    options[option] = _placed(options[option], base) or options[option]
            return open_source(path, **options)
    return open_source(name, **options)  # a bundled data set, or the sentence that says what is missing


def _placed(name: str, base: Path) -> str | None:
    """The name with its path in ``base``, when there is something."""
    if (base / name).exists():
        return str(base / name)
    if is_layout(name):
        layout, _, rest = name.partition(":")
        path, mark, options = rest.partition("?")
        if (base / Path(path).expanduser()).exists():
            return f"{layout}:{base / Path(path).expanduser()}{mark}{options}"
    return None
