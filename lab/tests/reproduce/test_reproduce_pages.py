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
from eigenclean_lab.reproduce.compare import compare
from eigenclean_lab.reproduce.pages.deviations import difference_table
from eigenclean_lab.reproduce.pages.docs_page import AGE, docs_pages, write_docs_pages
from eigenclean_lab.reproduce.pages.formatting import header, lines
from eigenclean_lab.reproduce.pages.html_page import render, write_page
from eigenclean_lab.reproduce.pages.means import means_by_data, means_table
from eigenclean_lab.reproduce.pages.overview import overview
from eigenclean_lab.reproduce.pages.plot import draw, drawn_from
from eigenclean_lab.reproduce.profile_experiment import in_profile
from eigenclean_lab.reproduce.profiles import MEDIUM, PAPER, SMALL
from eigenclean_lab.reproduce.released_code import CHAINED, DEVIATIONS
from eigenclean_lab.reproduce.suite import paper_store, task_key
from eigenclean_lab.reproduce.values import Experiment, Task
from eigenclean_lab.store import Cell
from lab.tests.reproduce.made_up_cells import RISING, cell, cells_with, shifts

ROOT = Path(__file__).parents[3]


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
    bonus = {"fine": 0.02, "probe": -0.1, "co-teaching": 0.03}
    experiment = in_profile(EXPERIMENTS["table1"], SMALL)
    cells = cells_with(
        experiment,
        lambda row, column, seed: (
            {"best": best[column] + bonus.get(row, 0), "last": 0.4 + seed / 10}
            if column in best and (row, column) != ("crust", "C10 S80")
            else {"status": "missing"}
        ),
    )
    table = compare(experiment, cells, SMALL)
    means = means_by_data(table)
    assert {data: count for data, (count, _) in means.items()} == {"C10": 2, "C10N": 1}  # CRUST has no S80
    assert means["C10"][1]["fine"] == pytest.approx([62.0, 45.0])
    head, _, *rows = means_table({"small": table})
    assert head == "| | `small` C10 (2) | `small` C10N (1) |"
    assert "| fine | **62.0** / **45.0** | **92.0** / **45.0** |" in rows
    assert "| probe | 50.0 / **45.0** | 80.0 / **45.0** |" in rows
    assert "| co-teaching † | 63.0 / 45.0 | 93.0 / 45.0 |" in rows  # it is told the noise rate
    assert "| co-teaching, rate unknown | 60.0 / **45.0** | 90.0 / **45.0** |" in rows
    assert means_table({"small": compare(experiment, [], SMALL)}) == []


def test_an_overview_compares_methods_over_the_seeds_that_all_have() -> None:
    experiment = in_profile(EXPERIMENTS["table1"], MEDIUM)
    bonus = {"fine": 0.02, "probe": 0.3}
    cells = cells_with(
        experiment,
        lambda row, column, seed: (
            {"best": 0.5 + bonus.get(row, 0) + 0.1 * seed, "last": 0.4, "profile": MEDIUM}
            if (
                (column, row) in {("C10 S20", "fine"), ("C10 S20", "standard"), ("C10 S20", "probe")}
                and (row, seed) != ("standard", 1)
            )
            or column == "Fashion S50"
            else {"status": "missing", "profile": MEDIUM}
        ),
    )
    sentence, _, head, _, *rows = overview(compare(experiment, cells, MEDIUM))
    assert sentence.startswith("Accuracy, after the slash last epoch") and "† are told the noise rate" in sentence
    assert head == "| | C10 S20 | Fashion S50 |"  # the others were not measured
    assert "| fine | 52.0 / **40.0** | 57.0 / **40.0** |" in rows  # C10 without the seed that standard lacks
    assert "| standard | 50.0 / **40.0** | 55.0 / **40.0** |" in rows
    assert "| probe | **80.0** / **40.0** | **85.0** / **40.0** |" in rows
    assert "| crust | – | 55.0 / **40.0** |" in rows
    assert "| co-teaching † | – | 55.0 / 40.0 |" in rows
    assert overview(compare(experiment, [], MEDIUM)) == []
    assert overview(shifts(RISING, 0.5)) == []  # no methods to compare


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
    assert drawn_from(table) in figure and drawn_from(compare(experiment, cells[1:], SMALL)) not in figure


def test_dots_are_means_over_the_seeds_that_all_rows_have() -> None:
    experiment = in_profile(EXPERIMENTS["table8"], SMALL)
    best = {"cores2": {0: 0.5}, "fine": {0: 0.5, 1: 0.9}}  # seed 1 is easier, and only one of them has it
    cells = cells_with(
        experiment,
        lambda row, column, seed: {"best": best[row][seed]} if seed in best[row] else {"status": "missing"},
    )
    table = compare(experiment, cells, SMALL)
    dots = table.over_common_seeds("C10 I20", experiment.metrics[0])
    assert {row: (number.mean, number.deviation) for row, number in dots.items()} == {
        "cores2": (50.0, None),
        "fine": (50.0, None),
    }
    common = compare(experiment, [each for each in cells if each.seed == 0], SMALL)
    assert draw(table).replace(drawn_from(table), "") == draw(common).replace(drawn_from(common), "")
    alone = compare(experiment, [each for each in cells if each.task["method"] == "fine"], SMALL)
    assert alone.over_common_seeds("C10 I20", experiment.metrics[0])["fine"].mean == pytest.approx(70.0)


