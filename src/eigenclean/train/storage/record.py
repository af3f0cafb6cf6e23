"""``model.json``: what is known about a saved classifier before torch is needed."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.files import parse_json

RECORD = "model.json"
FORMAT = 2
PROBE_KIND = "probe"


def read_record(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The record of the classifier in a folder; `InvalidData` when there is none."""
    path = Path(folder) / RECORD
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidData(f"no saved classifier at {folder}: cannot read {RECORD}, {error.strerror}") from None
    except ValueError as error:
        raise InvalidData(f"{path} is not readable JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InvalidData(f"{path} is not a saved classifier of format {FORMAT}")
    return record


def is_probe(record: Mapping[str, Any]) -> bool:
    """Whether the classifier has heads of the probe instead of networks."""
    return record.get("kind") == PROBE_KIND


def digest(data: bytes) -> str:
    """A hash of the weights, which the record must confirm."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
