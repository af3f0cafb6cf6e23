"""Tables of the executable paper: comparison, claims, pictures, pages, and the page of the documentation."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.cli.app import run
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.claims import claims
from eigenclean_lab.reproduce.columns import BEST, LAST
from eigenclean_lab.reproduce.compare import Table, compare, gaps
from eigenclean_lab.reproduce.pages.deviations import difference_table
from eigenclean_lab.reproduce.pages.docs_page import AGE, docs_pages, write_docs_pages
from eigenclean_lab.reproduce.pages.formatting import header, lines
from eigenclean_lab.reproduce.pages.html_page import render, write_page
from eigenclean_lab.reproduce.pages.means import means_by_data, means_table
from eigenclean_lab.reproduce.pages.plot import draw
from eigenclean_lab.reproduce.profile import Profile
from eigenclean_lab.reproduce.profile_experiment import in_profile
from eigenclean_lab.reproduce.profiles import MEDIUM, PAPER, SMALL
from eigenclean_lab.reproduce.released_code import CHAINED, DEVIATIONS
from eigenclean_lab.reproduce.suite import paper_store, task_key, task_record
from eigenclean_lab.reproduce.values import Experiment, Task
from eigenclean_lab.store import Cell

ROOT = Path(__file__).parents[3]


def cell(task: Task, seed: int = 0, **figures: Any) -> Cell:
    profile: Profile = figures.pop("profile", SMALL)
    status, note, curves = figures.pop("status", "measured"), figures.pop("note", ""), figures.pop("curves", {})
    key = task_key(task, profile, seed)
    return Cell(task_record(task, profile), seed, key, "code", status, note, figures, curves, command="how")


def cells_with(experiment: Experiment, value: Any, seeds: int = 2) -> list[Cell]:
    """Cells with whatever ``value(row, column, seed)`` description their figures are."""
    return [
        cell(Task(spec, column.data, column.noise), seed, **value(row.name, column.name, seed))
        for seed in range(seeds)
        for column in experiment.columns
        for row in experiment.rows
        for spec in row.specs
    ]


def shifts(first: dict[str, float], second: float) -> Table:
    experiment = EXPERIMENTS["table4"]
    figures = {"1st eigenvector": first, "2nd eigenvector": dict.fromkeys(first, second)}
    cells = cells_with(
        experiment, lambda row, column, seed: {"mean": figures[row][column] + 0.01 * seed, "deviation": 0.1}
    )
    return compare(experiment, cells, SMALL)


RISING = {"C10 S20": 0.1, "C10 S50": 0.2, "C10 S80": 0.3}


def test_means_deviations_and_differences() -> None:
    entry = shifts(RISING, 0.5).entries["1st eigenvector", "C10 S50", "shift.mean"]
    assert entry.measured is not None and entry.seeds == 2
    assert entry.measured.mean == pytest.approx(0.205)
    assert entry.measured.deviation == pytest.approx(np.std([0.2, 0.21], ddof=1))
    assert entry.difference is None and replace(entry, is_papers=True).difference == pytest.approx(0.205 - 0.029)


def test_deviations_are_compared_with_the_row_they_belong_to() -> None:
    experiment = EXPERIMENTS["discrepancies"]
    table = compare(
        experiment, cells_with(experiment, lambda row, column, seed: {"best": 0.7 if ":" in row else 0.6}), SMALL
    )
    for row in experiment.rows:
        column = "Fashion A40" if CHAINED in row.name else "Fashion S50"
        gap = table.entries[row.name, column, "train.best"].difference
        assert (gap is None) if row.against is None else gap == pytest.approx(10.0)


def test_the_front_page_shows_what_each_deviation_changes() -> None:
    experiment = EXPERIMENTS["discrepancies"]
    cells = cells_with(
        experiment,
        lambda row, column, seed: (
            {"best": 0.6 + 0.1 * (":" in row), "f": 0.5 - 0.02 * (":" in row)}
            if "every-5" not in row
            else {"status": "missing"}
        ),
    )
    text = difference_table(compare(experiment, cells, SMALL))
    by_name = {line.split("`")[1]: line.split("|")[2:-1] for line in text if line.startswith("| `")}
    assert set(by_name) == set(DEVIATIONS) - {"every-5"}  # it was not measured
    assert [part.strip() for part in by_name["shrinking"]] == ["fine", *["+10.0 / -0.020"] * 3]
    assert [part.strip() for part in by_name[CHAINED]] == [
        "standard",
        "–",
        "–",
        "+10.0 / -0.020",
    ]  # asymmetric only
    assert difference_table(compare(experiment, [], SMALL)) == []


def test_rows_are_compared_over_the_seeds_that_all_of_them_have() -> None:
    experiment = EXPERIMENTS["table5"]
    f = {"mean": {0: 0.70}, "eigen": {0: 0.72, 1: 0.50}}  # seed 1 is harder, and only one of them has it
    cells = cells_with(
        experiment, lambda row, column, seed: {"f": f[row][seed]} if seed in f[row] else {"status": "missing"}
    )
    table = compare(experiment, cells, SMALL)
    assert table.value("eigen", "C10 S50", "judge.f") == pytest.approx(0.61)
    assert table.paired(("eigen", "mean"), "C10 S50", "judge.f") == pytest.approx([0.72, 0.70])
    assert [claim.passed for claim in claims(table) if claim.sentence.startswith("F by the eigen")] == [True] * 3
    assert table.paired(("eigen", "mean"), "C10 S50", "train.best") is None


def test_means_are_over_settings_that_every_row_has() -> None:
    best = {"C10 S20": 0.5, "C10 S50": 0.7, "C10 S80": 0.2, "C10N worst": 0.9}
    bonus = {"fine": 0.02, "probe": -0.1}
    experiment = EXPERIMENTS["table1"]
    cells = cells_with(
        experiment,
        lambda row, column, seed: (
            {"best": best[column] + bonus.get(row, 0), "last": 0.4 + seed / 10}
            if column in best and (row, column) != ("crust", "C10 S80")
            else {"status": "missing"}
        ),
    )
    table = compare(experiment, cells, SMALL)
    means = means_by_data(table, (BEST, LAST))
    assert {data: count for data, (count, _) in means.items()} == {"C10": 2, "C10N": 1}  # CRUST has no S80
    assert means["C10"][1]["fine"] == pytest.approx([62.0, 45.0])
    head, _, *rows = means_table({"small": table}, (BEST, LAST))
    assert head == "| | `small` C10 (2) | `small` C10N (1) |"
    assert "| fine | **62.0** / **45.0** | **92.0** / **45.0** |" in rows
    assert "| probe | 50.0 / **45.0** | 80.0 / **45.0** |" in rows
    assert means_table({"small": compare(experiment, [], SMALL)}, (BEST, LAST)) == []
    rows = means_table({"small": table}, (BEST,), {"small": ("fine",)})  # it has other inputs, and leads nothing
    assert "| fine | 62.0 † | 92.0 † |" in rows and "| standard | **60.0** | **90.0** |" in rows


def test_what_is_missing_is_marked_and_never_a_number() -> None:
    experiment = EXPERIMENTS["table3"]
    tasks = [Task(row.specs[0], "clothing1m", "people") for row in experiment.rows]
    cells = [cell(task, profile=PAPER, status="missing", note="needs Clothing1M") for task in tasks]
    table = compare(replace(experiment, columns=experiment.columns[:1]), cells, PAPER)
    assert not table.is_measured and draw(table) == "" and claims(table) == []
    assert list(table.notes) == ["missing: needs Clothing1M"]
    ((_, rows),) = lines(table)
    assert rows[0] == ["standard *", "68.9", "–", "–", "–", "0"]
    assert "needs Clothing1M" in render(table, PAPER, "")


def test_the_table_says_paper_measured_difference() -> None:
    table = shifts(RISING, 0.5)
    assert header(table)[1:4] == [("perturbation", "paper"), ("", "measured"), ("± over classes", "")]
    assert next(lines(table))[1][0][:3] == ["1st eigenvector", "0.015 ± 0.009", "0.105 ± 0.007"]
    entries = {key: replace(entry, is_papers=True) for key, entry in table.entries.items()}
    theirs = replace(table, entries=entries, is_papers=True)  # with the paper's data and network
    assert header(theirs)[1:4] == [("perturbation", "paper"), ("", "measured"), ("", "diff")]
    assert next(lines(theirs))[1][0][:4] == ["1st eigenvector", "0.015 ± 0.009", "0.105 ± 0.007", "+0.090"]


# Claims: each can fail.


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
    result = claims(table)
    assert [claim.passed for claim in result if "MCD" in claim.sentence] == [expected] * 15
    order = next(claim for claim in result if claim.sentence.startswith("fine is better than mcd"))
    assert order.passed == (fine > 0.7)


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
    assert claim.detail == "last epoch: 6 of 6; the paper: 3 of 4"
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


# Figures and pages.


def curves(kind: str) -> Any:
    drawn: dict[str, Any] = {
        "fraction": {
            "fractions": [0.01, 0.1, 1.0],
            "cosine": [0.9, 0.99, 1.0],
            "low": [0.8] * 3,
            "high": [1.0] * 3,
        },
        "plane": {"angles": [0.0, 1.0, 2.0], "values": [[1.0, 0.5, -0.5], [None] * 3], "classes": ["a", "b"]},
        "train": {"f": [0.5, None, 0.7]},
    }
    return drawn.get(kind, {})


@pytest.mark.parametrize("name", ["table1", "table4", "table9", "fig3a", "fig3c", "fig3d", "fig4", "fig5"])
def test_every_kind_of_figure_is_drawn_and_equal_results_draw_an_equal_one(name: str) -> None:
    experiment = EXPERIMENTS[name]
    cells = [
        cell(Task(spec, column.data, column.noise), seed, curves=curves(spec.kind), **{
            metric.figure: 0.5 + 0.1 * number + 0.01 * seed for metric in experiment.metrics
        })
        for seed in (0, 1)
        for column in experiment.columns[:2]
        for number, row in enumerate(experiment.rows)
        for spec in row.specs
    ]  # fmt: skip
    table = compare(experiment, cells, SMALL)
    figure = draw(table)
    assert figure.startswith("<?xml") and figure == draw(table)
    assert "<text" in figure  # letters, not outlines


@pytest.mark.slow
def test_the_page_is_whole_and_needs_no_other_host(tmp_path: Path) -> None:
    table = shifts(RISING, 0.5)
    page = write_page(table, SMALL, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert page.name == "table4_small.html" and (tmp_path / "table4_small.svg").exists()
    assert "0.105 ± 0.007" in text and "+0.090" not in text and "<code>how</code>" in text
    assert not re.findall(r'(?:src|href)="(?!data:)', text)


def without_age(text: str) -> list[str]:
    """How many cells are of earlier code changes with the code, not with the results."""
    return [line for line in text.splitlines() if line and not line.startswith(AGE)]


def test_the_documentation_is_in_step_with_the_results() -> None:
    pages, figures = docs_pages(ROOT / "results")
    for name, text in pages.items():
        shown = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert without_age(shown) == without_age(text), "run `eigenclean reproduce docs`"
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f": {name}\n" in navigation for name in pages)
    assert {path.name for path in (ROOT / "docs" / "paper").iterdir()} == {f"{name}.md" for name in EXPERIMENTS}
    for name in figures:
        assert (ROOT / "docs" / "img" / name).is_file(), "run `eigenclean reproduce docs`"
    there = {path.name for path in (ROOT / "docs" / "img").glob("paper_*.svg")}
    assert there == set(figures)


def test_every_committed_cell_says_how_to_get_it_again() -> None:
    cells = paper_store(ROOT / "results", SMALL).read()
    assert cells
    for cell in cells:
        assert cell.status == "measured" and cell.command.startswith("eigenclean reproduce ")
        assert (
            cell.code
            and cell.version
            and cell.date
            and (cell.facts.get("noise_hash") or cell.task["kind"] == "theory")
        )


def test_the_page_of_the_documentation_shows_only_what_was_measured(tmp_path: Path) -> None:
    empty, figures = docs_pages(tmp_path)
    assert figures == {} and "Not measured yet: `eigenclean reproduce table4`." in empty["paper/table4.md"]
    assert "Three pictures" not in empty["paper.md"] and "[table4](paper/table4.md)" in empty["paper.md"]
    task = Task(EXPERIMENTS["table4"].rows[0].specs[0], "cifar10", "symmetric:0.5")
    eight = EXPERIMENTS["table8"]
    pair = [cell(Task(row.specs[0], "cifar10", "instance:0.2"), best=0.8 + 0.05 * (row.name == "fine"), last=0.7)
            for row in eight.rows]  # fmt: skip
    paper_store(tmp_path, SMALL).write([cell(task, mean=0.25, deviation=0.1), *pair])
    pages, figures = docs_pages(tmp_path)
    text = "\n".join(pages.values())
    assert "| 1st eigenvector | 0.029 ± 0.019 | 0.250 | 0.100 | 1 |" in text  # no difference to another network's
    assert f"{AGE} 3 of the 3 cells were of an earlier version of the code**" in text
    assert "5 cells of this table are not measured yet." in text
    assert "| accuracy, difference | C10 I20 |" in text and "| fine − cores2 | +5.0 (+0.3) |" in text
    assert "| fine is better than cores2 (accuracy) | holds | last epoch: 0 of 1; the paper: 1 of 1 |" in text
    row = "| [table8](paper/table8.md) | fine is better than cores2 (accuracy) | – | holds; last epoch: 0 of 1 |"
    assert row in pages["paper.md"]
    assert list(figures) == ["paper_table4.svg", "paper_table8.svg", "paper_fig3c.svg"]


def _row(experiment: Experiment, measured: Cell) -> str:
    spec = Task.from_dict(measured.task).spec
    return next(row.name for row in experiment.rows if spec in row.specs)


def _column(experiment: Experiment, measured: Cell) -> str:
    return next(column.name for column in experiment.columns if column.noise == measured.task["noise"])


def test_the_front_page_merges_settings_and_shows_the_first_and_the_last_round(tmp_path: Path) -> None:
    rounds = replace(EXPERIMENTS["rounds"], columns=EXPERIMENTS["rounds"].columns[:2])
    last = {"C10 S50": 0.8, "C10 S80": 0.4}  # FINE's, which begins at 0.6

    def figures(row: str, column: str, seed: int) -> dict[str, float]:
        return {"epoch_1": 0.6, "last": last[column] if row == "fine" else 0.5}

    cells = [
        replace(each, task={**each.task, "profile": "medium"}, key=task_key(Task.from_dict(each.task), MEDIUM, 0))
        for each in cells_with(rounds, figures, seeds=1)
    ]
    paper_store(tmp_path, MEDIUM).write(cells)
    front = docs_pages(tmp_path)[0]["paper.md"]
    sentence = "as the network learns the errors, F of the small loss falls, and FINE's does not"
    assert f"| [rounds](paper/rounds.md) | {sentence} | in 1 of 2 settings | – |" in front
    assert "| | C10 S50 | C10 S80 |" in front and "| fine | 0.600 → 0.800 | 0.600 → 0.400 |" in front
    assert "16 of profile `medium` (one seed, 0.0 hours)." in front
    last["C10 S80"] = 0.7
    paper_store(tmp_path, MEDIUM).write(
        [replace(each, figures=figures(_row(rounds, each), _column(rounds, each), 0)) for each in cells]
    )
    assert f"| {sentence} | in both settings | – |" in docs_pages(tmp_path)[0]["paper.md"]


def test_the_front_page_shows_semi_supervised_methods_in_settings_of_table1(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["table2"]
    best = {"C10 S80": 0.6, "C10 S90": 0.2}  # table 1 has no symmetric 90 %
    shown = replace(experiment, columns=tuple(column for column in experiment.columns if column.name in best))
    cells = cells_with(shown, lambda row, column, seed: {"highest": best[column], "last_ten": 0.5}, seeds=1)
    paper_store(tmp_path, SMALL).write(cells)
    front = docs_pages(tmp_path)[0]["paper.md"]
    assert "| | `small` C10 (1) |" in front and "| dividemix | **60.0** / **50.0** |" in front


def test_figures_of_tables_that_are_not_measured_any_more_are_removed(tmp_path: Path) -> None:
    task = Task(EXPERIMENTS["table4"].rows[0].specs[0], "cifar10", "symmetric:0.5")
    paper_store(tmp_path, SMALL).write([cell(task, mean=0.25, deviation=0.1)])
    (tmp_path / "img").mkdir()
    for name in ("paper_table9.svg", "report.svg"):
        (tmp_path / "img" / name).write_text("", encoding="utf-8")
    write_docs_pages(tmp_path, tmp_path)
    assert sorted(path.name for path in (tmp_path / "img").iterdir()) == [
        "paper_fig3c.svg",
        "paper_table4.svg",
        "report.svg",
    ]


def test_numbers_stay_whole_on_a_narrow_console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiment = EXPERIMENTS["discrepancies"]

    def figures(row: str, column: str, seed: int) -> dict[str, float]:
        better = 0.1 * (":" in row)
        return {"best": 0.6 + better, "last": 0.5, "f": 0.7, "f_first": 0.65 + better}

    paper_store(tmp_path, SMALL).write(cells_with(experiment, figures, seeds=1))
    assert run(["reproduce", "discrepancies", "--show", "--keep-old", "--seeds", "1", "--out", str(tmp_path)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "augmented-features" in line)
    assert line.split()[2:] == ["70.0", "+10.0", "50.0", "+0.0", "0.700", "+0.000", "0.750", "+0.100", "1"]