@pytest.mark.parametrize("seeds", [1, 3])
def test_curves_of_several_seeds_are_a_line_and_a_band(seeds: int) -> None:
    experiment = in_profile(EXPERIMENTS["fig4"], SMALL)
    cells = cells_with(
        experiment,
        lambda row, column, seed: (
            {"f": 0.5, "curves": {"f": [0.5, None, 0.6 + 0.1 * seed]}}
            if (row, column) == ("fine", "C10 S50")
            else {"status": "missing"}
        ),
        seeds=seeds,
    )
    figure = draw(compare(experiment, cells, SMALL))
    assert ("band: their range" in figure) == (seeds > 1)
    assert ("PolyCollection" in figure) == (seeds > 1)
    assert "C10 S50" in figure and "C10 S80" not in figure  # a panel for each setting with curves


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
    for name, table in figures.items():
        figure = (ROOT / "docs" / "img" / name).read_text(encoding="utf-8")
        assert f">{drawn_from(table)}<" in figure, "run `eigenclean reproduce docs`"
    there = {path.name for path in (ROOT / "docs" / "img").glob("paper_*.svg")}
    assert there == set(figures)


def test_every_committed_cell_says_how_to_get_it_again() -> None:
    cells = paper_store(ROOT / "results", SMALL).read()
    assert cells
    for known in cells:
        assert known.status == "measured" and known.command.startswith("eigenclean reproduce ")
        assert known.code and known.version and known.date
        assert known.facts.get("noise_hash") or known.task["kind"] == "theory"


def test_the_page_of_the_documentation_shows_only_what_was_measured(tmp_path: Path) -> None:
    empty, figures = docs_pages(tmp_path)
    assert figures == {} and "Not measured yet: `eigenclean reproduce table4`." in empty["paper/table4.md"]
    assert "Three pictures" not in empty["paper.md"] and "In short" not in empty["paper.md"]
    assert "[table4](paper/table4.md)" in empty["paper.md"]
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
    assert "| fine is better than cores2 (accuracy) | holds | last epoch: 0 of 1; the paper: 3 of 4 |" in text
    sentence = "fine is better than cores2 (accuracy) | 3 of 4 | – | holds in C10 I20; last epoch: 0 of 1 |"
    assert f"| [table8](paper/table8.md) | {sentence}" in pages["paper.md"]
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
    assert f"| [rounds](paper/rounds.md) | {sentence} | – | in 1 of 2 settings | – |" in front  # not the paper's
    assert "| | C10 S50 | C10 S80 |" in front and "| fine | 0.600 → 0.800 | 0.600 → 0.400 |" in front
    assert "keeping all labels in C10 S50, and below that of keeping all in C10 S80." in front
    assert "keeps nearly all of them in the end (every setting)" in front
    assert "16 of profile `medium` (one seed, 0.0 hours)." in front
    last["C10 S80"] = 0.7
    paper_store(tmp_path, MEDIUM).write(
        [replace(each, figures=figures(_row(rounds, each), _column(rounds, each), 0)) for each in cells]
    )
    assert f"| {sentence} | – | in both settings | – |" in docs_pages(tmp_path)[0]["paper.md"]


def test_the_front_page_shows_semi_supervised_methods_in_settings_of_table1(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["table2"]
    best = {"C10 S80": 0.6, "C10 S90": 0.2}  # table 1 has no symmetric 90 %
    shown = replace(experiment, columns=tuple(column for column in experiment.columns if column.name in best))
    cells = cells_with(shown, lambda row, column, seed: {"highest": best[column], "last": 0.5}, seeds=1)
    paper_store(tmp_path, SMALL).write(cells)
    front = docs_pages(tmp_path)[0]["paper.md"]
    assert "| | `small` C10 (1) |" in front and "| dividemix | **60.0** / **50.0** |" in front


def test_the_front_page_counts_comparisons_by_kind_of_noise(tmp_path: Path) -> None:
    one, two = EXPERIMENTS["table1"], EXPERIMENTS["table2"]
    shown = replace(one, columns=tuple(column for column in one.columns if column.name in ("C10 S50", "C10 A40")))
    last = {"fine": 0.5, "judge": 0.6, "standard": 0.5, "crust": 0.55}

    def figures(row: str, column: str, seed: int) -> dict[str, Any]:
        if row not in last:
            return {"status": "missing"}
        return {"best": 0.7 + 0.1 * (row == "fine" and column == "C10 S50"), "last": last[row]}

    mixed = replace(two, columns=tuple(column for column in two.columns if column.name == "C10N worst"))
    highest = {"dividemix": 0.5, "f-dividemix": 0.53, "j-dividemix": 0.52}
    semi = cells_with(
        mixed,
        lambda row, column, seed: (
            {"highest": highest[row], "last": 0.5} if row in highest else {"status": "missing"}
        ),
        seeds=1,
    )
    paper_store(tmp_path, SMALL).write([*cells_with(shown, figures, seeds=1), *semi])
    front = docs_pages(tmp_path)[0]["paper.md"]
    nothing = "| – | – | – |"
    fine = "`fine` above the other methods of table 1 that the paper has"
    assert f"| {fine} | best epoch {nothing} 2 of 2 (+10.0) | 0 of 2 (+0.0) | – |" in front
    assert f"|  | last epoch {nothing} 0 of 2 (-2.5) | 0 of 2 (-2.5) | – |" in front
    assert f"| a method with FINE above the same without it | best epoch {nothing} – | – | 1 of 1 (+3.0) |" in front
    judge = "the judge in the place of FINE above FINE"
    assert f"| {judge} | best epoch {nothing} 0 of 1 (-10.0) | 0 of 1 (+0.0) | 0 of 1 (-1.0) |" in front
    assert f"|  | last epoch {nothing} 1 of 1 (+10.0) | 1 of 1 (+10.0) | 0 of 1 (+0.0) |" in front


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
