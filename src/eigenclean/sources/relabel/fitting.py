"""Whether a patch was made for these data; if not, what differs."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Bools, Ints, preview
from eigenclean.errors import InvalidData
from eigenclean.patch import KEEP, RELABEL, REMOVE, Patch
from eigenclean.sources.base import Source, fingerprint
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.relabel.folder import Whereabouts, find_images, is_class_folder
from eigenclean.sources.tabular.delimited import CsvTable


@dataclass(frozen=True, eq=False)
class Fit:
    """How a patch lies on data: one row per decision.

    Attributes:
        rows: row of the data that it is about.
        is_new: True where the new label is there already; elsewhere the old one is.
        where: for folders of images, which files they are.
    """

    rows: Ints
    is_new: Bools
    where: Whereabouts | None = None


@dataclass(frozen=True, eq=False)
class Decided:
    """The data as people decided about them, one row per sample.

    Attributes:
        labels: corrected labels.
        settled: True where people have said what the label is (kept or relabelled).
        removed: True where there is nothing to learn.
    """

    labels: Array
    settled: Bools
    removed: Bools


def fit_patch(source: Source, patch: Patch, *, by_id: bool = False, name: str = "the patch") -> Fit:
    """Find the rows of a patch; `InvalidData` saying what differs when it was made for other data.

    The data are those it was made for when every id is there with its old label (or its new one: then the patch has
    been applied, perhaps in part) and, with the old labels put back, the fingerprint is the same. ``by_id`` does
    without the fingerprint: the images that the features were made from, for one, have the same ids and labels.

    >>> from eigenclean.sources import open_source
    >>> source = open_source(([[1.0], [2.0]], ["cat", "dog"]))
    >>> line = {"id": 0, "decision": "relabel", "old": "cat", "new": "dog", "data_hash": source.data_hash()}
    >>> fit_patch(source, Patch.from_records([{**line, "old": "bird"}]))
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: arrays is not what the patch was made for: ids whose label is neither the old nor
    the new one: 1 of 1, such as 0 with 'cat' where 'bird' or 'dog' is expected...
    """
    source = _as_texts(source, patch)
    where = None
    if is_class_folder(source):
        assert isinstance(source.images, ImageFiles)
        where = find_images(source.images.root, source.ids, patch)
    wanted = patch.ids if where is None else where.now
    rows, known = _rows(source.ids, wanted, source.name, name)
    now = source.labels[np.where(known, rows, 0)]
    if (now.dtype.kind in "US") != (patch.old.dtype.kind in "US"):
        raise InvalidData(f"{source.name} has labels of type {now.dtype}, but {name} is about {patch.old.dtype}")
    is_old, is_new = known & (now == patch.old), known & (now == patch.new)
    if where is not None:  # labels are folders: where a file is says which label it has
        is_old, is_new = known & ~where.is_new & is_old, known & where.is_new
    differences = _differences(patch, now, known, is_old | is_new)
    if differences:
        raise InvalidData(f"{source.name} is not what {name} was made for: {differences}; nothing was changed")
    is_new &= patch.is_(RELABEL)
    fit = Fit(rows, is_new, where)
    if not by_id:
        _check_hash(source, patch, fit, name)
    return fit


def decided(source: Source, patch: Patch, *, by_id: bool = False, name: str = "the patch") -> Decided:
    """Labels as people decided, and what they said about the samples; checked by `fit_patch`."""
    fit = fit_patch(source, patch, by_id=by_id, name=name)
    labels = put(_as_texts(source, patch).labels, fit.rows, patch.new)
    settled, removed = (np.zeros(len(source), dtype=bool) for _ in range(2))
    settled[fit.rows[patch.is_(KEEP) | patch.is_(RELABEL)]] = True
    removed[fit.rows[patch.is_(REMOVE)]] = True
    return Decided(labels, settled, removed)


def put(labels: Array, rows: Ints, new: Array) -> Array:
    """The labels with new ones in some rows; texts get the room they need.

    >>> put(np.array(["a", "b"]), np.array([1]), np.array(["long"]))
    array(['a', 'long'], dtype='<U4')
    """
    result = labels.astype(np.promote_types(labels.dtype, new.dtype))
    result[rows] = new
    return result


def _as_texts(source: Source, patch: Patch) -> Source:
    """A CSV file whose labels were texts may look like one of numbers, now that the texts among them are gone."""
    if patch.old.dtype.kind != "U" or source.labels.dtype.kind == "U":
        return source
    if not isinstance(source.table, CsvTable) or source.label_column is None:
        return source
    written = source.table.read_texts([source.label_column]).column(0)
    return source.relabelled(np.array(written.to_pylist(), dtype=np.str_))


def _rows(own: Array, wanted: Array, data: str, name: str) -> tuple[Ints, Bools]:
    """Row of each wanted id, and whether there is one."""
    if (own.dtype.kind in "US") != (wanted.dtype.kind in "US"):
        raise InvalidData(
            f"{data} has ids such as {own[0].item()!r}, but {name} has ids such as {wanted[0].item()!r}; "
            "choose the same --id-column as when the labels were judged"
        )
    order = np.argsort(own, kind="stable")
    at = np.minimum(np.searchsorted(own, wanted, sorter=order), len(own) - 1)
    rows = order[at]
    return rows, np.asarray(own[rows] == wanted)


def _differences(patch: Patch, now: Array, known: Bools, fits: Bools) -> str:
    found = []
    if not known.all():
        missing = patch.ids[~known]
        found.append(f"ids that are not there: {len(missing)} of {len(patch)}, such as {preview(missing, most=3)}")
    other = known & ~fits
    if other.any():
        first = int(np.argmax(other))
        old, new = patch.old[first].item(), patch.new[first].item()
        expected = f"{old!r}" if old == new else f"{old!r} or {new!r}"
        found.append(
            f"ids whose label is neither the old nor the new one: {int(other.sum())} of {len(patch)}, such as "
            f"{patch.ids[first].item()!r} with {now[first].item()!r} where {expected} is expected"
        )
    return "; ".join(found)


def _check_hash(source: Source, patch: Patch, fit: Fit, name: str) -> None:
    if fit.where is None:
        there = source.relabelled(put(source.labels, fit.rows, patch.old)).data_hash()
    else:
        assert isinstance(source, ImageSource) and isinstance(source.images, ImageFiles)
        moved = dict(zip(fit.where.now.tolist(), patch.ids.tolist(), strict=True))
        names = sorted(moved.get(file, file) for file in source.ids.tolist())
        labels = np.array([file.split("/", 1)[0] for file in names])
        there = fingerprint(labels, source.images.fingerprint_as(moved))
    if there != patch.data_hash:
        raise InvalidData(
            f"{source.name} is not what {name} was made for: its {len(patch)} ids and labels are there, but other "
            f"labels, the features or the order of rows differ (data hash {there}, expected {patch.data_hash}), or "
            "other columns were chosen; nothing was changed; if equal ids and old labels are enough, add --by-id"
        )
