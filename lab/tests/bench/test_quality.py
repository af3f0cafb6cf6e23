"""`bench quality`: cells are measured rightly, marked when they cannot be, and never measured twice."""

import gzip
import json
import shutil
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
from eigenclean.detect import DETECTORS, FINE
from eigenclean.detect.decisions import Decision
from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.noise import Noise
from eigenclean_lab.bench import code, quality, quality_data, quality_yardstick
from eigenclean_lab.bench.quality import Cell, fingerprint, read_cells, run, summary_rows, write_cells
from eigenclean_lab.bench.quality_data import SETTINGS, MissingData, data_folder, thinned
from eigenclean_lab.bench.quality_plot import plot_quality
from eigenclean_lab.cli.bench import bench

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
    write_fashion(folder / "fashion-mnist")
    return folder


def write_idx(path: Path, values: Array) -> None:
    """As the Debian package dataset-fashion-mnist has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = b"\0\0\x08" + bytes([values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    path.write_bytes(gzip.compress(head + values.astype(np.uint8).tobytes()))


def write_fashion(folder: Path, n: int = 400) -> tuple[Array, Array]:
    """Images of ten kinds, in the layout of the real files."""
    rng = np.random.default_rng(1)
    labels = rng.integers(10, size=n)
    images = np.clip(rng.normal(60, 20, (n, 28, 28)) + 120 * (np.arange(28) // 3 == labels[:, None, None]), 0, 255)
    images = images.astype(np.uint8)
    write_idx(folder / "train-images-idx3-ubyte.gz", images)
    write_idx(folder / "train-labels-idx1-ubyte.gz", labels)
    return images, labels


def test_the_settings_are_those_of_the_issue() -> None:
    cifar = [f"sym-{rate}" for rate in (0, 2, 20, 50, 80)] + ["asym-40", "instance-40"]
    cifar += [f"human-{which}" for which in ("aggre", "rand1", "worst")]
    trained = [f"sym-{rate}" for rate in (0, 20, 50, 80)]
    assert list(SETTINGS) == [
        *(f"cifar10/{name}" for name in cifar),
        *("cifar10-10to1/sym-20", "cifar10-10to1/sym-50"),
        *(f"cifar10-net/{name}" for name in (*trained, "asym-40")),
        *("banking77/sym-20", "banking77/sym-50"),
        *(f"{data}/{name}" for data in ("fashion", "fashion-net") for name in (*trained, "pair-40")),
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
    assert found["suggestion_accuracy"] == pytest.approx(
        (verdict.suggested == case.truth.labels)[verdict.flagged & ~clean].mean()
    )
    promised = FINE().judge(case.features, case.labels, decision=Decision(max_false_flags=0.1)).flagged
    assert found["false_flags_at_10"] == pytest.approx(clean[promised].mean())
    assert found["found_at_10"] == pytest.approx(promised[~clean].mean())
    assert found["seconds"] is not None and found["seconds"] > 0


def test_clean_data_have_no_ranking_and_no_recall() -> None:
    found = quality.measure("fine", SETTINGS["digits/sym-0"].make(None, 0))
    assert found["auroc"] is None and found["noisy_recall"] is None and found["noisy_precision"] is None
    assert found["clean_flagged"] == pytest.approx(found["flagged_share"])
    assert found["false_flags_at_10"] is None and found["found_at_10"] is None


def test_without_a_flag_no_flag_is_wrong() -> None:
    found = quality.promise_kept(np.array([0.8, 0.9]), np.array([True, False]))
    assert found == {"false_flags_at_10": None, "found_at_10": 0.0}


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


def test_fashion_is_found_in_the_folder_or_where_debian_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = SETTINGS["fashion/sym-0"]
    monkeypatch.setattr(quality_data, "_DEBIAN", tmp_path / "debian" / "fashion-mnist")
    for folder in (None, tmp_path):
        with pytest.raises(MissingData, match="Debian package dataset-fashion-mnist, or train-images-idx3-ubyte"):
            setting.make(folder, 0)
    images, labels = write_fashion(tmp_path / "debian" / "fashion-mnist", n=30)
    case = setting.make(None, 0)
    np.testing.assert_array_equal(case.labels, labels)
    np.testing.assert_allclose(case.features, images.reshape(30, 784) / 255, rtol=1e-6)
    for place, n in ((tmp_path / "own", 20), (tmp_path / "own" / "fashion-mnist", 10)):  # what is nearer wins
        write_fashion(place, n)
        assert len(setting.make(tmp_path / "own", 0).labels) == n
    assert len(setting.make(tmp_path / "elsewhere", 0).labels) == 30


def test_only_the_first_images_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = write_fashion(tmp_path, n=50)
    monkeypatch.setattr(quality_data, "_MOST", 40)
    case = SETTINGS["fashion/sym-0"].make(tmp_path, 0)
    np.testing.assert_array_equal(case.labels, labels[:40])
    np.testing.assert_allclose(case.features[-1], images[39].ravel() / 255, rtol=1e-6)


def test_the_real_fashion_mnist() -> None:
    if not quality_data._DEBIAN.is_dir():
        pytest.skip("needs the Debian package dataset-fashion-mnist; other tests read small files of that layout")
    case = SETTINGS["fashion/sym-0"].make(None, 0)
    assert case.features.shape == (20_000, 784)
    assert case.features.min() == 0 and case.features.max() == 1
    assert case.labels[:10].tolist() == [9, 0, 0, 3, 0, 2, 7, 2, 5, 5]
    assert (np.bincount(case.labels) > 1900).all()


@pytest.mark.parametrize("kind", ["not gzip", "cut short", "few values", "other type", "empty"])
def test_broken_idx_files_are_one_sentence(kind: str, tmp_path: Path) -> None:
    write_fashion(tmp_path, 20)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    content = {
        "not gzip": b"hello",
        "cut short": whole[: len(whole) // 2],
        "few values": gzip.compress(gzip.decompress(whole)[:-1]),
        "other type": gzip.compress(b"\0\0\x0d" + gzip.decompress(whole)[3:]),
        "empty": gzip.compress(b""),
    }
    path.write_bytes(content[kind])
    with pytest.raises(
        InvalidData, match=r"train-images-idx3-ubyte.gz is not a readable gzipped idx file"
    ) as error:
        SETTINGS["fashion/sym-0"].make(tmp_path, 0)
    assert "\n" not in str(error.value)


def test_images_and_labels_must_belong_together(tmp_path: Path) -> None:
    write_fashion(tmp_path, 20)
    write_idx(tmp_path / "train-labels-idx1-ubyte.gz", np.zeros(19))
    with pytest.raises(InvalidData, match="do not belong together"):
        SETTINGS["fashion/sym-0"].make(tmp_path, 0)


@pytest.mark.parametrize("data", ["cifar10-net", "fashion-net", "digits-net"])
def test_networks_learn_the_noisy_labels(data: str, files: Path) -> None:
    noisy, pixels = SETTINGS[f"{data}/sym-50"], SETTINGS[f"{data.removesuffix('-net')}/sym-50"]
    case, plain, other = noisy.make(files, 0), pixels.make(files, 0), noisy.make(files, 1)
    np.testing.assert_array_equal(case.labels, plain.labels)
    assert case.features.shape == (len(plain.features), 128)
    assert (case.features >= 0).all() and case.features.std() > 0
    assert not np.array_equal(case.features, other.features)
    # Never the right labels: given these, it is another network.
    clean = SETTINGS[f"{data}/sym-0"].make(files, 0)
    assert not np.allclose(case.features, clean.features)


def test_networks_without_torch_are_marked(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def require(module: str, *, extra: str, caller: str) -> Any:
        raise MissingExtra(f"{caller} needs {module}, which is not installed: pip install 'eigenclean[{extra}]'")

    monkeypatch.setattr(quality_data, "require", require)
    cells = run(detectors=["fine"], settings=["fashion-net/sym-20", "cifar10-net/sym-20"], seeds=1, data=files)
    assert [cell.status for cell in cells] == ["missing", "missing"]
    assert cells[0].note.startswith("bench quality, cifar10-net needs torch")
    assert "eigenclean[train]" in cells[1].note


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
    with monkeypatch.context() as patched:
        patched.setattr(quality, "code_hash", lambda *patterns: "edited")
        others.add(fingerprint("fine", first, 0))
    monkeypatch.setattr(quality, "FIGURES", (*quality.FIGURES, "another"))
    others.add(fingerprint("fine", first, 0))
    assert len(others | {key}) == 6


@pytest.mark.parametrize(
    ("edited", "detector", "setting", "counts"),
    [
        ("detect/base.py", "fine", "digits/sym-20", True),
        ("detect/decisions.py", "fine", "digits/sym-20", True),
        ("detect/cuts/mixture.py", "fine", "digits/sym-20", True),
        ("detect/knn.py", "fine", "digits/sym-20", True),  # which detectors use which files is not for us to guess
        ("mixture.py", "fine", "digits/sym-20", True),
        ("moments.py", "fine", "digits/sym-20", True),
        ("report/words.py", "fine", "digits/sym-20", False),
        ("detect/base.py", YARDSTICK, "digits/sym-20", False),
        ("experiments/benchmarks/quality_yardstick.py", YARDSTICK, "digits/sym-20", True),
        ("experiments/network_features.py", "fine", "fashion/sym-20", False),
        ("experiments/network_features.py", "fine", "fashion-net/sym-20", True),
    ],
)
def test_what_was_edited_is_measured_again(
    edited: str, detector: str, setting: str, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(code._SOURCE, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    hash_of = code.code_hash.__wrapped__
    monkeypatch.setattr(quality, "code_hash", lambda *patterns: hash_of(*patterns, root=tmp_path / "copy"))
    before = fingerprint(detector, SETTINGS[setting], 0)
    with open(tmp_path / "copy" / edited, "a", encoding="utf-8") as file:
        file.write("\n# a comment\n")
    assert fingerprint(detector, SETTINGS[setting], 0) == before
    with open(tmp_path / "copy" / edited, "a", encoding="utf-8") as file:
        file.write("\nedited = 1\n")
    assert (fingerprint(detector, SETTINGS[setting], 0) != before) == counts


def test_code_counts_but_comments_and_docstrings_do_not(tmp_path: Path) -> None:
    def hash_of(text: str, name: str = "a.py") -> str:
        for old in tmp_path.glob("*.py"):
            old.unlink()
        (tmp_path / name).write_text(text)
        return code.code_hash.__wrapped__("*.py", root=tmp_path)

    one = hash_of('"""Doc."""\nx = 1  # why\n')
    assert hash_of('"""Other."""\n\nx = 1\n') == one
    assert len({one, hash_of("x = 2\n"), hash_of("x = 1\n", "b.py")}) == 3


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


def test_the_table_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = max(SETTINGS, key=len)
    figures = dict.fromkeys(quality.FIGURES, 1.0)
    cells = [
        Cell(name, longest, 0, "k", "measured", "", figures | {"seconds": seconds})
        for name, seconds in zip((*DETECTORS, YARDSTICK), [0.004, 0.999, 9.94, 123.4] * 9, strict=False)
    ]
    monkeypatch.setattr(quality, "run", lambda **options: cells)
    monkeypatch.setenv("COLUMNS", "80")
    lines = invoke("--quick").output.splitlines()
    assert len([line for line in lines if line.startswith("  ") and "1.00" in line]) == len(cells)  # no cell wraps
    assert all(f"  {name}" in " ".join(lines) for name in DETECTORS)
    heads = next(line for line in lines if "AUROC" in line).split()
    assert heads == ["F", "AUROC", "AP", "ECE", "prec", "rec", "lost", "≤10%", "sugg", "s"]


def test_a_failure_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("fine", "digits/sym-20", 0, "k", "failed", "ValueError: what", {})
    monkeypatch.setattr(quality, "run", lambda **options: [cell])
    done = invoke("--out", tmp_path)
    assert done.exit_code == 1
    assert "failed: ValueError: what" in done.output


def test_a_cell_is_plain_json() -> None:
    cells = run(detectors=["fine"], settings="digits/sym-0", seeds=1)
    assert [Cell(**json.loads(json.dumps(asdict(cell), allow_nan=False))) for cell in cells] == cells
