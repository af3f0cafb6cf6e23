"""Checks of features, labels and ids: odd but fine input passes unchanged, bad input gets one clear sentence."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.arrays import (
    Array,
    ClassRows,
    check_class_sizes,
    check_features,
    check_ids,
    check_labels,
    check_two_classes,
    encode_labels,
    gather,
    locate_labels,
    preview,
    row_chunks,
    working_dtype,
)
from eigenclean.errors import EigencleanError, InvalidData, TooFewSamples

GOOD = np.arange(12.0).reshape(4, 3)


def sentence(error: pytest.ExceptionInfo[EigencleanError]) -> str:
    """The message, which must be one line."""
    text = str(error.value)
    assert "\n" not in text
    return text


class TestFeatures:
    @pytest.mark.parametrize(
        "features",
        [
            GOOD,
            GOOD.astype(np.float32),
            GOOD.astype(np.float16),
            GOOD.astype(np.int8),
            GOOD.astype(np.uint64),
            GOOD > 3,
            np.asfortranarray(GOOD),
            GOOD[::2],
            GOOD[:, ::2],
            GOOD.T,
        ],
        ids=lambda a: f"{a.dtype}{a.strides}",
    )
    def test_what_is_fine_is_not_copied(self, features: Array) -> None:
        assert check_features(features, by="X") is features

    def test_lists_and_memory_maps(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", GOOD)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        assert isinstance(check_features(mapped, by="X"), np.memmap)
        np.testing.assert_array_equal(check_features(GOOD.tolist(), by="X"), GOOD)

    @pytest.mark.parametrize(
        ("features", "words"),
        [
            (np.array([["a", "b"]]), "features must be numbers, got text"),
            (np.array([[b"a"]]), "features must be numbers, got text"),
            (np.array([[1, None]], dtype=object), "features must be numbers, got type object"),
            (np.array([[1j]]), "features must be real, got type complex128"),
            (np.arange(3.0), r"got shape \(3,\); one row per sample"),
            (np.zeros((2, 3, 4)), r"got shape \(2, 3, 4\); reshape it to \(n, -1\)"),
            (np.zeros((3, 0)), "at least one column"),
            ([[1.0, 2.0], [3.0]], "the rows differ in length"),
        ],
    )
    def test_bad_features(self, features: Any, words: str) -> None:
        with pytest.raises(InvalidData, match=words) as error:
            check_features(features, by="FINE")
        assert sentence(error).startswith("FINE: features ")

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_says_how_many_are_not_finite_and_where(self, dtype: Any, value: float) -> None:
        features = np.ones((50, 4), dtype=dtype)
        features[31, 2] = features[7, 1] = features[7, 3] = value
        with pytest.raises(InvalidData) as error:
            check_features(features, by="FINE")
        assert "3 of 200 values are NaN or infinite, the first in row 7;" in sentence(error)

    def test_counts_over_all_chunks(self) -> None:
        features = np.zeros((3_000, 1_000))  # 24 MB: more than one chunk
        features[[5, 2_900], 0] = np.nan
        with pytest.raises(InvalidData, match=r"2 of 3000000 values .* the first in row 5;"):
            check_features(features, by="FINE")

    def test_infinities_that_cancel_are_found(self) -> None:
        with pytest.raises(InvalidData, match="2 of 4"):
            check_features(np.array([[np.inf, 0.0], [-np.inf, 0.0]]), by="FINE")

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_a_sum_that_overflows_is_no_fault(self, dtype: Any) -> None:
        features = np.full((4, 4), np.finfo(dtype).max, dtype=dtype)
        assert check_features(features, by="FINE") is features


class TestLabels:
    @pytest.mark.parametrize(
        "labels",
        [
            np.array([3, -1, 3]),
            np.array([0, 255], dtype=np.uint8),
            np.array([True, False]),
            np.array(["cat", "dog"]),
        ],
        ids=lambda a: str(a.dtype),
    )
    def test_what_is_fine_is_not_copied(self, labels: Array) -> None:
        assert check_labels(labels, by="X") is labels

    @pytest.mark.parametrize(
        ("labels", "plain"),
        [
            ([1.0, 2.0], np.array([1, 2])),
            (np.array(["a", "bc"], dtype=object), np.array(["a", "bc"])),
            (np.array([np.str_("a"), "b"], dtype=object), np.array(["a", "b"])),
            (np.array([1, np.int64(-2), True], dtype=object), np.array([1, -2, 1])),
            (np.array([b"a", "ä".encode()]), np.array(["a", "ä"])),
            (np.array(["a", "bc"], dtype=np.dtypes.StringDType()), np.array(["a", "bc"])),
        ],
    )
    def test_other_ways_to_write_them(self, labels: Any, plain: Array) -> None:
        checked = check_labels(labels, by="X")
        np.testing.assert_array_equal(checked, plain)
        assert checked.dtype.kind == plain.dtype.kind

    @pytest.mark.parametrize(
        ("labels", "words"),
        [
            (["a", None, "b"], "1 of 3 labels are missing, the first in row 1"),
            (["a", "", ""], "2 of 3 labels are missing, the first in row 1"),
            ([1.0, 2.0, np.nan], "1 of 3 labels are missing, the first in row 2"),
            (np.array([1, float("nan")], dtype=object), "1 of 2 labels are missing, the first in row 1"),
            (np.array(["a", pd.NA], dtype=object), "1 of 2 labels are missing, the first in row 1"),
            (np.array([b"", b"a"]), "1 of 2 labels are missing, the first in row 0"),
            ([0.0, 0.5], "got the continuous value 0.5 in row 1"),
            ([0.0, np.inf], "got the continuous value inf in row 1"),
            (np.array([1, "a"], dtype=object), "got objects of type int, str"),
            (np.array([{}, []], dtype=object), "got objects of type dict, list"),
            (np.array([[1], [2]]), r"one value per row, got shape \(2, 1\)"),
            (np.array(["2020-01-01"], dtype="datetime64[D]"), "got type datetime64"),
            (np.array([1j]), "got type complex128"),
            (np.array([b"\xff"]), "UTF-8"),
            ([[1], [1, 2]], "the rows differ in length"),
        ],
    )
    def test_bad_labels(self, labels: Any, words: str) -> None:
        with pytest.raises(InvalidData, match=words) as error:
            check_labels(labels, by="FINE")
        assert sentence(error).startswith("FINE: ")

    def test_lengths_that_differ(self) -> None:
        with pytest.raises(InvalidData, match="got 3 rows and 2 labels"):
            check_labels([0, 1], by="FINE", n_rows=3)

    @given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-5, 5), min_size=1, max_size=30))
    @settings(max_examples=60)
    def test_encoding_equals_unique(self, values: list[int]) -> None:
        labels = np.array(values)
        classes, codes = encode_labels(labels)
        expected, inverse = np.unique(labels, return_inverse=True)
        np.testing.assert_array_equal(classes, expected)
        np.testing.assert_array_equal(codes, inverse)
        assert classes.dtype == labels.dtype
        assert codes.dtype == np.intp

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64, np.bool_, "U3", ">i4"])
    def test_encoding_keeps_the_type(self, dtype: Any) -> None:
        labels = np.array([1, 0, 1, 1]).astype(dtype)
        classes, codes = encode_labels(labels)
        assert classes.dtype == labels.dtype
        np.testing.assert_array_equal(classes[codes], labels)

    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
    def test_encoding_at_the_ends_of_the_type(self, dtype: Any) -> None:
        info = np.iinfo(dtype)
        for values in ([info.min, info.max], [info.max - 1, info.max], [info.min, info.min + 1]):
            labels = np.array(values * 3, dtype=dtype)
            classes, codes = encode_labels(labels)
            np.testing.assert_array_equal(classes, np.array(values, dtype=dtype))
            np.testing.assert_array_equal(classes[codes], labels)

    def test_encoding_nothing(self) -> None:
        classes, codes = encode_labels(np.array([], dtype=int))
        assert len(classes) == len(codes) == 0

    def test_locating(self) -> None:
        classes = np.array(["a", "c"])
        np.testing.assert_array_equal(locate_labels(np.array(["c", "a"]), classes, by="X"), [1, 0])
        for unknown in ("b", "d", "A"):
            with pytest.raises(InvalidData, match=f"label '{unknown}' in row 1 was not seen in fit; known are 'a'"):
                locate_labels(np.array(["a", unknown]), classes, by="X")
        with pytest.raises(InvalidData, match="fitted on labels of type <U1, got int64"):
            locate_labels(np.array([1, 2]), classes, by="X")

    def test_labels_that_are_ids(self) -> None:
        check_class_sizes(np.ones(20), by="X")  # so few may be anything
        check_class_sizes(np.append(np.ones(80), 20), by="X")
        with pytest.raises(TooFewSamples, match=r"X: 95 of 100 labels are the only one .* are the labels ids\?"):
            check_class_sizes(np.append(np.ones(95), 5), by="X")

    def test_two_classes_at_least(self) -> None:
        check_two_classes(np.array([0, 1]), by="X")
        with pytest.raises(TooFewSamples, match="got one class only, 'cat'"):
            check_two_classes(np.array(["cat"]), by="X")
        with pytest.raises(TooFewSamples, match="there are no samples"):
            check_two_classes(np.array([]), by="X")


class TestIds:
    def test_default_and_given(self) -> None:
        np.testing.assert_array_equal(check_ids(None, 3, by="X"), [0, 1, 2])
        np.testing.assert_array_equal(check_ids([30, 10, 20], 3, by="X"), [30, 10, 20])  # need not be sorted
        np.testing.assert_array_equal(check_ids(["b", "a"], 2, by="X"), ["b", "a"])
        np.testing.assert_array_equal(check_ids(np.array(["b", 1], dtype=object), 2, by="X"), ["b", "1"])

    @pytest.mark.parametrize(
        ("ids", "words"),
        [
            ([3, 5, 3], "ids must be unique, but 1 repeat, for example 3"),
            (["x", "x", "x"], "ids must be unique, but 2 repeat, for example 'x'"),
            ([1, 2], r"one value for each of the 3 rows, got shape \(2,\)"),
            ([[1], [2], [3]], r"one value for each of the 3 rows, got shape \(3, 1\)"),
            ([0.5, 1.5, 2.5], "ids must be integers or strings, got type float64"),
        ],
    )
    def test_bad_ids(self, ids: Any, words: str) -> None:
        with pytest.raises(InvalidData, match=words):
            check_ids(ids, 3, by="FINE")

    def test_ids_of_bytes_are_text(self) -> None:
        np.testing.assert_array_equal(check_ids(np.array([b"a", b"\xc3\xa9"]), 2, by="X"), ["a", "é"])
        with pytest.raises(InvalidData, match="ids of bytes must be UTF-8"):
            check_ids(np.array([b"a", b"\xff"]), 2, by="X")


@given(st.lists(st.text(st.characters(), max_size=4), min_size=1, max_size=6, unique=True))
@settings(max_examples=150)
def test_exactly_what_utf_8_can_hold_is_accepted_as_label_and_id(texts: list[str]) -> None:
    texts = [text.replace("\0", "") + str(number) for number, text in enumerate(texts)]
    array = np.array(texts)
    for checked in (array, array.astype(array.dtype.newbyteorder(">")), np.repeat(array, 2)[::2]):
        try:
            "".join(texts).encode("utf-8")
        except UnicodeEncodeError:
            with pytest.raises(InvalidData, match="labels must be valid Unicode text, but row"):
                check_labels(checked, by="X")
            with pytest.raises(InvalidData, match="ids must be valid Unicode text, but row"):
                check_ids(checked, len(texts), by="X")
        else:
            assert (
                check_labels(checked, by="X").tolist() == check_ids(checked, len(texts), by="X").tolist() == texts
            )


def test_numbers_beyond_the_last_code_point_are_no_text() -> None:
    damaged = np.array([65, 0x110000], dtype=np.uint32).view("U1")
    with pytest.raises(InvalidData, match="but row 1 has"):
        check_ids(damaged, 2, by="X")


class TestBlocks:
    @given(st.lists(st.integers(0, 6), max_size=40))
    @settings(max_examples=40)
    def test_class_rows(self, values: list[int]) -> None:
        codes = np.array(values, dtype=np.intp)
        rows = ClassRows.of(codes, 8)
        assert len(rows) == 8
        np.testing.assert_array_equal(rows.counts, np.bincount(codes, minlength=8))
        for k in range(8):
            np.testing.assert_array_equal(rows[k], np.flatnonzero(codes == k))

    def test_more_classes_than_a_short_integer_holds(self) -> None:
        codes = np.array([70_000, 3, 70_000, 66_000])
        rows = ClassRows.of(codes, 70_001)
        np.testing.assert_array_equal(rows[70_000], [0, 2])
        np.testing.assert_array_equal(rows[66_000], [3])

    @pytest.mark.parametrize("rows", [[], [2], [0, 1, 2, 3], [1, 2], [0, 2, 3]])
    @pytest.mark.parametrize("order", ["C", "F", "strided"])
    @pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
    def test_gather(self, rows: list[int], order: str, dtype: Any) -> None:
        table = np.arange(24).reshape(4, 6).astype(dtype)
        features = {"C": table, "F": np.asfortranarray(table), "strided": np.repeat(table, 2, axis=1)[:, ::2]}[
            order
        ]
        buffer = np.full((4, 6), -1.0)
        block = gather(features, np.array(rows, dtype=np.intp), np.dtype(np.float64), buffer)
        np.testing.assert_array_equal(block, table[rows])
        assert block.dtype == np.float64
        assert block.flags.c_contiguous

    def test_gather_views_what_is_a_block_already(self) -> None:
        features = np.zeros((5, 2))
        assert np.shares_memory(gather(features, np.array([1, 2]), features.dtype), features)
        assert not np.shares_memory(gather(features, np.array([1, 3]), features.dtype), features)

    @given(st.integers(0, 50), st.integers(0, 40), st.integers(1, 100))
    @settings(max_examples=40)
    def test_row_chunks_cover_everything_once(self, n: int, row_bytes: int, chunk_bytes: int) -> None:
        parts = list(row_chunks(n, row_bytes, chunk_bytes))
        assert [i for chunk in parts for i in range(n)[chunk]] == list(range(n))
        assert all((p.stop - p.start) * row_bytes <= max(chunk_bytes, row_bytes) for p in parts)

    def test_working_dtype(self) -> None:
        for given_, computed in [
            ("f2", "f4"),
            ("f4", "f4"),
            ("f8", "f8"),
            ("i8", "f8"),
            ("?", "f8"),
            (">f4", "f8"),
        ]:
            assert working_dtype(np.dtype(given_)) == np.dtype(computed)

    def test_preview(self) -> None:
        assert preview(np.array(["a", "b"])) == "'a', 'b'"
        assert re.fullmatch(r"0, 1, … \(9 in all\)", preview(np.arange(9), 2))


def test_labels_and_ids_get_the_byte_order_of_this_machine() -> None:
    swapped = np.arange(3).astype(np.dtype(np.int64).newbyteorder("S"))
    for array in (check_labels(swapped, by="x"), check_ids(swapped, 3, by="x")):
        assert array.dtype.isnative and array.tolist() == [0, 1, 2]
    text = np.array(["a", "b"]).astype(np.dtype("U1").newbyteorder("S"))
    assert check_labels(text, by="x").dtype.isnative
