"""CIFAR and MNIST in the files that their authors hand out, written small."""

import gzip
import io
import pickle
import struct
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources import open_source

RNG = np.random.default_rng(0)


# CIFAR.


PurePickler: Any = vars(pickle)["_Pickler"]  # the one written in Python, which can be taught old ways


class Python2Pickler(PurePickler):  # type: ignore[misc]
    """Writes text and bytes alike as Python 2 wrote its strings."""

    dispatch: ClassVar[dict[Any, Any]] = dict(PurePickler.dispatch)

    def save_string(self, value: Any) -> None:
        data = value.encode("latin-1") if isinstance(value, str) else value
        short = len(data) < 256
        self.write((b"U" + bytes([len(data)]) if short else b"T" + struct.pack("<i", len(data))) + data)
        self.memoize(value)

    dispatch[str] = dispatch[bytes] = save_string


def python2_pickle(content: Any) -> bytes:
    buffer = io.BytesIO()
    Python2Pickler(buffer, protocol=2).dump(content)
    return buffer.getvalue().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def planes(n: int) -> Array:
    return RNG.integers(0, 256, (n, 3072), dtype=np.uint8)


def as_pictures(pixels: Array) -> Array:
    """Red, green and blue plane of each row, one after the other."""
    pictures = np.empty((len(pixels), 32, 32, 3), dtype=np.uint8)
    for row, values in enumerate(pixels):
        for channel in range(3):
            for line in range(32):
                start = channel * 1024 + line * 32
                pictures[row, line, :, channel] = values[start : start + 32]
    return pictures


TEN = {f"data_batch_{i}": (planes(4), RNG.integers(0, 10, 4)) for i in range(1, 6)} | {
    "test_batch": (planes(3), RNG.integers(0, 10, 3))
}
HUNDRED = {
    name: (planes(n), RNG.integers(0, 20, n), RNG.integers(0, 100, n)) for name, n in (("train", 9), ("test", 5))
}


def cifar10_binary(root: Path) -> Path:
    folder = root / "cifar-10-batches-bin"
    folder.mkdir()
    for name, (pixels, labels) in TEN.items():
        records = np.concatenate([labels[:, None].astype(np.uint8), pixels], axis=1)
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    (folder / "batches.meta.txt").write_text("airplane\n")
    return root


def cifar10_python(root: Path) -> Path:
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    for name, (pixels, labels) in TEN.items():
        content = {
            "data": pixels,
            "labels": labels.tolist(),
            "batch_label": "training batch 1 of 5",
            "filenames": [f"image_{i}.png" for i in range(len(labels))],
        }
        (folder / name).write_bytes(python2_pickle(content))
    return root


def cifar100_binary(root: Path) -> Path:
    folder = root / "cifar-100-binary"
    folder.mkdir()
    for name, (pixels, coarse, fine) in HUNDRED.items():
        records = np.concatenate([np.stack([coarse, fine], axis=1).astype(np.uint8), pixels], axis=1)
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    return root


def cifar100_python(root: Path) -> Path:
    folder = root / "cifar-100-python"
    folder.mkdir()
    for name, (pixels, coarse, fine) in HUNDRED.items():
        content = {
            "data": pixels,
            "coarse_labels": coarse.tolist(),
            "fine_labels": fine.tolist(),
            "batch_label": name,
            "filenames": ["x.png"] * len(fine),
        }
        (folder / name).write_bytes(python2_pickle(content))
    return root


def check(source: Any, pixels: Array, labels: Array) -> None:
    np.testing.assert_array_equal(source.images, as_pictures(pixels))
    assert source.images.dtype == np.uint8 and source.images.flags.c_contiguous
    assert source.labels.tolist() == labels.tolist()
    assert source.ids.tolist() == [*range(len(labels))]
    assert source.splits == ("train", "test")


@pytest.mark.parametrize("make", [cifar10_binary, cifar10_python])
def test_cifar10(make: Any, tmp_path: Path) -> None:
    root = make(tmp_path)
    train = [TEN[f"data_batch_{i}"] for i in range(1, 6)]
    pixels, labels = (np.concatenate(batches) for batches in zip(*train, strict=True))
    check(open_source(f"cifar10:{root}"), pixels, labels)
    check(open_source(f"cifar10:{next(root.iterdir())}"), pixels, labels)  # the folder itself
    check(open_source(f"cifar10:{root}", split="test"), *TEN["test_batch"])
    check(open_source(f"cifar10:{root}?split=test"), *TEN["test_batch"])


@pytest.mark.parametrize("make", [cifar100_binary, cifar100_python])
def test_cifar100(make: Any, tmp_path: Path) -> None:
    root = make(tmp_path)
    for split, (pixels, coarse, fine) in HUNDRED.items():
        check(open_source(f"cifar100:{root}", split=split), pixels, fine)
        check(open_source(f"cifar100:{root}?classes=coarse", split=split), pixels, coarse)


