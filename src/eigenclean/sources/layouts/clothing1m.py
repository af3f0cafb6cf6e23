"""Clothing1M as its authors hand it out: key lists, label lists, and a million photographs."""

from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sampling import balanced_subset
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.images.source import ImageSource, choose_split
from eigenclean.sources.layouts.file_lists import read_names, read_numbered

N_CLASSES = 14
_SPLITS = {  # list of keys, list of labels
    "train": ("noisy_train_key_list", "noisy_label_kv"),
    "clean-train": ("clean_train_key_list", "clean_label_kv"),
    "val": ("clean_val_key_list", "clean_label_kv"),
    "test": ("clean_test_key_list", "clean_label_kv"),
}
_PREFIX = "images/"


def open_clothing1m(
    path: Path,
    *,
    name: str,
    split: str | None = None,
    subset: int | None = None,
    seed: int = 0,
    resize: int | None = 256,
    follow_links: bool = False,
) -> ImageSource:
    """One split: "train" has the noisy labels, the others the checked ones.

    Args:
        path: folder with the lists (or with ``annotations/``) and the images.
        name: what to call it.
        split: "train", "clean-train", "val" or "test".
        subset: None, or the size of a random subset with as many images of each (given) class as of any other.
        seed: of that subset.
        resize: see `ImageFiles`.
        follow_links: links may lead out of the folder.
    """
    keys_file, labels_file = _SPLITS[choose_split(split, [*_SPLITS], by=name)]
    keys = read_names(_list(path, keys_file))
    numbers = read_numbered(_list(path, labels_file), N_CLASSES)
    missing = [key for key in keys if key not in numbers]
    if missing:
        raise InvalidData(
            f"{name}: {len(missing)} of {len(keys)} images have no label in {labels_file}, for example {missing[0]}"
        )
    names, labels = np.array(keys, dtype=np.str_), np.array([numbers[key] for key in keys], dtype=np.int64)
    if subset is not None:
        chosen = balanced_subset(labels, subset, n_classes=N_CLASSES, seed=seed, by="clothing1m")
        names, labels = names[chosen], labels[chosen]
    files = ImageFiles(path, _located(path, names), resize=resize, follow_links=follow_links)
    return ImageSource(name, files, labels, ids=names, splits=[*_SPLITS])


def _list(root: Path, name: str) -> Path:
    places = [folder / file for folder in (root, root / "annotations") for file in (f"{name}.txt", name)]
    return next((place for place in places if place.is_file()), places[0])


def _located(root: Path, names: Array) -> Array:
    """Keys begin with ``images/``; some people's folder of that name is the root itself."""
    if len(names) and not (root / names[0]).is_file() and (root / names[0].removeprefix(_PREFIX)).is_file():
        return np.array([name.removeprefix(_PREFIX) for name in names.tolist()])
    return names
