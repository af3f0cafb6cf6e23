"""`bench quality`: cells are measured rightly, marked when they cannot be, and never measured twice."""

import json
import xml.etree.ElementTree as ET
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

from eigenclean.arrays import Array
from eigenclean.cli.bench import bench
from eigenclean.detect import DETECTORS, FINE
from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.experiments.benchmarks import quality, quality_data, quality_yardstick
from eigenclean.experiments.benchmarks.quality import Cell, fingerprint, read_cells, run, summary_rows, write_cells
from eigenclean.experiments.benchmarks.quality_data import SETTINGS, MissingData, data_folder, thinned
from eigenclean.experiments.benchmarks.quality_plot import plot_quality
from eigenclean.noise import Noise

YARDSTICK = quality_yardstick.NAME


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of detectors in the order in which they were really run."""
    calls: list[str] = []
    measure = quality.measure

    def counting(name: str, case: Any, seed: int = 0) -> Any:
        calls.append(name)
        return measure(name, case, seed)

    monkeypatch.setattr(quality, "measure", counting)
    return calls


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files with the arrays of the real ones."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    clean = np.repeat(np.arange(10, dtype=np.uint8), 40)
    means = 3 * rng.normal(size=(10, 12))
    features = (means[clean] + rng.normal(size=(400, 12))).astype(np.float16)
    sets: dict[str, Any] = {}
    for name, rate in (("aggre", 0.1), ("rand1", 0.2), ("worst", 0.4)):
        sets[name] = np.where(rng.random(400) < rate, (clean + 1) % 10, clean).astype(np.uint8)
    np.savez(folder / "cifar10_lite1_20k.npz", features=features, clean=clean, **sets)
    names = np.array([f"intent {k}" for k in range(10)])
    np.savez(folder / "banking77_minilm.npz", features=features, labels=names[clean])
    return folder


def test_the_settings_are_those_of_the_issue() -> None:
    cifar = [f"sym-{rate}" for rate in (0, 2, 20, 50, 80)] + ["asym-40", "instance-40"]
    cifar += [f"human-{which}" for which in ("aggre", "rand1", "worst")]
    assert list(SETTINGS) == [
        *(f"cifar10/{name}" for name in cifar),
        *("cifar10-10to1/sym-20", "cifar10-10to1/sym-50", "banking77/sym-20", "banking77/sym-50"),
        *(f"{data}/sym-{rate}" for data in ("digits", "digits-net") for rate in (0, 20, 50)),
    ]


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_makes_labels_with_known_truth(name: str, files: Path) -> None:
    setting = SETTINGS[name]
    case, again = setting.make(files, seed=1), setting.make(files, seed=1)
    np.testing.assert_array_equal(case.labels, again.labels)
    np.testing.assert_array_equal(case.features, again.features)
    assert len(case.features) == len(case.labels) == len(case.truth)
    assert case.features.dtype == np.float32
    rate = case.truth.noise_rate(case.labels)
    nominal = 0.0 if setting.noise is None else 0.1
    if isinstance(setting.noise, Noise) and setting.noise.nominal_rate is not None:
        nominal = setting.noise.nominal_rate
    if nominal == 0:
        assert rate == 0
    else:
        assert 0.3 * nominal < rate < 4.5 * nominal
    other = setting.make(files, seed=2).labels
    assert setting.seeded == (len(other) != len(case.labels) or (other != case.labels).any())


def test_imbalance_is_exponential_ten_to_one() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 500))
    rows = thinned(labels, 10, seed=3)
    sizes = np.bincount(labels[rows])
    assert sizes[0] == 500 and sizes[-1] == 50
    np.testing.assert_allclose(np.diff(np.log(sizes)), -np.log(10) / 9, atol=0.02)
    assert (np.diff(rows) > 0).all()  # each row once


def test_figures_are_right() -> None:
    case = SETTINGS["digits/sym-20"].make(None, 0)
    found = quality.measure("fine", case)
    verdict = FINE().judge(case.features, case.labels)
    clean = case.truth.labels == case.labels
    assert found["clean_flagged"] == pytest.approx(verdict.flagged[clean].mean())
    assert found["noisy_recall"] == pytest.approx(verdict.flagged[~clean].mean())
    assert found["noisy_precision"] == pytest.approx((~clean)[verdict.flagged].mean())
    assert found["flagged_share"] == pytest.approx(verdict.flagged.mean())
    assert set(found) == set(quality.FIGURES)
    assert found["seconds"] is not None and found["seconds"] > 0


def test_clean_data_have_no_ranking_and_no_recall() -> None:
    found = quality.measure("fine", SETTINGS["digits/sym-0"].make(None, 0))
    assert found["auroc"] is None and found["noisy_recall"] is None and found["noisy_precision"] is None
    assert found["clean_flagged"] == pytest.approx(found["flagged_share"])


def test_a_measured_cell_is_not_measured_again(counted: list[str], tmp_path: Path) -> None:
    file = tmp_path / quality.FILE

    def go(**options: Any) -> list[Cell]:
        return run(
            detectors=["fine"], settings="digits/sym-*0", known=read_cells(file),
            save=lambda cells: write_cells(file, cells, {}), **options,
        )  # fmt: skip

    first = go(seeds=1)
    assert len(counted) == 3
    assert go(seeds=1) == first
    assert len(counted) == 3
    more = go(seeds=2)
    assert len(counted) == 5  # the second seed; clean labels do not depend on it
    assert [cell.place for cell in more if cell.setting == "digits/sym-0"] == [("fine", "digits/sym-0", 0)]
    go(seeds=2, again=True)
    assert len(counted) == 10
    old = read_cells(file)
    write_cells(file, [replace(old[0], key="another"), *old[1:]], {})
    go(seeds=2)
    assert len(counted) == 11  # what other code or options gave counts no more, and is replaced
    assert len(read_cells(file)) == 5
    assert read_cells(file)[0].key == old[0].key


def test_a_stopped_run_has_saved_what_it_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file, calls = tmp_path / quality.FILE, 0
    measure = quality.measure

    def stopped(name: str, case: Any, seed: int = 0) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return measure(name, case, seed)

    monkeypatch.setattr(quality, "measure", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(detectors=["fine"], settings="digits/*", seeds=2, save=lambda cells: write_cells(file, cells, {}))
    assert [cell.place for cell in read_cells(file)] == [("fine", "digits/sym-0", 0), ("fine", "digits/sym-20", 0)]


def test_cells_of_other_runs_stay_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / quality.FILE
    stranger = Cell("other", "cifar10/sym-2", 0, "key", "measured", "", {"f": 0.5}, "0", "2026-01-01")
    run(detectors=["fine"], settings="digits/sym-0", seeds=1, known=[stranger],
        save=lambda cells: write_cells(file, cells, {}))  # fmt: skip
    assert stranger in read_cells(file)


def test_missing_data_are_marked_and_tried_again(files: Path, counted: list[str]) -> None:
    (cell,) = run(detectors=["fine"], settings="cifar10/human-worst", seeds=1, data=None)
    assert cell.status == "missing" and cell.figures == {} and counted == []
    assert "cifar10_lite1_20k.npz" in cell.note and "EIGENCLEAN_DATA" in cell.note
    (found,) = run(detectors=["fine"], settings="cifar10/human-worst", seeds=1, data=files, known=[cell])
    assert found.status == "measured"
    with pytest.raises(MissingData):
        SETTINGS["banking77/sym-20"].make(files / "nowhere", 0)


def test_missing_extras_and_failures_are_marked_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def require(module: str, **words: Any) -> Any:
        raise MissingExtra("needs cleanlab, which is not installed")

    def broken(self: FINE, *args: Any) -> Any:
        raise RuntimeError("no\nluck")

    monkeypatch.setattr(quality_yardstick, "require", require)
    monkeypatch.setattr(FINE, "_learn", broken)
    others = [name for name in ("knn",) if name in DETECTORS]
    cells = run(detectors=[YARDSTICK, "fine", *others], settings="digits/sym-20", seeds=1)
    assert [cell.status for cell in cells] == ["missing", "failed", *("measured" for _ in others)]
    assert cells[0].note == "needs cleanlab, which is not installed"
    assert cells[1].note == "RuntimeError: no luck"
    assert [row.figures == {} for row in summary_rows(cells)] == [True, True, *(False for _ in others)]


def test_a_key_depends_on_options_noise_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = SETTINGS["digits/sym-20"], SETTINGS["digits/sym-50"]
    key = fingerprint("fine", first, 0)
    assert key == fingerprint("fine", first, 0)
    others = {fingerprint("fine", second, 0), fingerprint("fine", first, 1), fingerprint(YARDSTICK, first, 0)}
    monkeypatch.setattr(quality, "code_hash", lambda module: "edited")
    others.add(fingerprint("fine", first, 0))
    assert len(others | {key}) == 5


def test_code_counts_but_comments_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hash_of(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        return quality.code_hash(name)

    monkeypatch.syspath_prepend(tmp_path)
    one = hash_of("qa_one", '"""Doc."""\nfrom eigenclean.moments import ClassMoments\nx = 1  # why\n')
    two = hash_of("qa_two", '"""Other."""\n\nfrom eigenclean.moments import ClassMoments\nx = 1\n')
    three = hash_of("qa_three", "from eigenclean.moments import ClassMoments\nx = 2\n")
    assert len({one, two, three}) == 3  # modules differ by name already
    (tmp_path / "qa_one.py").write_text('"""New."""\nfrom eigenclean.moments import ClassMoments\n\nx = 1\n')
    quality.code_hash.cache_clear()
    assert quality.code_hash("qa_one") == one
    (tmp_path / "qa_one.py").write_text("from eigenclean.moments import ClassMoments\nx = 3\n")
    quality.code_hash.cache_clear()
    assert quality.code_hash("qa_one") != one


def test_rows_are_means_over_seeds() -> None:
    cells = [
        Cell("fine", "digits/sym-20", seed, "k", "measured", "", {"f": f, "auroc": a, "ece": None})
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
            read_cells(tmp_path / "x.json")
    assert read_cells(tmp_path / "none.json") == []


def test_the_folder_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv(quality_data.VARIABLE, raising=False)
    assert data_folder() is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert data_folder() == Path("../shared/data")
    monkeypatch.setenv(quality_data.VARIABLE, str(tmp_path))
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


def test_the_yardstick_leaves_each_sample_out() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), np.arange(60) % 3
    np.testing.assert_allclose(quality_yardstick.neighbour_votes(X, codes, 3), slow_votes(X, codes, 10), atol=1e-12)


def test_the_yardstick_is_what_cleanlab_says() -> None:
    filtering: Any = import_module("cleanlab.filter")
    case = SETTINGS["digits/sym-20"].make(None, 0)
    verdict = quality_yardstick.judge_with_cleanlab(case.features, case.labels)
    votes = quality_yardstick.neighbour_votes(case.features, case.labels, 10)
    np.testing.assert_array_equal(verdict.flagged, filtering.find_label_issues(case.labels, votes))
    changed = verdict.suggested != verdict.labels
    np.testing.assert_array_equal(changed, verdict.flagged)


def test_the_picture_is_svg_and_the_same_each_time(tmp_path: Path) -> None:
    cells = run(detectors=["fine"], settings=["digits/sym-0", "digits/sym-20"], seeds=1)
    cells += run(detectors=["fine"], settings="banking77/sym-20", seeds=1)  # not measured: no column
    a, b = plot_quality(cells, tmp_path / "a.svg"), plot_quality(cells, tmp_path / "new" / "b.svg")
    assert a.read_bytes() == b.read_bytes()
    assert ET.parse(a).getroot().tag.endswith("svg")
    text = a.read_text()
    assert "digits/sym-20" in text and "fine" in text and "banking77" not in text
    with pytest.raises(InvalidData, match="nothing to plot"):
        plot_quality(cells[-1:], tmp_path / "c.svg")


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
    assert Cell(**cell).place == ("fine", "digits/sym-20", 0)
    assert f"{cell['figures']['f']:.3f}"[1:] in done.output
    assert str(tmp_path) not in json.dumps(saved)
    spoken = invoke(*arguments, "--json")
    assert json.loads(spoken.stdout)["cells"] == [cell]
    assert counted == ["fine"]
    invoke(*arguments, "--again")
    assert counted == ["fine", "fine"]


def test_quick_is_digits_only_and_saves_nothing(tmp_path: Path) -> None:
    done = invoke("--quick", "--detectors", f"fine,{YARDSTICK}", "--out", tmp_path / "none")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "none").exists()
    for rate in (0, 20, 50):
        assert f"digits/sym-{rate}" in done.output
    assert "cifar10" not in done.output
    assert YARDSTICK in done.output


def test_the_table_marks_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(quality_data.VARIABLE, str(tmp_path))
    done = invoke("--detectors", "fine", "--settings", "banking77/*", "--seeds", 2, "--out", tmp_path)
    assert done.exit_code == 0
    assert "fine *" in done.output
    assert "needs banking77_minilm.npz" in " ".join(done.output.split())


def test_a_failure_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("fine", "digits/sym-20", 0, "k", "failed", "ValueError: what", {})
    monkeypatch.setattr(quality, "run", lambda **options: [cell])
    done = invoke("--out", tmp_path)
    assert done.exit_code == 1
    assert "failed: ValueError: what" in done.output


def test_a_cell_is_plain_json() -> None:
    cells = run(detectors=["fine"], settings="digits/sym-0", seeds=1)
    assert [Cell(**json.loads(json.dumps(asdict(cell), allow_nan=False))) for cell in cells] == cells
