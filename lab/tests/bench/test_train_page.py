"""The page of measured trainings says what the results files say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eigenclean_lab.bench.training.page import summary_rows, train_page
from eigenclean_lab.bench.training.settings import TABLES
from eigenclean_lab.bench.training.suite import TrainingSuite, training_store
from eigenclean_lab.store import Cell

RESULTS = Path(__file__).parents[3] / "results"


def cell(
    recipe: str, last: float, seed: int = 0, setting: str = "fashion/sym-50", schedule: str = "preset"
) -> Cell:
    figures = {"last": last, "best": 0.95, "f": 0.9, "kept": 0.5, "noise_rate": 0.45, "seconds": 1.0}
    task = {"recipe": recipe, "setting": setting, "schedule": schedule}
    return Cell(task, seed, "key", "code", "measured", figures=figures)


def page_of(folder: Path, *cells: Cell) -> str:
    training_store(folder / "bench_train.json").write(cells)
    return train_page(folder)


def test_means_deviations_and_the_best(tmp_path: Path) -> None:
    page = page_of(
        tmp_path, cell("standard", 0.7), cell("standard", 0.72, 1), cell("fine", 0.8), cell("fine", 0.8, 1)
    )
    assert "| `standard` | .710 ± .014 | .950 | .900 | .500 | 2 |" in page
    assert "| `fine` | **.800** ± .000 | .950 | .900 | .500 | 2 |" in page
    assert "| fashion/sym-50 | fine over standard | +9.0 ± 1.4 | at least 4 | met | 2 |" in page


def test_a_missed_target_is_reported(tmp_path: Path) -> None:
    page = page_of(tmp_path, cell("standard", 0.78), cell("fine", 0.8))
    assert "| fashion/sym-50 | fine over standard | +2.0 | at least 4 | **missed** | 1 |" in page


def test_many_settings_stand_side_by_side(tmp_path: Path) -> None:
    settings = ("cifar10/sym-20", "cifar10/sym-50", "cifar10/asym-40")
    cells = [cell("fine", 0.8, seed, setting) for setting in settings for seed in range(2)]
    page = page_of(tmp_path, *cells[:-1], cell("judge", 0.9, setting=settings[1]))
    head = "| Recipe | sym-20 | sym-50 | asym-40 | mean: last | best | F | kept | s | seeds |"
    assert f"{head}\n|---|---|---|---|---|---|---|---|---|---|\n" in page
    assert "| `fine` | **.800** | **.800** | **.800** | .800 | .950 | .900 | .500 | 1 | 1 to 2 |" in page
    assert "| `judge` | – | .900 | – | – | – | – | – | – | 1 |" in page  # of one seed only
    assert "Targets" not in page  # there are none for these recipes
    assert "**6 of the 6 measurements on this page are of an earlier version of the code**" in page


def test_older_measurements_are_counted_by_what_has_changed(tmp_path: Path) -> None:
    suite = TrainingSuite()
    current = suite.request(cell("probe", 0.8, setting="cifar10/sym-50"))
    figures = cell("probe", 0.8).figures
    same, code, rows = (
        replace(current, seed=0, status="measured", figures=figures),
        replace(suite.request(replace(current, seed=1)), code="other", status="measured", figures=figures),
        replace(suite.request(replace(current, seed=2)), key="other", status="measured", figures=figures),
    )
    assert "earlier version of the code" not in page_of(tmp_path, same)
    assert (
        "**2 of the 3 measurements on this page are of an earlier version of the code**: 1 of them had the same "
        "recipe, rows and noise as now, 1 had another recipe or other rows"
    ) in page_of(tmp_path, same, code, rows)


def test_tables_stand_side_by_side_by_their_noise(tmp_path: Path) -> None:
    settings = [f"{name}/{noise}" for name in TABLES for noise in ("sym-20", "pair-30")]
    accuracies = {"probe": 0.8, "trees+judge": 0.8, "elr": 0.7}
    cells = [cell(name, last, setting=setting) for setting in settings for name, last in accuracies.items()]
    page = page_of(tmp_path, *cells)
    assert page.count(f"| Recipe | {' | '.join(TABLES)} | mean: last |") == 2
    sections = page.split("## ")
    assert sections[1].startswith("Tables, symmetric noise 20 %")
    order = [line.split("`")[1] for line in sections[1].splitlines() if line.startswith("| `")]
    assert order == ["probe", "trees+judge", "elr"]
    assert (
        "| DNA/pair-30 | probe over trees+judge, the best of all others (2) | +0.0 | at least -0.5 | met |" in page
    )


def test_other_schedules_are_left_out(tmp_path: Path) -> None:
    page = page_of(tmp_path, cell("standard", 0.7), cell("fine", 0.8, schedule="late"))
    assert "fine" not in page.split("## ")[1]


def test_published_settings_have_a_table_of_their_own(tmp_path: Path) -> None:
    cells = [cell("elr", 0.70), cell("elr", 0.74, 1), cell("fine", 0.8)]
    published = [cell("elr", 0.75, 1, schedule="published"), cell("gce", 0.73, schedule="published")]
    page = page_of(tmp_path, *cells, *published)
    above, section = page.split("## With the settings of their authors")
    assert "| `elr` | **.720** ± .028 |" in above and "gce" not in above
    assert "| Recipe | fashion/sym-50: last | difference | seeds |\n|---|---|---|---|\n" in section
    assert "| `elr` | **.750** | +1.0 | 1 |" in section  # seed 1 against seed 1
    assert "| `gce` | .730 | – | 1 |" in section
    assert "settings of their authors" not in page_of(tmp_path, *cells)


def test_without_results_there_is_a_page_all_the_same(tmp_path: Path) -> None:
    assert train_page(tmp_path).startswith("# How well it trains")


@pytest.mark.parametrize(("passed", "word"), [(True, "met"), (False, "**missed**"), (None, "")])
def test_ratios(passed: bool | None, word: str, tmp_path: Path) -> None:
    case = {"case": "engine", "baseline": "a loop", "ratio": 0.991, "target": "<= 1.05x", "passed": passed}
    (tmp_path / "bench_train_speed.json").write_text(json.dumps({"cases": [case]}))
    assert f"| engine | a loop | 0.99 | <= 1.05x {word} |" in page_of(tmp_path, cell("fine", 0.8))


def test_the_committed_results_are_all_on_the_page() -> None:
    page = train_page(RESULTS)
    cells = training_store(RESULTS / "bench_train.json").read()
    rows = [
        row
        for schedule in ("preset", "published")
        for row in summary_rows(cell for cell in cells if cell.task["schedule"] == schedule)
        if row.seeds
    ]
    assert len(rows) >= 100
    for row in rows:
        assert f"| `{row.recipe}` |" in page
        assert f"{row.mean['last']:.3f}".removeprefix("0") in page
