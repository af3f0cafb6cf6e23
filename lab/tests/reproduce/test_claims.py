"""Claims about the paper's tables: each can fail."""

from typing import Any

import pytest

from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.claims import claims
from eigenclean_lab.reproduce.compare import Table, compare, gaps
from eigenclean_lab.reproduce.profile_experiment import in_profile
from eigenclean_lab.reproduce.profiles import SMALL
from eigenclean_lab.reproduce.values import Task
from lab.tests.reproduce.made_up_cells import RISING, cell, cells_with, shifts


def passed(table: Table) -> list[bool]:
    return [claim.passed for claim in claims(table)]


def test_perturbation() -> None:
    assert passed(shifts(RISING, 0.5)) == [True, True]
    assert passed(shifts(RISING, 0.25)) == [False, True]
    assert passed(shifts({**RISING, "C10 S80": 0.1}, 0.5)) == [True, False]


def test_fractions() -> None:
    experiment = EXPERIMENTS["fig3d"]

    def figures(large: float) -> Any:
        return lambda row, column, seed: {"one_percent": 0.9, "one_percent_large": large, "one_percent_worst": 0.9}

    assert passed(compare(experiment, cells_with(experiment, figures(0.98)), SMALL)) == [True, True]
    assert passed(compare(experiment, cells_with(experiment, figures(0.96)), SMALL)) == [False, False]
    small = cells_with(experiment, lambda row, column, seed: {"one_percent": 0.9})
    assert passed(compare(experiment, small, SMALL)) == []  # nothing is promised for small classes


@pytest.mark.parametrize(("fine", "expected"), [(0.9, True), (0.75, False), (0.5, False)])
def test_detectors(fine: float, expected: bool) -> None:
    experiment = EXPERIMENTS["fig5"]
    values = {
        "fine": fine,
        "fine, one or two": 0.85,
        "mcd": 0.7,
        "mcd, mixture": 0.6,
        "small-loss": 0.8,
        "judge": 0.95,
        "judge, in sample": 0.95,
    }
    table = compare(experiment, cells_with(experiment, lambda row, column, seed: {"f": values[row]}), SMALL)
    over_mcd, over_losses = claims(table)
    assert (over_mcd.passed, over_losses.passed) == (fine > 0.7, expected)
    assert (over_mcd.in_paper, over_losses.in_paper) == ("in a figure", "")  # the paper compares it with MCD only


def test_mean_vector_and_threshold() -> None:
    five, seven = EXPERIMENTS["table5"], EXPERIMENTS["table7"]
    for gap, expected in ((0.1, True), (-0.1, False)):
        cells = cells_with(
            five, lambda row, column, seed, gap=gap: {"f": 0.5 + gap * (row == "eigen"), "best": 0.5}
        )
        assert passed(compare(five, cells, SMALL))[:3] == [expected] * 3
    for span, expected in ((0.04, True), (0.06, False)):
        cells = cells_with(
            seven, lambda row, column, seed, span=span: {"f": 0.5 + span * (row == "0.60"), "best": 0.5}
        )
        assert passed(compare(seven, cells, SMALL)) == [expected]


@pytest.mark.parametrize(
    ("fine", "loss", "expected"),
    [(0.1, -0.1, [True, True]), (-0.1, -0.2, [False, True]), (0.1, 0.1, [False, False])],
)
def test_eigenvectors_withstand_errors_that_losses_learn(fine: float, loss: float, expected: list[bool]) -> None:
    experiment, change = in_profile(EXPERIMENTS["rounds"], SMALL), {"fine": fine, "small-loss": loss}
    cells = cells_with(experiment, lambda row, column, seed: {"epoch_1": 0.5, "last": 0.5 + change.get(row, 0.4)})
    assert passed(compare(experiment, cells, SMALL)) == expected * len(experiment.columns)
    without_losses = [each for each in cells if each.task["method"] != "small-loss"]
    assert passed(compare(experiment, without_losses, SMALL)) == []


def test_theorems() -> None:
    for broken, expected in ((0, True), (2, False)):
        experiment = EXPERIMENTS["theorem2"]
        names = ("precision_printed", "precision_corrected", "recall_printed", "recall_corrected")
        figures = {f"{name}_violated": broken for name in names}
        task = Task(experiment.rows[0].specs[0], "none", "none")
        assert passed(compare(experiment, [cell(task, 0, **figures)], SMALL)) == [expected]


def test_an_order_is_counted_setting_by_setting_and_paired_by_seed() -> None:
    experiment = EXPERIMENTS["table8"]
    worse = {"C10 I20"}

    def figures(row: str, column: str, seed: int) -> dict[str, float]:
        lead = (-0.02 if column in worse else 0.02) * (row == "fine")
        return {"best": 0.5 + 0.2 * seed + lead, "last": 0.4 + 0.2 * seed + abs(lead)}

    table = compare(experiment, cells_with(experiment, figures), SMALL)
    (claim,) = claims(table)
    assert claim.holds_in == (False, True, True, True, True, True) and not claim.passed
    assert claim.verdict == "in 5 of 6 settings"
    assert claim.detail == "with every seed: 5 of 6; last epoch: 6 of 6; the paper: 3 of 4"
    gap = gaps(table, "fine", "cores2", experiment.metrics[0])["C10 I20"]
    assert gap.mean == pytest.approx(-2.0)
    assert gap.deviation == pytest.approx(0.0)  # what seeds share, 20 points here, is no part of it
    assert gap.paper == pytest.approx(0.34)


def test_an_order_needs_both_rows_with_the_same_seed() -> None:
    experiment = EXPERIMENTS["table8"]
    cells = [
        cell(Task(row.specs[0], "cifar10", "instance:0.2"), seed, best=0.5)
        for seed, row in enumerate(experiment.rows)
    ]
    assert claims(compare(experiment, cells, SMALL)) == []


def test_claims_count_the_settings_in_which_they_hold_with_every_seed() -> None:
    experiment = in_profile(EXPERIMENTS["table8"], SMALL)
    gain = {"C10 I20": [0.1, 0.2], "C10 I40": [0.3, -0.1], "C100 I20": [0.1]}
    cells = cells_with(
        experiment,
        lambda row, column, seed: (
            {"best": 0.5 + gain[column][seed] * (row == "fine")}
            if seed < len(gain.get(column, []))
            else {"status": "missing"}
        ),
    )
    (claim,) = claims(compare(experiment, cells, SMALL))
    assert claim.passed and len(claim.holds_in) == 3  # on average in all
    assert claim.with_every_seed == "with every seed: 1 of 2" and claim.with_every_seed in claim.detail
    one_seed = [cell for cell in cells if cell.seed == 0]
    assert claims(compare(experiment, one_seed, SMALL))[0].with_every_seed == ""


def test_what_the_paper_has_is_counted_over_all_that_it_prints() -> None:
    experiment = EXPERIMENTS["table2"]
    cells = cells_with(experiment, lambda row, column, seed: {"highest": 0.5, "last": 0.5}, seeds=1)
    over_dividemix, over_longremix = claims(compare(experiment, cells, SMALL))
    assert over_dividemix.in_paper == "7 of 9"
    assert over_longremix.in_paper == "3 of 9"
    assert over_dividemix.by_other_metrics == ("last epoch: 0 of 16",)  # of thirty epochs, ten are no end
