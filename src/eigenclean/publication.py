"""Several files of a folder are replaced as one: readers meet all of the old set or all of the new one.

A set is written to a hidden folder inside the target, together with ``manifest.json``, which has the size and hash
of every file. One rename of that folder is the moment from which the new set counts. Then its files are moved to
their places, the manifest last. Whoever finds a set that has not been moved completely, because its writer was
killed, moves the rest before reading. Only plain renames are needed, no symbolic links.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.files import (
    explain_write_errors,
    folder_made_for,
    parse_json,
    remove,
    sweep,
    sync_file,
    sync_folder,
    temporary_beside,
    write_json,
)

MANIFEST = "manifest.json"
PENDING = ".eigenclean-publication"
_FORMAT = 1
_KEY = "eigenclean"  # the format; a manifest without it is somebody else's file
_OLD = ".old"
_TRIES = 20
# What a new set may leave out, and which then would be about another verdict. Nothing else is ever removed.
_REMOVABLE = re.compile(
    r"verdict\.csv|report\.(html|json)|encoding\.json|annotat(ors|ions)\.parquet|ask\.csv|part-\d+\.arrow"
    r"|groups\.parquet|known_decisions\.jsonl"
)
_PART = re.compile(r"part-\d+\.parquet")
_NAME = re.compile(r"(?!review\.sqlite)[^./\\\0][^/\\\0]*")  # never what people decided
_ID = re.compile(r"[0-9a-f]{16}")

T = TypeVar("T")
Entries = dict[str, dict[str, Any]]


@contextmanager
def publication(
    folder: str | os.PathLike[str], *, removes: Collection[str] = (), amend: bool = False
) -> Iterator[Path]:
    """Yield an empty folder for new files; when the block succeeds, they all replace those in ``folder`` as one.

    Args:
        folder: where the files will be; it is created. Other files in it stay as they are.
        removes: files of earlier sets that must not stay beside this one, when it does not have them: a CSV copy or
            a report of another verdict. Those that the manifest names go as well.
        amend: the files of the present set that are not replaced still belong to it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with publication(folder) as staging:
    ...         _ = (staging / "a.txt").write_text("1")
    ...         _ = (staging / "b.txt").write_text("2")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['a.txt', 'b.txt', 'manifest.json']
    """
    with folder_made_for(folder) as target:
        sweep(target)
        finish_publication(target)
        present = _read_manifest(target)
        refuse_foreign_manifest(target)
        with temporary_beside(target / "publication") as temporary, explain_write_errors(target, temporary):
            staging = temporary / secrets.token_hex(8)
            (staging / _OLD).mkdir(parents=True)
            yield staging
            entries = _describe(staging)
            gone = set() if amend or present is None else {*present["files"]}
            removed = sorted(
                name for name in gone.union(removes) if name not in entries and _REMOVABLE.fullmatch(name)
            )
            if amend and present is not None:
                entries = {**{name: e for name, e in present["files"].items() if name not in entries}, **entries}
            record = {_KEY: _FORMAT, "id": staging.name, "files": entries, "removed": removed}
            write_json(staging / MANIFEST, record)
            sync_folder(staging)
            _refuse_folders_in_the_way(target, staging)
            _commit(target, temporary)
        finish_publication(target)


def finish_publication(folder: str | os.PathLike[str]) -> None:
    """Move the rest of a set that was published and not moved completely; nothing happens in other folders.

    Several processes may do this at once. No path is taken from a file: names in the hidden folder become the same
    names in ``folder``.
    """
    target = Path(folder)
    pending = target / PENDING
    if not _is_folder(pending):
        return
    try:
        with _locked(pending):
            sync_folder(target)
            for staging in sorted(pending.iterdir()):
                if _ID.fullmatch(staging.name) and _is_folder(staging):
                    _move_into_place(target, staging)
        with suppress(OSError):
            pending.rmdir()
    except FileNotFoundError:  # another process was faster
        return
    except OSError as error:
        raise InvalidData(
            f"the results in {target} are complete, but cannot be moved from {PENDING} to their places: "
            f"{error.strerror or error}; run the same command again where the folder can be written"
        ) from error


def read_together(folder: str | os.PathLike[str], names: Collection[str], read: Callable[[], T]) -> T:
    """What ``read`` makes of the files ``names`` of the folder, all of one set; `InvalidData` for a mixture.

    Files without a manifest, such as those of earlier versions, are read as they are. When another process
    publishes a set meanwhile, the files are read again.
    """
    target = Path(folder)
    _refuse_pipes(target, names)
    for _ in range(_TRIES):
        finish_publication(target)
        before = _manifest_text(target)
        try:
            result = read()  # first, because a damaged file has an error of its own
            check_published(target, names)
        except (EigencleanError, OSError):
            if _is_unchanged(target, before):
                raise
            continue
        if _is_unchanged(target, before):
            return result
    raise InvalidData(f"{target} is being replaced all the time; read it when nobody writes to it")


def _refuse_pipes(folder: Path, names: Collection[str]) -> None:
    """Raise `InvalidData` for a pipe or a device in the place of a file: reading it might never end."""
    for name in (*names, MANIFEST):
        try:
            mode = os.stat(folder / name).st_mode
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise InvalidData(f"{folder / name} is not an ordinary file; write the folder again")


def check_published(folder: Path, names: Collection[str]) -> None:
    """Raise `InvalidData` unless the files ``names`` are those that the manifest of the folder describes.

    Files that do not exist are left to their reader.
    """
    record = _read_manifest(folder)
    if record is None:
        return
    listed: Mapping[str, Any] = record["files"]
    actual = {name: _files_at(folder, name) for name in names}
    known = {name: any(path == name or path.startswith(f"{name}/") for path in listed) for name in names}
    if not any(known.values()):
        return
    for name, paths in actual.items():
        expected = {path for path in listed if path == name or path.startswith(f"{name}/")}
        same = known[name] and expected == {*paths}
        if paths and not (same and all(_is_entry(file, listed[path]) for path, file in paths.items())):
            raise _mixture(folder, name)


def check_shards(folder: Path, names: Collection[str]) -> None:
    """Raise `InvalidData` unless ``names`` are all shards of one data set, of the sizes in the manifest.

    Shards may be large, so that they are not hashed. Those that no manifest names are somebody's own.
    """
    record = _read_manifest(folder)
    listed = {} if record is None else record["files"]
    if not any(name in listed for name in names):
        return
    suffixes = {Path(name).suffix for name in names}
    expected = {name for name in listed if Path(name).suffix in suffixes}
    for name in sorted(expected.symmetric_difference(names)):
        raise _mixture(folder, name)
    for name in sorted(names):
        if not _is_entry(folder / name, listed[name], hashed=False):
            raise _mixture(folder, name)


def _mixture(folder: Path, name: str) -> InvalidData:
    return InvalidData(
        f"the files in {folder} are not of one run: {name} is not as {MANIFEST} describes it; run the command that "
        f"wrote them again, or remove {MANIFEST} to read them as they are"
    )


def is_published(path: Path) -> bool:
    """Whether the file belongs to a set, which has to be amended when the file is replaced."""
    record = _read_manifest(path.parent)
    return record is not None and path.name in record["files"]


def refuse_foreign_manifest(folder: Path) -> None:
    """Raise `InvalidOption` when the folder has a ``manifest.json`` that is not ours to replace."""
    if (folder / MANIFEST).exists() and _read_manifest(folder) is None:
        raise InvalidOption(f"{folder} has a {MANIFEST} of another program; give --out another folder")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time work in the folder, where the system has locks; a killed process holds none."""
    if sys.platform == "win32":  # folders cannot be opened there
        yield
        return
    from fcntl import LOCK_EX, flock

    while True:
        handle = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system without locks
                flock(handle, LOCK_EX)
            # While this process waited, the folder may have been replaced by that of the next set.
            if os.path.samestat(os.fstat(handle), os.lstat(folder)):
                yield
                return
        finally:
            os.close(handle)


