"""Clothing1M, WebVision and ImageNet in the layouts that their lists describe, written small."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.paths import check_relative
from eigenclean.sampling import balanced_subset
from eigenclean.seeds import tagged_generator
from eigenclean.sources import open_source
from eigenclean.sources.layouts.registry import LAYOUTS, is_layout


def photograph(path: Path, brightness: int, size: tuple[int, int] = (12, 9)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (brightness, brightness, brightness)).save(path, quality=95)


def lines(path: Path, *rows: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows))


# Clothing1M: noisy images 0 … 5, checked ones 6 … 9.

KEYS = [f"images/{i % 10}/{i:02d}/{i}000,{i}.jpg" for i in range(10)]


def clothing1m(root: Path, lists: str = "", images: bool = True) -> Path:
    folder = root / lists
    lines(folder / "noisy_train_key_list.txt", *KEYS[:6])
    lines(folder / "clean_train_key_list.txt", *KEYS[6:8])
    lines(folder / "clean_val_key_list.txt", KEYS[8])
    lines(folder / "clean_test_key_list.txt", KEYS[9])
    lines(folder / "noisy_label_kv.txt", *(f"{key} {i % 14}" for i, key in enumerate(KEYS)))
    lines(folder / "clean_label_kv.txt", *(f"{KEYS[i]} {13 - i}" for i in range(5, 10)))
    for i, key in enumerate(KEYS):
        photograph(root / (key if images else key.removeprefix("images/")), 20 * i)
    return root


@pytest.mark.parametrize("lists", ["", "annotations"])
@pytest.mark.parametrize("images", [True, False])
def test_clothing1m(lists: str, images: bool, tmp_path: Path) -> None:
    root = clothing1m(tmp_path, lists, images)
    splits = {"train": range(6), "clean-train": (6, 7), "val": (8,), "test": (9,)}
    for split, rows in splits.items():
        source: Any = open_source(f"clothing1m:{root}?resize=8", split=split)
        assert source.ids.tolist() == [KEYS[i] for i in rows]
        assert source.labels.tolist() == [i if split == "train" else 13 - i for i in rows]
        assert source.images[:].shape == (len(rows), 8, 8, 3)
        np.testing.assert_allclose(source.images[:].mean(axis=(1, 2, 3)), [20 * i for i in rows], atol=2)
        assert source.splits == tuple(splits)
    assert open_source(f"clothing1m:{root}").images[0].shape == (256, 256, 3)  # type: ignore[index]


def test_clothing1m_without_suffixes(tmp_path: Path) -> None:
    root = clothing1m(tmp_path)
    for path in root.glob("*.txt"):
        path.rename(path.with_suffix(""))
    assert len(open_source(f"clothing1m:{root}")) == 6


def slow_subset(labels: list[int], size: int, seed: int) -> list[int]:
    """As the methods' own loaders do it, one image after the other."""
    rng = tagged_generator(seed, "balanced subset")
    taken: list[int] = []
    counts = Counter[int]()
    for row in rng.permutation(len(labels)).tolist():
        if counts[labels[row]] < size / 14 and len(taken) < size:
            counts[labels[row]] += 1
            taken.append(row)
    return [*rng.permutation(taken).tolist()]


