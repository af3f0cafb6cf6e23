"""Selections: expansion of a subset to the whole data set, and labels that people have confirmed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.arrays import Array, Bools, Ints
from eigenclean.errors import InvalidData
from eigenclean.train import Selection


@st.composite
def selections(draw: st.DrawFn, target: str = "any") -> Selection:
    n, k = draw(st.integers(1, 20)), 3
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["none", "hard", "soft"])) if target == "any" else target
    targets: dict[str, Array | None] = {
        "none": None,
        "hard": rng.integers(0, k, n),
        "soft": rng.dirichlet(np.ones(k), n),
    }
    keep = rng.random(n) < 0.6
    rest = ~keep & (rng.random(n) < 0.5) if draw(st.booleans()) else None
    return Selection(keep, rng.random(n), targets[kind], rest=rest)


def masks(selection: Selection, seed: int) -> tuple[Bools, Ints]:
    rng = np.random.default_rng(seed)
    return rng.random(len(selection)) < 0.4, rng.integers(0, 3, len(selection))


def assert_equal(left: Selection, right: Selection) -> None:
    for name in ("keep", "weight", "target", "rest"):
        a, b = getattr(left, name), getattr(right, name)
        assert (a is None) == (b is None), name
        assert a is None or (np.array_equal(a, b) and a.dtype == b.dtype), name


@settings(max_examples=60)
@given(selection=selections(), extra=st.integers(0, 10), seed=st.integers(0, 99))
def test_an_expanded_selection_is_the_old_one_on_its_rows_and_unused_elsewhere(
    selection: Selection, extra: int, seed: int
) -> None:
    n = len(selection) + extra
    rows = np.random.default_rng(seed).permutation(n)[: len(selection)]
    whole = selection.expanded(rows, n)
    assert whole.rest is not None and len(whole) == n
    assert np.array_equal(whole.keep[rows], selection.keep)
    assert np.array_equal(whole.rest[rows], ~selection.keep)
    assert np.array_equal(whole.weight[rows], selection.weight)
    if selection.target is not None:
        assert whole.target is not None and np.array_equal(whole.target[rows], selection.target)
    elsewhere = np.setdiff1d(np.arange(n), rows)
    assert not whole.keep[elsewhere].any() and not whole.rest[elsewhere].any()
    assert whole.keep.sum() == selection.keep.sum()


@settings(max_examples=80)
@given(selection=selections(), seed=st.integers(0, 99))
def test_confirmed_labels_are_kept_with_full_weight_and_others_stay(selection: Selection, seed: int) -> None:
    trusted, codes = masks(selection, seed)
    result = selection.with_trusted(trusted, codes)
    assert result.keep[trusted].all() and (result.weight[trusted] == 1).all()
    for name in ("keep", "weight", "target", "rest"):
        before, after = getattr(selection, name), getattr(result, name)
        assert (before is None) == (after is None)
        if before is not None:
            assert np.array_equal(after[~trusted], before[~trusted]) and after.dtype == before.dtype
    if result.target is not None:
        hard = result.target if result.target.ndim == 1 else result.target.argmax(axis=1)
        assert np.array_equal(hard[trusted], codes[trusted])
        if result.target.ndim == 2:
            np.testing.assert_allclose(result.target.sum(axis=1), 1)
    if result.rest is not None:
        assert not (result.rest & result.keep).any()


@settings(max_examples=60)
@given(selection=selections(), seed=st.integers(0, 99))
def test_confirming_twice_is_confirming_once_and_confirming_none_changes_nothing(
    selection: Selection, seed: int
) -> None:
    trusted, codes = masks(selection, seed)
    once = selection.with_trusted(trusted, codes)
    assert_equal(once.with_trusted(trusted, codes), once)
    assert_equal(selection.with_trusted(np.zeros(len(selection), dtype=bool), codes), selection)


@settings(max_examples=60)
@given(selection=selections(), seed=st.integers(0, 99))
def test_confirming_before_or_after_the_expansion_is_the_same_inside_the_subset(
    selection: Selection, seed: int
) -> None:
    trusted, codes = masks(selection, seed)
    rows, n = np.arange(len(selection)) * 2, 2 * len(selection)
    trusted_whole, codes_whole = np.zeros(n, dtype=bool), np.zeros(n, dtype=codes.dtype)
    trusted_whole[rows], codes_whole[rows] = trusted, codes
    before = selection.with_trusted(trusted, codes).expanded(rows, n)
    after = selection.expanded(rows, n).with_trusted(trusted_whole, codes_whole)
    assert_equal(before, after)


@settings(max_examples=30)
@given(selection=selections())
def test_rows_and_fraction_agree_with_the_mask(selection: Selection) -> None:
    assert selection.rows.tolist() == [row for row, kept in enumerate(selection.keep) if kept]
    assert selection.fraction == pytest.approx(len(selection.rows) / len(selection))


def test_nothing_at_all() -> None:
    nothing = Selection.all_samples(0)
    assert nothing.fraction == 0.0 and len(nothing) == 0 and nothing.rows.tolist() == []


@pytest.mark.parametrize("name", ["weight", "target", "rest"])
def test_every_array_has_one_row_per_sample(name: str) -> None:
    values: dict[str, Any] = {"weight": np.ones(3), name: np.ones(2)}
    with pytest.raises(InvalidData, match=f"{name} must have one row per sample, got 2 for 3"):
        Selection(np.ones(3, dtype=bool), **values)
