"""Writing labels back to where they came from: one file per format, and nothing but labels changes."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import InvalidOption
from eigenclean.patch import RELABEL, Patch
from eigenclean.sources.base import Source
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.relabel.change import Change
from eigenclean.sources.relabel.fitting import Decided, Fit, decided, fit_patch, put
from eigenclean.sources.relabel.folder import is_class_folder, move_images
from eigenclean.sources.relabel.writing import (
    write_file,
    write_labels,
    write_manifest,
    write_saved_dataset,
    writer_of,
)
from eigenclean.sources.tabular.hf import HuggingFaceTable

__all__ = ["Decided", "Fit", "apply_patch", "decided", "fit_patch"]


def apply_patch(
    source: Source,
    patch: Patch,
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    back: bool = False,
    by_id: bool = False,
    name: str = "the patch",
) -> dict[str, Any]:
    """Put the new labels of a patch where the labels are kept, or with ``back`` the old ones again.

    Args:
        source: the opened data.
        patch: what people decided.
        path: file or folder that holds the labels: that of the source, or the file they were read from.
        out: the result; ``path`` itself to change it in place. A ``.npy`` file gets the labels alone, for
            ``--labels``; for folders of images and data sets by name, a ``.csv`` file gets names and labels.
        back: take the patch back.
        by_id: see `fit_patch`.
        name: what to call the patch in messages.

    Files are replaced by one rename; a folder changes file by file, and doing it again after an interruption does
    the rest. Applying a patch twice is the same as applying it once.
    """
    path, out = Path(path), Path(out)
    fit = fit_patch(source, patch, by_id=by_id, name=name)
    todo = patch.is_(RELABEL) & (fit.is_new == back)
    before, after = (patch.new, patch.old) if back else (patch.old, patch.new)
    rows = fit.rows[todo]
    order = np.argsort(rows)
    change = Change(rows[order], source.ids[rows][order], before[todo][order], after[todo][order])
    in_place = out.resolve() == path.resolve()
    if len(change) or not in_place:
        _write(source, patch, fit, change, path, out, back=back, mark=_mark(patch))
    return {
        "source": source.name,
        "out": str(out),
        "changed": len(change),
        "already": int(np.count_nonzero(patch.is_(RELABEL) & (fit.is_new != back))),
        **patch.counts(),
    }


def _write(
    source: Source, patch: Patch, fit: Fit, change: Change, path: Path, out: Path, *, back: bool, mark: str
) -> None:
    in_place, suffix = out.resolve() == path.resolve(), out.suffix.lower()
    if in_place and is_class_folder(source):
        assert fit.where is not None and isinstance(source.images, ImageFiles)
        move_images(source.images.root, source.ids, patch, fit.where, back=back)
    elif isinstance(source.table, HuggingFaceTable) and suffix == "":
        write_saved_dataset(source, path, out, change, mark)
    elif (write := writer_of(source, path)) is not None and suffix == path.suffix.lower():
        write_file(write, path.resolve(), out.resolve(), change)
    elif not in_place and suffix == ".npy":
        write_labels(out, put(source.labels, change.rows, change.after))
    elif not in_place and suffix == ".csv" and source.table is None:
        write_manifest(out, source.ids, put(source.labels, change.rows, change.after))
    else:
        raise InvalidOption(_refusal(source, path, in_place=in_place))


def _refusal(source: Source, path: Path, *, in_place: bool) -> str:
    if in_place:
        return (
            f"the labels of {source.name} cannot be changed in place; write them to a file of their own, "
            "such as --out labels.npy, and give that with --labels"
        )
    own = path.suffix if writer_of(source, path) is not None else "a folder" if path.is_dir() else ""
    kinds = [kind for kind in (own, ".npy (labels alone)") if kind]
    if source.table is None:
        kinds.append(".csv (names and labels)")
    return f"{source.name} can be written as {' or '.join(kinds)}; give --out such a name"


def _mark(patch: Patch) -> str:
    digest = hashlib.blake2b(json.dumps(patch.to_records()).encode(), digest_size=4)
    return f"-{digest.hexdigest()}"