def _commit(target: Path, temporary: Path) -> None:
    """One rename makes the set count; a set that another process published before is moved first."""
    sync_folder(temporary)
    for attempt in range(_TRIES):
        try:
            os.rename(temporary, target / PENDING)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES) or attempt == _TRIES - 1:
                raise
            finish_publication(target)


def _move_into_place(target: Path, staging: Path) -> None:
    """Move the files of a published set to their places, the manifest last; any part of it may be done already."""
    record = _read_manifest(staging)
    if record is not None:  # otherwise all was moved, and only the clean-up is missing
        if not _is_folder(staging / _OLD):  # nothing is moved through a link
            if not _exists(staging / MANIFEST):
                return  # another process has moved everything meanwhile
            raise InvalidData(f"{target / PENDING} was not written by eigenclean; remove it to read the folder")
        _refuse_folders_in_the_way(target, staging)
        for name in sorted({path.partition("/")[0] for path in record["files"]}):
            if _is_folder(staging / name) or (_exists(staging / name) and _is_folder(target / name)):
                _move(target / name, staging / _OLD / name)  # a folder cannot be replaced in one step
            _move(staging / name, target / name)
        for name in record["removed"]:
            if not _is_folder(target / name):
                _move(target / name, staging / _OLD / name)
        _move(staging / MANIFEST, target / MANIFEST)
        sync_folder(target)
    remove(staging)


