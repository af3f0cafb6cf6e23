"""Parts of the benchmarks whose answers are calculated by hand or by a slow loop."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.noise import add_noise
from eigenclean_lab import data_folder as folders
from eigenclean_lab.bench.quality.baseline import neighbour_votes
from eigenclean_lab.bench.quality.measure import limited_false_flags
from eigenclean_lab.bench.quality.rows import summary_rows as quality_rows
from eigenclean_lab.bench.scale.estimate import Rates, estimate
from eigenclean_lab.bench.speed.ratios import Ratio, RatioTarget
from eigenclean_lab.bench.speed.synthetic import noisy_features, noisy_scores
from eigenclean_lab.bench.training.page import by_family
from eigenclean_lab.bench.training.page import summary_rows as training_rows
from eigenclean_lab.bench.training.targets import BEST_SINGLE, differences
from eigenclean_lab.store import Cell, MissingData, select_settings


def quality_cell(
    detector: str, seed: int, status: Any = "measured", note: str = "", **figures: float | None
) -> Cell:
    return Cell({"detector": detector, "setting": "digits/sym-20"}, seed, "key", "code", status, note, figures)


def training_cell(recipe: str, seed: int, last: float, setting: str = "fashion/sym-50") -> Cell:
    figures = {"last": last, "best": 0.9, "f": 0.8, "kept": 0.7, "noise_rate": 0.4, "seconds": 1.0}
    task = {"recipe": recipe, "setting": setting, "schedule": "preset"}
    return Cell(task, seed, "key", "code", "measured", figures=figures)


def test_means_of_quality_skip_figures_that_a_seed_does_not_have() -> None:
    cells = [
        quality_cell("fine", 0, f=0.5, auroc=None),
        quality_cell("fine", 1, f=0.7, auroc=0.9),
        quality_cell("fine", 2, status="failed", note="ValueError: no"),
        quality_cell("knn", 0, status="missing", note="needs data"),
    ]
    fine, knn = quality_rows(cells)
    assert (fine.detector, fine.seeds, fine.note) == ("fine", 2, "failed: ValueError: no")
    assert fine.figures["f"] == pytest.approx(0.6) and fine.figures["auroc"] == 0.9
    assert fine.figures["ece"] is None
    assert (knn.seeds, knn.note, knn.figures) == (0, "missing: needs data", {})


def test_deviations_of_trainings_are_those_of_a_sample() -> None:
    cells = [training_cell("fine", seed, last) for seed, last in enumerate((0.5, 0.6, 0.7))]
    (row,) = training_rows([*cells, training_cell("fine", 0, 0.9, "digits/sym-50")][:3])
    assert row.mean["last"] == pytest.approx(0.6) and row.deviation["last"] == pytest.approx(0.1)
    (single,) = training_rows(cells[:1])
    assert single.deviation == {} and single.seeds == 1


def test_differences_of_recipes_are_paired_by_seed() -> None:
    cells = [
        training_cell("fine", 0, 0.80),
        training_cell("fine", 1, 0.90),
        training_cell("standard", 0, 0.75),
        training_cell("standard", 1, 0.83),
        training_cell("standard", 2, 0.10),  # FINE has no such seed
    ]
    (difference,) = differences(cells)
    assert (difference.better, difference.than, difference.seeds) == ("fine", "standard", 2)
    assert difference.difference == pytest.approx(0.06)
    assert difference.deviation == pytest.approx(math.sqrt(2) * 0.01)
    assert difference.target == 0.04 and difference.passed is True


def test_the_best_other_recipe_has_one_network_and_all_seeds() -> None:
    cells = [
        training_cell("judge", 0, 0.80),
        training_cell("judge", 1, 0.80),
        training_cell("gce", 0, 0.70),
        training_cell("gce", 1, 0.70),
        training_cell("sce", 0, 0.99),  # better, but measured with one seed only
        training_cell("dividemix", 0, 0.95),  # better, but two networks
        training_cell("dividemix", 1, 0.95),
    ]
    (difference,) = differences(cells)
    assert difference.than == f"gce, the {BEST_SINGLE}" and difference.difference == pytest.approx(0.1)


def test_no_target_outside_fashion_mnist() -> None:
    cells = [training_cell(name, 0, last, "digits/sym-50") for name, last in (("fine", 0.1), ("standard", 0.9))]
    (difference,) = differences(cells)
    assert difference.target is None and difference.passed is None and difference.as_dict()["passed"] is None


def test_a_family_keeps_all_names_and_adds_none() -> None:
    names = ["elr+fine", "standard", "elr", "f-dividemix", "dividemix", "fine"]
    ordered = by_family(names)
    assert sorted(ordered) == sorted(names)
    for plain, with_fine in (("elr", "elr+fine"), ("dividemix", "f-dividemix"), ("standard", "fine")):
        assert ordered.index(with_fine) == ordered.index(plain) + 1


@given(st.integers(0, 1000), st.integers(3, 15), st.integers(1, 5))
@settings(max_examples=40)
def test_votes_of_neighbours_against_a_loop(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X, codes = rng.standard_normal((n, 3)), rng.integers(0, 3, n)
    votes = neighbour_votes(X, codes, 3, k=k)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: -float(unit[i] @ unit[j]))
        nearest = others[: min(k, n - 1)]
        expected = [sum(codes[j] == c for j in nearest) / len(nearest) for c in range(3)]
        assert votes[i].tolist() == pytest.approx(expected)


def test_a_vote_depends_on_angles_and_not_on_lengths() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((30, 4)), rng.integers(0, 3, 30)
    longer = X * rng.uniform(0.1, 10, 30)[:, None]
    assert np.array_equal(neighbour_votes(X, codes, 3), neighbour_votes(longer, codes, 3))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
@settings(max_examples=100)
def test_limited_false_flags_are_shares(samples: list[tuple[float, bool]]) -> None:
    p = np.array([p for p, _ in samples])
    clean = np.array([clean for _, clean in samples])
    figures = limited_false_flags(p, clean)
    if clean.all():
        assert figures["false_flags_at_10"] is None and figures["found_at_10"] is None
        return
    assert figures["found_at_10"] is not None and 0 <= figures["found_at_10"] <= 1
    if figures["false_flags_at_10"] is None:
        assert figures["found_at_10"] == 0.0  # no flag at all


def test_the_estimate_by_hand() -> None:
    """A run without overhead on one worker reads twice and multiplies; twice the workers take half the time."""
    rates = Rates(read_bytes=1e9, second_moments=1e12, discriminants=1e12)
    large = {"rounds": 1, "ratio": 1.0}
    cost = estimate(rates, large, rows=10**6, columns=100, classes=10, workers=1)
    reading = 2 * 10**6 * 100 * 4 / 1e9
    products = 10**6 * 100 * 100 / 1e12 + (1 + 7 / 5) * 10**6 * 100 * 10 / 1e12
    assert cost.hours == pytest.approx((reading + 2 * products) / 3600)
    assert cost.gigabytes == pytest.approx(0.4) and cost.table_gigabytes == pytest.approx(0.04)
    half = estimate(rates, large, rows=10**6, columns=100, classes=10, workers=2)
    assert half.hours == pytest.approx(cost.hours / 2) and half.worker_hours == pytest.approx(cost.worker_hours)
    slower = estimate(rates, {**large, "ratio": 3.0}, rows=10**6, columns=100, classes=10, workers=1)
    assert slower.hours == pytest.approx(3 * cost.hours)


@pytest.mark.parametrize(
    ("target", "times", "ratio", "passed"),
    [
        (RatioTarget("at most", 2.0), (3.0, 2.0), 1.5, True),
        (RatioTarget("at most", 1.4), (3.0, 2.0), 1.5, False),
        (RatioTarget("faster", 4.0), (2.0, 8.0), 4.0, True),
        (RatioTarget("faster", 4.1), (2.0, 8.0), 4.0, False),
        (None, (2.0, 8.0), 0.25, None),
    ],
)
def test_a_ratio_is_in_the_direction_of_its_target(
    target: RatioTarget | None, times: tuple[float, float], ratio: float, passed: bool | None
) -> None:
    measured = Ratio.timed("ours", "theirs", times, target)
    assert measured.ratio == pytest.approx(ratio) and measured.passed is passed
    assert (measured.seconds, measured.baseline_seconds) == times


def test_synthetic_features_are_non_negative_separable_and_a_fifth_noisy() -> None:
    X, y = noisy_features(3000, 16, classes=4, seed=1)
    again, labels = noisy_features(3000, 16, classes=4, seed=1)
    assert np.array_equal(X, again) and np.array_equal(y, labels)
    assert X.min() == 0.0 and set(np.unique(y)) == {0, 1, 2, 3}
    means = np.array([X[y == k].mean(axis=0) for k in range(4)])
    nearest = ((X[:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1)
    # Labels that were drawn anew are right by chance in a quarter of the cases.
    assert 0.4 < (nearest == y).mean() <= 0.9


def test_synthetic_scores_have_a_lower_group_in_each_class() -> None:
    scores, groups = noisy_scores(3, 400, seed=2)
    assert np.bincount(groups).tolist() == [400] * 3
    for k in range(3):
        ordered = np.sort(scores[groups == k])
        assert ordered[:60].mean() < ordered[120:].mean() - 0.15


def test_noise_of_the_settings_is_drawn_as_users_draw_it() -> None:
    truth = np.repeat(np.arange(5), 200)
    assert (add_noise(truth, "symmetric", 0.2, random_state=0) != truth).mean() == pytest.approx(0.16, abs=0.04)


# Folders and patterns.


def test_the_option_is_preferred_to_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.setenv(folders.VARIABLE, str(tmp_path / "missing"))
    assert folders.data_folder(tmp_path / "a") == tmp_path / "a"
    with pytest.raises(InvalidData, match=f"check {folders.VARIABLE}$"):
        folders.data_folder()
    with pytest.raises(InvalidData, match=r"check --data$"):
        folders.data_folder(tmp_path / "b")
    monkeypatch.setenv(folders.VARIABLE, "")
    assert folders.data_folder() is None


@pytest.mark.parametrize("folder", [None, Path("nowhere")])
def test_a_missing_file_is_missing_data(folder: Path | None) -> None:
    with pytest.raises(
        MissingData, match=r"^needs features.npz in the folder that --data or EIGENCLEAN_DATA names$"
    ):
        folders.data_file(folder, "features.npz")


def test_a_file_in_the_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "features.npz").touch()
    assert folders.data_file(tmp_path, "features.npz") == tmp_path / "features.npz"


@given(st.lists(st.sampled_from(["a/*", "*/x", "b/y", "*"]), min_size=1, max_size=3))
@settings(max_examples=30)
def test_patterns_choose_in_the_order_of_the_table_and_each_once(patterns: list[str]) -> None:
    table = {"a/x": 1, "a/y": 2, "b/x": 3, "b/y": 4}
    matching = {"a/*": {1, 2}, "*/x": {1, 3}, "b/y": {4}, "*": {1, 2, 3, 4}}
    chosen = select_settings(patterns, table, command="bench")
    assert chosen == sorted(set.union(*(matching[pattern] for pattern in patterns)))


def test_a_pattern_without_a_match_is_refused_beside_one_with() -> None:
    with pytest.raises(InvalidOption, match=r"^bench: no setting matches 'c/\*'; there are a/x$"):
        select_settings(["a/*", "c/*"], {"a/x": 1}, command="bench")
