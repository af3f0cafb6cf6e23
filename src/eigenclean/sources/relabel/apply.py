"""`apply_patch`: match a patch with the data, then write the labels with the writer of the format."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Bools
from eigenclean.deprecation import renamed_arguments
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import sweep, temporary_beside
from eigenclean.patch import RELABEL, REMOVE, Patch
from eigenclean.sources.base import Source
from eigenclean.sources.images.files import REMOVED, ImageFiles
from eigenclean.sources.relabel.folder import MOVED, is_class_folder, move_images
from eigenclean.sources.relabel.matching import match_patch, replace_labels
from eigenclean.sources.relabel.removal import has_removals, last_removal, removal_log_path, remove_rows
from eigenclean.sources.relabel.rows_out import row_remover
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog, undo_log_path
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
    drop_removed: bool = False,
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
        drop_removed: also take the samples out that people removed: rows out of a file, images into the folder
            ``_removed``. A file that is changed in place stays beside it as it was; `put_rows_back` undoes that,
            before ``revert`` does the rest.
        name: what to call the patch in messages.

    Files are replaced by one rename. A folder changes file by file; if that is interrupted, calling it again does
    the rest. Applying a patch twice is the same as applying it once. Temporary files of an earlier call whose
    process was killed are removed.
    """
    path, out = Path(path), Path(out)
    _remove_leftovers(source, out.resolve())
    if not revert and (earlier := last_removal(path, patch)) is not None:
        if not _is_same_place(path, out):
            raise InvalidOption(f"{path} has {name} applied already, and {earlier.n_rows} rows less; copy it")
        n_labels = int(np.count_nonzero(patch.is_(RELABEL)))
        return _record(source, patch, out, changed=0, already=n_labels, dropped=0, dropped_before=earlier.n_rows)
    try:
        match = match_patch(source, patch, by_id=by_id, name=name)
    except InvalidData as error:
        if has_removals(path):
            raise InvalidData(
                f"{error}; rows were taken out of it ({removal_log_path(path).name}): take that patch back first"
            ) from None
        raise
    is_pending = patch.is_(RELABEL) & (match.is_applied == revert)
    before, after = (patch.new, patch.old) if revert else (patch.old, patch.new)
    rows = match.rows[is_pending]
    order = np.argsort(rows)
    update = LabelUpdate(rows[order], source.ids[rows][order], before[is_pending][order], after[is_pending][order])
    in_place = _is_same_place(path, out)
    stays = np.ones(len(source), dtype=bool)
    if drop_removed and not revert:
        stays[match.rows[patch.is_(REMOVE) & ~match.is_dropped]] = False
    n_dropped = int(np.count_nonzero(~stays))
    if n_dropped == len(source):
        raise InvalidOption(f"{name} removes all rows of {source.name}; nothing was changed")
    if is_class_folder(source) and in_place:
        n_back = int(np.count_nonzero(match.is_dropped)) if revert else 0
        if len(update) or n_dropped or n_back:
            assert match.locations is not None and isinstance(source.images, ImageFiles)
            move_images(source.images, source.ids, patch, match.locations, revert=revert, drop_removed=drop_removed)
        n_dropped = n_back if revert else n_dropped
        kept_in = REMOVED if n_dropped and not revert else None
    elif n_dropped == 0:
        kept_in = None
        if len(update) or not in_place:
            _write(source, patch, update, path, out, revert=revert)
    else:
        kept_in = _write_without(source, patch, update, path, out, stays)
    already = int(np.count_nonzero(patch.is_(RELABEL) & (match.is_applied != revert)))
    return _record(
        source, patch, out, changed=len(update), already=already, dropped=n_dropped, kept_in=kept_in,
        dropped_before=0 if revert else int(np.count_nonzero(match.is_dropped)),
    )  # fmt: skip


def _record(source: Source, patch: Patch, out: Path, *, kept_in: str | None = None, **facts: int) -> dict[str, Any]:
    """The changes that were made, as plain values."""
    return {"source": source.name, "out": str(out), **facts, "kept_in": kept_in, **patch.counts()}


def _write_without(
    source: Source, patch: Patch, update: LabelUpdate, path: Path, out: Path, stays: Bools
) -> str | None:
    """Write labels, then take rows out; return the name of the file that still has them, if there is one."""
    path, out = path.resolve(), out.resolve()
    if path != out and out.suffix.lower() == ".csv" and source.table is None and is_class_folder(source):
        labels = replace_labels(source.labels, update.rows, update.after)
        write_manifest(out, source.ids[stays], labels[stays])
        return None
    remove = row_remover(source, path)  # first, because it may refuse
    if path == out:
        if len(update):
            _write(source, patch, update, path, out, revert=False)
        with_rows = remove_rows(path, path, stays, remove, patch)
        return None if with_rows is None else with_rows.name
    if file_kind(out) != file_kind(path):
        raise InvalidOption(
            f"{source.name} without removed rows can be written as {file_kind(path)}, got {out.name}"
        )
    write = label_writer(source, path)
    assert write is not None  # what rows can be taken out of, labels can be written to
    with temporary_beside(out) as labelled:
        write(path, labelled, update, UndoLog())
        remove_rows(labelled, out, stays, remove, patch)
    return None


def _write(source: Source, patch: Patch, update: LabelUpdate, path: Path, out: Path, *, revert: bool) -> None:
    in_place, suffix = _is_same_place(path, out), out.suffix.lower()
    if isinstance(source.table, HuggingFaceTable) and suffix == "":
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
