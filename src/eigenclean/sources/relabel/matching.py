"""Whether a patch was made for these data; if not, what differs."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Bools, Ints, preview
from eigenclean.deprecation import RenamedAttribute
from eigenclean.errors import InvalidData
from eigenclean.patch import KEEP, RELABEL, REMOVE, Patch
from eigenclean.sources.base import Source, fingerprint
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.relabel.folder import ImageLocations, find_images, is_class_folder
from eigenclean.sources.tabular.delimited import CsvTable


@dataclass(frozen=True, eq=False)
class PatchMatch:
    """The rows of the data that a patch is about; one entry per decision.

    Attributes:
        rows: position in the data.
        is_applied: True where the data have the new label; elsewhere they have the old one.
        is_dropped: True where the sample was taken out of the data; its row has no meaning.
        locations: for folders of images, the files that hold them.
    """

    rows: Ints
    is_applied: Bools
    is_dropped: Bools
    locations: ImageLocations | None = None


@dataclass(frozen=True, eq=False)
class ReviewedLabels:
    """The labels after a review, one entry per row of the data.

    Attributes:
        labels: the labels, corrected where a person relabelled the row.
        verified: True where a person confirmed or corrected the label.
        removed: True where a person decided to remove the row.
    """

    labels: Array
    verified: Bools
    removed: Bools
    settled = RenamedAttribute("verified")


def match_patch(source: Source, patch: Patch, *, by_id: bool = False, name: str = "the patch") -> PatchMatch:
    """Find the rows of a patch in the data; `InvalidData` says what differs when it was made for other data.

    The data match when every id exists with its old label (or its new one: then the patch has been applied, perhaps
    in part) and the data hash, computed with the old labels, is that of the patch. ``by_id`` does not compare the
    hashes, for data with the same ids and labels but other features, such as the images behind embeddings.

    >>> from eigenclean.sources import open_source
    >>> source = open_source(([[1.0], [2.0]], ["cat", "dog"]))
    >>> record = {"id": 0, "decision": "relabel", "old": "cat", "new": "dog", "data_hash": source.data_hash()}
    >>> match_patch(source, Patch.from_records([{**record, "old": "bird"}]))
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: arrays is not what the patch was made for: ids whose label is neither the old nor
    the new one: 1 of 1, such as 0 with 'cat' where 'bird' or 'dog' is expected...
    """
    source = _with_text_labels(source, patch)
    locations = None
    if is_class_folder(source):
        assert isinstance(source.images, ImageFiles)
        locations = find_images(source.images.root, source.ids, patch)
    patch_ids = patch.ids if locations is None else locations.current
    rows, exists = _find_rows(source.ids, patch_ids, source.name, name)
    labels = source.labels[np.where(exists, rows, 0)]
    if (labels.dtype.kind in "US") != (patch.old.dtype.kind in "US"):
        raise InvalidData(f"{source.name} has labels of type {labels.dtype}, but {name} is about {patch.old.dtype}")
    is_old, is_new = exists & (labels == patch.old), exists & (labels == patch.new)
    if locations is not None:  # the folder of a file is its label
        is_old, is_new = exists & ~locations.is_moved & is_old, exists & locations.is_moved
    is_dropped = np.zeros(len(patch), dtype=bool)
    if locations is not None:
        is_dropped = locations.is_moved & patch.is_(REMOVE)
    differences = _differences(patch, labels, exists | is_dropped, is_old | is_new | is_dropped)
    if differences:
        raise InvalidData(f"{source.name} is not what {name} was made for: {differences}; nothing was changed")
    match = PatchMatch(rows, is_new & patch.is_(RELABEL), is_dropped, locations)
    if not by_id:
        _check_hash(source, patch, match, name)
    return match


def reviewed_labels(
    source: Source, patch: Patch, *, by_id: bool = False, name: str = "the patch"
) -> ReviewedLabels:
    """The labels of the data with the decisions of a patch; whether they match is checked by `match_patch`."""
    match = match_patch(source, patch, by_id=by_id, name=name)
    is_there = ~match.is_dropped
    labels = replace_labels(_with_text_labels(source, patch).labels, match.rows[is_there], patch.new[is_there])
    verified, removed = (np.zeros(len(source), dtype=bool) for _ in range(2))
    verified[match.rows[patch.is_(KEEP) | patch.is_(RELABEL)]] = True
    removed[match.rows[patch.is_(REMOVE) & is_there]] = True
    return ReviewedLabels(labels, verified, removed)


def replace_labels(labels: Array, rows: Ints, new: Array) -> Array:
    """A copy of the labels with new ones in some rows, in a type that holds both.

    >>> replace_labels(np.array(["a", "b"]), np.array([1]), np.array(["long"]))
    array(['a', 'long'], dtype='<U4')
    """
    result = labels.astype(np.promote_types(labels.dtype, new.dtype))
    result[rows] = new
    return result


def _with_text_labels(source: Source, patch: Patch) -> Source:
    """The source with labels as texts if the patch has texts.

    The type of a CSV column is inferred: once a patch has replaced the only texts in it, the column holds numbers.
    """
    if patch.old.dtype.kind != "U" or source.labels.dtype.kind == "U":
        return source
    if not isinstance(source.table, CsvTable) or source.label_column is None:
        return source
    texts = source.table.read_texts([source.label_column]).column(0)
    return source.relabelled(np.array(texts.to_pylist(), dtype=np.str_))


def _find_rows(ids: Array, patch_ids: Array, data: str, name: str) -> tuple[Ints, Bools]:
    """Row of each wanted id, and whether it exists."""
    if (ids.dtype.kind in "US") != (patch_ids.dtype.kind in "US"):
        raise InvalidData(
            f"{data} has ids such as {ids[0].item()!r}, but {name} has ids such as {patch_ids[0].item()!r}; "
            "choose the same --id-column as when the labels were judged"
        )
    order = np.argsort(ids, kind="stable")
    positions = np.minimum(np.searchsorted(ids, patch_ids, sorter=order), len(ids) - 1)
    rows = order[positions]
    return rows, np.asarray(ids[rows] == patch_ids)


def _differences(patch: Patch, labels: Array, exists: Bools, has_label: Bools) -> str:
    """What differs, in words; empty when nothing does."""
    messages = []
    if not exists.all():
        missing = patch.ids[~exists]
        messages.append(
            f"ids that are not there: {len(missing)} of {len(patch)}, such as {preview(missing, most=3)}"
        )
    other = exists & ~has_label
    if other.any():
        first = int(np.argmax(other))
        old, new = patch.old[first].item(), patch.new[first].item()
        expected = f"{old!r}" if old == new else f"{old!r} or {new!r}"
        messages.append(
            f"ids whose label is neither the old nor the new one: {int(other.sum())} of {len(patch)}, such as "
            f"{patch.ids[first].item()!r} with {labels[first].item()!r} where {expected} is expected"
        )
    return "; ".join(messages)


def _check_hash(source: Source, patch: Patch, match: PatchMatch, name: str) -> None:
    """Compare the hash of the data, as they were before the patch, with the one that the patch was made for."""
    if match.locations is None:
        data_hash = source.relabelled(replace_labels(source.labels, match.rows, patch.old)).data_hash()
    else:
        assert isinstance(source, ImageSource) and isinstance(source.images, ImageFiles)
        original = dict(zip(match.locations.current.tolist(), patch.ids.tolist(), strict=True))
        dropped = match.locations.current[match.is_dropped].tolist()
        images = source.images.with_files(dropped) if dropped else source.images
        names = sorted(original.get(file, file) for file in [*source.ids.tolist(), *dropped])
        labels = np.array([file.split("/", 1)[0] for file in names])
        data_hash = fingerprint(labels, images.fingerprint_as(original))
    if data_hash != patch.data_hash:
        raise InvalidData(
            f"{source.name} is not what {name} was made for: its {len(patch)} ids and labels are there, but other "
            f"labels, the features or the order of rows differ (data hash {data_hash}, expected "
            f"{patch.data_hash}), or other columns were chosen; nothing was changed; "
            "if equal ids and old labels are enough, add --by-id"
        )
