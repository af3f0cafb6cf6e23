"""The map: principal components against a full decomposition, and which rows it shows."""

from collections.abc import Callable

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.report import summarize
from eigenclean.report.sections.map import MAX_POINTS, project
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]


@pytest.mark.parametrize("shape", [(200, 30), (40, 300), (50, 3)])
def test_axes_are_those_of_a_full_decomposition(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    block = rng.standard_normal(shape) @ np.diag(0.8 ** np.arange(shape[1])) + 0.3
    points, explained = project(block.astype(np.float32))
    unit = block / np.linalg.norm(block, axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    for axis in range(2):
        assert abs(np.corrcoef(points[:, axis], left[:, axis])[0, 1]) > 0.999
    assert explained == pytest.approx((values[:2] ** 2).sum() / (values**2).sum(), abs=1e-3)
    assert points.min() == 0
    assert points.max() == 1


@pytest.mark.parametrize("block", [np.zeros((4, 3)), np.ones((1, 5)), np.ones((5, 1)), np.zeros((3, 0))])
def test_features_without_any_spread_are_harmless(block: np.ndarray) -> None:
    points, explained = project(block.astype(np.float32))
    assert points.shape == (len(block), 2)
    assert np.isfinite(points).all()
    assert explained == 0


def test_a_large_data_set_is_sampled_but_keeps_its_worst_suspects(make: Make) -> None:
    verdict = make(n=20_000, rate=0.01)
    features = np.random.default_rng(0).standard_normal((20_000, 4))
    shown = summarize(verdict, features=features)["map"]
    assert shown["n_points"] == len(set(shown["ids"])) == MAX_POINTS
    assert {str(row) for row in verdict.suspects(500)} <= set(shown["ids"])
    assert shown == summarize(verdict, features=features)["map"]


def test_each_point_carries_the_facts_of_its_row(make: Make) -> None:
    verdict = make(n=50)
    shown = summarize(verdict, features=np.random.default_rng(0).standard_normal((50, 4)))["map"]
    assert shown["ids"] == [str(row) for row in range(50)]
    assert [shown["labels"][str(code)] for code in shown["given"]] == [str(label) for label in verdict.labels]
    assert [shown["labels"][str(code)] for code in shown["suggested"]] == [
        str(label) for label in verdict.suggested
    ]
    assert shown["flagged"] == verdict.flagged.tolist()


def test_images_may_serve_as_features(make: Make) -> None:
    images = np.random.default_rng(0).integers(0, 255, (20, 5, 5), dtype=np.uint8)
    assert summarize(make(n=20), features=images)["map"]["n_points"] == 20


@pytest.mark.parametrize(("dtype", "powers"), [(np.float64, (-1000, 1000)), (np.float32, (-120, 120))])
def test_points_do_not_depend_on_the_magnitude(make: Make, dtype: type, powers: tuple[int, int]) -> None:
    features: Array = np.random.default_rng(0).standard_normal((50, 4)).astype(dtype)
    features /= np.abs(features).max()
    verdict = make(50)
    expected = summarize(verdict, features=features)["map"]
    for power in powers:
        shown = summarize(verdict, features=np.ldexp(features, power))["map"]  # warnings are errors here
        np.testing.assert_allclose(shown["x"], expected["x"], atol=2e-4)
        np.testing.assert_allclose(shown["y"], expected["y"], atol=2e-4)
