"""Files are written whole or not at all: a temporary neighbour, then one rename."""

import errno
import json
import os
import re
import secrets
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from eigenclean.errors import EigencleanError, InvalidData, InvalidOption

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_STAGING = re.compile(r"[/\\]\.publication\.[^/\\]+\.tmp([/\\][0-9a-f]{16})?(?=[/\\]|$)")  # of a `publication`
_ONLY_WRITING = _NO_SPACE | {errno.EROFS, errno.EFBIG}  # reading never fails with these


def is_write_error(error: BaseException) -> bool:
    """Whether an error can only come from writing: a full disk, a quota, a disk or file that cannot grow."""
    return isinstance(error, OSError) and error.errno in _ONLY_WRITING


def write_error(
    error: OSError, target: str | os.PathLike[str], *, advice: str = "choose another place"
) -> InvalidOption:
    """The sentence for an error while ``target`` was written; every function that writes raises it.

    >>> write_error(OSError(errno.ENOSPC, "No space left on device"), "run/summary.json")
    InvalidOption('cannot write run/summary.json: no space left on the disk of run; nothing was changed: make room
    there, or choose another place')
    """
    path = Path(_STAGING.sub("", os.fspath(target)))
    if isinstance(error, shutil.Error) and (number := re.search(r"\[Errno (\d+)\]", str(error))):
        error = OSError(
            int(number[1]), os.strerror(int(number[1]))
        )  # the first of those that copying a tree gathers
    reason = error.strerror or str(error)
    if error.errno in _NO_SPACE:
        reason = f"no space left on the disk of {path if path.is_dir() else path.parent}"
        advice = f"make room there, or {advice}"
    return InvalidOption(f"cannot write {path}: {reason}; nothing was changed: {advice}")


@contextmanager
def explain_write_errors(
    target: str | os.PathLike[str], *temporary: Path, advice: str = "choose another place"
) -> Iterator[None]:
    """Turn errors of writing ``target``, or the ``temporary`` files for it, into one sentence.

    Errors that name another file are not ours to explain, such as that of a source that is read in the block.
    """
    try:
        yield
    except OSError as error:
        ours = [str(path) for path in (target, *temporary)]
        named = [str(name) for name in (error.filename, error.filename2) if name is not None]
        if not is_write_error(error) and named and not any(name.startswith(p) for name in named for p in ours):
            raise
        raise write_error(error, target, advice=advice) from error


@contextmanager
def temporary_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path in the same folder for something that takes long to write; it is gone after the block.

    `move_into_place` makes it ``path``. The name says whose it is, so that `sweep` finds what a process that was
    killed left behind.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    make_folder(target.parent)
    try:
        with explain_write_errors(target, temporary):
            yield temporary
    finally:
        remove(temporary)


def move_into_place(temporary: Path, target: Path) -> None:
    """Rename a finished file or folder to ``target``, whatever is there."""
    if not temporary.is_dir():
        sync_file(temporary)
    if temporary.is_dir() or target.is_dir():  # a folder cannot be replaced in one step: the old one steps aside
        aside = target.with_name(f".{target.name}.{os.getpid()}.old.tmp")
        if target.exists():
            os.replace(target, aside)
        os.replace(temporary, target)
        remove(aside)
    else:
        os.replace(temporary, target)


def sync_file(path: Path) -> None:
    """Wait until the file is on the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names in the folder are on the disk, on systems that can open folders."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # file systems that do not sync folders
            raise
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Delete a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def sweep(folder: str | os.PathLike[str], *names: str) -> None:
    """Delete temporary files in the folder that were left by processes which no longer run.

    With ``names`` only those of files of these names are deleted: beside a user's data, others may be theirs.
    """
    stems = "|".join(map(re.escape, names)) or ".+"
    for path in Path(folder).glob(".*.tmp"):
        match = re.fullmatch(rf"\.(?:{stems})\.(\d+)\.[0-9a-z_]+\.tmp", path.name, re.DOTALL)
        if match and not _is_alive(int(match[1])):
            remove(path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it runs, as another user
        return True
    return True


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that becomes ``path`` when the block succeeds and vanishes when it does not.

    The temporary file lies in the same folder, so the rename is atomic; Ctrl-C inside the block also cleans up.
    """
    target = Path(path)
    check_encodable(target)
    make_folder(target.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.{os.getpid()}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise write_error(error, target) from None
    os.close(handle)
    temporary = Path(name)
    try:
        with explain_write_errors(target, temporary):
            yield temporary
            os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes private files; ours are ordinary ones
            sync_file(temporary)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def check_encodable(path: Path) -> None:
    """Raise `InvalidOption` when a path to write to is not UTF-8: Arrow cannot open it."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        name = str(path).encode("utf-8", "backslashreplace").decode()
        raise InvalidOption(f"cannot write {name}: its name is not UTF-8 text; choose another name") from None


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create the folder ``path`` (and its parents) unless it is there; one sentence when that is impossible."""
    folder = Path(path)
    check_encodable(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if is_write_error(error):
            raise write_error(error, folder) from None
        raise InvalidOption(
            f"cannot create the folder {folder}: {error.strerror or error}; choose another place"
        ) from None
    return folder


@contextmanager
def folder_made_for(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the folder ``path``; folders that had to be created for it are removed if the block fails."""
    folder = Path(path)
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    make_folder(folder)
    try:
        yield folder
    except BaseException:
        for created in new:  # innermost first; a folder that is not empty stays
            with suppress(OSError):
                created.rmdir()
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file at ``path`` by ``text`` (UTF-8), atomically.

    Half of a surrogate pair, as in file names that are not UTF-8, is escaped as ``\\udcff``, which is also how JSON
    writes it.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError for all that is none, also for brackets nested too deeply to read.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
        ...
    ValueError: brackets are nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def json_text(record: Mapping[str, Any]) -> str:
    """``record`` as indented JSON; NaN, which JSON does not know, is a ValueError."""
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Replace the file at ``path`` by ``record`` as indented JSON, atomically."""
    write_text(path, json_text(record))


@contextmanager
def reading_arrays(path: str | os.PathLike[str], what: str) -> Iterator[Any]:
    """Yield what `numpy.load` finds in a ``.npy`` or ``.npz`` file, never a pickle; errors are one sentence."""
    try:
        with open(path, "rb") as file:  # given a path, np.load would leave a broken archive open
            yield np.load(file, allow_pickle=False)
    except EigencleanError:
        raise
    except (OSError, ValueError, EOFError, MemoryError, SyntaxError, TokenError, zipfile.BadZipFile, zlib.error):
        suffix = Path(path).suffix
        raise InvalidData(f"{path} is not a readable {suffix} file of {what}; write it again") from None


def _umask() -> int:
    # The only portable way to read the umask is to set it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
