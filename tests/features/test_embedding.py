"""The loop: every row gets its own features, what is known is not computed again, what is bad is named."""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.features import Encoder, embed_source, embedding
from eigenclean.progress import listening
from eigenclean.sources import open_source


class Colours(Encoder):
    """Mean red, green and blue; remembers how many it has encoded."""

    kind = "image"
    name = "colours"
    batch = 4

    def __init__(self, size: int = 8) -> None:
        self.size, self.encoded, self.prepared = size, 0, 0

    def about(self) -> dict[str, Any]:
        return {"size": self.size}

    def prepare(self, content: Any) -> Array:
        self.prepared += 1
        return np.asarray(content.resize((self.size, self.size)), dtype=np.float32)

    def encode(self, prepared: Sequence[Array]) -> Array:
        self.encoded += len(prepared)
        return np.asarray(np.stack(prepared).mean(axis=(1, 2)), dtype=np.float32)


class Letters(Encoder):
    """How often a, b and c occur."""

    kind = "text"
    name = "letters"
    batch = 3

    def __init__(self) -> None:
        self.encoded = 0

    def about(self) -> dict[str, Any]:
        return {}

    def prepare(self, content: str) -> str:
        return content

    def encode(self, prepared: Sequence[str]) -> Array:
        self.encoded += len(prepared)
        return np.array([[text.count(letter) for letter in "abc"] for text in prepared], dtype=np.float32)


def paint(root: Path, n: int = 10, seed: int = 0) -> Path:
    """A folder of class folders of small pictures, all different."""
    rng = np.random.default_rng(seed)
    for row in range(n):
        folder = root / ("cat" if row % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)).save(folder / f"{row:03d}.png")
    return root


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return paint(tmp_path / "photos")


@pytest.fixture
def colours() -> Colours:
    return Colours()


@pytest.fixture
def letters() -> Letters:
    return Letters()


def slow(source: Any, encoder: Colours) -> Any:
    """The same, one by one."""
    rows = [encoder.encode([encoder.prepare(Image.fromarray(image))])[0] for image in source.images]
    encoder.encoded = encoder.prepared = 0
    return np.stack(rows)


def test_every_row_gets_its_own_features(photos: Path, colours: Colours, tmp_path: Path) -> None:
    source = open_source(photos)
    expected = slow(source, colours)
    embedded = embed_source(source, colours, cache=tmp_path / "c")
    np.testing.assert_array_equal(embedded.features(), expected)
    np.testing.assert_array_equal(np.concatenate([batch.features for batch in embedded.batches(3)]), expected)
    assert embedded.ids.tolist() == source.ids.tolist() and embedded.labels.tolist() == source.labels.tolist()
    assert colours.encoded == 10 and embedded.facts()["n_computed"] == 10 and embedded.skipped == []
    assert embedded.data_hash() == open_source(photos).data_hash()


def test_a_second_run_opens_and_encodes_nothing(photos: Path, colours: Colours, tmp_path: Path) -> None:
    first = embed_source(open_source(photos), colours, cache=tmp_path / "c").features()
    other = Colours()
    again = embed_source(open_source(photos), other, cache=tmp_path / "c")
    assert (other.encoded, other.prepared, again.facts()["n_computed"]) == (0, 0, 0)
    np.testing.assert_array_equal(again.features(), first)


def test_contents_count_not_names_places_or_labels(photos: Path, colours: Colours, tmp_path: Path) -> None:
    embed_source(open_source(photos), colours, cache=tmp_path / "c")
    moved = tmp_path / "moved"
    shutil.copytree(photos / "cat", moved / "dog")
    shutil.copytree(photos / "dog", moved / "cat")
    Image.new("RGB", (5, 5), "red").save(moved / "cat" / "new.png")
    other = Colours()
    embedded = embed_source(open_source(moved), other, cache=tmp_path / "c")
    assert other.encoded == 1
    np.testing.assert_array_equal(embedded.features(), slow(natural(moved), other))


def natural(folder: Path) -> Any:
    names = open_source(folder).ids.tolist()
    return SimpleNamespace(images=[np.asarray(Image.open(folder / name).convert("RGB")) for name in names])


def test_another_preprocessing_is_another_key(photos: Path, colours: Colours, tmp_path: Path) -> None:
    embed_source(open_source(photos), colours, cache=tmp_path / "c")
    other = Colours(size=4)
    embed_source(open_source(photos), other, cache=tmp_path / "c")
    assert other.encoded == 10