def _move(source: Path, target: Path) -> None:
    """Rename; when the source is not there, another process, or an earlier attempt, has done it."""
    with suppress(FileNotFoundError):
        os.replace(source, target)


def _describe(staging: Path) -> Entries:
    """Size and hash of every file in the folder, which are on the disk when this returns."""
    entries: Entries = {}
    for name in sorted(os.listdir(staging)):
        for path, file in _files_at(staging, name).items() if name != _OLD else ():
            sync_file(file)
            entries[path] = {"size": file.stat().st_size, "blake2b": _hash(file)}
        if name != _OLD and _is_folder(staging / name):
            sync_folder(staging / name)
    return entries


def _files_at(folder: Path, name: str) -> dict[str, Path]:
    """The file ``name``, or the files of the folder ``name``, by the names that they have in a manifest."""
    path = folder / name
    if path.is_dir():
        return {f"{name}/{file.name}": file for file in sorted(path.iterdir())}
    return {name: path} if path.exists() else {}


def _is_entry(file: Path, entry: Any, *, hashed: bool = True) -> bool:
    with suppress(OSError, KeyError, TypeError):
        return bool(file.stat().st_size == entry["size"] and (not hashed or _hash(file) == entry["blake2b"]))
    return False


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _refuse_folders_in_the_way(target: Path, staging: Path) -> None:
    """Only a folder of blocks of a verdict may be replaced; any other is not ours."""
    for name in os.listdir(staging):
        path = target / name
        if name != _OLD and path.is_dir() and not all(_PART.fullmatch(entry.name) for entry in path.iterdir()):
            raise InvalidOption(f"cannot write {path}: it is a folder with other files in it; choose another place")


def _manifest_text(folder: Path) -> bytes | None:
    if (folder / MANIFEST).is_symlink():  # we write none: it may lead out of the folder
        return None
    try:
        return (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidData(f"{folder / MANIFEST} cannot be read: {error.strerror or error}") from None


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of the folder; None when there is none, or one of another program."""
    text = _manifest_text(folder)
    if text is None:
        return None
    try:
        record = parse_json(text)
        if not isinstance(record, dict) or _KEY not in record:
            return None
        if record[_KEY] == _FORMAT and all(map(_is_path, record["files"])) and isinstance(record["files"], dict):
            removed = [str(name) for name in record["removed"] if _REMOVABLE.fullmatch(str(name))]
            return {**record, "removed": removed}
    except (ValueError, KeyError, TypeError):
        pass
    raise InvalidData(f"{folder / MANIFEST} is damaged, or of a later version; write the folder again elsewhere")


def _is_path(path: str) -> bool:
    """Whether a manifest may name this file: ``NAME`` or ``NAME/NAME``, neither of them hidden."""
    name, slash, file = path.partition("/")
    return bool(_NAME.fullmatch(name) and (not slash or _NAME.fullmatch(file)))


def _is_unchanged(folder: Path, before: bytes | None) -> bool:
    return not _exists(folder / PENDING) and _manifest_text(folder) == before


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _is_folder(path: Path) -> bool:
    """Whether the path is a folder itself, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
