"""``.npy`` files and ``.npz`` archives: the label array is changed, everything else is copied as it is."""

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.mapped import read_header
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog

COPY_BYTES = 1 << 20
_LOCAL_HEADER_BYTES = 30
_MEMBER = "labels.npy"


def relabel_npy(path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog) -> None:
    """Write a copy of the label file ``path`` to ``out`` with the labels of ``update``."""
    with explain_read_errors(str(path), ".npy file"):
        out.write_bytes(_relabelled(path.read_bytes(), update, undo_log, name=str(path)))


def relabel_npz(path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog) -> None:
    """Write a copy of the archive ``path`` to ``out`` with the labels of ``update`` in its array ``labels``."""

    def write(info: zipfile.ZipInfo, member: IO[bytes], target: IO[bytes]) -> None:
        if info.filename == _MEMBER:
            target.write(_relabelled(member.read(), update, undo_log, name=f"the labels of {path}"))
        else:
            shutil.copyfileobj(member, target, COPY_BYTES)

    copy_npz(path, out, write)


def copy_npz(path: Path, out: Path, write: Callable[[zipfile.ZipInfo, IO[bytes], IO[bytes]], None]) -> None:
    """Copy the archive ``path`` to ``out``; ``write`` copies or changes the content of each member."""
    with (
        explain_read_errors(str(path), ".npz archive"),
        zipfile.ZipFile(path) as archive,
        zipfile.ZipFile(out, "w") as copy,
        open(path, "rb") as raw,
    ):
        copy.comment = archive.comment
        for info in archive.infolist():
            # Members that were written with zip64 headers, as numpy.savez does, keep them.
            zip64 = has_extra_field(raw, info) or info.file_size >= 1 << 31
            with archive.open(info) as member, copy.open(copied_info(info), "w", force_zip64=zip64) as target:
                write(info, member, target)


def _relabelled(content: bytes, update: LabelUpdate, undo_log: UndoLog, *, name: str) -> bytes:
    """The bytes of a ``.npy`` file with new labels; its header stays unless the labels need a wider type."""
    file = io.BytesIO(content)
    shape, _, dtype = read_header(file, name=name)
    start = file.tell()
    labels = np.frombuffer(content, dtype, count=int(np.prod(shape)), offset=start).copy()
    after = _cast(update.after, dtype, name=name)
    target = _target_type(labels, update, after, dtype, undo_log)
    if target == dtype:
        labels[update.rows] = after
        return content[:start] + labels.tobytes() + content[start + labels.nbytes :]
    wide = labels.astype(np.promote_types(target, dtype))
    wide[update.rows] = after
    written = io.BytesIO()
    npy_format.write_array(written, wide.astype(target), version=(1, 0), allow_pickle=False)
    return written.getvalue()


def _cast(labels: Array, dtype: np.dtype[Any], *, name: str) -> Array:
    """The labels in the type of the array, texts of any length; `InvalidData` when it cannot hold one."""
    if dtype.kind in "US":
        return np.char.encode(labels, "utf-8") if dtype.kind == "S" else labels
    cast = labels.astype(dtype)
    wrong = cast != labels
    if wrong.any():
        raise InvalidData(f"{name} have type {dtype}, which cannot hold the label {labels[wrong][0].item()!r}")
    return np.asarray(cast)


def _target_type(
    labels: Array, update: LabelUpdate, after: Array, dtype: np.dtype[Any], undo_log: UndoLog
) -> np.dtype[Any]:
    """The type to store: wide enough for all texts, and the logged one when the texts fit into that again."""
    if dtype.kind not in "US":
        return dtype
    unchanged = np.delete(labels, update.rows)
    unit = np.dtype(f"{dtype.kind}1").itemsize
    needed = max(1, *(int(np.char.str_len(texts).max()) for texts in (unchanged, after) if len(texts)))
    logged = undo_log.types
    earlier = np.dtype(logged[-1]) if logged else dtype
    if earlier.kind == dtype.kind and needed * unit <= earlier.itemsize < dtype.itemsize:
        logged.pop()
        return earlier
    if needed * unit <= dtype.itemsize:
        return dtype
    if logged[-1:] != [dtype.str]:  # otherwise it was logged by a call that was interrupted
        logged.append(dtype.str)
    return np.dtype(f"{dtype.byteorder if dtype.byteorder in '<>' else ''}{dtype.kind}{needed}")


def copied_info(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """The member's metadata without sizes and offsets, which zipfile fills in itself."""
    copy = zipfile.ZipInfo(info.filename, info.date_time)
    for attribute in ("compress_type", "comment", "create_system", "external_attr", "internal_attr"):
        setattr(copy, attribute, getattr(info, attribute))
    return copy


def has_extra_field(raw: IO[bytes], info: zipfile.ZipInfo) -> bool:
    """Whether the member was written with a zip64 header."""
    raw.seek(info.header_offset + _LOCAL_HEADER_BYTES - 2)
    return raw.read(2) != b"\0\0"
