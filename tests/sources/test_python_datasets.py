"""Data sets as Python objects: of Hugging Face's library, and of pairs as PyTorch has them."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources import open_source

datasets: Any = pytest.importorskip("datasets")


def texts() -> Any:
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])}
    )
    return datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [0, 1, 1]}, features=features)


def png(size: tuple[int, int]) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (200, 10, 10)).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_dataset_of_hugging_face_has_names_of_classes() -> None:
    source = open_source(texts())
    assert source.labels.tolist() == ["no", "yes", "yes"]
    assert source.texts == ["a", "b", "c"]


def test_a_selection_of_rows_is_what_is_opened() -> None:
    assert open_source(texts().select([2, 0])).texts == ["c", "a"]
    assert open_source(texts().filter(lambda row: row["label"] == 1)).texts == ["b", "c"]


def test_of_several_splits_one_is_opened() -> None:
    splits = datasets.DatasetDict({"test": texts().select([0]), "train": texts()})
    assert len(open_source(splits)) == 3
    assert len(open_source(splits, split="test")) == 1
    with pytest.raises(InvalidOption, match="split"):
        open_source(splits, split="dev")
    with pytest.raises(InvalidOption, match="in one piece"):
        open_source(texts(), split="test")


def test_images_are_read_wherever_they_are(tmp_path: Path) -> None:
    (tmp_path / "one.png").write_bytes(png((4, 6)))
    rows = {"image": [str(tmp_path / "one.png")] * 2, "label": [0, 1]}
    data = datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image())
    source = open_source(data)
    assert source.images is not None
    assert np.asarray(source.images[0]).shape == (6, 4, 3)
    with_bytes = datasets.Dataset.from_dict({"image": [{"bytes": png((4, 6)), "path": None}] * 2, "label": [0, 1]})
    encoded = open_source(with_bytes.cast_column("image", datasets.Image())).images
    assert encoded is not None
    assert np.array_equal(source.images[0], encoded[1])


def test_a_streamed_dataset_is_refused() -> None:
    with pytest.raises(InvalidData, match="streaming"):
        open_source(texts().to_iterable_dataset())


class Items:
    """A map-style data set."""

    def __init__(self, items: list[Any], classes: list[str] | None = None) -> None:
        self._items = items
        if classes is not None:
            self.classes = classes

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, row: int) -> Any:
        return self._items[row]


def test_pairs_of_vectors_are_features() -> None:
    torch: Any = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.eye(3), torch.tensor([0, 1, 1]))
    source = open_source(data)
    assert source.features().tolist() == np.eye(3).tolist()
    assert source.labels.tolist() == [0, 1, 1]


def test_pairs_of_floating_point_images_become_bytes() -> None:
    torch: Any = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 1, 0]))
    images = open_source(data).images
    assert images is not None
    assert images.shape == (4, 8, 8, 3)
    assert images.dtype == "uint8"


def test_pictures_of_several_sizes_and_names_of_classes() -> None:
    items = [(Image.new("RGB", (4, 6)), 0), (Image.new("P", (8, 2)), 1)]
    source = open_source(Items(items, classes=["cat", "dog"]))
    assert source.labels.tolist() == ["cat", "dog"]
    assert source.images is not None
    assert len(source.images) == 2


def test_pairs_of_texts() -> None:
    assert open_source(Items([("a", 0), ("b", 1)])).texts == ["a", "b"]


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        ([{"x": 1}], "pair of an input and a label"),
        ([(np.ones(2), [1, 2])], "one number or text each"),
        ([(np.ones(2), 0), (np.ones(3), 1)], "equally many"),
        ([], "no items"),
    ],
)
def test_items_that_are_no_pairs_are_one_sentence(items: list[Any], sentence: str) -> None:
    with pytest.raises(InvalidData, match=sentence):
        open_source(Items(items))
