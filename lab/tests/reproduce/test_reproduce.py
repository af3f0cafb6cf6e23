"""The executable paper: its values, its cells, and what runs them."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train import RECIPES, Recipe, recipe
from eigenclean_lab.cli.options import split_names
from eigenclean_lab.reproduce import runner, suite
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.profile import Profile
from eigenclean_lab.reproduce.profile_experiment import in_profile
from eigenclean_lab.reproduce.profiles import HUMAN, IMAGES, MEDIUM, PAPER, PROFILES, SMALL, SMOKE, WHOLE
from eigenclean_lab.reproduce.recipes import PROBE, make_recipe
from eigenclean_lab.reproduce.released_code import (
    CHAINED,
    DEVIATIONS,
    NOT_IMPLEMENTED,
    REDRAWN,
    TEST_SELECTION,
    released_deviations,
    task_in,
    with_deviations,
)
from eigenclean_lab.reproduce.suite import PaperSuite, task_key
from eigenclean_lab.reproduce.values import Experiment, Number, Task, method_spec
from eigenclean_lab.store import Cell, MissingData

ROOT = Path(__file__).resolve().parents[3]


def tasks_of(experiment: Experiment) -> Iterator[Task]:
    for column in experiment.columns:
        for row in experiment.rows:
            for spec in row.specs:
                yield Task(spec, column.data, column.noise)


def trainings() -> list[Task]:
    tasks = [
        task for experiment in EXPERIMENTS.values() for task in tasks_of(experiment) if task.spec.kind == "train"
    ]
    tasks = [task for task in tasks if task.spec.method != PROBE]  # trains no network
    return list(dict.fromkeys(tasks))


# What the paper says.


def test_every_table_and_figure_has_a_name() -> None:
    figures = ["fig3a", "fig3b", "fig3c", "fig3d", "fig4", "fig5", "fig6", "fig7"]
    others = ["rounds", "theorem1", "theorem2", "discrepancies"]
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
    counts = {name: sum(map(len, experiment.paper.values())) for name, experiment in EXPERIMENTS.items()}
    assert [counts[f"table{number}"] for number in range(1, 9)] == [68, 68, 8, 6, 12, 64, 10, 8]
    for experiment in EXPERIMENTS.values():
        rows, columns = {row.name for row in experiment.rows}, {column.name for column in experiment.columns}
        for figure, printed in experiment.paper.items():
            assert figure in [metric.key for metric in experiment.metrics]
            assert {row for row, _ in printed} <= rows and {column for _, column in printed} <= columns
        assert {name for pair in experiment.rankings for name in pair} <= rows


# What is run.


def test_tables_that_show_the_same_share_their_cells() -> None:
    assert list(tasks_of(EXPERIMENTS["fig7"])) == list(tasks_of(EXPERIMENTS["table6"]))
    first, sixth = (set(tasks_of(EXPERIMENTS[name])) for name in ("table1", "table6"))
    assert len(first & sixth) == 24  # standard and FINE
    assert set(tasks_of(EXPERIMENTS["table4"])) < set(tasks_of(EXPERIMENTS["fig3c"]))
    assert set(tasks_of(EXPERIMENTS["fig6"])) < set(tasks_of(EXPERIMENTS["table2"]))
    fine = Task(method_spec("train", "fine"), "cifar10", "symmetric:0.8")
    for name in ("table1", "table5", "table6", "table7", "fig4"):
        assert fine in set(tasks_of(EXPERIMENTS[name]))
    assert {task.data for task in tasks_of(EXPERIMENTS["discrepancies"])} == {IMAGES}  # some of them vary images


def test_deviations_share_their_defaults_with_tables_where_cifar10_is_images() -> None:
    for profile, shared in ((PAPER, 12), (MEDIUM, 12), (SMALL, 0)):  # four recipes in three settings
        experiments = (in_profile(EXPERIMENTS[name], profile) for name in ("discrepancies", "table1", "table6"))
        deviations, first, sixth = (set(tasks_of(experiment)) for experiment in experiments)
        assert len(deviations & (first | sixth)) == shared


def test_trainings_that_augment_already_do_not_replace_their_augmentation() -> None:
    """Crops with a margin of 4 pixels would destroy the maps of 2 x 2 that the profile `medium` learns from."""
    rows = {
        profile.name: in_profile(EXPERIMENTS["discrepancies"], profile).rows for profile in (SMALL, MEDIUM, PAPER)
    }
    against = {name: {row.name: row.against for row in of_profile} for name, of_profile in rows.items()}
    assert against["small"]["fine: augmented-features"] == "fine, crop-flip" in against["small"]
    assert against["medium"]["fine: augmented-features"] == against["paper"]["fine: augmented-features"] == "fine"
    assert against["medium"] == against["paper"] and len(against["medium"]) == len(against["small"]) - 1
    assert not any(spec.options for name in ("medium", "paper") for row in rows[name] for spec in row.specs)
    for experiment in EXPERIMENTS.values():
        assert in_profile(experiment, SMALL).rows == experiment.rows


@pytest.mark.parametrize("profile", PROFILES)
def test_every_training_is_a_recipe_in_every_profile(profile: str) -> None:
    """No torch is needed to say what will be done."""
    for task in trainings():
        if not PROFILES[profile].has("train", task.data):
            continue
        data = PROFILES[profile].training[task.data]
        built = make_recipe(task, data, noise_rate=0.3)
        assert built.stages
        data.noise(task.noise)


def test_the_paper_profile_has_the_published_numbers() -> None:
    def published(name: str, data: str, noise: str, **options: Any) -> Recipe:
        return make_recipe(Task(method_spec("train", name, **options), data, noise), PAPER.training[data])

    fine = published("fine", "cifar10", "symmetric:0.5")
    assert [turn.epoch for turn in fine.plan() if turn.selects and not turn.stage.warm_up] == list(
        range(41, 121, 10)
    )
    assert published("co-teaching", "cifar10", "symmetric:0.5").stages[1].select.to_dict()["forget_rate"] == 0.45
    loud = published("dividemix", "cifar10", "symmetric:0.9", validated=False)
    assert loud.stages[1].step.options["lambda_u"] == 50.0
    assert loud.stages[1].select.to_dict()["threshold"] == 0.6
    assert published("elr", "cifar10", "asymmetric:0.4").stages[0].loss.options == {"beta": 0.9, "lambda_": 1.0}
    assert published("elr", "cifar100", "asymmetric:0.4").stages[0].loss.options == {"beta": 0.9, "lambda_": 7.0}
    mean = published("fine", "cifar10", "symmetric:0.5", vector="mean", threshold=0.4).stages[1].select.to_dict()
    assert mean["options"] == {"cut.split": "always", "vector": "mean", "threshold": 0.4}


def test_recipes_that_train_twice_do_so_in_twice_the_epochs() -> None:
    data = SMALL.training["cifar10"]
    once, twice = (
        make_recipe(Task(method_spec("train", n), "cifar10", "symmetric:0.5"), data)
        for n in ("standard", "forward")
    )
    assert (once.epochs, twice.epochs) == (data.epochs, 2 * (data.epochs or 0))


# Deviations of the released code.


def test_every_deviation_concerns_the_recipe_it_is_measured_on_and_changes_something() -> None:
    about_the_run = []
    for name, deviation in DEVIATIONS.items():
        plain = recipe(deviation.measured_on)
        assert deviation.applies_to(plain)
        if deviation.change is None:
            about_the_run.append(name)
        else:
            assert with_deviations(plain, [name]) != plain
            assert with_deviations(plain, [name]).epochs == plain.epochs
    assert about_the_run == ["redrawn-noise", "test-selection", "augmented-features", "chained-flips"]
    rows = {row.name: row for row in EXPERIMENTS["discrepancies"].rows}
    assert sum(row.against is not None for row in rows.values()) == len(DEVIATIONS)
    assert all(row.against in rows for row in rows.values() if row.against is not None)


def test_deviations_and_reasons_cover_all_fourteen_discrepancies() -> None:
    items = {deviation.item for deviation in DEVIATIONS.values()} | set(NOT_IMPLEMENTED)
    assert {f"A.3, {number}" for number in range(1, 15)} <= items


def test_chained_flips_concern_asymmetric_labels_of_cifar10_only() -> None:
    spec = replace(method_spec("train", "fine"), emulate=(REDRAWN, CHAINED))
    for column in runner.as_released(EXPERIMENTS["table1"]).columns:
        expected = (REDRAWN, CHAINED) if column.name == "C10 A40" else (REDRAWN,)
        assert task_in(spec, column).spec.emulate == expected
    assert CHAINED in released_deviations(recipe("elr")) and CHAINED not in released_deviations(
        recipe("f-dividemix")
    )


def test_longremix_averages_losses_at_90_percent() -> None:
    for rate, average in ((0.9, 5), (0.8, 1)):
        task = Task(method_spec("train", "longremix", validated=False), "cifar10", f"symmetric:{rate}")
        chosen = make_recipe(task, PAPER.data("train", "cifar10"))
        assert [chosen.stages[number].select.to_dict()["average"] for number in (1, 3)] == [average, average]
        assert chosen.stages[1].select.to_dict()["window"] == 5


def test_every_c100_column_stands_on_cifar_100() -> None:
    for profile in (PAPER, SMALL):
        for kind in ("train", "judge"):
            assert profile.data(kind, "cifar100").source.startswith("cifar100")
            assert profile.data(kind, "banking77").source == "banking77"
    named = [column for experiment in EXPERIMENTS.values() for column in experiment.columns]
    assert all(("C100" in column.name) == (column.data == "cifar100") for column in named)
    assert all(("banking77" in column.name) == (column.data == "banking77") for column in named)
    assert not any(
        "banking77" in name
        for experiment in EXPERIMENTS.values()
        for table in experiment.paper.values()
        for _, name in table
    )


def test_as_released_leaves_other_methods_alone() -> None:
    for name in RECIPES:
        deviations = released_deviations(recipe(name))
        by_fine = name == "fine" or name.startswith("f-") or name.endswith("+fine")
        assert bool(set(deviations) - {CHAINED}) == (by_fine or name in ("gce", "sce", "elr"))
    assert TEST_SELECTION not in released_deviations(recipe("fine"))  # there noisy validation samples choose
    assert [name for name in released_deviations(recipe("elr")) if name != CHAINED] == [TEST_SELECTION]
    of_dividemix = released_deviations(recipe("f-dividemix"))
    assert set(of_dividemix) == {"any-posterior", "long-warm-up"}  # one noisy data set, images as they are
    assert all(DEVIATIONS[name].family == "released" for name in released_deviations(recipe("fine")))
    changed = runner.as_released(EXPERIMENTS["table1"])
    assert [len(row.specs[0].emulate) > 1 for row in changed.rows] == [False] * 7 + [True] * 2 + [False] * 4
    assert all(CHAINED in row.specs[0].emulate for row in changed.rows[:9])  # those of the paper


# Profiles.

# How the sources of a column begin, by the first word of its name.
SOURCES = {
    "C10": "cifar10",
    "C10N": "cifar10",
    "C100": "cifar100",
    "Fashion": "fashion",
    "banking77": "banking77",
    "Clothing1M": "clothing1m",
    "mini-WebVision": "mini-webvision",
}
OF_THE_PAPER_ONLY = {"table3": {"clothing1m"}, "table10": {"webvision"}}


def test_every_profile_but_medium_has_data_for_every_column_without_fine_tuning() -> None:
    for profile in (PAPER, SMALL, SMOKE):
        for experiment in EXPERIMENTS.values():
            names = {column.name.replace("C10", "Fashion") for column in in_profile(experiment, profile).columns}
            missing = {
                column.data for column in experiment.columns if column.name.replace("C10", "Fashion") not in names
            }
            elsewhere = {"rounds": {WHOLE}} if profile is PAPER else {"rounds": {WHOLE}, **OF_THE_PAPER_ONLY}
            assert missing == elsewhere.get(experiment.name, set())
    assert {column.data for column in in_profile(EXPERIMENTS["rounds"], MEDIUM).columns} >= {"cifar10", WHOLE}
    for name in (
        "table1",
        "table5",
        "table6",
        "fig3a",
        "fig3c",
        "fig3d",
        "fig4",
        "fig6",
        "rounds",
        "discrepancies",
    ):
        columns = [column.name for column in in_profile(EXPERIMENTS[name], MEDIUM).columns]
        assert columns and all(re.match(r"C10N? |Fashion ", column) for column in columns)
    assert not in_profile(EXPERIMENTS["fig3b"], MEDIUM).columns


@pytest.mark.parametrize("profile", [PAPER, MEDIUM, SMALL], ids=lambda profile: profile.name)
def test_data_stand_under_their_own_names_only(profile: Profile) -> None:
    """A number of Fashion-MNIST in a column of CIFAR-10 would be read as one of CIFAR-10."""
    for experiment in EXPERIMENTS.values():
        for column in in_profile(experiment, profile).columns:
            for kind in {spec.kind for row in experiment.rows for spec in row.specs} - {"theory"}:
                data = profile.data(kind, column.data)
                name = column.name.split()[0]
                assert re.match(rf"{SOURCES[name]}(\W|$)", data.source), (experiment.name, column.name)
                assert (data.people is not None) == (name == "C10N")


def test_medium_fine_tunes_and_its_analyses_keep_the_learning_rate() -> None:
    task = Task(method_spec("train", "standard"), "cifar10", "symmetric:0.5")
    trained, analysed = (make_recipe(task, MEDIUM.data(kind, "cifar10")) for kind in ("train", "judge"))
    assert trained.optimiser.name == "adamw" and trained.optimiser.batch_size == 64 and trained.net == "encoder"
    rates = [analysed.optimiser.lr_at(epoch) for epoch in range(1, 9)]
    assert (analysed.epochs, set(rates)) == (8, {0.003}) and analysed.optimiser.backbone == 0.1
    assert trained.optimiser.lr_at(10) < 0.003


def test_labels_of_people_are_columns_beside_newer_methods() -> None:
    more = {"co-teaching, rate unknown", "judge", "j-coteaching", "probe"}
    for name, newer in (("table1", more), ("table2", {"j-dividemix"})):
        experiment = EXPERIMENTS[name]
        assert {column.data for column in experiment.columns} >= set(HUMAN.values())
        assert {row.name for row in experiment.rows if "not in the paper" in row.note} == newer
    assert {SMALL.training[data].people for data in HUMAN.values()} == {"aggre", "rand1", "worst"}


def test_cells_keep_the_keys_that_they_had_before_data_got_more_fields() -> None:
    cells = suite.paper_store(ROOT / "results", SMALL).read()
    assert all(cell.key == task_key(Task.from_dict(cell.task), SMALL, cell.seed) for cell in cells[::50])


# Cells.


SMOKE_SUITE = PaperSuite(Context("smoke"))


def cell(task: Task, seed: int = 0, **more: Any) -> Cell:
    request = SMOKE_SUITE.new_request(task, seed, "how")
    return replace(request, **{"status": "measured", "figures": {"best": 0.5}, **more})


FINE_50 = Task(method_spec("train", "fine"), "cifar10", "symmetric:0.5")


def test_a_task_comes_back_from_its_cell() -> None:
    spec = replace(method_spec("train", "fine", threshold=0.4), emulate=("shrinking",))
    task = Task(spec, "cifar10", "symmetric:0.5")
    assert Task.from_dict(json.loads(json.dumps(cell(task).task))) == task


def test_keys_depend_on_everything_that_is_run_and_on_no_descriptions() -> None:
    changed = {
        task_key(FINE_50, SMOKE, 0),
        task_key(FINE_50, SMOKE, 1),
        task_key(FINE_50, SMALL, 0),
        task_key(replace(FINE_50, noise="symmetric:0.8"), SMOKE, 0),
        task_key(replace(FINE_50, spec=method_spec("train", "fine", threshold=0.4)), SMOKE, 0),
        task_key(replace(FINE_50, spec=replace(FINE_50.spec, emulate=("redrawn-noise",))), SMOKE, 0),
    }
    assert len(changed) == 6
    renamed = {**SMOKE.training, "cifar10": replace(SMOKE.training["cifar10"], description="other words")}
    assert task_key(FINE_50, replace(SMOKE, training=renamed), 0) == task_key(FINE_50, SMOKE, 0)


def test_cells_of_data_that_a_profile_no_longer_has_are_not_current() -> None:
    gone = replace(cell(FINE_50), task={**cell(FINE_50).task, "data": "cifar10-head"})
    request = SMOKE_SUITE.request(gone)
    assert request.identity == gone.identity and not gone.is_current(request)
    assert cell(FINE_50).is_current(SMOKE_SUITE.request(cell(FINE_50)))


def test_known_cells_are_not_measured_again_unless_the_code_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def measure(self: PaperSuite, request: Cell) -> Cell:
        measured.append(request.seed)
        return replace(request, status="measured")

    monkeypatch.setattr(PaperSuite, "measure", measure)
    requests = [SMOKE_SUITE.new_request(FINE_50, seed, "") for seed in (0, 1)]
    known = [cell(FINE_50, 0)]
    old = [replace(known[0], code="older")]
    saved: list[Cell] = []
    assert [each.seed for each in runner.run(requests, Context("smoke"), known=known, save=saved.extend)] == [0, 1]
    assert (measured, [each.seed for each in saved]) == ([1], [1])
    for earlier, remeasure, keep_old, expected in (
        (known, True, False, [0, 1]),
        (old, False, False, [0, 1]),
        (old, False, True, [1]),
    ):
        measured.clear()
        runner.run(requests, Context("smoke"), known=earlier, remeasure=remeasure, keep_old=keep_old)
        assert measured == expected
    with pytest.raises(InvalidOption, match="processes"):
        runner.run(requests, Context("smoke"), processes=0)


def test_requests_come_seed_by_seed_and_each_once() -> None:
    requests = runner.requests_for(EXPERIMENTS["table5"], Context("smoke"), [0, 1])
    assert [request.seed for request in requests] == [0] * 12 + [1] * 12
    assert len({request.identity for request in requests}) == 24
    command = "eigenclean reproduce table5 --profile smoke --rows mean --columns 'C10 S20' --seed 0"
    assert requests[0].command == command
    assert len(runner.requests_for(EXPERIMENTS["theorem1"], Context("smoke"), [0, 1, 2])) == 1


def test_rows_and_columns_can_be_chosen() -> None:
    few = runner.select_cells(EXPERIMENTS["table1"], ["fine"], ["C10 S50", "C10 A40"])
    assert ([row.name for row in few.rows], len(few.columns)) == (["fine"], 2)
    pair = runner.select_cells(EXPERIMENTS["discrepancies"], ["gce+fine: every-5"])
    assert [row.name for row in pair.rows] == ["gce+fine", "gce+fine: every-5"]
    with pytest.raises(InvalidOption, match="did you mean 'fine'"):
        runner.select_cells(EXPERIMENTS["table1"], ["fien"])


def test_cells_of_one_network_stay_together() -> None:
    groups = runner.share_networks(runner.requests_for(EXPERIMENTS["fig5"], Context("smoke"), [0]))
    assert [len(group) for group in groups] == [7] * 15
    assert all(len({(cell.task["data"], cell.task["noise"]) for cell in group}) == 1 for group in groups)


def test_what_cannot_run_says_what_it_needs(tmp_path: Path) -> None:
    def measured(context: Context, data: str = "clothing1m") -> Cell:
        suite, task = PaperSuite(context), Task(method_spec("train", "fine"), data, "people")
        return suite.measure(suite.new_request(task, 0, ""))

    without_gpu = measured(Context("paper", tmp_path))
    assert (without_gpu.status, dict(without_gpu.figures)) == ("missing", {})
    assert "GPU" in without_gpu.note and "Clothing1M" in without_gpu.note
    without_data = measured(Context("paper", tmp_path, device="cpu"))
    assert without_data.status == "missing" and "Clothing1M" in without_data.note
    small = measured(Context("small"), HUMAN["worst"])
    assert small.status == "missing" and "cifar10_lite1_20k.npz" in small.note
    assert issubclass(MissingData, InvalidData)


def test_an_error_is_noted_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kind: str) -> Any:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(suite, "measure_function", broken)
    failed = SMOKE_SUITE.measure(SMOKE_SUITE.new_request(FINE_50, 0, ""))
    assert (failed.status, failed.note) == ("failed", "RuntimeError: two lines")


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_rows_can_be_named_as_the_command_of_a_cell_names_them(experiment: Experiment) -> None:
    """Some names have commas in them, as "judge, in sample" has."""
    names = [row.name for row in experiment.rows]
    assert [split_names(name, names) for name in names] == [[name] for name in names]
    assert split_names(",".join(names), names) == names
