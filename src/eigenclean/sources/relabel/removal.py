"""Rows that `patch apply --drop-removed` took out of a file, and how they come back.

The file as it was stays beside the smaller one (``data.with-removed.csv``), so that reverting is one rename and
gives the same bytes. ``FILE.removed.json`` says which patch took rows out, and what the smaller file contains: rows
are put back only when nothing was changed since. It may be somebody else's, so that it names no path: the name of
the other file follows from the number of the removal.
"""

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import parse_json, replacing, sync_file, sync_folder, write_json
from eigenclean.patch import Patch
from eigenclean.sources.relabel.rows_out import RowRemover
from eigenclean.sources.tabular.shards import file_kind

_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Removal:
    """Rows that one patch took out of a file.

    Attributes:
        patch: fingerprint of the decisions of the patch.
        n_rows: how many rows were taken out.
        before: fingerprint of the file with them.
        after: fingerprint of the file without them.
    """

    patch: str
    n_rows: int
    before: str
    after: str


def remove_rows(path: Path, out: Path, stays: Bools, remove: RowRemover, patch: Patch) -> Path | None:
    """Write the file ``path`` without some rows to ``out``, whole or not at all.

    When that is the file itself, it stays beside it as it was: the result says under which name. A kill in
    between leaves the old file or the new one, and the next call goes on.
    """
    if out.resolve() != path.resolve():
        with replacing(out) as temporary:
            remove(path, temporary, stays)
        return None
    mode, log = path.stat().st_mode, [entry for entry in _read_log(path) if _is_past(path, entry)]
    with_rows = _with_removed(path, len(log) + 1)
    if os.path.lexists(with_rows) and (with_rows.is_symlink() or _digest(with_rows) != _digest(path)):
        raise InvalidOption(
            f"the rows of {path} are to be kept in {with_rows}, which is there already; move it away"
        )
    with replacing(path) as temporary:
        remove(path, temporary, stays)
        sync_file(temporary)
        with replacing(with_rows) as copy:
            shutil.copyfile(path, copy)
        removal = Removal(_fingerprint(patch), int((~stays).sum()), _digest(path), _digest(temporary))
        _write_log(path, [*log, removal])  # before the file: after a kill it is known what the file is
    path.chmod(mode)
    return with_rows


def last_removal(path: Path, patch: Patch) -> Removal | None:
    """What this patch took out of the file, if that was the last change of it; None otherwise."""
    log = _read_log(path) if path.is_file() else []
    is_last = bool(log) and log[-1].patch == _fingerprint(patch) and _digest(path) == log[-1].after
    return log[-1] if is_last else None


def with_removed(path: Path) -> Path:
    """The file with the rows that were taken out last; `InvalidData` when it is not there or was changed."""
    log = _read_log(path)
    other = _with_removed(path, len(log))
    if not log or other.is_symlink() or not other.is_file() or _digest(other) != log[-1].before:
        raise InvalidData(f"{other}, which holds the rows that were taken out of {path}, is missing or was changed")
    return other


def put_rows_back(path: Path) -> None:
    """Put the rows that were taken out last back: the file is the same bytes again."""
    log, other = _read_log(path), with_removed(path)
    mode = path.stat().st_mode
    os.replace(other, path)
    sync_folder(path.parent)
    path.chmod(mode)
    _write_log(path, log[:-1])


def has_removals(path: Path) -> bool:
    """Whether rows were taken out of the file, and not put back."""
    return path.is_file() and bool(_read_log(path))


def is_counted(ids: Array) -> bool:
    """Whether the ids are the numbers of the rows: then rows have other ids when some are taken out."""
    return ids.dtype.kind in "iu" and bool(np.array_equal(ids, np.arange(len(ids))))


def removal_log_path(path: Path) -> Path:
    """Where it is written which rows were taken out of the file ``path``."""
    return path.with_name(f"{path.name}.removed.json")


def _is_past(path: Path, entry: Removal) -> bool:
    """Whether a removal was done: not when the command was killed just before, or when it was undone by hand."""
    return entry.before != _digest(path)


def _with_removed(path: Path, number: int) -> Path:
    kind = path.name[len(path.name) - len(file_kind(path)) :]
    return path.with_name(f"{path.name.removesuffix(kind)}.with-removed{'' if number == 1 else f'-{number}'}{kind}")


def _fingerprint(patch: Patch) -> str:
    record = [patch.data_hash, *(column.tolist() for column in (patch.ids, patch.decision, patch.old, patch.new))]
    return hashlib.blake2b(json.dumps(record).encode(), digest_size=16).hexdigest()


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while chunk := file.read(_READ_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _read_log(path: Path) -> list[Removal]:
    """The removals so far, the last one at the end; none when the log is damaged."""
    log = removal_log_path(path)
    if log.is_symlink():  # we write none
        return []
    try:
        entries: list[Any] = parse_json(log.read_text(encoding="utf-8"))["removals"]
        removals = [Removal(**entry) for entry in entries]
        known = all(
            isinstance(r.n_rows, int) and all(map(str.isalnum, (r.patch, r.before, r.after))) for r in removals
        )
        return removals if known else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _write_log(path: Path, removals: list[Removal]) -> None:
    if removals:
        write_json(removal_log_path(path), {"removals": [asdict(removal) for removal in removals]})
    else:
        removal_log_path(path).unlink(missing_ok=True)
