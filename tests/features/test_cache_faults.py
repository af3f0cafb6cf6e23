"""The cache against a model in memory, and what disks do: full, slow to write, with files that are gone."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenclean.features as features_package
from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.features import cache as cache_module
from eigenclean.features import embed_source
from eigenclean.features.cache import KEY, FeatureCache
from eigenclean.features.encoders.base import Encoder
from eigenclean.sources import open_source
from eigenclean.sources.images.lazy import content_key

ABOUT = {"name": "mine"}


class Lengths(Encoder):
    """The length of a text and how many spaces it has."""

    kind = "text"
    name = "lengths"
    batch = 2

    def __init__(self) -> None:
        self.n_encoded = 0

    def about(self) -> dict[str, Any]:
        return {}

    def prepare(self, content: str) -> str:
        return content

    def encode(self, prepared: Any) -> Array:
        self.n_encoded += len(prepared)
        return np.array([[len(text), text.count(" ")] for text in prepared], dtype=np.float32)


TEXTS = ["a b", "abc", "a", "one two three", "ab"]


def texts_source() -> Any:
    return open_source({"texts": TEXTS, "labels": [0, 1, 0, 1, 0]})


def keys_of(numbers: list[int]) -> Array:
    return np.array([content_key(str(number).encode()) for number in numbers], dtype=KEY)


def rows_of(numbers: list[int]) -> Array:
    return np.array([[number, -number, number / 3] for number in numbers], dtype=np.float32).reshape(-1, 3)


def check(cache: FeatureCache, visible: set[int]) -> None:
    """All visible rows are found with their numbers, and no others."""
    places = cache.find(keys_of(list(range(30))))
    assert set(np.flatnonzero(places >= 0).tolist()) == visible
    if visible:
        chosen = sorted(visible, reverse=True)
        np.testing.assert_array_equal(cache.take(places[chosen]), rows_of(chosen))


OPERATIONS = st.lists(
    st.one_of(
        st.lists(st.integers(0, 29), min_size=1, max_size=5).map(lambda numbers: ("add", numbers)),
        st.just(("flush", [])),
        st.just(("flush and refresh", [])),
        st.just(("another run", [])),
    ),
    max_size=10,
)


@settings(max_examples=40)
@given(operations=OPERATIONS)
def test_it_acts_like_a_dictionary_that_keeps_what_was_flushed(
    operations: list[tuple[str, list[int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    cache = FeatureCache(folder, "e", ABOUT)
    visible: set[int] = set()
    flushed: set[int] = set()
    added: set[int] = set()
    for operation, numbers in operations:
        if operation == "add":
            cache.add(keys_of(numbers), rows_of(numbers))
            added |= set(numbers)
        elif operation == "flush":
            cache.flush()
            flushed |= added
        elif operation == "flush and refresh":
            cache.flush()
            cache.refresh()
            flushed |= added
            visible = set(flushed)
        else:  # what was not flushed is lost
            cache = FeatureCache(folder, "e", ABOUT)
            added = set()
            visible = set(flushed)
        check(cache, visible)
    check(FeatureCache(folder, "e", ABOUT), flushed)


def test_rows_are_on_the_disk_before_their_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key on the disk promises a row: so the rows are synchronised before a single key is written."""
    synchronised: list[tuple[str, int]] = []
    fsync = os.fsync

    def recording(descriptor: int) -> None:
        fsync(descriptor)
        for path in (tmp_path / "e").iterdir():
            if path.suffix in (".keys", ".rows") and os.path.samestat(os.fstat(descriptor), path.stat()):
                keys = path.with_suffix(".keys")
                synchronised.append((path.suffix, keys.stat().st_size if keys.exists() else 0))

    cache = FeatureCache(tmp_path, "e", ABOUT)
    cache.add(keys_of([1, 2]), rows_of([1, 2]))
    monkeypatch.setattr(os, "fsync", recording)
    cache.flush()
    cache.add(keys_of([3]), rows_of([3]))
    cache.flush()
    assert synchronised == [(".rows", 0), (".keys", 32), (".rows", 32), (".keys", 48)]
    cache.flush()  # nothing new, nothing to wait for
    assert len(synchronised) == 4


