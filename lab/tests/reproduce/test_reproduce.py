"""The executable paper: its values, its cells, and what runs them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train import RECIPES, Recipe, recipe
from eigenclean_lab.bench.quality_data import MissingData
from eigenclean_lab.reproduce import cells as cells_module
from eigenclean_lab.reproduce import runner
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.cells import Cell, fingerprint, read_cells, results_file, write_cells
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.profiles import IMAGES, PAPER, PROFILES, SMALL, SMOKE
from eigenclean_lab.reproduce.released_code import EMULATIONS, NOT_EMULATED, as_released, emulated
from eigenclean_lab.reproduce.training import make_recipe
from eigenclean_lab.reproduce.values import Experiment, Number, Task, part


def tasks_of(experiment: Experiment) -> Iterator[Task]:
    for column in experiment.columns:
        for row in experiment.rows:
            for one in row.parts:
                yield Task(one, column.data, column.noise)


def trainings() -> list[Task]:
    found = [task for one in EXPERIMENTS.values() for task in tasks_of(one) if task.part.kind == "train"]
    return list(dict.fromkeys(found))


# What the paper says.


def test_every_table_and_figure_has_a_name() -> None:
    figures = ["fig3a", "fig3b", "fig3c", "fig3d", "fig4", "fig5", "fig6", "fig7"]
    others = ["theorem1", "theorem2", "discrepancies"]
    assert list(EXPERIMENTS) == [*(f"table{number}" for number in range(1, 11)), *figures, *others]


@pytest.mark.parametrize(
    ("name", "figure", "row", "column", "mean", "deviation"),
    [
        ("table1", "train.best", "fine", "C10 S80", 69.4, 1.1),
        ("table1", "train.best", "f-coteaching", "C100 A40", 64.8, 0.7),
        ("table2", "train.highest", "f-dividemix", "C10 S90", 90.5, None),
        ("table2", "train.last_ten", "f-dividemix", "C100 S90", 31.2, None),
        ("table3", "train.best", "f-dividemix", "Clothing1M", 74.37, None),
        ("table4", "shift.mean", "2nd eigenvector", "C10 S80", 0.135, 0.052),
        ("table5", "judge.f", "mean", "C10 S50", 0.4879, None),
        ("table6", "train.best", "standard", "C10 A40", 80.1, 1.4),
        ("table7", "judge.f", "0.45", "C10 S80", 0.7466, None),
        ("table8", "train.best", "fine", "C100 I40", 47.81, None),
        ("table9", "filter.seconds", "f-dividemix-1%", "C10 S80", 2.1, None),
        ("table10", "train.imagenet_top5", "f-dividemix", "mini-WebVision", 91.28, None),
    ],
)
def test_printed_numbers_are_where_they_belong(
    name: str, figure: str, row: str, column: str, mean: float, deviation: float | None
) -> None:
    assert EXPERIMENTS[name].paper[figure][row, column] == Number(mean, deviation)


def test_printed_numbers_are_all_in_a_row_and_a_column_of_their_table() -> None:
    counts = {name: sum(map(len, one.paper.values())) for name, one in EXPERIMENTS.items()}
    assert [counts[f"table{number}"] for number in range(1, 9)] == [68, 68, 8, 6, 12, 64, 10, 8]
    for one in EXPERIMENTS.values():
        rows, columns = {row.name for row in one.rows}, {column.name for column in one.columns}
        for figure, printed in one.paper.items():
            assert figure in [shown.key for shown in one.figures]
            assert {row for row, _ in printed} <= rows and {column for _, column in printed} <= columns
        assert {name for pair in one.orders for name in pair} <= rows


# What is run.


def test_tables_that_show_the_same_share_their_cells() -> None:
    assert list(tasks_of(EXPERIMENTS["fig7"])) == list(tasks_of(EXPERIMENTS["table6"]))
    one, six = (set(tasks_of(EXPERIMENTS[name])) for name in ("table1", "table6"))
    assert len(one & six) == 16  # standard and FINE
    assert set(tasks_of(EXPERIMENTS["table4"])) < set(tasks_of(EXPERIMENTS["fig3c"]))
    assert set(tasks_of(EXPERIMENTS["fig6"])) < set(tasks_of(EXPERIMENTS["table2"]))
    fine = Task(part("train", "fine"), "cifar10", "symmetric:0.8")
    for name in ("table1", "table5", "table6", "table7", "fig4"):
        assert fine in set(tasks_of(EXPERIMENTS[name]))
    assert {task.data for task in tasks_of(EXPERIMENTS["discrepancies"])} == {IMAGES}  # some of them vary images


@pytest.mark.parametrize("profile", PROFILES)
def test_every_training_is_a_recipe_in_every_profile(profile: str) -> None:
    """No torch is needed to say what will be done."""
    for task in trainings():
        data = PROFILES[profile].training[task.data]
        made = make_recipe(task, data, noise_rate=0.3)
        assert made.stages
        data.noise(task.noise)


def test_the_paper_profile_has_the_published_numbers() -> None:
    def made(name: str, data: str, noise: str, **options: Any) -> Recipe:
        return make_recipe(Task(part("train", name, **options), data, noise), PAPER.training[data])

    fine = made("fine", "cifar10", "symmetric:0.5")
    assert [turn.epoch for turn in fine.plan() if turn.selects and not turn.stage.warm_up] == list(
        range(41, 121, 10)
    )
    assert made("co-teaching", "cifar10", "symmetric:0.5").stages[1].select.to_dict()["forget_rate"] == 0.45
    loud = made("dividemix", "cifar10", "symmetric:0.9", validated=False)
    assert loud.stages[1].step.options["lambda_u"] == 50.0
    assert loud.stages[1].select.to_dict()["threshold"] == 0.6
    assert made("elr", "cifar10", "asymmetric:0.4").stages[0].loss.options == {"beta": 0.9, "lambda_": 1.0}
    assert made("elr", "cifar100", "asymmetric:0.4").stages[0].loss.options == {"beta": 0.9, "lambda_": 7.0}
    mean = made("fine", "cifar10", "symmetric:0.5", vector="mean", threshold=0.4).stages[1].select.to_dict()
    assert mean["options"] == {"cut.split": "always", "vector": "mean", "threshold": 0.4}


def test_recipes_that_train_twice_do_so_in_twice_the_epochs() -> None:
    data = SMALL.training["cifar10"]
    one, two = (
        make_recipe(Task(part("train", n), "cifar10", "symmetric:0.5"), data) for n in ("standard", "forward")
    )
    assert (one.epochs, two.epochs) == (data.epochs, 2 * (data.epochs or 0))


# Habits of the released code.


def test_every_habit_is_about_the_recipe_it_is_measured_on_and_changes_something() -> None:
    about_the_run = []
    for name, habit in EMULATIONS.items():
        plain = recipe(habit.measured_on)
        assert habit.applies_to(plain)
        if habit.change is None:
            about_the_run.append(name)
        else:
            assert emulated(plain, [name]) != plain
            assert emulated(plain, [name]).epochs == plain.epochs
    assert about_the_run == ["redrawn-noise", "test-selection", "augmented-features"]
    rows = {row.name: row for row in EXPERIMENTS["discrepancies"].rows}
    assert sum(row.against is not None for row in rows.values()) == len(EMULATIONS)
    assert all(row.against in rows for row in rows.values() if row.against is not None)


def test_habits_and_reasons_cover_all_fourteen_discrepancies() -> None:
    items = {habit.item for habit in EMULATIONS.values()} | set(NOT_EMULATED)
    assert {f"A.3, {number}" for number in range(1, 15)} <= items


def test_as_released_leaves_other_methods_alone() -> None:
    for name in RECIPES:
        habits = as_released(recipe(name))
        assert bool(habits) == (name == "fine" or name.startswith("f-") or name.endswith("+fine"))
    assert all(EMULATIONS[name].family == "released" for name in as_released(recipe("fine")))
    changed = runner.released(EXPERIMENTS["table1"])
    assert [bool(row.parts[0].emulate) for row in changed.rows] == [False] * 7 + [True] * 2


# Cells.


def cell(task: Task, seed: int = 0, **more: Any) -> Cell:
    facts: dict[str, Any] = {"status": "measured", "figures": {"best": 0.5}, **more}
    key = fingerprint(task, SMOKE, seed)
    return Cell(task.as_dict(), "smoke", seed, key, cells_module.code_of(task.part.kind), **facts)


FINE_50 = Task(part("train", "fine"), "cifar10", "symmetric:0.5")


def test_cells_are_lines_and_come_back(tmp_path: Path) -> None:
    file = results_file(tmp_path, SMOKE)
    assert read_cells(file) == {}
    cells = [cell(FINE_50, seed, curves={"f": [0.1, None]}, noise_hash="ab") for seed in (1, 0)]
    write_cells(file, cells)
    write_cells(file, [cell(FINE_50, 2, status="missing", note="needs a GPU"), replace(cells[0], version="9")])
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["seed"] for line in lines] == [0, 1]  # what is missing is not kept
    assert {one.seed: one.version for one in read_cells(file).values()}[1] == "9"
    file.write_text("{}\n")
    with pytest.raises(InvalidData, match="move it away"):
        read_cells(file)


def test_keys_depend_on_everything_that_is_run_and_on_no_words() -> None:
    changed = {
        fingerprint(FINE_50, SMOKE, 0),
        fingerprint(FINE_50, SMOKE, 1),
        fingerprint(FINE_50, SMALL, 0),
        fingerprint(replace(FINE_50, noise="symmetric:0.8"), SMOKE, 0),
        fingerprint(replace(FINE_50, part=part("train", "fine", threshold=0.4)), SMOKE, 0),
        fingerprint(replace(FINE_50, part=replace(FINE_50.part, emulate=("redrawn-noise",))), SMOKE, 0),
    }
    assert len(changed) == 6
    renamed = {**SMOKE.training, "cifar10": replace(SMOKE.training["cifar10"], says="other words")}
    assert fingerprint(FINE_50, replace(SMOKE, training=renamed), 0) == fingerprint(FINE_50, SMOKE, 0)


def test_what_is_known_is_not_run_again_unless_the_code_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def measure(job: runner.Job, context: Context) -> Cell:
        ran.append(job[1])
        return cell(job[0], job[1])

    monkeypatch.setattr(runner, "measure_cell", measure)
    jobs = [(FINE_50, seed, "") for seed in (0, 1)]
    known = {one.key: one for one in [cell(FINE_50, 0)]}
    old = {key: replace(one, code="older") for key, one in known.items()}
    saved: list[Cell] = []
    assert [one.seed for one in runner.run(jobs, Context("smoke"), known=known, save=saved.extend)] == [0, 1]
    assert (ran, [one.seed for one in saved]) == ([1], [1])
    for found, again, keep_old, expected in (
        (known, True, False, [0, 1]),
        (old, False, False, [0, 1]),
        (old, False, True, [1]),
    ):
        ran.clear()
        runner.run(jobs, Context("smoke"), known=found, again=again, keep_old=keep_old)
        assert ran == expected
    with pytest.raises(InvalidOption, match="processes"):
        runner.run(jobs, Context("smoke"), known={}, processes=0)


def test_jobs_come_seed_by_seed_and_each_once() -> None:
    jobs = runner.jobs_of(EXPERIMENTS["table5"], Context("smoke"), [0, 1])
    assert [seed for _, seed, _ in jobs] == [0] * 12 + [1] * 12
    assert len({(task, seed) for task, seed, _ in jobs}) == 24
    assert jobs[0][2] == "eigenclean reproduce table5 --profile smoke --rows mean --columns 'C10 S20' --seed 0"
    assert len(runner.jobs_of(EXPERIMENTS["theorem1"], Context("smoke"), [0, 1, 2])) == 1


def test_rows_and_columns_can_be_chosen() -> None:
    few = runner.chosen(EXPERIMENTS["table1"], ["fine"], ["C10 S50", "C10 A40"])
    assert ([row.name for row in few.rows], len(few.columns)) == (["fine"], 2)
    pair = runner.chosen(EXPERIMENTS["discrepancies"], ["gce+fine: every-5"])
    assert [row.name for row in pair.rows] == ["gce+fine", "gce+fine: every-5"]
    with pytest.raises(InvalidOption, match="did you mean 'fine'"):
        runner.chosen(EXPERIMENTS["table1"], ["fien"])


def test_cells_of_one_network_stay_together() -> None:
    jobs = runner.jobs_of(EXPERIMENTS["fig5"], Context("smoke"), [0])
    groups = runner._together(jobs)
    assert [len(group) for group in groups] == [6] * 12
    assert all(len({(task.data, task.noise) for task, _, _ in group}) == 1 for group in groups)


def test_what_cannot_run_says_what_it_needs(tmp_path: Path) -> None:
    job = (Task(part("train", "fine"), "clothing1m", "people"), 0, "")
    found = runner.measure_cell(job, Context("paper", tmp_path))
    assert (found.status, dict(found.figures)) == ("missing", {})
    assert "GPU" in found.note and "Clothing1M" in found.note
    found = runner.measure_cell(job, Context("paper", tmp_path, device="cpu"))
    assert found.status == "missing" and "Clothing1M" in found.note
    found = runner.measure_cell((Task(part("train", "fine"), "clothing1m", "people"), 0, ""), Context("small"))
    assert found.status == "missing" and "cifar10_lite1_20k.npz" in found.note
    assert issubclass(MissingData, InvalidData)


def test_an_error_is_noted_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kind: str) -> Any:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(runner, "_measure", broken)
    found = runner.measure_cell((FINE_50, 0, ""), Context("smoke"))
    assert (found.status, found.note) == ("failed", "RuntimeError: two lines")
