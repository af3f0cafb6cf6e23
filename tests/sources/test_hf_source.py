"""Folders as ``datasets.Dataset.save_to_disk`` writes them: by the library itself, and by pyarrow for odd ones."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eigenclean.errors import InvalidData
from eigenclean.sources import open_source

FEATURES = {
    "embedding": {"feature": {"dtype": "float32", "_type": "Value"}, "_type": "Sequence"},
    "label": {"names": ["neg", "pos"], "_type": "ClassLabel"},
    "text": {"dtype": "string", "_type": "Value"},
}


def save(folder: Path, labels: list[int | None] | None = None, *, state: Any = None, info: Any = None) -> Path:
    folder.mkdir(exist_ok=True)
    codes = [0, 1, 1] if labels is None else labels
    table = pa.table(
        {
            "embedding": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float32())),
            "label": pa.array(codes, pa.int64()),
            "text": ["bad", "good", "fine"],
        }
    )
    with pa.ipc.new_stream(str(folder / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    described = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "1", "_split": "train"}
    (folder / "state.json").write_text(json.dumps(described if state is None else state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": FEATURES} if info is None else info))
    return folder


def test_names_texts_and_features(tmp_path: Path) -> None:
    source = open_source(save(tmp_path), text_column="text")
    assert source.labels.tolist() == ["neg", "pos", "pos"]
    assert source.texts == ["bad", "good", "fine"]
    assert source.features().tolist() == [[1, 2], [3, 4], [5, 6]]


def test_array2d(tmp_path: Path) -> None:
    storage = pa.list_(pa.list_(pa.float32()))
    # As ``datasets`` writes it: whether that library is imported, and so knows the type, must not matter.
    extension = {
        "ARROW:extension:name": "datasets.features.features.Array2DExtensionType",
        "ARROW:extension:metadata": json.dumps([[2, 2], "float32"]),
    }
    schema = pa.schema([pa.field("x", storage, metadata=extension), pa.field("label", pa.int64())])
    table = pa.table([pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], storage), pa.array([0, 1])], schema=schema)
    with pa.ipc.new_stream(str(tmp_path / "data-00000-of-00001.arrow"), schema) as writer:
        writer.write_table(table)
    assert open_source(tmp_path).features().tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_names_in_the_schema(tmp_path: Path) -> None:
    record = json.dumps({"info": {"features": FEATURES}})
    table = pa.table({"f": [1, 2], "label": [1, 0]}).replace_schema_metadata({"huggingface": record})
    assert open_source(table).labels.tolist() == ["pos", "neg"]
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "cache-123.arrow").write_bytes(b"left over")
    assert open_source(tmp_path).labels.tolist() == ["pos", "neg"]


def test_splits_have_to_be_chosen(tmp_path: Path) -> None:
    save(tmp_path / "train")
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    with pytest.raises(
        InvalidData, match=r"holds the splits train, test; choose one of them, for example .*/train$"
    ):
        open_source(tmp_path)
    assert len(open_source(tmp_path / "train")) == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"labels": [0, -1, 1]}, "1 of 3 labels are missing, the first in row 1"),
        ({"labels": [0, None, 1]}, "1 of 3 labels are missing, the first in row 1"),
        ({"labels": [0, 1, 2]}, "numbers of its 2 classes, got 2 in row 2"),
        ({"labels": [0, 1, -2]}, "numbers of its 2 classes, got -2 in row 2"),
        ({"state": {"_data_files": [{"filename": "gone.arrow"}]}}, "lacks the file gone.arrow"),
        ({"state": {"_data_files": []}}, "has no rows"),
        ({"state": {"_data_files": 3}}, "state.json is not a readable state"),
        ({"state": {}}, "state.json is not a readable state"),
        ({"state": []}, "state.json is not a readable JSON file"),
        ({"state": {"_data_files": [], "_indices_data_files": [{"filename": "i.arrow"}]}}, "flatten_indices"),
        ({"info": []}, "dataset_info.json is not a readable JSON file"),
    ],
)
def test_bad_folders(options: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match=sentence):
        open_source(save(tmp_path, **options))


def test_damaged_parts(tmp_path: Path) -> None:
    data = save(tmp_path) / "data-00000-of-00001.arrow"
    whole = data.read_bytes()
    for length in (0, 4, 100, len(whole) // 2, len(whole) - 8):
        data.write_bytes(whole[:length])
        with pytest.raises(InvalidData, match=r"data-00000-of-00001.arrow (is not a readable|ends without)"):
            open_source(tmp_path)
    data.write_bytes(whole)
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(InvalidData, match=r"state.json is not a readable JSON file"):
        open_source(tmp_path)


def test_shards_with_different_columns(tmp_path: Path) -> None:
    for number, column in enumerate(("f", "g")):
        table = pa.table({column: [1.0], "label": [number]})
        with pa.ipc.new_stream(str(tmp_path / f"{number}.arrow"), table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(InvalidData, match=r"1\.arrow must have the same columns as 0\.arrow"):
        open_source(tmp_path)


@pytest.fixture(scope="module")
def hugging_face() -> Any:
    """The library itself, which the development environment has; it warns of its own dependencies when imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("datasets")


def real_dataset(hugging_face: Any, n: int = 40) -> Any:
    rng = np.random.default_rng(0)
    content = {
        "embedding": rng.normal(size=(n, 3)).astype(np.float32).tolist(),
        "label": (np.arange(n) % 2).tolist(),
        "text": [f"text {i}" for i in range(n)],
    }
    features = hugging_face.Features(
        embedding=hugging_face.Sequence(hugging_face.Value("float32")),
        label=hugging_face.ClassLabel(names=["neg", "pos"]),
        text=hugging_face.Value("string"),
    )
    return hugging_face.Dataset.from_dict(content, features=features)


def test_a_folder_that_the_library_saved(hugging_face: Any, tmp_path: Path) -> None:
    dataset = real_dataset(hugging_face)
    dataset.save_to_disk(tmp_path / "saved", num_shards=3)
    source = open_source(tmp_path / "saved", text_column="text")
    assert source.labels.tolist() == ["neg", "pos"] * 20
    assert source.texts == dataset["text"][:]
    np.testing.assert_array_equal(source.features(), np.array(dataset["embedding"][:], np.float32))


def test_the_arrow_table_of_a_data_set_in_memory(hugging_face: Any) -> None:
    dataset = real_dataset(hugging_face)
    source = open_source(dataset.with_format("arrow")[:])
    assert source.labels.tolist() == ["neg", "pos"] * 20
    np.testing.assert_array_equal(source.features(), np.array(dataset["embedding"][:], np.float32))


def test_splits_and_selections_that_the_library_saved(hugging_face: Any, tmp_path: Path) -> None:
    dataset = real_dataset(hugging_face)
    hugging_face.DatasetDict(train=dataset, test=dataset.select(range(4))).save_to_disk(tmp_path / "splits")
    with pytest.raises(InvalidData, match="holds the splits train, test; choose one of them"):
        open_source(tmp_path / "splits")
    assert len(open_source(tmp_path / "splits" / "test").labels) == 4
    chosen = dataset.select([5, 1, 8])  # kept as indices until it is saved
    chosen.save_to_disk(tmp_path / "chosen")
    assert open_source(tmp_path / "chosen").labels.tolist() == ["pos", "pos", "neg"]