@pytest.mark.parametrize("failing", [".rows", ".keys"])
def test_a_disk_that_is_full_at_the_flush_loses_the_new_rows_only(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = cache_module._append

    def full(path: Path, content: bytes) -> None:
        if path.suffix == failing:
            append(path, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        append(path, content)

    earlier = FeatureCache(tmp_path, "e", ABOUT)
    earlier.add(keys_of([1]), rows_of([1]))
    earlier.flush()
    cache = FeatureCache(tmp_path, "e", ABOUT)
    cache.add(keys_of([2, 3]), rows_of([2, 3]))
    monkeypatch.setattr(cache_module, "_append", full)
    with pytest.raises(InvalidOption, match=r"cannot write .*no space left on the disk of .*choose another"):
        cache.flush()
    again = FeatureCache(tmp_path, "e", ABOUT)
    check(again, {1} if failing == ".rows" else {1, 2})  # half of the keys: one is complete


def test_a_folder_that_vanishes_gets_a_sentence(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, "e", ABOUT)
    cache.add(keys_of([1]), rows_of([1]))
    for path in (tmp_path / "e").iterdir():
        path.unlink()
    (tmp_path / "e").rmdir()
    with pytest.raises(InvalidOption, match=r"cannot write .*No such file or directory"):
        cache.flush()


def test_keys_without_rows_and_rows_without_keys_are_passed_over(tmp_path: Path) -> None:
    for numbers in ([1, 2], [3], [4, 5]):
        cache = FeatureCache(tmp_path, "e", ABOUT)
        cache.add(keys_of(numbers), rows_of(numbers))
        cache.flush()
    by_size = {path.stat().st_size: path for path in (tmp_path / "e").glob("*.keys")}
    by_size[16].unlink()  # of number 3
    check(FeatureCache(tmp_path, "e", ABOUT), {1, 2, 4, 5})
    pairs = sorted((tmp_path / "e").glob("*.keys"))
    kept = {"1": {4, 5}, "4": {1, 2}}
    first = np.fromfile(pairs[0].with_suffix(".rows"), np.float32)[0]
    pairs[0].with_suffix(".rows").unlink()
    check(FeatureCache(tmp_path, "e", ABOUT), kept[f"{first:.0f}"])


def test_what_was_mapped_stays_readable_when_the_folder_is_deleted(tmp_path: Path) -> None:
    """The folder may be deleted at any time, also while a run uses it."""
    source = texts_source()
    embedded = embed_source(source, Lengths(), cache=tmp_path)
    for path in [*tmp_path.rglob("*.keys"), *tmp_path.rglob("*.rows")]:
        path.unlink()
    expected = Lengths().encode(TEXTS)
    np.testing.assert_array_equal(embedded.features(), expected)
    encoder = Lengths()
    np.testing.assert_array_equal(embed_source(source, encoder, cache=tmp_path).features(), expected)
    assert encoder.n_encoded == len(TEXTS)


@settings(max_examples=15)
@given(
    texts=st.lists(st.sampled_from(["a", "b b", "c c c", "dd"]), min_size=2, max_size=12), batch=st.integers(1, 5)
)
def test_repeated_contents_and_any_batch_give_every_row_its_features(
    texts: list[str], batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    source = open_source({"texts": texts, "labels": [number % 2 for number in range(len(texts))]})
    for _ in range(2):
        encoder = Lengths()
        encoder.batch = batch
        embedded = embed_source(source, encoder, cache=folder)
        np.testing.assert_array_equal(embedded.features(), Lengths().encode(texts))
    assert encoder.n_encoded == 0 and embedded.facts()["n_computed"] == 0


def test_old_names_of_embedding_still_work(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"features\.embedded_again is now .*recompute_features"):
        assert features_package.embedded_again is features_package.recompute_features
    old: dict[str, Any] = {"keep": False}
    with pytest.warns(DeprecationWarning, match="'keep' of embed_source is now 'use_cache'"):
        embedded = embed_source(texts_source(), Lengths(), cache=tmp_path / "c", **old)
    assert not (tmp_path / "c").exists()
    with pytest.warns(DeprecationWarning, match=r"EmbeddedSource\.bad is now EmbeddedSource\.skipped"):
        assert embedded.bad is embedded.skipped
    with pytest.raises(TypeError, match="both 'use_cache' and its old name 'keep'"):
        embed_source(texts_source(), Lengths(), use_cache=True, **old)
