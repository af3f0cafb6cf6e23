"""`apply_patch`: match a patch with the data, then write the labels with the writer of the format."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.deprecation import renamed_arguments
from eigenclean.errors import InvalidOption
from eigenclean.files import sweep
from eigenclean.patch import RELABEL, Patch
from eigenclean.sources.base import Source
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.relabel.folder import MOVED, is_class_folder, move_images
from eigenclean.sources.relabel.matching import PatchMatch, match_patch, replace_labels
from eigenclean.sources.relabel.update import LabelUpdate, undo_log_path
from eigenclean.sources.relabel.writers import (
    label_writer,
    write_file,
    write_labels,
    write_manifest,
    write_saved_dataset,
)
from eigenclean.sources.tabular.hf import STATE, HuggingFaceTable
from eigenclean.sources.tabular.shards import file_kind


@renamed_arguments(back="revert")
def apply_patch(
    source: Source,
    patch: Patch,
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    revert: bool = False,
    by_id: bool = False,
    name: str = "the patch",
) -> dict[str, Any]:
    """Write the new labels of a patch to where the labels are stored, or with ``revert`` the old ones.

    Args:
        source: the opened data.
        patch: what people decided.
        path: file or folder that stores the labels: that of the source, or the file they were read from.
        out: the result; ``path`` itself to change it in place. A ``.npy`` file gets the labels alone, for
            ``--labels``; for folders of images and data sets by name, a ``.csv`` file gets names and labels.
        revert: write the old labels.
        by_id: see `match_patch`.
        name: what to call the patch in messages.

    Files are replaced by one rename. A folder changes file by file; if that is interrupted, calling it again does
    the rest. Applying a patch twice is the same as applying it once. Temporary files of an earlier call whose
    process was killed are removed.
    """
    path, out = Path(path), Path(out)
    _remove_leftovers(source, out.resolve())
    match = match_patch(source, patch, by_id=by_id, name=name)
    is_pending = patch.is_(RELABEL) & (match.is_applied == revert)
    before, after = (patch.new, patch.old) if revert else (patch.old, patch.new)
    rows = match.rows[is_pending]
    order = np.argsort(rows)
    update = LabelUpdate(rows[order], source.ids[rows][order], before[is_pending][order], after[is_pending][order])
    if len(update) or not _is_same_place(path, out):
        _write(source, patch, match, update, path, out, revert=revert)
    return {
        "source": source.name,
        "out": str(out),
        "changed": len(update),
        "already": int(np.count_nonzero(patch.is_(RELABEL) & (match.is_applied != revert))),
        **patch.counts(),
    }


def _write(
    source: Source, patch: Patch, match: PatchMatch, update: LabelUpdate, path: Path, out: Path, *, revert: bool
) -> None:
    in_place, suffix = _is_same_place(path, out), out.suffix.lower()
    if in_place and is_class_folder(source):
        assert match.locations is not None and isinstance(source.images, ImageFiles)
        move_images(source.images, source.ids, patch, match.locations, revert=revert)
    elif isinstance(source.table, HuggingFaceTable) and suffix == "":
        write_saved_dataset(source, path, out, update, _fingerprint_suffix(patch), revert=revert)
    elif (write := label_writer(source, path)) is not None and file_kind(out) == file_kind(path):
        write_file(write, path.resolve(), out.resolve(), update)
    elif not in_place and suffix == ".npy":
        write_labels(out, replace_labels(source.labels, update.rows, update.after))
    elif not in_place and suffix == ".csv" and source.table is None:
        write_manifest(out, source.ids, replace_labels(source.labels, update.rows, update.after))
    else:
        raise InvalidOption(_refusal(source, path, in_place=in_place))


def _remove_leftovers(source: Source, out: Path) -> None:
    sweep(out.parent, out.name, undo_log_path(out).name)
    if isinstance(source.images, ImageFiles):
        sweep(source.images.root, MOVED)
    if isinstance(source.table, HuggingFaceTable):
        sweep(out, STATE, *(path.name for path in source.table.paths))


def _is_same_place(path: Path, out: Path) -> bool:
    return out.resolve() == path.resolve()


def _refusal(source: Source, path: Path, *, in_place: bool) -> str:
    if in_place:
        return (
            f"the labels of {source.name} cannot be changed in place; write them to a file of their own, "
            "such as --out labels.npy, and give that with --labels"
        )
    formats = [".npy (labels alone)"]
    if label_writer(source, path) is not None:
        formats.insert(0, file_kind(path))
    elif path.is_dir():
        formats.insert(0, "a folder")
    if source.table is None:
        formats.append(".csv (names and labels)")
    return f"{source.name} can be written as {' or '.join(formats)}; give --out such a name"


def _fingerprint_suffix(patch: Patch) -> str:
    digest = hashlib.blake2b(json.dumps(patch.to_records()).encode(), digest_size=4)
    return f"-{digest.hexdigest()}"