@pytest.mark.parametrize("size", [1, 14, 15, 100, 280, 5000])
def test_the_balanced_subset_equals_a_slow_loop(size: int) -> None:
    labels = np.random.default_rng(1).choice(14, 2000, p=np.arange(1, 15) / 105)
    for seed in (0, 1):
        chosen = balanced_subset(labels, size, n_classes=14, seed=seed)
        assert chosen.tolist() == slow_subset(labels.tolist(), size, seed)
    assert len(chosen) <= size and len({*chosen.tolist()}) == len(chosen)
    assert max(Counter(labels[chosen].tolist()).values()) <= -(-size // 14)


def test_a_subset_of_clothing1m(tmp_path: Path) -> None:
    root = clothing1m(tmp_path)
    source = open_source(f"clothing1m:{root}?subset=3&seed=5")
    assert len(source) == 3
    assert source.ids.tolist() == open_source(f"clothing1m:{root}?subset=3&seed=5").ids.tolist()
    assert source.data_hash() != open_source(f"clothing1m:{root}").data_hash()
    with pytest.raises(InvalidOption, match="subset must be a number of rows from 1, got 0"):
        open_source(f"clothing1m:{root}?subset=0")
    with pytest.raises(InvalidOption, match="seed must be an integer from 0, got 'x'"):
        open_source(f"clothing1m:{root}?subset=3&seed=x")


@pytest.mark.parametrize(
    ("file", "rows", "message"),
    [
        (
            "noisy_train_key_list.txt",
            ["images/../../x.jpg"],
            "line 1: paths must stay inside the folder of the data",
        ),
        ("noisy_train_key_list.txt", [KEYS[0], "/etc/passwd"], "line 2: paths must stay inside"),
        ("noisy_train_key_list.txt", ["C:\\x.jpg"], "must stay inside"),
        ("noisy_train_key_list.txt", ["..\\x.jpg"], "must stay inside"),
        ("noisy_train_key_list.txt", [KEYS[0], "images/no.jpg"], "1 of 2 images have no label in noisy_label_kv"),
        ("noisy_train_key_list.txt", [], "has no rows"),
        ("noisy_train_key_list.txt", [KEYS[0], KEYS[0]], "ids must be unique"),
        ("noisy_label_kv.txt", [f"{KEYS[0]} 14"], "line 1: must be a name and a class from 0 to 13, got"),
        ("noisy_label_kv.txt", [KEYS[0]], "line 1: must be a name and a class"),
        ("noisy_label_kv.txt", [f"{KEYS[0]} ²"], "line 1: must be a name and a class"),
    ],
)
def test_bad_lists_get_a_sentence(file: str, rows: list[str], message: str, tmp_path: Path) -> None:
    lines(clothing1m(tmp_path) / file, *rows)
    with pytest.raises(InvalidData, match=message) as caught:
        open_source(f"clothing1m:{tmp_path}")
    assert "\n" not in str(caught.value)


def test_a_missing_list_gets_a_sentence(tmp_path: Path) -> None:
    (clothing1m(tmp_path) / "clean_val_key_list.txt").unlink()
    with pytest.raises(InvalidData, match=r"there is no file .*clean_val_key_list\.txt; check that the data set"):
        open_source(f"clothing1m:{tmp_path}", split="val")
    lines(tmp_path / "noisy_train_key_list.txt", KEYS[0])
    (tmp_path / KEYS[0]).unlink()
    source: Any = open_source(f"clothing1m:{tmp_path}")
    with pytest.raises(InvalidData, match=r"there is no image .*0000,0\.jpg; check that the data set is complete"):
        source.images[0]


# WebVision.


def webvision(root: Path) -> Path:
    train = [(f"google/q{i:04d}/image {i}.jpg", number) for i, number in enumerate((0, 49, 50, 999, 3))]
    val = [(f"val{i:06d}.jpg", number) for i, number in enumerate((2, 700, 49))]
    lines(root / "info" / "train_filelist_google.txt", *(f"{name} {number}" for name, number in train))
    lines(root / "info" / "train_filelist_flickr.txt", "flickr/q0001/1.jpg 0")
    lines(root / "info" / "val_filelist.txt", *(f"{name} {number}" for name, number in val))
    for i, (name, _) in enumerate(train):
        photograph(root / name, 30 * i)
    for i, (name, _) in enumerate(val):
        photograph(root / "val_images_256" / name, 40 * i)
    return root


def test_webvision(tmp_path: Path) -> None:
    root = webvision(tmp_path)
    source: Any = open_source(f"webvision:{root}?resize=6")
    assert source.labels.tolist() == [0, 49, 50, 999, 3]
    assert source.ids.tolist()[1] == "google/q0001/image 1.jpg"
    np.testing.assert_allclose(source.images[:].mean(axis=(1, 2, 3)), [0, 30, 60, 90, 120], atol=2)
    assert source.splits == ("train", "val", "imagenet")
    assert open_source(f"webvision:{root}").images[0].shape == (320, 320, 3)  # type: ignore[index]


@pytest.mark.parametrize("name", ["mini-webvision:{}", "webvision:{}?classes=50"])
def test_mini_webvision_is_the_first_50_classes(name: str, tmp_path: Path) -> None:
    root = webvision(tmp_path)
    train: Any = open_source(name.format(root))
    val: Any = open_source(name.format(root), split="val")
    assert train.labels.tolist() == [0, 49, 3] and val.labels.tolist() == [2, 49]
    assert train.images[2].mean() == pytest.approx(120, abs=2) and val.images[1].mean() == pytest.approx(80, abs=2)


def test_imagenet_in_numbered_folders(tmp_path: Path) -> None:
    root = webvision(tmp_path)
    for number in (0, 2, 10, 49, 60):
        photograph(root / "imagenet" / "val" / str(number) / f"ILSVRC2012_val_{number}.JPEG", number)
    source: Any = open_source(f"mini-webvision:{root}", split="imagenet")
    assert source.labels.tolist() == [0, 2, 10, 49]
    assert source.images[3].mean() == pytest.approx(49, abs=2)


def test_imagenet_with_a_list(tmp_path: Path) -> None:
    root = webvision(tmp_path)
    lines(root / "imagenet" / "imagenet_val.txt", "n01/a.JPEG 7", "n02/b.JPEG 51")
    photograph(root / "imagenet" / "val" / "n01" / "a.JPEG", 99)
    source: Any = open_source(f"mini-webvision:{root}", split="imagenet")
    assert source.labels.tolist() == [7] and source.images[0].mean() == pytest.approx(99, abs=2)


def test_mistakes_with_webvision_get_a_sentence(tmp_path: Path) -> None:
    root = webvision(tmp_path)
    with pytest.raises(InvalidData, match=r"there are no folders 0, 1, … in .*val, and no .*imagenet_val\.txt"):
        open_source(f"webvision:{root}?split=imagenet")
    with pytest.raises(InvalidOption, match="classes must be from 2 to 1000, got 1"):
        open_source(f"webvision:{root}?classes=1")
    lines(root / "info" / "val_filelist.txt", "a.jpg 900")
    with pytest.raises(InvalidData, match="the split val has no images of the first 50 classes"):
        open_source(f"mini-webvision:{root}?split=val")
    (root / "info" / "train_filelist_google.txt").unlink()
    with pytest.raises(InvalidData, match=r"there is no file .*train_filelist_google\.txt"):
        open_source(f"webvision:{root}")


# Names in general.


def test_labels_from_elsewhere_replace_those_of_a_layout(tmp_path: Path) -> None:
    root = clothing1m(tmp_path)
    source = open_source(f"clothing1m:{root}", labels=[1, 2] * 3)
    assert source.labels.tolist() == [1, 2] * 3 and source.ids.tolist() == KEYS[:6]
    assert "train" in source.splits


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_every_layout_says_what_is_missing(layout: str, tmp_path: Path) -> None:
    assert is_layout(f"{layout}:x")
    with pytest.raises(InvalidData, match=f"there is no folder .*gone; check the path after {layout}:"):
        open_source(f"{layout}:{tmp_path / 'gone'}")
    with pytest.raises(InvalidData) as caught:
        open_source(f"{layout}:{tmp_path}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("cifra10:/data", InvalidData, "there is no file or folder cifra10:/data; .*did you mean cifar10:PATH"),
        (
            "https://example.org/x.npz",
            InvalidData,
            "there is no file or folder https://example.org/x.npz; check the",
        ),
        ("cifar10:{}?splt=test", InvalidOption, "option must be one of split, got 'splt'; did you mean 'split'"),
        ("cifar10:{}?split", InvalidOption, r"options must look like \?split=test&resize=64, got \?split"),
        ("cifar10:{}?labels=x", InvalidOption, "option must be one of split, got 'labels'"),
        ("folder:{}?name=x", InvalidOption, "option must be one of grey, resize, split, got 'name'"),
    ],
)
def test_mistakes_in_names_get_a_sentence(name: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message):
        open_source(name.format(tmp_path))


def test_two_splits_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="names the split 'val', but 'test' is wanted"):
        open_source(f"cifar10:{tmp_path}?split=val", split="test")
    with pytest.raises(InvalidOption, match="is in one piece: leave out the split 'test'"):
        open_source((np.eye(2), [0, 1]), split="test")
    with pytest.raises(InvalidOption, match="--label-column is for tables"):
        open_source(f"cifar10:{tmp_path}", label_column="y")


@pytest.mark.parametrize(
    "name", ["a/b.jpg", "a b/c,d.jpg", "...x.jpg", "a/..b/c.jpg", "ab:c/d.jpg", "./a.jpg", "a//b.jpg"]
)
def test_harmless_names(name: str) -> None:
    assert check_relative(name, by="list") == name


@pytest.mark.parametrize(
    "name",
    [
        "/a.jpg",
        "../a.jpg",
        "a/../../b.jpg",
        "a/..",
        "..",
        ".",
        "",
        "C:/a.jpg",
        "\\a.jpg",
        "a\\..\\b.jpg",
        "a\0.jpg",
    ],
)
def test_names_that_lead_elsewhere(name: str) -> None:
    with pytest.raises(InvalidData, match="paths must stay inside the folder of the data"):
        check_relative(name, by="list")
