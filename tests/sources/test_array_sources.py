"""``.npz``, ``.npy`` and arrays in memory: what is read, and what is refused in one sentence."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.arrays import Array
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.sources import open_source

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.arange(6) % 2


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path / "x.npz", **arrays)
    return path / "x.npz"


def test_images_and_texts(tmp_path: Path) -> None:
    images = np.zeros((6, 4, 4, 3), np.uint8)
    source = open_source(save(tmp_path, features=X, labels=Y, images=images, texts=list("abcdef")))
    assert source.images is not None and source.images.shape == (6, 4, 4, 3)
    assert source.texts == list("abcdef")


def test_separate_labels_win(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", 1 - Y)
    path = save(tmp_path, features=X, labels=Y)
    assert open_source(path, labels=tmp_path / "y.npy").labels.tolist() == (1 - Y).tolist()
    assert open_source(save(tmp_path, features=X), labels=Y).labels.tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"data": X, "labels": Y}, "has no array 'features'; its arrays are 'data', 'labels'"),
        ({"features": X}, "has no array 'labels'; its arrays are 'features'; add it, or give .* --labels"),
        ({"features": X, "labels": Y.astype(object)}, "array 'labels' of .* holds Python objects"),
        ({"features": X.astype(object), "labels": Y}, "array 'features' of .* holds Python objects"),
        ({"features": X, "labels": Y[:3]}, "equal length, got 6 rows and 3 labels"),
        ({"features": X[0], "labels": Y}, "table of n rows and d columns, got shape"),
        ({"features": X.reshape(6, 2, 1), "labels": Y}, "reshape it to"),
        ({"features": X.astype(str), "labels": Y}, "features must be numbers, got text"),
        ({"features": X.astype(complex), "labels": Y}, "features must be (numbers|real), got type complex"),
        ({"features": X[:0], "labels": Y[:0]}, "has no rows"),
        ({"features": X, "labels": Y + 0.5}, "labels must be classes"),
        ({"features": X, "labels": ["a", "", "b", "c", "d", "e"]}, "1 of 6 labels are missing"),
        ({"features": X, "labels": Y, "ids": Y}, "ids must be unique"),
        ({"features": X, "labels": Y, "ids": np.arange(5)}, "ids must be one value for each of the 6 rows"),
        ({"features": X, "labels": Y, "images": np.zeros((6, 4))}, "images must be"),
        ({"features": X, "labels": Y, "texts": ["a"]}, "texts must be one for each of the 6 rows"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_bad_arrays(arrays: dict[str, Any], sentence: str, compressed: bool, tmp_path: Path) -> None:
    write: Any = np.savez_compressed if compressed else np.savez
    write(tmp_path / "x.npz", **arrays)
    with pytest.raises(InvalidData, match=sentence) as caught:
        open_source(tmp_path / "x.npz")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("compressed", [False, True])
def test_truncated_npz(compressed: bool, tmp_path: Path) -> None:
    write: Any = np.savez_compressed if compressed else np.savez
    write(tmp_path / "x.npz", features=X, labels=Y)
    whole = (tmp_path / "x.npz").read_bytes()
    for length in range(0, len(whole), 37):
        (tmp_path / "x.npz").write_bytes(whole[:length])
        with pytest.raises(InvalidData, match=r"x\.npz is not a readable \.npz archive: ") as caught:
            open_source(tmp_path / "x.npz")
        assert "\n" not in str(caught.value)


def test_truncated_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    whole = (tmp_path / "x.npy").read_bytes()
    for length in (0, 3, 8, 50, 127, 128, 140, len(whole) - 1):
        (tmp_path / "x.npy").write_bytes(whole[:length])
        with pytest.raises(InvalidData, match=r"x\.npy is (not a readable|truncated)"):
            open_source(tmp_path / "x.npy", labels=Y)


@pytest.mark.parametrize("name", ["x.npz", "x.npy"])
@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" * 50, b"\x93NUMPY\x07\x00" * 30])
def test_foreign_content(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData, match=rf"{name} is "):
        open_source(tmp_path / name, labels=Y)


def test_an_archive_in_the_npy_place_is_not_loaded(tmp_path: Path) -> None:
    save(tmp_path, features=X, labels=Y).rename(tmp_path / "x.npy")
    with pytest.raises(InvalidData, match="not a readable"):
        open_source(tmp_path / "x.npy", labels=Y)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidData, match="holds Python objects"):
        open_source(tmp_path / "x.npy", labels=Y)
    with pytest.raises(InvalidData, match="holds Python objects"):
        open_source((X, Y), labels=tmp_path / "x.npy")


def test_member_with_a_longer_local_header(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", X)
    np.save(tmp_path / "labels.npy", Y)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for key in ("features", "labels"):
            info = zipfile.ZipInfo(f"{key}.npy")
            info.extra = b"\xfe\xca\x04\x00abcd"
            archive.writestr(info, (tmp_path / f"{key}.npy").read_bytes())
    source = open_source(tmp_path / "x.npz")
    assert isinstance(source.features(), np.memmap)
    np.testing.assert_array_equal(source.features(), X)


@settings(max_examples=150)
@given(data=st.data(), compressed=st.booleans())
def test_damaged_npz_is_an_ordinary_error(
    data: st.DataObject, compressed: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("npz")
    write: Any = np.savez_compressed if compressed else np.savez
    write(folder / "x.npz", features=X, labels=Y)
    content = bytearray((folder / "x.npz").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    start = data.draw(st.integers(0, len(content)))
    del content[start : start + data.draw(st.integers(0, 20))]
    (folder / "x.npz").write_bytes(content)
    try:
        source = open_source(folder / "x.npz")
        list(source.batches(2))
    except EigencleanError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("y.txt", "0\n1\n0\n1\n0\n1\n", [0, 1] * 3),
        ("y.txt", "a\nb\na\nb\na\nb", ["a", "b"] * 3),
        ("y.csv", "label\n0\n1\n0\n1\n0\n1\n", [0, 1] * 3),
        ("y.csv", '"a,b"\nc\n"a,b"\nc\n"a,b"\nc\n', ["a,b", "c"] * 3),
    ],
)
def test_label_files(name: str, content: str, expected: list[Any], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    (tmp_path / name).write_text(content)
    assert open_source(tmp_path / "x.npy", labels=tmp_path / name).labels.tolist() == expected


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("y.txt", b"0\n1\n", "equal length, got 6 rows and 2 labels"),
        ("y.txt", b"a\n\nb\na\nb\na\n", "1 of 6 labels are missing, the first in row 1"),
        ("y.txt", b"\xff\xfe\x00", "not a readable text file"),
        ("y.csv", b"0,1\n", "one label per line, but line 1 has 2 columns"),
        ("y.json", b"[]", "labels are read from .npy, .txt or .csv files"),
        ("y.npy", b"", "not a readable .npy file"),
    ],
)
def test_bad_label_files(name: str, content: bytes, sentence: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData, match=sentence):
        open_source(tmp_path / "x.npy", labels=tmp_path / name)


def test_missing_label_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(InvalidData, match="give their labels with --labels"):
        open_source(tmp_path / "x.npy")
    with pytest.raises(InvalidData, match="there is no label file"):
        open_source(tmp_path / "x.npy", labels=tmp_path / "y.npy")


@pytest.mark.parametrize("make", [lambda x: x[::2], lambda x: x.T.copy().T, lambda x: np.repeat(x, 2, 1)[:, ::2]])
def test_strided_arrays(make: Any) -> None:
    features: Array = make(np.arange(24.0).reshape(12, 2))
    labels = np.arange(len(features)) % 2
    source = open_source((features, labels))
    assert source.features() is features
    assert source.data_hash() == open_source((np.ascontiguousarray(features), labels)).data_hash()


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (X, "there are no labels"),
        ({"labels": Y}, "a dict must have 'features'"),
        ({"features": X, "labels": Y, "weights": Y}, "got 'features', 'labels', 'weights'"),
        (([[1.0], [1.0, 2.0]], [0, 1]), "the rows differ in length"),
        ((X, [0, 1, None, 0, 1, 0]), "1 of 6 labels are missing"),
    ],
)
def test_bad_memory(source: Any, sentence: str) -> None:
    with pytest.raises(InvalidData, match=sentence):
        open_source(source)


def test_batches_have_rows() -> None:
    with pytest.raises(InvalidOption, match="at least 1 row, got 0"):
        next(open_source((X, Y)).batches(0))


def test_column_options_are_for_tables(tmp_path: Path) -> None:
    path = save(tmp_path, features=X, labels=Y)
    with pytest.raises(InvalidOption, match="--label-column is for tables"):
        open_source(path, label_column="label")
    with pytest.raises(InvalidOption, match="--id-column is for tables"):
        open_source((X, Y), id_column="id")
    with pytest.raises(InvalidOption, match="not both"):
        open_source(path, label_column="label", labels=Y)
