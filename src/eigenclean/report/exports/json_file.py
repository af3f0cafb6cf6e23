"""A JSON list written item by item, so that a million tasks need no memory."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eigenclean.files import replacing


def write_json_list(path: Path, items: Iterable[dict[str, Any]]) -> None:
    """Replace the file at ``path`` by a JSON list, one item per line, atomically."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write("[")
        for number, item in enumerate(items):
            file.write(",\n" if number else "\n")
            json.dump(item, file, ensure_ascii=False, allow_nan=False)
        file.write("\n]\n")
