"""The points of the map: principal components against a full decomposition, which rows, and their bytes."""

import base64

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.sample_map import MAX_POINTS, choose_rows, encode, place_rows
from eigenclean.sample_map.projection import PrincipalAxes, to_unit_square


@pytest.mark.parametrize("shape", [(200, 30), (40, 300), (50, 3)])
def test_axes_are_those_of_a_full_decomposition(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    block = rng.standard_normal(shape) @ np.diag(0.8 ** np.arange(shape[1])) + 0.3
    axes = PrincipalAxes.fit(block)
    points = to_unit_square(axes.place(block))
    unit = block / np.linalg.norm(block, axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    for axis in range(2):
        assert abs(np.corrcoef(points[:, axis], left[:, axis])[0, 1]) > 0.999
    assert axes.explained == pytest.approx((values[:2] ** 2).sum() / (values**2).sum(), abs=1e-3)
    assert points.min() == 0
    assert points.max() == 1


@pytest.mark.parametrize("block", [np.zeros((4, 3)), np.ones((1, 5)), np.ones((5, 1)), np.zeros((3, 0))])
def test_features_without_any_spread_are_harmless(block: Array) -> None:
    points, explained = place_rows(lambda rows: block[rows], np.arange(len(block)), block.shape[1])
    assert points.shape == (len(block), 2)
    assert np.isfinite(points).all()
    assert explained == 0


def test_chunks_place_rows_as_a_whole_does() -> None:
    features = np.random.default_rng(0).standard_normal((3000, 5)).astype(np.float32)
    rows = np.random.default_rng(1).permutation(3000)
    sizes: list[int] = []

    def fetch(taken: Array) -> Array:
        sizes.append(len(taken))
        return features[taken]

    points, _ = place_rows(fetch, rows, 1 << 14)  # as if a row had so many numbers, for small chunks
    assert max(sizes) <= 2500 and len(sizes) > 10
    whole, _ = place_rows(lambda taken: features[taken], rows, 5)
    np.testing.assert_allclose(points, whole, atol=1e-5)


def test_the_leading_rows_come_first_and_no_row_twice() -> None:
    leading = np.array([7, 2, 9])
    rows, n_leading = choose_rows(10, leading)
    assert rows.tolist() == [7, 2, 9, 0, 1, 3, 4, 5, 6, 8] and n_leading == 3
    rows, n_leading = choose_rows(1000, np.arange(999, 0, -1), most=50)
    assert n_leading == 25 and rows[:25].tolist() == list(range(999, 974, -1))
    assert len(set(rows.tolist())) == 50
    rows, n_leading = choose_rows(60, np.arange(59, -1, -1), most=50)
    assert len(set(rows.tolist())) == 50 and n_leading == 25
    assert choose_rows(1000, leading, most=50)[0].tolist() == choose_rows(1000, leading, most=50)[0].tolist()


@pytest.mark.parametrize(("n_classes", "kind"), [(1, "u1"), (256, "u1"), (257, "<u2"), (70_000, "<u4")])
def test_the_page_gets_positions_and_classes_in_few_bytes(n_classes: int, kind: str) -> None:
    points, given = np.random.default_rng(0).random((500, 2)), np.linspace(0, n_classes - 1, 500).astype(int)
    sent = encode(points, given)
    read = {name: base64.b64decode(sent[name]) for name in ("x", "y", "given")}
    for axis, name in enumerate("xy"):
        np.testing.assert_allclose(np.frombuffer(read[name], "<u2") / 65_535, points[:, axis], atol=1e-5)
    np.testing.assert_array_equal(np.frombuffer(read["given"], kind), given)


def test_the_largest_map_has_the_size_that_the_pages_state() -> None:
    points, given = np.zeros((MAX_POINTS, 2)), np.zeros(MAX_POINTS, dtype=int)
    assert sum(len(value) for value in encode(points, given).values() if isinstance(value, str)) < 700_000
