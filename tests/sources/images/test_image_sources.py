"""Images as sources: arrays, archives, and folders of class folders."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources import open_source
from eigenclean.sources.images.files import ImageFiles

RNG = np.random.default_rng(0)
PICTURES = RNG.integers(0, 256, (6, 8, 10, 3), dtype=np.uint8)
LABELS = ["cat", "cat", "cat", "dog", "dog", "dog"]


def write_folder(root: Path) -> Path:
    for row, (picture, label) in enumerate(zip(PICTURES, LABELS, strict=True)):
        (root / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(root / label / f"{row}.png")
    return root


def images(source: Any) -> Any:
    assert source.images is not None
    return source.images


# Arrays.


def npz(folder: Path) -> Any:
    np.savez(folder / "x.npz", images=PICTURES, labels=LABELS, ids=np.arange(6) + 10, texts=list("abcdef"))
    return folder / "x.npz"


def arrays(folder: Path) -> Any:
    return {"images": PICTURES, "labels": LABELS, "ids": np.arange(6) + 10, "texts": np.array(list("abcdef"))}


@pytest.mark.parametrize("make", [npz, arrays])
def test_arrays_of_images_without_features(make: Callable[[Path], Any], tmp_path: Path) -> None:
    source = open_source(make(tmp_path))
    np.testing.assert_array_equal(images(source), PICTURES)
    assert source.labels.tolist() == LABELS and source.ids.tolist() == [*range(10, 16)]
    assert source.texts == list("abcdef") and source.splits == ()
    assert len(source.data_hash()) == 32
    assert source.evidence().features is None


def test_stored_images_are_mapped(tmp_path: Path) -> None:
    assert isinstance(images(open_source(npz(tmp_path))), np.memmap)


def test_separate_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", images=PICTURES)
    assert open_source(tmp_path / "x.npz", labels=[0, 1] * 3).labels.tolist() == [0, 1] * 3
    assert open_source(write_folder(tmp_path / "f"), labels=[0, 1] * 3).labels.tolist() == [0, 1] * 3


def test_whoever_wants_features_is_told_where_to_get_them(tmp_path: Path) -> None:
    source = open_source(npz(tmp_path))
    for want in (source.features, lambda: next(source.batches())):
        with pytest.raises(InvalidData, match=r"x\.npz holds images, but no features: turn them into"):
            want()


def test_hash_sees_every_pixel_and_label() -> None:
    def hashed(pictures: Array, labels: Any = LABELS) -> str:
        return open_source({"images": pictures, "labels": labels}).data_hash()

    other = PICTURES.copy()
    other[-1, -1, -1, -1] ^= 1
    hashes = [hashed(PICTURES), hashed(other), hashed(PICTURES, LABELS[::-1]), hashed(PICTURES[:, :, :, 0])]
    assert len({*hashes}) == 4
    assert hashed(np.asfortranarray(PICTURES)) == hashes[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": PICTURES[:0], "labels": []}, "has no rows"),
        ({"images": PICTURES / 255, "labels": LABELS}, "images must be one height x width .* array of uint8"),
        ({"images": PICTURES.reshape(6, -1), "labels": LABELS}, "images must be one height x width"),
        ({"images": PICTURES, "labels": LABELS[:4]}, "equal length, got 6 rows and 4 labels"),
        ({"images": PICTURES}, "there are no labels"),
        ({"labels": LABELS}, "a dict must have 'features', 'images' or 'texts'"),
        ({"labels": LABELS, "images": None, "features": None}, "a dict must have 'features', 'images' or 'texts'"),
    ],
)
def test_bad_arrays(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        open_source(given)


# Folders.


def test_a_folder_of_class_folders(tmp_path: Path) -> None:
    source = open_source(write_folder(tmp_path))
    assert source.labels.tolist() == LABELS
    assert source.ids.tolist() == ["cat/0.png", "cat/1.png", "cat/2.png", "dog/3.png", "dog/4.png", "dog/5.png"]
    result = images(source)
    assert result.shape == PICTURES.shape and result.ndim == 4 and result.dtype == np.uint8 and len(result) == 6
    np.testing.assert_array_equal(np.asarray(result), PICTURES)
    np.testing.assert_array_equal(np.asarray(result, dtype=np.float32), PICTURES.astype(np.float32))
    np.testing.assert_array_equal(result[np.array([4, 0, 4])], PICTURES[[4, 0, 4]])
    np.testing.assert_array_equal(result[1:5:2], PICTURES[1:5:2])
    np.testing.assert_array_equal(result[np.array([False, True, False, False, False, True])], PICTURES[[1, 5]])
    np.testing.assert_array_equal(result[-1], PICTURES[-1])
    np.testing.assert_array_equal(result[np.int64(2)], PICTURES[2])
    assert result[:0].shape == (0, 8, 10, 3)
    with pytest.raises(IndexError):
        result[6]


def test_images_are_decoded_when_they_are_looked_at(tmp_path: Path) -> None:
    (write_folder(tmp_path) / "dog" / "4.png").write_bytes(b"no image at all")
    source = open_source(tmp_path)
    np.testing.assert_array_equal(images(source)[:4], PICTURES[:4])
    for look in (lambda: images(source)[4], lambda: images(source)[:], lambda: np.asarray(images(source))):
        with pytest.raises(
            InvalidData, match=r"dog/4\.png is not a readable image: no known format; leave it out"
        ) as caught:
            look()
        assert "\n" not in str(caught.value)


def test_a_truncated_image_and_one_that_is_gone_are_named(tmp_path: Path) -> None:
    path = write_folder(tmp_path) / "cat" / "1.png"
    source = open_source(tmp_path)
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(InvalidData, match=r"cat/1\.png is not a readable image"):
        images(source)[1]
    path.unlink()
    with pytest.raises(InvalidData, match=r"there is no image .*cat/1\.png"):
        images(source)[1]
    with pytest.raises(InvalidData, match=r"there is no image .*cat/1\.png"):
        source.data_hash()


def test_mixed_sizes_name_the_file_and_the_way_out(tmp_path: Path) -> None:
    Image.fromarray(PICTURES[0][:5]).save(write_folder(tmp_path) / "dog" / "4.png")
    source = open_source(tmp_path)
    with pytest.raises(
        InvalidData, match=r"one size, but .*cat/0\.png has 10 x 8 pixels and .*dog/4\.png has 10 x 5; .*resize"
    ):
        images(source)[:]
    assert images(open_source(f"folder:{tmp_path}?resize=6"))[:].shape == (6, 6, 6, 3)


@pytest.mark.parametrize("size", [(10, 8), (8, 10), (7, 7), (300, 20), (3, 3)])
def test_resize_scales_the_shorter_side_and_keeps_the_middle(size: tuple[int, int], tmp_path: Path) -> None:
    width, height = size
    picture = RNG.integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(picture).save(tmp_path / "x.png")
    result = ImageFiles(tmp_path, np.array(["x.png"]), resize=5)[0]
    wide, tall = (5, 5 * height // width) if width < height else (5 * width // height, 5)
    whole = np.asarray(Image.fromarray(picture).resize((wide, tall), Image.Resampling.BILINEAR))
    left, top = (wide - 5) // 2, (tall - 5) // 2
    np.testing.assert_array_equal(result, whole[top : top + 5, left : left + 5])


def test_grey_images(tmp_path: Path) -> None:
    result = images(open_source(f"folder:{write_folder(tmp_path)}?grey=true"))
    assert result.shape == (6, 8, 10) and result.ndim == 3
    np.testing.assert_array_equal(result[2], np.asarray(Image.fromarray(PICTURES[2]).convert("L")))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "LA", "I;16"])
def test_every_kind_of_image_becomes_rgb(mode: str, tmp_path: Path) -> None:
    picture = Image.fromarray(PICTURES[0])
    image = Image.fromarray(np.full((8, 10), 200, np.uint16)) if mode == "I;16" else picture.convert(mode)
    path = tmp_path / ("x.tif" if mode == "CMYK" else "x.png")
    image.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ImageFiles(tmp_path, np.array([path.name]))[0].shape == (8, 10, 3)


def test_a_palette_with_transparency(tmp_path: Path) -> None:
    image = Image.fromarray(PICTURES[0]).quantize(16)
    image.save(tmp_path / "x.png", transparency=bytes(range(16)))
    assert ImageFiles(tmp_path, np.array(["x.png"]))[0].shape == (8, 10, 3)


def test_other_files_hidden_ones_and_nested_folders(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "readme.txt").write_text("x")
    (tmp_path / "top.png").write_bytes(b"in no class")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "x.png").write_bytes(b"x")
    (tmp_path / "cat" / "notes.txt").write_text("x")
    (tmp_path / "cat" / "._1.png").write_bytes(b"x")
    (tmp_path / "dog" / "more" / "deep").mkdir(parents=True)
    Image.fromarray(PICTURES[0]).save(tmp_path / "dog" / "more" / "deep" / "9.PNG")
    source = open_source(tmp_path)
    assert source.ids.tolist()[-1] == "dog/more/deep/9.PNG" and len(source) == 7
    assert source.labels.tolist() == [*LABELS, "dog"]


def test_links_do_not_lead_out_of_a_class_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Image.fromarray(PICTURES[0]).save(tmp_path / "elsewhere" / "x.png")
    root = write_folder(tmp_path / "data")
    (root / "cat" / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert len(open_source(root)) == 6


def test_splits(tmp_path: Path) -> None:
    for folder in ("train", "valid", "test"):
        write_folder(tmp_path / folder)
    (tmp_path / "test" / "dog" / "5.png").unlink()
    source = open_source(tmp_path)
    assert sorted(source.splits) == ["test", "train", "val"]
    assert len(source) == 6 and len(open_source(tmp_path, split="val")) == 6
    assert len(open_source(tmp_path, split="test")) == len(open_source(f"folder:{tmp_path}?split=test")) == 5
    assert open_source(tmp_path, split="test").labels.tolist() == LABELS[:5]
    with pytest.raises(
        InvalidOption, match="split must be one of test, train, val, got 'tset'; did you mean 'test'"
    ):
        open_source(tmp_path, split="tset")


def test_classes_may_be_called_train_and_test(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "cat").rename(tmp_path / "train")
    (tmp_path / "dog").rename(tmp_path / "test")
    source = open_source(tmp_path)
    assert source.splits == () and sorted({*source.labels.tolist()}) == ["test", "train"]


def test_hash_of_a_folder_sees_names_sizes_and_options(tmp_path: Path) -> None:
    original = open_source(write_folder(tmp_path / "a")).data_hash()
    assert open_source(write_folder(tmp_path / "b")).data_hash() == original
    assert open_source(f"folder:{tmp_path / 'b'}?resize=4").data_hash() != original
    (tmp_path / "b" / "cat" / "1.png").write_bytes(b"other")
    assert open_source(tmp_path / "b").data_hash() != original


def test_mistakes_get_a_sentence(tmp_path: Path) -> None:
    write_folder(tmp_path / "data")
    with pytest.raises(InvalidOption, match="resize must be a number of pixels from 1, got 0"):
        open_source(f"folder:{tmp_path / 'data'}?resize=0")
    with pytest.raises(InvalidOption, match="resize must be a number of pixels from 1, got True"):
        open_source(f"folder:{tmp_path / 'data'}?resize=true")
    with pytest.raises(InvalidOption, match="grey must be true or false, got 'maybe'"):
        open_source(f"folder:{tmp_path / 'data'}?grey=maybe")
    with pytest.raises(InvalidOption, match="is in one piece: leave out the split 'test'"):
        open_source(tmp_path / "data", split="test")
    with pytest.raises(InvalidOption, match="--label-column is for tables"):
        open_source(tmp_path / "data", label_column="y")
    with pytest.raises(InvalidData, match="has no class folders of images"):
        open_source(f"folder:{tmp_path / 'data' / 'cat'}")
