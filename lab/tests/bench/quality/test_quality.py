"""`bench quality`: cells are measured rightly, marked when they cannot be, and never measured twice."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

from eigenclean.arrays import Array
from eigenclean.detect import DETECTORS, FINE
from eigenclean.detect.decisions import Decision
from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean_lab import data_folder as data_folder_module
from eigenclean_lab.bench.quality import baseline, network_features, suite
from eigenclean_lab.bench.quality.contenders import NAMES
from eigenclean_lab.bench.quality.measure import FIGURES, RUNNERS, limited_false_flags, measure, runner_of
from eigenclean_lab.bench.quality.plot import draw_quality
from eigenclean_lab.bench.quality.rows import summary_rows
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.bench.quality.suite import QualitySuite, quality_store, run
from eigenclean_lab.cli.bench import bench
from eigenclean_lab.data_folder import data_folder
from eigenclean_lab.store import Cell, MissingData
from eigenclean_lab.store.fingerprints import graph

BASELINE = baseline.NAME


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of detectors in the order in which they were really run."""
    calls: list[str] = []

    @wraps(measure)  # the module of the function is part of the key
    def counting(name: str, case: Any, seed: int = 0) -> Any:
        calls.append(name)
        return measure(name, case, seed)

    monkeypatch.setattr(suite, "measure", counting)
    return calls


def made_cell(detector: str, setting: str, seed: int = 0, **figures: float | None) -> Cell:
    return Cell({"detector": detector, "setting": setting}, seed, "key", "code", "measured", figures=figures)


def test_figures_are_right() -> None:
    case = SETTINGS["digits/sym-20"].make(None, 0)
    result = measure("fine", case)
    verdict = FINE().judge(case.features, case.labels)
    clean = case.truth.labels == case.labels
    assert result["clean_flagged"] == pytest.approx(verdict.flagged[clean].mean())
    assert result["noisy_recall"] == pytest.approx(verdict.flagged[~clean].mean())
    assert result["noisy_precision"] == pytest.approx((~clean)[verdict.flagged].mean())
    assert result["flagged_share"] == pytest.approx(verdict.flagged.mean())
    assert set(result) == set(FIGURES)
    assert result["suggestion_accuracy"] == pytest.approx(
        (verdict.suggested == case.truth.labels)[verdict.flagged & ~clean].mean()
    )
    promised = FINE().judge(case.features, case.labels, decision=Decision(max_false_flags=0.1)).flagged
    assert result["false_flags_at_10"] == pytest.approx(clean[promised].mean())
    assert result["found_at_10"] == pytest.approx(promised[~clean].mean())
    assert result["seconds"] is not None and result["seconds"] > 0


def test_clean_data_have_no_ranking_and_no_recall() -> None:
    result = measure("fine", SETTINGS["digits/sym-0"].make(None, 0))
    assert result["auroc"] is None and result["noisy_recall"] is None and result["noisy_precision"] is None
    assert result["clean_flagged"] == pytest.approx(result["flagged_share"])
    assert result["false_flags_at_10"] is None and result["found_at_10"] is None


def test_without_a_flag_no_flag_is_wrong() -> None:
    result = limited_false_flags(np.array([0.8, 0.9]), np.array([True, False]))
    assert result == {"false_flags_at_10": None, "found_at_10": 0.0, "flags_at_10": 0.0}


def test_a_measured_cell_is_not_measured_again(counted: list[str], tmp_path: Path) -> None:
    store = quality_store(tmp_path / suite.FILE)

    def go(**options: Any) -> list[Cell]:
        return run(
            detectors=["fine"], settings="digits/sym-*0", known=store.read(), save=store.add, **options,
        )  # fmt: skip

    first = go(seeds=1)
    assert len(counted) == 3
    assert go(seeds=1) == first
    assert len(counted) == 3
    more = go(seeds=2)
    assert len(counted) == 5  # the second seed; clean labels do not depend on it
    assert [cell.seed for cell in more if cell.task["setting"] == "digits/sym-0"] == [0]
    go(seeds=2, remeasure=True)
    assert len(counted) == 10
    old = store.read()
    store.write([replace(old[0], key="another"), replace(old[1], code="another"), *old[2:]])
    go(seeds=2)
    assert len(counted) == 12  # cells of other options or other code are measured again, and replaced
    assert [(cell.key, cell.code) for cell in store.read()] == [(cell.key, cell.code) for cell in old]


