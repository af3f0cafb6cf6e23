"""`eigenclean train`, called as typer calls it."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from eigenclean.arrays import Array, Ints
from eigenclean.cli.listing import list_names
from eigenclean.cli.train import train
from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.nets import NETS
from eigenclean.train import RobustClassifier, recipe_names
from eigenclean.train.presets import PRESETS
from eigenclean.verdict import Verdict

app = typer.Typer()
app.command()(train)


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def source(blobs: tuple[Array, Ints], tmp_path: Path) -> Path:
    path = tmp_path / "data.npz"
    np.savez(path, features=blobs[0], labels=blobs[1], ids=np.arange(120) + 500)
    return path


def test_it_writes_a_model_a_verdict_and_the_metrics(source: Path, tmp_path: Path) -> None:
    shown = run(source, "--out", tmp_path / "run", "--epochs", 9, "--device", "cpu")
    assert "judge with mlp: 9 epochs" in shown
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "checkpoint.safetensors",
        "manifest.json",
        "metrics.jsonl",
        "model.json",
        "model.md",
        "model.safetensors",
        "report.html",
        "rounds.jsonl",
        "summary.json",
        "verdict.parquet",
    ]
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == list(range(1, 10))
    assert Verdict.load(tmp_path / "run").ids[0] == 500
    assert RobustClassifier.load(tmp_path / "run").history_ == lines
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["recipe"] == "judge"
    assert "quality" not in summary


def test_noise_is_added_before_and_measured_after(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = run(source, "--out", out, "--noise", "symmetric:0.3", "--epochs", 9, "--json", "--device", "cpu")
    record = json.loads(shown)
    assert record["noise"] == "symmetric:0.3"
    assert 0.1 < record["quality"]["noise_rate"] < 0.3
    assert record["kept_fraction"] <= 1
    given = np.load(source)["labels"]
    assert 0.1 < np.mean(Verdict.load(out).labels != given) < 0.3
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert lines[0]["recall"] == 1  # everything is kept in the warm-up
    assert lines[0]["precision"] == pytest.approx(1 - record["quality"]["noise_rate"])
    assert lines[-1]["f"] == pytest.approx(record["quality"]["f"])
    assert "Right labels in blue" in (out / "report.html").read_text()


def test_validation_samples_are_set_apart_by_right_label_and_spoiled_too(source: Path, tmp_path: Path) -> None:
    options = [
        "--noise",
        "symmetric:0.5",
        "--validation",
        "0.25",
        "--test",
        source,
        "--epochs",
        9,
        "--device",
        "cpu",
    ]
    record = json.loads(run(source, "--out", tmp_path / "run", *options, "--json"))
    given = np.load(source)["labels"]
    verdict = Verdict.load(tmp_path / "run")
    assert len(verdict) == 90
    right = given[np.asarray(verdict.ids) - 500]
    assert np.bincount(right).tolist() == (0.75 * np.bincount(given)).round().astype(int).tolist()
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    best = max(lines, key=lambda line: (line["val_accuracy"], line["epoch"]))
    assert record["best_epoch"] == best["epoch"]
    assert record["val_accuracy_best"] == best["val_accuracy"] < 0.9  # its labels are noisy as well
    assert record["test_accuracy_best"] == best["test_accuracy"]
    assert record["test_accuracy_last"] == lines[-1]["test_accuracy"]
    model = RobustClassifier.load(tmp_path / "run")
    features = np.load(source)["features"]
    assert np.mean(model.predict(features) == given) == pytest.approx(best["test_accuracy"])
    assert model.best_epoch_ == best["epoch"]


@pytest.mark.parametrize(("net", "warm_up"), [(None, 3), ("linear", 3), ("small-cnn", 10)])
def test_networks_of_images_have_a_longer_warm_up(net: str | None, warm_up: int) -> None:
    from eigenclean.workflows.train_setup import default_preset

    assert PRESETS[default_preset(net)].warm_up == warm_up


def test_presets_settings_and_selectors_reach_the_recipe(source: Path, tmp_path: Path) -> None:
    settings = ["forget_rate=0.3", "stage.2.lr=0.01", "batch_size=32", "net.hidden=[7]"]
    options = [word for setting in settings for word in ("--set", setting)]
    run(source, "--out", tmp_path / "a", "--recipe", "co-teaching", "--epochs", 4, *options, "--device", "cpu")
    recipe_ = RobustClassifier.load(tmp_path / "a").recipe_
    assert recipe_.stages[1].select.to_dict()["forget_rate"] == 0.3
    assert RobustClassifier.load(tmp_path / "a").net_options == {"hidden": [7]}
    assert recipe_.plan()[-1].optimiser.lr == 0.01
    assert recipe_.plan()[0].optimiser.batch_size == 32
    run(
        source,
        "--out",
        tmp_path / "b",
        "--recipe",
        "standard",
        "--selector",
        "knn",
        "--epochs",
        4,
        "--device",
        "cpu",
    )
    assert Verdict.load(tmp_path / "b").method == "knn"
    lines = (tmp_path / "b" / "rounds.jsonl").read_text().splitlines()
    assert sorted(json.loads(lines[0])) == ["epoch", "kept_by_class"]
    assert "Kept samples in blue" in (tmp_path / "b" / "report.html").read_text()


def test_a_resumed_command_goes_on_and_says_what_differs(source: Path, tmp_path: Path) -> None:
    options = [source, "--out", tmp_path / "run", "--noise", "symmetric:0.3", "--epochs", 6, "--device", "cpu"]
    run(*options, "--resume")  # nothing there yet: from the beginning
    before = (tmp_path / "run" / "metrics.jsonl").read_text()
    run(*options, "--resume")
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before
    for changed, message in ((["--seed", 1], "seed was 0 and is 1"), (["--recipe", "fine"], "select kind was")):
        with pytest.raises(InvalidOption, match=f"cannot resume from .*{message}"):
            run(*options, "--resume", *changed)
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before


def test_images_go_to_networks_of_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    images = rng.integers(0, 100, (60, 12, 12), dtype=np.uint8)
    images[labels == 1, :6] += 120
    np.savez(tmp_path / "images.npz", images=images, labels=labels)
    settings = ["--set", "augment=crop-flip", "--set", "batch_size=10"]
    options = ["--recipe", "standard", "--net", "small-cnn", "--epochs", 10, *settings, "--device", "cpu"]
    run(tmp_path / "images.npz", "--out", tmp_path / "run", *options)
    model = RobustClassifier.load(tmp_path / "run")
    assert model.inputs_.shape == (1, 12, 12)
    assert np.mean(model.predict(images) == labels) > 0.8
    with pytest.raises(InvalidData, match=r"fitted on images of 1 x 12 x 12, got images of 1 x 9 x 9"):
        model.predict(images[:, :9, :9])


def test_splits_of_the_source_choose_and_test(tmp_path: Path) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    for split, n in (("train", 24), ("val", 8), ("test", 6)):
        for kind, light in (("dark", 0), ("light", 150)):
            folder = tmp_path / "photos" / split / kind
            folder.mkdir(parents=True)
            for number in range(n):
                pixels = rng.integers(light, light + 100, (8, 8, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{number}.png")
    options = ["--net", "mlp", "--recipe", "standard", "--epochs", 10, "--set", "batch_size=8", "--device", "cpu"]
    record = json.loads(run(tmp_path / "photos", "--out", tmp_path / "run", *options, "--json"))
    assert record["n_samples"] == 48
    assert record["val_accuracy_best"] == record["test_accuracy_best"] == 1
    assert "val_accuracy" in (tmp_path / "run" / "metrics.jsonl").read_text()
    noisy = ["--noise", "symmetric:0.4", "--validation", "0.25"]
    record = json.loads(run(tmp_path / "photos", "--out", tmp_path / "noisy", *options, *noisy, "--json"))
    assert record["n_samples"] == 36


def test_a_network_of_images_refuses_features(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match=r"net small-cnn needs images, but .*data.npz has features only"):
        run(source, "--out", tmp_path / "run", "--net", "small-cnn")
    with pytest.raises(InvalidData, match="augment 'crop-flip' is for images, got vectors"):
        run(source, "--out", tmp_path / "run", "--set", "augment=crop-flip")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "fien"], "did you mean 'fine'"),
        (["--net", "mpl"], "did you mean 'mlp'"),
        (["--noise", "symetric:0.5"], "did you mean 'symmetric'"),
        (["--epochs", "1"], "epochs must be at least 2"),
        (["--preset", "cifar"], "did you mean 'cifar10'"),
        (["--selector", "fin"], "did you mean 'fine'"),
        (["--set", "stage.2.lrr=1"], "did you mean 'lr'"),
        (["--set", "warmup=3"], "did you mean 'warm_up'"),
        (["--set", "net.hiden=[3]"], "did you mean 'hidden'"),
        (["--set", "lr"], "must look like option=value"),
        (["--validation", "1.5"], "fraction must be from 0 to below 1"),
        (["--mixed-precision", "fp8"], "mixed_precision must be one of bf16, fp16, no"),
    ],
)
def test_mistakes_get_a_sentence_and_leave_nothing(
    source: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(InvalidOption, match=message):
        run(source, "--out", tmp_path / "run", *arguments)
    assert not (tmp_path / "run").exists()


def test_without_torch_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"eigenclean train needs torch.*pip install 'eigenclean\[train\]'"):
        run("no-such-file.npz", "--out", tmp_path / "run", "--recipe", "fine")


@pytest.mark.parametrize(("kind", "names"), [("recipes", recipe_names()), ("presets", PRESETS), ("nets", NETS)])
def test_everything_to_choose_is_listed(kind: str, names: Iterable[str]) -> None:
    listing = typer.Typer()
    listing.command()(list_names)
    done = CliRunner().invoke(listing, [kind, "--json"], catch_exceptions=False)
    assert json.loads(done.stdout) == list(names)