def test_a_changed_file_is_embedded_again(photos: Path, colours: Colours, tmp_path: Path) -> None:
    embed_source(open_source(photos), colours, cache=tmp_path / "c")
    Image.new("RGB", (12, 9), "red").save(photos / "cat" / "003.png")
    other = Colours()
    embedded = embed_source(open_source(photos), other, cache=tmp_path / "c")
    assert other.encoded == 1
    np.testing.assert_array_equal(embedded.features()[embedded.ids == "cat/003.png"], [[255, 0, 0]])


def test_without_a_cache_nothing_is_kept(photos: Path, colours: Colours, tmp_path: Path) -> None:
    source = open_source(photos)
    expected = slow(source, colours)
    embedded = embed_source(source, colours, cache=tmp_path / "c", use_cache=False)
    assert not (tmp_path / "c").exists()
    np.testing.assert_array_equal(embedded.features(), expected)


def spoil(photos: Path) -> list[str]:
    (photos / "cat" / "001.png").write_bytes(b"")
    (photos / "cat" / "words.jpg").write_text("these are words")
    whole = (photos / "dog" / "004.png").read_bytes()
    (photos / "dog" / "004.png").write_bytes(whole[: len(whole) // 2])
    return ["cat/001.png", "cat/words.jpg", "dog/004.png"]


def test_bad_files_are_named_and_left_out_and_ids_stay_aligned(photos: Path, colours: Colours) -> None:
    expected = embed_source(open_source(photos), colours, use_cache=False)
    right = dict(zip(expected.ids.tolist(), expected.features().tolist(), strict=True))
    names = spoil(photos)
    embedded = embed_source(open_source(photos), colours, use_cache=False)
    assert [each["id"] for each in embedded.facts()["skipped"]] == names
    for each, reason in zip(embedded.facts()["skipped"], ("is empty", "no known format", "truncated"), strict=True):
        assert each["id"] in each["reason"] and reason in each["reason"]
    assert len(embedded) == 8 and not {*names} & {*embedded.ids.tolist()}
    for name, label, row in zip(
        embedded.ids.tolist(), embedded.labels.tolist(), embedded.features().tolist(), strict=True
    ):
        assert row == right[name] and name.startswith(label)
    images: Any = embedded.images
    for place, name in enumerate(embedded.ids.tolist()):
        np.testing.assert_array_equal(images[place], np.asarray(Image.open(photos / name)))
    assert len(images) == 8


def test_names_that_are_no_text_do_no_harm(photos: Path, colours: Colours) -> None:
    with open(os.fsencode(photos / "cat") + b"/caf\xe9.png", "wb") as file:
        file.write(b"words")
    (bad,) = embed_source(open_source(photos), colours, use_cache=False).skipped
    assert "caf" in bad.reason and bad.reason.encode("utf-8")


def test_a_file_that_vanishes_is_left_out_too(photos: Path, colours: Colours) -> None:
    source = open_source(photos)
    (photos / "dog" / "002.png").unlink()
    embedded = embed_source(source, colours, use_cache=False)
    assert len(embedded) == 9 and "there is no image" in embedded.skipped[0].reason
    assert len(embedded.data_hash()) == 32


def test_strict_stops_at_the_first(photos: Path, colours: Colours) -> None:
    spoil(photos)
    with pytest.raises(InvalidData, match=r"cat/001\.png is empty.*--strict stops at the first"):
        embed_source(open_source(photos), colours, use_cache=False, strict=True)


def test_nothing_but_bad_files_is_an_error(tmp_path: Path, colours: Colours) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.jpg").write_text("words")
    with pytest.raises(InvalidData, match=r"none of its 1 images can be read; the first: .*x\.jpg"):
        embed_source(open_source(tmp_path), colours, use_cache=False)


class Moody(Letters):
    def encode(self, prepared: Any) -> Any:
        features = super().encode(prepared)
        features[[text.startswith("bad") for text in prepared]] = np.nan
        return features


def test_features_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    source = open_source({"texts": ["aab", "bad", "cab", "abc"], "labels": [0, 1, 0, 1]})
    embedded = embed_source(source, Moody(), cache=tmp_path)
    assert (
        embedded.ids.tolist() == [0, 2, 3]
        and "row 1: the encoder letters gave numbers" in embedded.skipped[0].reason
    )
    assert embedded.facts()["n_computed"] == 3
    np.testing.assert_array_equal(embedded.features(), [[2, 1, 0], [1, 1, 1], [1, 1, 1]])
    with pytest.raises(InvalidData, match="not finite"):
        embed_source(source, Moody(), use_cache=False, strict=True)


def test_texts(letters: Letters, tmp_path: Path) -> None:
    texts = ["abc", " ", "cc", "", "abc", "caba", "\ud800a"]
    source = open_source({"texts": texts, "labels": [0, 1, 0, 1, 0, 1, 0], "ids": np.arange(7) + 10})
    embedded = embed_source(source, letters, cache=tmp_path)
    assert embedded.ids.tolist() == [10, 12, 14, 15, 16] and [each.row for each in embedded.skipped] == [1, 3]
    np.testing.assert_array_equal(embedded.features(), [[1, 1, 1], [0, 0, 2], [1, 1, 1], [2, 1, 1], [1, 0, 0]])
    assert embedded.texts == ["abc", "cc", "abc", "caba", "\ud800a"]
    other = Letters()
    embed_source(source, other, cache=tmp_path)
    assert other.encoded == 0


@pytest.mark.parametrize("shape", [(5, 8, 8), (5, 8, 8, 1), (5, 8, 8, 3), (5, 3, 8, 8), (5, 8, 8, 4)])
def test_arrays_of_images(shape: tuple[int, ...], colours: Colours) -> None:
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    embedded = embed_source(open_source({"images": images, "labels": [0, 1, 0, 1, 0]}), colours, use_cache=False)
    last = np.moveaxis(images, 1, 3) if shape[1] == 3 else images
    last = last[..., None] if last.ndim == 3 else last
    expected = np.broadcast_to(last[..., :3].mean(axis=(1, 2)), (5, 3))
    np.testing.assert_allclose(embedded.features(), expected, rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(embedded.images), images)


def test_a_source_without_such_contents_says_so(colours: Colours, letters: Letters) -> None:
    texts = open_source({"texts": ["a", "b"], "labels": [0, 1]})
    with pytest.raises(InvalidData, match="there are no images to embed, it has texts"):
        embed_source(texts, colours, use_cache=False)
    with pytest.raises(InvalidData, match="there are no texts to embed, it has neither images nor texts"):
        embed_source(open_source((np.eye(2), [0, 1])), letters, use_cache=False)


class Waiting(Colours):
    """Notes how far the readers got while it encodes."""

    def __init__(self) -> None:
        super().__init__()
        self.prefetched: list[int] = []

    def encode(self, prepared: Any) -> Any:
        time.sleep(0.05)
        self.prefetched.append(self.prepared - self.encoded)
        return super().encode(prepared)


def test_readers_work_ahead_but_not_endlessly(tmp_path: Path) -> None:
    encoder = Waiting()
    embed_source(open_source(paint(tmp_path / "many", 80)), encoder, use_cache=False)
    assert max(encoder.prefetched) > 2 * encoder.batch  # others were read and decoded while one was encoded
    assert max(encoder.prefetched) <= (embedding._THREADS + 3) * encoder.batch


class Broken(Colours):
    def encode(self, prepared: Any) -> Any:
        if self.encoded >= 4:
            raise KeyboardInterrupt
        return super().encode(prepared)


def test_what_was_done_before_an_interrupt_is_kept(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed_source(open_source(photos), Broken(), cache=tmp_path / "c")
    other = Colours()
    embed_source(open_source(photos), other, cache=tmp_path / "c")
    assert other.encoded == 6


class Ear:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def begin(self, what: str, total: float) -> int:
        raise AssertionError("the unit is known")

    def begin_counting(self, what: str, total: float, unit: str) -> int:
        self.heard.append((what, total, unit))
        return 1

    def advance(self, handle: int, amount: float) -> None:
        self.heard.append(amount)

    def end(self, handle: int) -> None:
        self.heard.append("end")


def test_progress_counts_images(photos: Path, colours: Colours) -> None:
    ear = Ear()
    with listening(ear):
        embed_source(open_source(photos), colours, use_cache=False)
    assert ear.heard == [("embedding images", 10, "images"), 4, 4, 2, "end"]


def test_equal_keys_only_for_equal_encoders() -> None:
    class Renamed(Colours):
        name = "other"

    encoders: list[Encoder] = [Colours(), Colours(9), Renamed(), Letters()]
    assert len({encoder.key() for encoder in encoders}) == 4 and Colours().key() == encoders[0].key()
