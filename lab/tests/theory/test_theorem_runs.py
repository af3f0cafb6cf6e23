"""What `reproduce theorem1` and `theorem2` are made of: numbers for JSON, a table, a figure."""

import json
from collections.abc import Callable

import pytest
from matplotlib.figure import Figure

from eigenclean_lab.theory import TheoremRun, run_theorem1, run_theorem2


@pytest.fixture(scope="module", params=[run_theorem1, run_theorem2])
def run(request: pytest.FixtureRequest) -> TheoremRun:
    make: Callable[[str], TheoremRun] = request.param
    return make("smoke")


def test_numbers_are_ready_for_json(run: TheoremRun) -> None:
    assert json.loads(json.dumps(run.numbers, allow_nan=False)) == run.numbers
    assert json.loads(json.dumps(run.cells, allow_nan=False)) == list(run.cells)


def test_the_table_has_a_row_for_each_cell_and_marks_what_is_broken(run: TheoremRun) -> None:
    assert len(run.rows) == len(run.cells) == run.numbers["cells"]
    assert all(len(row) == len(run.columns) for row in run.rows)
    printed = [i for i, name in enumerate(run.columns) if name == "printed"]
    corrected = [i for i, name in enumerate(run.columns) if name == "corrected"]
    broken = sum("violated" in row[printed[0]] for row in run.rows)
    assert broken == run.numbers.get("printed_violated", run.numbers.get("precision_printed_violated"))
    assert not any("violated" in row[i] for row in run.rows for i in corrected)


def test_the_notes_say_what_the_numbers_say(run: TheoremRun) -> None:
    count = run.numbers.get("printed_violated", run.numbers.get("precision_printed_violated"))
    assert f"in {count} of {run.numbers['cells']} settings" in run.notes[0]


def test_the_figure_is_drawn_into_the_one_that_is_given(run: TheoremRun) -> None:
    figure = Figure(figsize=run.size, layout="constrained")
    run.draw(figure)
    assert len(figure.axes) >= 2
    assert all(axes.get_xlabel() and axes.get_ylabel() and axes.get_title() for axes in figure.axes)
    points = figure.axes[0].collections or figure.axes[0].lines
    assert points
