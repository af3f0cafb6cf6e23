"""`bench train`: recipes are compared fairly; cells are measured once, marked when they cannot be, never lost."""

import gzip
import json
import struct
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.noise import Noise
from eigenclean.train import RECIPES, RobustClassifier, recipe
from eigenclean.truth import Truth
from eigenclean_lab import data_folder
from eigenclean_lab.bench.quality.data import tables
from eigenclean_lab.bench.quality.data.tables import LABEL_COLUMNS
from eigenclean_lab.bench.speed import training as speed
from eigenclean_lab.bench.speed.ratios import Ratio, RatioTarget
from eigenclean_lab.bench.training import measure as measure_module
from eigenclean_lab.bench.training import suite
from eigenclean_lab.bench.training.measure import measure
from eigenclean_lab.bench.training.page import summary_rows
from eigenclean_lab.bench.training.recipes import EPOCHS, PUBLISHED, SCHEDULES, make_recipe
from eigenclean_lab.bench.training.settings import SETTINGS, TABLES
from eigenclean_lab.bench.training.suite import TrainingSuite, run, training_store
from eigenclean_lab.cli.bench import bench
from eigenclean_lab.components import component_modules
from eigenclean_lab.store import Cell, MissingData

FIGURES = {"last": 0.5, "best": 0.6, "f": 0.7, "kept": 0.8, "noise_rate": 0.4, "seconds": 2.0}


