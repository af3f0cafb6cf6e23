"""WebVision 1.0, its Google half, and the mini version of the first 50 classes; ImageNet's images to test on."""

from pathlib import Path

import numpy as np

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources.images.files import SUFFIXES, ImageFiles
from eigenclean.sources.images.source import ImageSource, choose_split
from eigenclean.sources.layouts.file_lists import read_numbered

N_CLASSES, N_MINI = 1000, 50
_SPLITS = ("train", "val", "imagenet")


def open_webvision(
    path: Path,
    *,
    name: str,
    split: str | None = None,
    classes: int = N_CLASSES,
    resize: int | None = 320,
    follow_links: bool = False,
) -> ImageSource:
    """One split, of its first classes only, numbered as WebVision does.

    Args:
        path: folder with ``info/``, the images, and perhaps ``imagenet/``.
        name: what to call it.
        split: "train" (the images found with Google), "val", or "imagenet": ImageNet's validation images, in
            folders ``imagenet/val/0``, ``1``, … or listed in ``imagenet/imagenet_val.txt``.
        classes: how many; 50 for mini-WebVision.
        resize: see `ImageFiles`.
        follow_links: links may lead out of the folder.
    """
    if type(classes) is not int or not 2 <= classes <= N_CLASSES:
        raise InvalidOption(f"{name}: classes must be from 2 to {N_CLASSES}, got {classes!r}")
    chosen = choose_split(split, _SPLITS, by=name)
    root, numbers = {"train": _train, "val": _val, "imagenet": _imagenet}[chosen](path)
    rows = [(file, number) for file, number in numbers.items() if number < classes]
    if not rows:
        raise InvalidData(f"{name}: the split {chosen} has no images of the first {classes} classes")
    names = np.array([file for file, _ in rows])
    labels = np.array([number for _, number in rows], dtype=np.int64)
    images = ImageFiles(root, names, resize=resize, boundary=path, follow_links=follow_links)
    return ImageSource(name, images, labels, ids=names, splits=_SPLITS)


def open_mini_webvision(
    path: Path, *, name: str, split: str | None = None, resize: int | None = 320, follow_links: bool = False
) -> ImageSource:
    """The first 50 classes, as in the tables."""
    return open_webvision(path, name=name, split=split, classes=N_MINI, resize=resize, follow_links=follow_links)


def _train(path: Path) -> tuple[Path, dict[str, int]]:
    return path, read_numbered(path / "info" / "train_filelist_google.txt", N_CLASSES)


def _val(path: Path) -> tuple[Path, dict[str, int]]:
    return path / "val_images_256", read_numbered(path / "info" / "val_filelist.txt", N_CLASSES)


def _imagenet(path: Path) -> tuple[Path, dict[str, int]]:
    root = path / "imagenet" / "val"
    listed = path / "imagenet" / "imagenet_val.txt"
    if listed.is_file():
        return root, read_numbered(listed, N_CLASSES)
    folders = sorted(
        (int(entry.name), entry) for entry in root.glob("*") if entry.name.isdecimal() and entry.is_dir()
    )
    if not folders:
        raise InvalidData(f"there are no folders 0, 1, … in {root}, and no {listed}; check the path")
    files = {
        f"{folder.name}/{file.name}": number
        for number, folder in folders
        for file in sorted(folder.iterdir())
        if file.suffix.lower() in SUFFIXES
    }
    return root, files
