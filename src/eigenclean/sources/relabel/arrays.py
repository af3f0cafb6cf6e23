"""``.npy`` files and ``.npz`` archives: the label array is changed, everything else is copied as it is."""

import io
import shutil
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.mapped import read_header
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.change import Change
from eigenclean.sources.relabel.undo import Undo

_PIECE = 1 << 20
_LOCAL_HEADER_BYTES = 30
_MEMBER = "labels.npy"


def relabel_npy(path: Path, out: Path, change: Change, undo: Undo) -> None:
    """Write a copy of the label file ``path`` to ``out`` with the labels of ``change``."""
    with explain_read_errors(str(path), ".npy file"):
        out.write_bytes(_relabelled(path.read_bytes(), change, undo, name=str(path)))


def relabel_npz(path: Path, out: Path, change: Change, undo: Undo) -> None:
    """Write a copy of the archive ``path`` to ``out`` with the labels of ``change`` in its array ``labels``."""
    with (
        explain_read_errors(str(path), ".npz archive"),
        zipfile.ZipFile(path) as archive,
        zipfile.ZipFile(out, "w") as copy,
        open(path, "rb") as raw,
    ):
        copy.comment = archive.comment
        for info in archive.infolist():
            # As numpy.savez writes: room for sizes above 4 GiB, whatever the size.
            large = _has_extra(raw, info) or info.file_size >= 1 << 31
            with archive.open(info) as source, copy.open(_same(info), "w", force_zip64=large) as target:
                if info.filename == _MEMBER:
                    target.write(_relabelled(source.read(), change, undo, name=f"the labels of {path}"))
                else:
                    shutil.copyfileobj(source, target, _PIECE)


def _relabelled(content: bytes, change: Change, undo: Undo, *, name: str) -> bytes:
    """The bytes of a ``.npy`` file with other labels; its header stays unless the labels need more room."""
    file = io.BytesIO(content)
    shape, _, dtype = read_header(file, name=name)
    start = file.tell()
    labels = np.frombuffer(content, dtype, count=int(np.prod(shape)), offset=start).copy()
    after = _as_kind(change.after, dtype, name=name)
    wanted = _room(labels, change, after, dtype, undo)
    if wanted == dtype:
        labels[change.rows] = after
        return content[:start] + labels.tobytes() + content[start + labels.nbytes :]
    wide = labels.astype(np.promote_types(wanted, dtype))
    wide[change.rows] = after
    written = io.BytesIO()
    npy_format.write_array(written, wide.astype(wanted), version=(1, 0), allow_pickle=False)
    return written.getvalue()


def _as_kind(labels: Array, dtype: np.dtype[Any], *, name: str) -> Array:
    """The labels in the kind of the array (integers as integers of its size); `InvalidData` when it cannot be."""
    if dtype.kind in "US":
        return np.char.encode(labels, "utf-8") if dtype.kind == "S" else labels
    cast = labels.astype(dtype)
    wrong = cast != labels
    if wrong.any():
        raise InvalidData(f"{name} have type {dtype}, which cannot hold the label {labels[wrong][0].item()!r}")
    return np.asarray(cast)


def _room(labels: Array, change: Change, after: Array, dtype: np.dtype[Any], undo: Undo) -> np.dtype[Any]:
    """The type for the new labels: texts must fit, and a type that was widened becomes what it was."""
    if dtype.kind not in "US":
        return dtype
    kept = np.delete(labels, change.rows)
    unit = np.dtype(f"{dtype.kind}1").itemsize
    needed = max(1, *(int(np.char.str_len(part).max()) for part in (kept, after) if len(part)))
    before = undo.types()
    if before and np.dtype(before[-1]).itemsize < dtype.itemsize and np.dtype(before[-1]).itemsize >= needed * unit:
        return np.dtype(before.pop())
    if needed * unit <= dtype.itemsize:
        return dtype
    before.append(dtype.str)
    return np.dtype(f"{dtype.byteorder if dtype.byteorder in '<>' else ''}{dtype.kind}{needed}")


def _same(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """A description of the same member, without what zipfile fills in itself."""
    copy = zipfile.ZipInfo(info.filename, info.date_time)
    for fact in ("compress_type", "comment", "create_system", "external_attr", "internal_attr"):
        setattr(copy, fact, getattr(info, fact))
    return copy


def _has_extra(raw: IO[bytes], info: zipfile.ZipInfo) -> bool:
    raw.seek(info.header_offset + _LOCAL_HEADER_BYTES - 2)
    return raw.read(2) != b"\0\0"