def test_both_versions_have_one_hash(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    for root in roots:
        root.mkdir()
    a, b = cifar10_binary(roots[0]), cifar10_python(roots[1])
    assert open_source(f"cifar10:{a}").data_hash() == open_source(f"cifar10:{b}").data_hash()


def test_the_python_version_is_what_python_2_wrote(tmp_path: Path) -> None:
    # Our writer is right when Python's own reader of such files agrees.
    path = cifar10_python(tmp_path) / "cifar-10-batches-py" / "data_batch_1"
    loaded = pickle.loads(path.read_bytes(), encoding="bytes")  # noqa: S301
    np.testing.assert_array_equal(loaded[b"data"], TEN["data_batch_1"][0])
    assert loaded[b"batch_label"] == b"training batch 1 of 5"


class Attack:
    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> Any:
        return Path.touch, (self.witness,)


def test_a_pickle_that_runs_something_is_not_opened(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    path = cifar10_python(tmp_path) / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(pickle.dumps({b"data": Attack(witness), b"labels": [1]}, protocol=2))
    with pytest.raises(InvalidData, match=r"contains something other than arrays .*a pickle may run any code"):
        open_source(f"cifar10:{tmp_path}")
    assert not witness.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "data_batch_2 is not a readable batch of the python version; download it again"),
        (python2_pickle({"data": planes(2)}), "not a readable batch"),
        (python2_pickle({"data": planes(2), "labels": ["a", "b"]}), "not a readable batch"),
        (
            python2_pickle({"data": planes(2), "labels": [1, 2, 3]}),
            "3072 bytes for each of its 3 labels, got shape",
        ),
        (python2_pickle({"data": planes(2).astype(np.int16), "labels": [1, 2]}), "of type int16"),
        (python2_pickle({"data": planes(2), "labels": [1, 10]}), "labels must be from 0 to 9, got 10 in row 1"),
    ],
)
def test_broken_pickles_get_a_sentence(content: bytes, message: str, tmp_path: Path) -> None:
    (cifar10_python(tmp_path) / "cifar-10-batches-py" / "data_batch_2").write_bytes(content)
    with pytest.raises(InvalidData, match=message) as caught:
        open_source(f"cifar10:{tmp_path}")
    assert "\n" not in str(caught.value)


def test_broken_binaries_get_a_sentence(tmp_path: Path) -> None:
    folder = cifar10_binary(tmp_path) / "cifar-10-batches-bin"
    whole = (folder / "data_batch_4.bin").read_bytes()
    (folder / "data_batch_4.bin").write_bytes(whole[:-1])
    with pytest.raises(InvalidData, match=r"data_batch_4\.bin must be records of 3073 bytes, got 12291 bytes"):
        open_source(f"cifar10:{tmp_path}")
    (folder / "data_batch_4.bin").write_bytes(bytes([77]) + whole[1:])
    with pytest.raises(InvalidData, match="labels must be from 0 to 9, got 77 in row 0; is it another data set"):
        open_source(f"cifar10:{tmp_path}")
    (folder / "data_batch_4.bin").unlink()
    with pytest.raises(InvalidData, match=r"there is no file .*data_batch_4\.bin"):
        open_source(f"cifar10:{tmp_path}")


def test_another_folder_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match=r"no data_batch_1\.bin \(binary version\) and no data_batch_1 \(python"):
        open_source(f"cifar10:{tmp_path}")
    with pytest.raises(InvalidData, match=r"there is no folder .*gone; check the path after cifar10:"):
        open_source(f"cifar10:{tmp_path / 'gone'}")
    with pytest.raises(InvalidOption, match="classes must be one of coarse, fine, got 'fin'; did you mean 'fine'"):
        open_source(f"cifar100:{tmp_path}?classes=fin")


# MNIST.


def idx(array: Array) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


DIGITS = {
    "train": (RNG.integers(0, 256, (7, 28, 28)), np.arange(7)),
    "t10k": (RNG.integers(0, 256, (4, 28, 28)), np.arange(4)),
}


def write_mnist(root: Path, zipped: bool, dotted: bool = False) -> Path:
    for prefix, (images, labels) in DIGITS.items():
        for kind, array in (("images", images), ("labels", labels)):
            name = f"{prefix}-{kind}{'.' if dotted else '-'}idx{array.ndim}-ubyte"
            content = idx(array)
            (root / (f"{name}.gz" if zipped else name)).write_bytes(gzip.compress(content) if zipped else content)
    return root


@pytest.mark.parametrize("layout", ["mnist", "fashion-mnist"])
@pytest.mark.parametrize(("zipped", "dotted"), [(True, False), (False, False), (False, True)])
def test_mnist(layout: str, zipped: bool, dotted: bool, tmp_path: Path) -> None:
    root = write_mnist(tmp_path, zipped, dotted)
    for split, prefix in (("train", "train"), ("test", "t10k")):
        source: Any = open_source(f"{layout}:{root}", split=split)
        np.testing.assert_array_equal(source.images, DIGITS[prefix][0])
        assert source.images.dtype == np.uint8
        assert source.labels.tolist() == DIGITS[prefix][1].tolist()
        assert source.splits == ("train", "test")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a readable idx file"),
        (b"\0\0\x08\x01\0\0\0\x07", "is not a readable idx file: it should be bytes in 3 dimensions"),
        (idx(np.zeros((7, 28, 28)))[:-5], "must hold 7 x 28 x 28 bytes, got 5483; download it again"),
        (idx(np.zeros((7, 28, 28))) + b"x", "must hold 7 x 28 x 28 bytes, got more"),
        (idx(np.zeros((6, 28, 28))), "images and labels must have equal length, got 6 images and 7 labels"),
    ],
)
def test_broken_idx_files_get_a_sentence(content: bytes, message: str, tmp_path: Path) -> None:
    (write_mnist(tmp_path, zipped=False) / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(InvalidData, match=message) as caught:
        open_source(f"mnist:{tmp_path}")
    assert "\n" not in str(caught.value)


def test_a_broken_archive_and_a_missing_file_get_a_sentence(tmp_path: Path) -> None:
    path = write_mnist(tmp_path, zipped=True) / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidData, match=r"idx3-ubyte\.gz is not a readable idx file"):
        open_source(f"mnist:{tmp_path}")
    path.unlink()
    with pytest.raises(InvalidData, match=r"there is no train-images-idx3-ubyte \(or .*\.gz\) in "):
        open_source(f"mnist:{tmp_path}")