def write_idx(path: Path, values: Array) -> None:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files with the arrays of the real ones."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    clean = np.repeat(np.arange(10, dtype=np.uint8), 40)
    features = (3 * rng.normal(size=(10, 12))[clean] + rng.normal(size=(400, 12))).astype(np.float16)
    sets: dict[str, Any] = {}
    for name, rate in (("aggre", 0.1), ("rand1", 0.2), ("worst", 0.4)):
        sets[name] = np.where(rng.random(400) < rate, (clean + 1) % 10, clean).astype(np.uint8)
    np.savez(folder / "cifar10_lite1_20k.npz", features=features, clean=clean, **sets)
    (folder / "fashion-mnist").mkdir()
    for prefix, n in (("train", 120), ("t10k", 60)):
        labels = np.arange(n) % 10
        images = np.clip(25 * labels[:, None, None] + rng.integers(20, size=(n, 28, 28)), 0, 255)
        write_idx(folder / "fashion-mnist" / f"{prefix}-images-idx3-ubyte.gz", images)
        write_idx(folder / "fashion-mnist" / f"{prefix}-labels-idx1-ubyte.gz", labels)
    (folder / "mlbench").mkdir()
    rdata, pandas = pytest.importorskip("rdata"), pytest.importorskip("pandas")
    for name in TABLES:
        frame = pandas.DataFrame({"a": features[:, 0].astype(float), "b": features[:, 1].astype(float)})
        frame[LABEL_COLUMNS[name]] = pandas.Categorical([f"class {k}" for k in clean])
        rdata.write_rda(folder / "mlbench" / f"{name}.rda", {name: frame})
    return folder


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of recipes in the order in which they were really trained; the training itself is left out."""
    calls: list[str] = []

    @wraps(measure)  # the module of the function is part of the key
    def counting(name: str, *rest: Any, **options: Any) -> Any:
        calls.append(name)
        return dict(FIGURES)

    monkeypatch.setattr(suite, "measure", counting)
    return calls


# Settings.


def test_the_name_of_a_setting_says_its_data_and_its_noise() -> None:
    for name, setting in SETTINGS.items():
        data, _, noise = name.partition("/")
        kind, _, amount = noise.rpartition("-")
        assert (setting.name, setting.data) == (name, data)
        if isinstance(setting.noise, Noise):
            assert setting.noise.nominal_rate == pytest.approx(int(amount) / 100)
            assert type(setting.noise).__name__.lower().startswith(kind)
        else:
            assert noise == ("sym-0" if setting.noise is None else f"human-{setting.noise}")


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_tests_on_other_samples_with_right_labels(name: str, files: Path) -> None:
    setting = SETTINGS[name]
    assert setting.net == ("small-cnn" if setting.data == "fashion" else "mlp")
    case, same, other = (setting.make(files, seed, samples=100) for seed in (1, 1, 2))
    for first, two in ((case.inputs, same.inputs), (case.labels, same.labels), (case.test[0], same.test[0])):
        np.testing.assert_array_equal(first, two)
    assert len(case.inputs) == len(case.labels) == len(case.truth)
    assert len(case.test[0]) == len(case.test[1]) > 0
    learned = {row.tobytes() for row in case.inputs}
    if setting.data != "digits":  # of which some are alike
        assert not learned & {row.tobytes() for row in case.test[0]}
        assert learned != {row.tobytes() for row in other.inputs}
    rate = case.truth.noise_rate(case.labels)
    if isinstance(setting.noise, Noise):
        assert setting.noise.nominal_rate is not None
        assert 0.4 * setting.noise.nominal_rate < rate < 1.3 * setting.noise.nominal_rate
    else:
        assert (rate == 0) == (setting.noise is None)


def test_test_labels_are_the_right_ones(files: Path) -> None:
    case = SETTINGS["fashion/sym-50"].make(files, 0, samples=100)
    assert case.inputs.shape == (100, 28, 28) and case.inputs.dtype == np.uint8
    assert case.test[0].shape == (60, 28, 28)
    shades = (case.test[0].mean(axis=(1, 2)) - 9.5) / 25
    np.testing.assert_array_equal(np.round(shades), case.test[1])


def test_missing_data_say_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_folder, "DEBIAN_FOLDER", tmp_path / "none")
    monkeypatch.setattr(tables, "MLBENCH_FOLDER", tmp_path / "none")
    for name, words in (
        ("fashion/sym-50", "dataset-fashion-mnist"),
        ("cifar10/sym-50", "cifar10_lite1_20k.npz"),
        ("Vowel/sym-20", "r-cran-mlbench"),
    ):
        with pytest.raises(MissingData, match=f"(?s){words}.*EIGENCLEAN_DATA"):
            SETTINGS[name].make(tmp_path, 0)


# A fair comparison.


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_learning_rate_is_the_same_for_all_recipes(schedule: str) -> None:
    plans = {name: [turn.lr for turn in make_recipe(name, schedule).plan()] for name in RECIPES}
    for name, rates in plans.items():
        assert rates[-EPOCHS:] == plans["standard"], name
    assert len({tuple(rates[-EPOCHS:]) for rates in plans.values()}) == 1


def test_the_schedules_differ_and_the_default_is_the_preset() -> None:
    assert make_recipe("fine") == recipe("fine", preset="small")
    assert make_recipe("fine", net="mlp") == recipe("fine", preset="head")
    ends = {name: make_recipe("standard", name).plan()[-1].lr for name in SCHEDULES}
    first = make_recipe("standard").plan()[0].lr
    assert ends["constant"] == first and ends["preset"] == pytest.approx(first / 20)
    assert ends["late"] == pytest.approx(first / 10)
    assert ends["steps"] == pytest.approx(first / 100)
    searching = [turn.lr for turn in make_recipe("longremix", "steps").plan()[:EPOCHS]]
    assert set(searching) == {first}  # the method itself keeps it constant there


@pytest.mark.parametrize("name", RECIPES)
def test_published_settings_are_those_of_the_authors_in_as_many_epochs(name: str) -> None:
    authors, measured = recipe(name, preset="cifar10"), make_recipe(name, PUBLISHED, epochs=12)
    assert measured.epochs == make_recipe(name, epochs=12).epochs
    assert make_recipe(name, PUBLISHED).epochs == make_recipe(name).epochs
    for what in ("name", "lr", "momentum", "weight_decay", "batch_size", "gamma"):
        assert getattr(measured.optimiser, what) == getattr(authors.optimiser, what)
    assert [type(stage.loss) for stage in measured.stages] == [type(stage.loss) for stage in authors.stages]
    assert measured.augment == authors.augment and measured.scale == make_recipe(name).scale
    assert make_recipe(name, PUBLISHED, net="mlp").augment == make_recipe(name, net="mlp").augment


@pytest.mark.parametrize("name", RECIPES)
def test_epochs_are_those_of_one_training(name: str) -> None:
    usual = recipe(name, preset="small").epochs
    assert make_recipe(name, epochs=15).epochs == usual // 2
    assert make_recipe(name, epochs=1).epochs >= len(recipe(name).stages)


def test_only_those_who_ask_are_told_the_noise_rate() -> None:
    told = make_recipe("co-teaching", noise_rate=0.4)
    assert told == recipe("co-teaching", preset="small", forget_rate=0.4)
    for name in set(RECIPES) - {"co-teaching", "co-teaching+"}:
        assert make_recipe(name, noise_rate=0.4) == make_recipe(name)


@pytest.mark.slow
def test_figures_are_those_of_the_run() -> None:
    case = SETTINGS["digits/sym-50"].make(None, 3)
    result = measure("fine", case, seed=3, epochs=6, device="cpu")
    model = RobustClassifier(make_recipe("fine", epochs=6, net="mlp"), net="mlp", random_state=3, device="cpu")
    model.fit(case.inputs, case.labels, test=case.test)
    kept = ~model.verdict_.flagged
    right = case.labels == case.truth.labels
    assert result["last"] == pytest.approx(model.score(*case.test))
    assert result["best"] == max(record["test_accuracy"] for record in model.history_)
    assert result["kept"] == pytest.approx(kept.mean())
    assert result["f"] == pytest.approx(2 * (kept & right).sum() / (kept.sum() + right.sum()))
    assert result["noise_rate"] == pytest.approx(1 - right.mean())
    assert result["seconds"] > 0 and set(result) == set(measure_module.FIGURES)


@pytest.mark.slow
def test_the_truth_changes_no_accuracy() -> None:
    case = SETTINGS["digits/sym-50"].make(None, 0)
    blind = replace(case, truth=Truth(np.roll(case.truth.labels, 1)))
    known, unknown = (measure("judge", each, epochs=3, device="cpu") for each in (case, blind))
    for figure in ("last", "best", "kept"):
        assert known[figure] == unknown[figure]
    assert known["f"] > unknown["f"]


# Cells.


def test_a_measured_cell_is_not_measured_again(counted: list[str], tmp_path: Path) -> None:
    store = training_store(tmp_path / suite.FILE)

    def go(**options: Any) -> list[Cell]:
        return run(**{
            "recipes": ["standard", "fine"], "settings": "digits/*", "seeds": 1, "known": store.read(),
            "save": store.add, **options,
        })  # fmt: skip

    first = go()
    assert counted == ["standard", "fine"] * 2
    assert go() == first and len(counted) == 4
    go(seeds=2)
    assert len(counted) == 8
    go(seeds=2, remeasure=True)
    assert len(counted) == 16
    go(schedule="constant")  # beside the others, not in their place
    assert len(counted) == 20 and len(store.read()) == 12
    old = store.read()
    store.write([replace(old[0], key="another"), replace(old[1], status="failed"), *old[2:]])
    go(seeds=2), go(schedule="constant")
    assert len(counted) == 22 and len(store.read()) == 12
    go(epochs=4)
    assert len(counted) == 26 and len(store.read()) == 12  # another number of epochs is another result


def test_seeds_come_one_after_the_other(counted: list[str]) -> None:
    cells = run(recipes=["fine"], settings="digits/*", seeds=2)
    assert [(cell.seed, cell.task["setting"]) for cell in cells] == [
        (seed, f"digits/{kind}") for seed in (0, 1) for kind in ("sym-50", "pair-40")
    ]


def test_a_stopped_run_has_saved_what_it_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store, calls = training_store(tmp_path / suite.FILE), 0

    @wraps(measure)  # the module of the function is part of the key
    def stopped(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return dict(FIGURES)

    monkeypatch.setattr(suite, "measure", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(recipes=["fine"], settings="digits/*", save=store.add)
    assert {cell.task["setting"] for cell in store.read()} == {"digits/sym-50", "digits/pair-40"}


def test_what_cannot_run_is_marked_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, files: Path, counted: list[str]
) -> None:
    (missing,) = run(recipes=["fine"], settings="cifar10/human-worst", seeds=1)
    assert missing.status == "missing" and "cifar10_lite1_20k.npz" in missing.note and counted == []
    (measured,) = run(recipes=["fine"], settings="cifar10/human-worst", seeds=1, data=files, known=[missing])
    assert measured.status == "measured"

    @wraps(measure)  # the module of the function is part of the key
    def troubled(name: str, *rest: Any, **options: Any) -> Any:
        if name == "fine":
            raise RuntimeError("no\nluck")
        if name == "elr":
            raise MissingExtra("needs torch, which is not installed")
        return dict(FIGURES)

    monkeypatch.setattr(suite, "measure", troubled)
    cells = run(recipes=["fine", "elr", "gce"], settings="digits/sym-50", seeds=1)
    assert [cell.status for cell in cells] == ["failed", "missing", "measured"]
    assert [cell.note for cell in cells] == ["RuntimeError: no luck", "needs torch, which is not installed", ""]
    assert [row.seeds for row in summary_rows(cells)] == [0, 0, 1]


def request(recipe: str, setting: str, seed: int = 0, **options: Any) -> Cell:
    return TrainingSuite().new_request(recipe, SETTINGS[setting], seed, **options)


def test_a_key_depends_on_recipe_data_seed_and_samples() -> None:
    requests = [
        request("fine", "digits/sym-50"),
        request("fine", "digits/pair-40"),
        request("fine", "digits/sym-50", 1),
        request("fine", "digits/sym-50", samples=50),
        request("fine", "digits/sym-50", schedule="constant"),
        request("fine", "digits/sym-50", epochs=4),
        request("gce", "digits/sym-50"),
    ]
    assert len({cell.key for cell in requests}) == len(requests)
    assert request("fine", "digits/sym-50").key == requests[0].key


def test_code_is_that_of_the_components_in_use() -> None:
    def modules(recipe: str, net: str) -> set[str]:
        return component_modules([make_recipe(recipe, net=net).to_dict(), net])

    standard, fine, gce = modules("standard", "mlp"), modules("fine", "small-cnn"), modules("gce", "mlp")
    assert not any(".detect." in module for module in standard)
    assert any(".detect.fine" in module for module in fine)
    assert "eigenclean.losses.gce" in gce - standard
    assert "eigenclean.nets.convolutional" in fine and "eigenclean.nets.mlp" in gce
    codes = [request(name, "digits/sym-50").code for name in ("standard", "fine", "gce")]
    assert len({*codes, request("standard", "fashion/sym-50").code}) == 4


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    for content in ("[]", "{", '{"cells": [{"recipe": "fine"}]}'):
        (tmp_path / "x.json").write_text(content)
        with pytest.raises(InvalidData, match="not a file of `eigenclean bench train`"):
            training_store(tmp_path / "x.json").read()


def test_unknown_names_are_one_sentence() -> None:
    for options, words in (
        ({"recipes": ["fien"]}, "did you mean 'fine'"),
        ({"settings": "fashon/*"}, "no setting matches 'fashon/"),
        ({"schedule": "step"}, "did you mean 'steps'"),
        ({"seeds": 0}, "seeds must be 1 or more"),
        ({"samples": 0}, "samples must be 1 or more"),
        ({"recipes": ["probe"], "settings": "fashion/*"}, "probe takes part in none of these settings"),
    ):
        with pytest.raises(InvalidOption, match=words):
            run(**options)


# The command.


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(bench, ["train", *map(str, arguments)])


@pytest.mark.slow
def test_quick_is_digits_only_and_saves_nothing(tmp_path: Path) -> None:
    done = invoke("--quick", "--recipes", "standard,f-coteaching", "--epochs", 3, "--out", tmp_path / "none")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "none").exists()
    for words in ("digits/sym-50", "digits/pair-40", "standard", "f-coteaching", "last"):
        assert words in done.output
    assert "fashion" not in done.output


@pytest.mark.slow
def test_the_command_saves_shows_and_goes_on(tmp_path: Path, files: Path) -> None:
    arguments = ["--recipes", "standard,fine", "--settings", "fashion/sym-50,cifar10/human-worst", "--seeds", 2,
                 "--epochs", 2, "--samples", 60, "--data", files, "--device", "cpu", "--out", tmp_path]  # fmt: skip
    done = invoke(*arguments, "--plot", tmp_path / "p.svg")
    assert done.exit_code == 0, done.output
    assert "±" in done.output and "fine over standard" in done.output and "cifar10/human-worst" in done.output
    assert (tmp_path / "p.svg").is_file()
    saved = json.loads((tmp_path / "bench_train.json").read_text())
    assert len(saved["cells"]) == 8 and saved["cells"][0]["facts"]["machine"]["device"] == "cpu"
    assert str(files) not in json.dumps(saved)
    spoken = json.loads(invoke(*arguments, "--json").stdout)
    assert {json.dumps(cell) for cell in spoken["cells"]} == {json.dumps(cell) for cell in saved["cells"]}
    assert len(spoken["differences"]) == 2 and spoken["differences"][0]["seeds"] == 2


def test_the_table_marks_what_is_missing_and_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data_folder.VARIABLE, str(tmp_path))
    done = invoke("--recipes", "fine", "--settings", "cifar10/sym-50", "--out", tmp_path)
    assert done.exit_code == 0 and "fine *" in done.output
    assert "needs cifar10_lite1_20k.npz" in " ".join(done.output.split())
    task = {"recipe": "fine", "setting": "digits/sym-50", "schedule": "preset"}
    cell = Cell(task, 0, "key", "code", "failed", note="ValueError: what")
    monkeypatch.setattr(suite, "run", lambda **options: [cell])
    failed = invoke("--out", tmp_path)
    assert failed.exit_code == 1 and "failed: ValueError: what" in failed.output


def test_speed_is_saved_and_a_missed_target_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = Ratio.timed("engine", "bare", (2.0, 1.0), RatioTarget("at most", 1.05))
    monkeypatch.setattr(speed, "run", lambda sizes: [result])
    done = invoke("--speed", "--out", tmp_path)
    assert done.exit_code == 1 and "missed" in done.output
    assert json.loads((tmp_path / "bench_train_speed.json").read_text())["cases"][0]["ratio"] == 2
    quick = invoke("--speed", "--quick", "--json", "--out", tmp_path / "none")
    assert quick.exit_code == 0 and not (tmp_path / "none").exists()
    assert json.loads(quick.stdout)["cases"][0]["passed"] is False
