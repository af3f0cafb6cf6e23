"""A small experiment whose means, differences, rankings and texts are calculated by hand."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.noise import NOISES
from eigenclean.train import RECIPES
from eigenclean_lab.reproduce import numbers
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.claims import Claim, claims, merged
from eigenclean_lab.reproduce.compare import Entry, Table, compare, gaps, over_seeds, values
from eigenclean_lab.reproduce.pages.formatting import NOTHING, differences, header, lines, number
from eigenclean_lab.reproduce.profile_experiment import in_profile
from eigenclean_lab.reproduce.profiles import SMALL
from eigenclean_lab.reproduce.suite import rounded, task_key, task_record
from eigenclean_lab.reproduce.values import Column, Experiment, Metric, Number, TableRow, Task, method_spec
from eigenclean_lab.store import Cell

ACCURACY, LAST = Metric("train.best", "accuracy", 100.0, 1), Metric("train.last", "last epoch", 100.0, 1)
OURS, THEIRS = method_spec("train", "fine"), method_spec("train", "standard")
S20, S50 = Column("S20", "cifar10", "symmetric:0.2"), Column("S50", "cifar10", "symmetric:0.5")
TOY = Experiment(
    "toy",
    "Two recipes in two settings",
    (TableRow("ours", (OURS,)), TableRow("theirs", (THEIRS,))),
    (S20, S50),
    (ACCURACY, LAST),
    {
        "train.best": {
            ("ours", "S20"): Number(90.0, 0.1),
            ("theirs", "S20"): Number(80.0),
            ("ours", "S50"): Number(70.0),
        }
    },
    rankings=(("ours", "theirs"),),
    main=2,
)


def cell(spec: Any, setting: Column, seed: int, status: Any = "measured", **figures: float) -> Cell:
    task = Task(spec, setting.data, setting.noise)
    return Cell(task_record(task, SMALL), seed, task_key(task, SMALL, seed), "code", status, "", figures)


def toy_table() -> Table:
    cells = [
        cell(OURS, S20, 0, best=0.91, last=0.80),
        cell(OURS, S20, 1, best=0.93, last=0.80),
        cell(THEIRS, S20, 0, best=0.85, last=0.81),
        cell(THEIRS, S20, 1, best=0.89, last=0.83),
        cell(OURS, S50, 0, best=0.60, last=0.50),
        cell(THEIRS, S50, 1, best=0.50, last=0.40),  # another seed than ours
    ]
    return compare(TOY, cells, SMALL)


def test_entries_are_means_in_the_unit_of_the_paper() -> None:
    entry = toy_table().entries["ours", "S20", "train.best"]
    assert entry.measured is not None and entry.measured.deviation is not None
    assert entry.measured.mean == pytest.approx(92.0)
    assert entry.measured.deviation == pytest.approx(math.sqrt(2))
    assert (entry.seeds, entry.paper) == (2, Number(90.0, 0.1))
    assert entry.difference is None  # other data, another network
    assert replace(entry, is_papers=True).difference == pytest.approx(2.0)


def test_differences_between_rows_are_paired_by_seed() -> None:
    table = toy_table()
    best = gaps(table, "ours", "theirs", ACCURACY)
    assert set(best) == {"S20"}  # in S50 no seed has both
    assert best["S20"].mean == pytest.approx(5.0)  # 6 and 4 points
    assert best["S20"].deviation == pytest.approx(math.sqrt(2))
    assert best["S20"].paper == pytest.approx(10.0)
    last = gaps(table, "ours", "theirs", LAST)["S20"]
    assert last.mean == pytest.approx(-2.0) and last.paper is None
    reverse = gaps(table, "theirs", "ours", ACCURACY)["S20"]
    assert reverse.mean == pytest.approx(-5.0) and reverse.paper == pytest.approx(-10.0)


def test_the_first_metric_decides_about_a_ranking_and_the_others_are_reported() -> None:
    (claim,) = claims(toy_table())
    assert claim.sentence == "ours is better than theirs (accuracy)" and claim.holds_in == (True,)
    assert (claim.by_other_metrics, claim.equal) == (("last epoch: 0 of 1",), 0)
    assert claim.detail == "with every seed: 1 of 1; last epoch: 0 of 1; the paper: 1 of 1"
    assert claim.passed and claim.verdict == "holds"


def test_equal_rows_are_no_success_and_are_counted() -> None:
    shares = {
        (OURS, S20): (0.7, 0.1),
        (THEIRS, S20): (0.1, 0.7),
        (OURS, S50): (0.5, 0.5),
        (THEIRS, S50): (0.4, 0.5),
    }
    cells = [
        cell(spec, setting, seed, best=best)
        for (spec, setting), by_seed in shares.items()
        for seed, best in enumerate(by_seed)
    ]
    (claim,) = claims(compare(TOY, cells, SMALL))  # in S20 the gaps are 60 and -60 points, whose mean is rounded
    assert (claim.holds_in, claim.equal, claim.verdict) == ((False, True), 1, "in 1 of 2 settings, equal in 1")
    (alone,) = claims(compare(TOY, cells[:4], SMALL))
    assert (alone.verdict, merged([claim, alone])[0].equal) == ("both are equal", 2)


def test_the_table_as_text() -> None:
    table = toy_table()
    assert header(table) == [
        ("", ""), ("accuracy", "paper"), ("", "measured"), ("last epoch", ""), ("", "seeds"),
    ]  # fmt: skip
    assert dict(lines(table)) == {
        "S20": [
            ["ours", "90.0 ± 0.1", "92.0 ± 1.4", "80.0 ± 0.0", "2"],
            ["theirs", "80.0", "87.0 ± 2.8", "82.0 ± 1.4", "2"],
        ],
        "S50": [
            ["ours", "70.0", "60.0", "50.0", "1"],
            ["theirs", NOTHING, "50.0", "40.0", "1"],
        ],
    }
    assert list(differences(table)) == [
        ("accuracy, difference", ["S20"], [["ours − theirs", "+5.0 ± 1.4 (+10.0)"]]),
        ("last epoch, difference", ["S20"], [["ours − theirs", "-2.0 ± 1.4"]]),
    ]


def test_cells_of_other_options_do_not_count() -> None:
    stale = cell(OURS, S20, 0, best=0.1)
    stale = Cell(stale.task, 0, "another key", "code", "measured", figures={"best": 0.1})
    table = compare(TOY, [stale, cell(OURS, S20, 1, best=0.9)], SMALL)
    assert table.value("ours", "S20", "train.best") == pytest.approx(90.0)
    assert table.value("theirs", "S20", "train.best") is None and table.value("nobody", "S20", "train.best") is None
    assert table.is_measured and not compare(TOY, [stale], SMALL).is_measured


def test_a_failed_seed_is_noted_beside_the_others() -> None:
    table = compare(TOY, [cell(OURS, S20, 0, best=0.9), cell(OURS, S20, 1, status="failed")], SMALL)
    entry = table.entries["ours", "S20", "train.best"]
    assert entry.seeds == 1 and entry.note == "failed: "
    assert table.notes == {"failed: ": ["ours in S20"]}
    assert next(lines(table))[1][0][0] == "ours *"


def test_a_row_is_compared_with_the_row_that_it_varies() -> None:
    varied = Experiment(
        "varied", "", (TOY.rows[0], TableRow("theirs", (THEIRS,), against="ours")), (S20,), (ACCURACY,)
    )
    table = compare(varied, [cell(OURS, S20, 0, best=0.9), cell(THEIRS, S20, 0, best=0.8)], SMALL)
    assert table.entries["theirs", "S20", "train.best"].difference == pytest.approx(-10.0)
    assert table.entries["ours", "S20", "train.best"].difference is None


def test_a_row_is_compared_over_the_seeds_that_both_rows_have() -> None:
    varied = Experiment(
        "varied", "", (TOY.rows[0], TableRow("theirs", (THEIRS,), against="ours")), (S20,), (ACCURACY,)
    )
    usual = [cell(OURS, S20, 0, best=0.9), cell(OURS, S20, 1, best=0.5)]  # seed 1 is harder
    table = compare(varied, [*usual, cell(THEIRS, S20, 0, best=0.8)], SMALL)
    assert table.value("ours", "S20", "train.best") == pytest.approx(70.0)
    assert table.entries["theirs", "S20", "train.best"].difference == pytest.approx(-10.0)
    without_a_pair = compare(varied, [usual[1], cell(THEIRS, S20, 0, best=0.8)], SMALL)
    assert without_a_pair.entries["theirs", "S20", "train.best"].difference is None


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8))
@settings(max_examples=50)
def test_over_seeds_is_mean_and_sample_deviation(by_seed: list[float]) -> None:
    result = over_seeds(by_seed)
    mean = sum(by_seed) / len(by_seed)
    assert result.mean == pytest.approx(mean, abs=1e-9)
    if len(by_seed) == 1:
        assert result.deviation is None
    else:
        squares = sum((value - mean) ** 2 for value in by_seed) / (len(by_seed) - 1)
        assert result.deviation == pytest.approx(math.sqrt(squares), abs=1e-9)


def test_values_skip_what_a_cell_does_not_have() -> None:
    cells = [cell(OURS, S20, 0, best=0.5), cell(OURS, S20, 1, last=0.5), cell(OURS, S20, 2, status="missing")]
    assert values(cells, ACCURACY) == {0: 50.0}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Entry(Number(1.0), Number(3.0)), 2.0),
        (Entry(Number(1.0), Number(3.0), change=0.5), 0.5),
        (Entry(Number(1.0), Number(3.0), change=0.0), 0.0),  # zero is a value
        (Entry(Number(1.0), Number(3.0), is_papers=False), None),
        (Entry(None, Number(3.0)), None),
        (Entry(Number(1.0), None), None),
    ],
)
def test_a_difference_needs_both_sides(entry: Entry, expected: float | None) -> None:
    assert entry.difference == expected


def test_a_number_has_the_digits_of_its_metric() -> None:
    assert number(None, ACCURACY) == NOTHING
    assert number(Number(0.12345, 0.5), Metric("judge.f", "F")) == "0.123 ± 0.500"


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ((True, True), "holds"),
        ((False, True), "in 1 of 2 settings"),
        ((False, False), "in none of 2 settings"),
        ((False,), "does not hold"),
    ],
)
def test_a_claim_says_where_it_holds(holds: tuple[bool, ...], verdict: str) -> None:
    claim = Claim("noise hurts", holds, "numbers")
    assert claim.verdict == verdict == claim.as_dict()["verdict"] and claim.as_dict()["passed"] == all(holds)


@given(st.floats(-1e6, 1e6))
@settings(max_examples=100)
def test_rounding_keeps_six_significant_digits(value: float) -> None:
    assert rounded(value) == pytest.approx(value, rel=5.1e-6)
    assert rounded(rounded(value)) == rounded(value)
    assert rounded({"a": [value, None, 3, "b"]}) == {"a": [rounded(value), None, 3, "b"]}


# The catalogue.


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_an_experiment_is_consistent(experiment: Experiment) -> None:
    rows, columns = ([item.name for item in items] for items in (experiment.rows, experiment.columns))
    assert len(set(rows)) == len(rows) and len(set(columns)) == len(columns)
    assert set(itertools.chain(*experiment.rankings)) <= set(rows)
    assert {row.against for row in experiment.rows} - {None} <= set(rows)
    assert 1 <= experiment.main <= len(experiment.metrics)
    kinds = {spec.kind for row in experiment.rows for spec in row.specs}
    assert {metric.kind for metric in experiment.metrics} <= kinds
    for spec in (spec for row in experiment.rows for spec in row.specs):
        if spec.kind == "train":
            assert spec.method in {*RECIPES, "probe"}
    for setting in experiment.columns:
        kind, _, rate = setting.noise.partition(":")
        if kind in NOISES and rate:
            assert 0 < float(rate) < 1
            assert f"{kind[0].upper()}{100 * float(rate):.0f}" in setting.name  # S50 is symmetric noise of rate 0.5


def test_the_paper_itself_prints_what_its_rankings_say() -> None:
    """FINE over every other selection, F-Co-teaching over FINE, in every setting of table 1."""
    experiment = EXPERIMENTS["table1"]
    printed = experiment.paper["train.best"]
    for better, other in experiment.rankings:
        for column in (setting.name for setting in experiment.columns):
            if (better, column) in printed and (other, column) in printed:
                assert printed[better, column].mean > printed[other, column].mean


def test_tables_are_read_by_place() -> None:
    table = numbers.read_table("a 1.0±0.5/2 –\nb 3/4±1 5/6", ["x", "y"], ["first", "second"], names={"b": "bee"})
    assert table == {
        "first": {("a", "x"): Number(1.0, 0.5), ("bee", "x"): Number(3.0), ("bee", "y"): Number(5.0)},
        "second": {("a", "x"): Number(2.0), ("bee", "x"): Number(4.0, 1.0), ("bee", "y"): Number(6.0)},
    }
    with pytest.raises(ValueError, match="zip"):
        numbers.read_table("a 1.0", ["x", "y"], ["first"])  # a number is missing


def test_deviations_in_the_paper_are_small_beside_their_means() -> None:
    """A slipped column would put an accuracy where a deviation belongs."""
    for experiment in EXPERIMENTS.values():
        for by_place in experiment.paper.values():
            for printed in by_place.values():
                assert printed.deviation is None or printed.deviation < printed.mean


def test_tasks_survive_the_way_through_a_cell() -> None:
    for experiment in EXPERIMENTS.values():
        for row, column in itertools.product(experiment.rows, experiment.columns):
            for spec in row.specs:
                task = Task(spec, column.data, column.noise)
                assert Task.from_dict(task_record(task, SMALL)) == task


def test_keys_of_all_tasks_are_different() -> None:
    tasks = {
        Task(spec, column.data, column.noise)
        for experiment in (in_profile(experiment, SMALL) for experiment in EXPERIMENTS.values())
        for row, column in itertools.product(experiment.rows, experiment.columns)
        for spec in row.specs
    }
    keys = {(task_key(task, SMALL, 0), task.noise) for task in tasks}
    assert len(keys) == len(tasks) > 50
    assert np.all([task_key(task, SMALL, 0) != task_key(task, SMALL, 1) for task in tasks])