def test_a_stopped_run_has_saved_what_it_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store, calls = quality_store(tmp_path / suite.FILE), 0

    @wraps(measure)  # the module of the function is part of the key
    def stopped(name: str, case: Any, seed: int = 0) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return measure(name, case, seed)

    monkeypatch.setattr(suite, "measure", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(detectors=["fine"], settings="digits/*", seeds=2, save=store.add)
    assert [cell.task["setting"] for cell in store.read()] == ["digits/sym-0", "digits/sym-20"]


def test_cells_of_other_runs_stay_in_the_file(tmp_path: Path) -> None:
    store = quality_store(tmp_path / suite.FILE)
    other = made_cell("other", "cifar10/sym-2", f=0.5)
    store.write([other])
    run(detectors=["fine"], settings="digits/sym-0", seeds=1, known=store.read(), save=store.add)
    assert other in store.read() and len(store.read()) == 2


def test_missing_data_are_marked_and_tried_again(files: Path, counted: list[str]) -> None:
    (cell,) = run(detectors=["fine"], settings="cifar10/human-worst", seeds=1, data=None)
    assert cell.status == "missing" and cell.figures == {} and counted == []
    assert "cifar10_lite1_20k.npz" in cell.note and "EIGENCLEAN_DATA" in cell.note
    (measured,) = run(detectors=["fine"], settings="cifar10/human-worst", seeds=1, data=files, known=[cell])
    assert measured.status == "measured"
    with pytest.raises(MissingData):
        SETTINGS["banking77/sym-20"].make(files / "nowhere", 0)


def test_networks_without_torch_are_marked(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def require(module: str, *, extra: str, caller: str) -> Any:
        raise MissingExtra(f"{caller} needs {module}, which is not installed: pip install 'eigenclean[{extra}]'")

    monkeypatch.setattr(network_features, "require", require)
    cells = run(detectors=["fine"], settings=["fashion-net/sym-20", "cifar10-net/sym-20"], seeds=1, data=files)
    assert [cell.status for cell in cells] == ["missing", "missing"]
    assert cells[0].note.startswith("bench quality, cifar10-net needs torch")
    assert "eigenclean[train]" in cells[1].note


def test_missing_extras_and_failures_are_marked_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def require(module: str, **words: Any) -> Any:
        raise MissingExtra("needs cleanlab, which is not installed")

    def broken(self: FINE, *args: Any) -> Any:
        raise RuntimeError("no\nluck")

    monkeypatch.setattr(baseline, "require", require)
    monkeypatch.setattr(FINE, "_learn", broken)
    others = [name for name in ("knn",) if name in DETECTORS]
    cells = run(detectors=[BASELINE, "fine", *others], settings="digits/sym-20", seeds=1)
    assert [cell.status for cell in cells] == ["missing", "failed", *("measured" for _ in others)]
    assert cells[0].note == "needs cleanlab, which is not installed"
    assert cells[1].note == "RuntimeError: no luck"
    assert [row.figures == {} for row in summary_rows(cells)] == [True, True, *(False for _ in others)]


def test_a_key_depends_on_options_noise_seed_and_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(detector: str, setting: str, seed: int = 0) -> str:
        return QualitySuite().new_request(detector, SETTINGS[setting], seed).key

    first = key("fine", "digits/sym-20")
    assert first == key("fine", "digits/sym-20")
    others = {key("fine", "digits/sym-50"), key("fine", "digits/sym-20", 1), key(BASELINE, "digits/sym-20")}
    monkeypatch.setattr(suite, "FIGURES", (*FIGURES, "another"))
    others.add(key("fine", "digits/sym-20"))
    assert len(others | {first}) == 5


def test_code_is_that_of_the_detector_and_of_a_network_that_makes_features() -> None:
    def code(detector: str, setting: str) -> str:
        return QualitySuite().new_request(detector, SETTINGS[setting], 0).code

    assert code("fine", "digits/sym-20") == code("fine", "digits-300/clean")
    codes = [code("fine", "digits/sym-20"), code("fine", "digits-net/sym-20"), code("knn", "digits/sym-20")]
    codes += [
        code("fine", "iris/clean"),
        code("judge", "digits-mlp/clean"),
        code("logistic-prune", "digits/sym-20"),
    ]
    assert len({*codes, code(BASELINE, "digits/sym-20")}) == 7


def test_a_cell_depends_on_its_own_kind_of_detector_only() -> None:
    def modules(detector: str) -> set[str]:
        names = [measure.__module__, RUNNERS[runner_of(detector)].__module__]
        return {name.rpartition(".")[2] for name in graph().closure(names) if ".quality." in name}

    assert {"contenders", "case"} <= modules("judge") and "contenders" not in modules("trees-prune")
    assert "probabilities" in modules("trees-prune") and "probabilities" not in modules(BASELINE)


def test_rows_are_means_over_seeds() -> None:
    cells = [
        made_cell("fine", "digits/sym-20", seed, f=f, auroc=a, ece=None)
        for seed, f, a in ((0, 0.5, None), (1, 0.7, 0.9))
    ]
    (row,) = summary_rows(cells)
    assert row.figures["f"] == pytest.approx(0.6)
    assert row.figures["auroc"] == 0.9
    assert row.figures["ece"] is None
    assert row.seeds == 2


def test_unknown_names_are_one_sentence() -> None:
    with pytest.raises(InvalidOption, match="no setting matches 'cifar11/"):
        run(settings="cifar11/*")
    with pytest.raises(InvalidOption, match="did you mean 'fine'"):
        run(detectors=["fin"])
    with pytest.raises(InvalidOption, match="seeds must be 1 or more, got 0"):
        run(seeds=0)


def test_a_foreign_file_is_not_overwritten(tmp_path: Path) -> None:
    for content in ("[]", "{", '{"cells": [{"detector": "fine"}]}'):
        (tmp_path / "x.json").write_text(content)
        with pytest.raises(InvalidData, match="not a file of `eigenclean bench quality`"):
            quality_store(tmp_path / "x.json").read()
    assert quality_store(tmp_path / "none.json").read() == []


def test_the_folder_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv(data_folder_module.VARIABLE, raising=False)
    assert data_folder() is None
    monkeypatch.setenv(data_folder_module.VARIABLE, str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(tmp_path / "work") == tmp_path / "work"
    with pytest.raises(InvalidData, match="there is no folder"):
        data_folder(tmp_path / "nowhere")


def slow_votes(X: Array, codes: Array, k: int) -> Array:
    """A classifier that is fitted anew without each sample in turn."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    votes = []
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        model = KNeighborsClassifier(k).fit(unit[others], codes[others])
        votes.append(model.predict_proba(unit[row : row + 1])[0])
    return np.array(votes)


def test_the_baseline_leaves_each_sample_out() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), np.arange(60) % 3
    np.testing.assert_allclose(baseline.neighbour_votes(X, codes, 3), slow_votes(X, codes, 10), atol=1e-12)


def test_the_baseline_is_what_cleanlab_says() -> None:
    filtering: Any = import_module("cleanlab.filter")
    case = SETTINGS["digits/sym-20"].make(None, 0)
    verdict = baseline.judge_with_cleanlab(case.features, case.labels)
    votes = baseline.neighbour_votes(case.features, case.labels, 10)
    np.testing.assert_array_equal(verdict.flagged, filtering.find_label_issues(case.labels, votes))
    changed = verdict.suggested != verdict.labels
    np.testing.assert_array_equal(changed, verdict.flagged)


def test_the_figure_is_svg_and_the_same_each_time() -> None:
    cells = run(detectors=["fine"], settings=["digits/sym-0", "digits/sym-20"], seeds=1)
    cells += run(detectors=["fine"], settings="banking77/sym-20", seeds=1)  # not measured: no column
    text = draw_quality(cells)
    assert text == draw_quality(cells)
    assert ET.fromstring(text).tag.endswith("svg")
    assert "digits/sym-20" in text and "fine" in text and "banking77" not in text
    with pytest.raises(InvalidData, match="nothing to plot"):
        draw_quality(cells[-1:])


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(bench, ["quality", *map(str, arguments)])


def test_the_command_saves_shows_and_goes_on(tmp_path: Path, counted: list[str]) -> None:
    arguments = ["--detectors", "fine", "--settings", "digits/sym-20", "--seeds", 1, "--out", tmp_path / "new"]
    done = invoke(*arguments, "--plot", tmp_path / "p.svg")
    assert done.exit_code == 0, done.output
    assert "digits/sym-20" in done.output and "AUROC" in done.output
    assert (tmp_path / "p.svg").is_file()
    saved = json.loads((tmp_path / "new" / "bench_quality.json").read_text())
    (cell,) = saved["cells"]
    assert Cell.from_record(cell).task == {"detector": "fine", "setting": "digits/sym-20"}
    assert f"{cell['figures']['f']:.3f}"[1:] in done.output
    assert str(tmp_path) not in json.dumps(saved)
    spoken = invoke(*arguments, "--json")
    assert json.loads(spoken.stdout)["cells"] == [cell]
    assert counted == ["fine"]
    invoke(*arguments, "--remeasure")
    assert counted == ["fine", "fine"]
    assert "--again is now --remeasure" in " ".join(invoke(*arguments, "--again").output.split())
    assert counted == ["fine"] * 3


def test_quick_is_digits_only_and_saves_nothing(tmp_path: Path) -> None:
    done = invoke("--quick", "--detectors", f"fine,{BASELINE}", "--out", tmp_path / "none")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "none").exists()
    for rate in (0, 20, 50):
        assert f"digits/sym-{rate}" in done.output
    assert "cifar10" not in done.output
    assert BASELINE in done.output


def test_the_table_marks_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data_folder_module.VARIABLE, str(tmp_path))
    done = invoke("--detectors", "fine", "--settings", "banking77/*", "--seeds", 2, "--out", tmp_path)
    assert done.exit_code == 0
    assert "fine *" in done.output
    assert "needs banking77_minilm.npz" in " ".join(done.output.split())


def test_means_over_families_are_printed(tmp_path: Path) -> None:
    done = invoke("--settings", "iris/*", "--detectors", "knn", "--seeds", 1, "--half", "development", "--means",
                  "--out", tmp_path)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "development: tables" in done.output and "development: all" in done.output
    assert [line.split()[:2] for line in done.output.splitlines() if "knn" in line] == [["knn", "4"]] * 2


def test_the_table_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = max(SETTINGS, key=len)
    figures: dict[str, Any] = dict.fromkeys(FIGURES, 1.0)
    cells = [
        made_cell(name, longest, **(figures | {"seconds": seconds}))
        for name, seconds in zip(NAMES, [0.004, 0.999, 9.94, 123.4] * 9, strict=False)
    ]
    monkeypatch.setattr(suite, "run", lambda **options: cells)
    monkeypatch.setenv("COLUMNS", "80")
    lines = invoke("--quick").output.splitlines()
    assert len([line for line in lines if line.startswith("  ") and "1.00" in line]) == len(cells)  # no cell wraps
    assert all(f"  {name}" in " ".join(lines) for name in NAMES)
    assert longest in lines and all(len(line) <= 80 for line in lines[:-1])
    heads = next(line for line in lines if "AUROC" in line).split()
    assert heads == ["F", "AUROC", "AP", "ECE", "prec", "rec", "lost", "≤10%", "sugg", "s"]


def test_a_failure_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = replace(made_cell("fine", "digits/sym-20"), status="failed", note="ValueError: what")
    monkeypatch.setattr(suite, "run", lambda **options: [cell])
    done = invoke("--out", tmp_path)
    assert done.exit_code == 1
    assert "failed: ValueError: what" in done.output


def test_a_cell_is_plain_json() -> None:
    cells = run(detectors=["fine"], settings="digits/sym-0", seeds=1)
    assert [Cell.from_record(json.loads(json.dumps(cell.to_record(), allow_nan=False))) for cell in cells] == cells
