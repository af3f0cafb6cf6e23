"""Features are found again by their contents, whatever happened to the run that computed them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features.cache import KEY, FeatureCache, cache_folder

ABOUT = {"name": "mine"}


def keys(*names: bytes) -> np.ndarray[tuple[int], np.dtype[np.bytes_]]:
    return np.array([name.ljust(16, b".") for name in names], dtype=KEY)


def rows(*numbers: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array([[number, 2 * number, 3 * number] for number in numbers], dtype=np.float32)


def filled(folder: Path) -> FeatureCache:
    cache = FeatureCache(folder, "e", ABOUT)
    cache.add(keys(b"a", b"b"), rows(1, 2))
    cache.add(keys(b"c"), rows(3))
    cache.flush()
    cache.refresh()
    return cache


def test_what_was_added_is_found_by_this_run_and_the_next(tmp_path: Path) -> None:
    for cache in (filled(tmp_path), FeatureCache(tmp_path, "e", ABOUT)):
        places = cache.find(keys(b"c", b"x", b"a"))
        assert (places >= 0).tolist() == [True, False, True]
        np.testing.assert_array_equal(cache.take(places[[0, 2]]), rows(3, 1))
        assert len(cache) == 3


def test_encoders_do_not_mix(tmp_path: Path) -> None:
    filled(tmp_path)
    assert FeatureCache(tmp_path, "other", ABOUT).find(keys(b"a")).tolist() == [-1]


def test_two_runs_at_once_both_count(tmp_path: Path) -> None:
    first, two = FeatureCache(tmp_path, "e", ABOUT), FeatureCache(tmp_path, "e", ABOUT)
    first.add(keys(b"a"), rows(1))
    two.add(keys(b"b"), rows(2))
    first.flush()
    two.flush()
    both = FeatureCache(tmp_path, "e", ABOUT)
    np.testing.assert_array_equal(both.take(both.find(keys(b"b", b"a"))), rows(2, 1))


def test_added_but_not_flushed_is_lost_and_harms_nobody(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    cache.add(keys(b"d"), rows(4))  # and then the lights go out
    again = FeatureCache(tmp_path, "e", ABOUT)
    assert again.find(keys(b"d", b"a")).tolist()[0] == -1 and len(again) == 3


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=40)
def test_files_cut_anywhere_give_right_rows_or_none(
    tmp_path_factory: pytest.TempPathFactory, a: int, b: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    filled(folder)
    for suffix, cut in ((".keys", a), (".rows", b)):
        path = next((folder / "e").glob(f"*{suffix}"))
        os.truncate(path, max(0, path.stat().st_size - cut))
    again = FeatureCache(folder, "e", ABOUT)
    places = again.find(keys(b"a", b"b", b"c"))
    assert len(again) == min((48 - min(a, 48)) // 16, (36 - min(b, 36)) // 12)
    known = np.flatnonzero(places >= 0)
    np.testing.assert_array_equal(again.take(places[known]) if len(known) else rows(), rows(*(known + 1)))


def test_the_rows_need_no_description(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "e" / "encoder.json").unlink()
    again = FeatureCache(tmp_path, "e", ABOUT)
    np.testing.assert_array_equal(again.take(again.find(keys(b"b"))), rows(2))


def test_files_of_others_are_passed_over(tmp_path: Path) -> None:
    filled(tmp_path)
    for name in ("notes.keys", f"{'0' * 32}.7xf4.keys", f"{'f' * 32}.3xf4.keys"):
        (tmp_path / "e" / name).write_bytes(b"x" * 64)
    again = FeatureCache(tmp_path, "e", ABOUT)
    assert len(again) == 3
    np.testing.assert_array_equal(again.take(again.find(keys(b"b"))), rows(2))


def test_the_description_says_what_it_is(tmp_path: Path) -> None:
    filled(tmp_path)
    record = json.loads((tmp_path / "e" / "encoder.json").read_text())
    assert record == {"name": "mine", "n_features": 3}


def test_half_precision_stays_half(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, "e", ABOUT)
    cache.add(keys(b"a"), rows(1).astype(np.float16))
    cache.flush()
    again = FeatureCache(tmp_path, "e", ABOUT)
    assert again.take(again.find(keys(b"a"))).dtype == np.float16


def test_mistakes_get_a_sentence(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    with pytest.raises(InvalidData, match="gave 2 features where it gave 3 before; delete"):
        cache.add(keys(b"d"), np.ones((1, 2), np.float32))
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidOption, match="cannot create the folder"):
        FeatureCache(tmp_path / "file", "e", ABOUT)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_gets_a_sentence(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, "e", ABOUT)
    cache.add(keys(b"a"), rows(1))
    rows_file = next((tmp_path / "e").glob("*.rows"))
    rows_file.unlink()
    rows_file.symlink_to("/dev/full")
    with pytest.raises(InvalidOption, match=r"cannot write .*no space left .*--cache or EIGENC"):
        cache.add(keys(b"b"), np.ones((100_000, 3), np.float32))


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENCLEAN_CACHE", str(tmp_path / "env"))
    assert cache_folder() == tmp_path / "env" and cache_folder(tmp_path / "given") == tmp_path / "given"
    monkeypatch.delenv("EIGENCLEAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "eigenclean" / "features"


@given(st.lists(st.sampled_from(["add", "flush", "refresh", "reopen"]), max_size=14))
@settings(max_examples=30)
def test_refresh_without_flush_pairs_every_key_with_its_row(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """Whatever is called in which order, what is found under a key is what was added under it."""
    folder = tmp_path_factory.mktemp("order")
    cache = FeatureCache(folder, "e", ABOUT)
    added: list[int] = []
    for step in steps:
        if step == "add":
            number = len(added) + 1
            cache.add(keys(b"%d" % number), rows(number))
            added.append(number)
        elif step == "reopen":
            cache.refresh()
            cache = FeatureCache(folder, "e", ABOUT)
        else:
            getattr(cache, step)()
        if step == "refresh":
            places = cache.find(keys(*(b"%d" % number for number in added)))
            assert (places >= 0).all() and (not added or np.array_equal(cache.take(places), rows(*added)))


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    FeatureCache(tmp_path, "k", {})
    left = tmp_path / "k" / ".encoder.json.999999999.abc.tmp"
    left.write_text("{")
    (tmp_path / "k" / ".mine.tmp").write_text("")
    FeatureCache(tmp_path, "k", {})
    assert not left.exists() and (tmp_path / "k" / ".mine.tmp").exists()
