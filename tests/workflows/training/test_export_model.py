"""`eigenclean export RUN --to onnx`: the file predicts what the run predicts, and the folder says how to use it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from sklearn.datasets import load_wine

from eigenclean import RobustClassifier
from eigenclean.cli.app import run
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train import Probe, recipe
from eigenclean.train.export import FORMATS
from eigenclean.train.export.probe_graph import tree_attributes
from eigenclean.workflows import export_model, export_run
from eigenclean.workflows.training import export_model as module

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
QUICK = recipe("standard", warm_up=1, epochs=2)


def predicted(file: Path, inputs: Any) -> Any:
    session = onnxruntime.InferenceSession(str(file))
    return session.run(["probabilities"], {session.get_inputs()[0].name: inputs.astype(np.float32)})[0]


@pytest.mark.parametrize("heads", ["linear", "kernel", "trees", "linear,kernel,trees"])
@pytest.mark.parametrize("signed", [False, True])
def test_every_head_of_the_probe(heads: str, signed: bool, tmp_path: Path) -> None:
    X: Any
    X, y = load_wine(return_X_y=True)
    X = X - (X.mean(axis=0) if signed else 0)
    model = RobustClassifier(Probe(detector="knn", heads=heads)).fit(X[::2], y[::2])
    model.save(tmp_path / "run")
    np.save(tmp_path / "rows.npy", X[1::2])
    exported = export_model(tmp_path / "run", "onnx", tmp_path / "out", rows=str(tmp_path / "rows.npy"))
    assert exported.difference is not None and exported.difference <= 1e-5
    assert exported.real_rows and exported.n_checked == 89
    rows = X[1::2].astype(np.float32)
    np.testing.assert_allclose(predicted(tmp_path / "out/model.onnx", rows), model.predict_proba(rows), atol=1e-5)
    assert predicted(tmp_path / "out/model.onnx", rows[:1]).shape == (1, 3)  # any number of rows
    zeros = np.zeros((2, 13))
    np.testing.assert_allclose(predicted(tmp_path / "out/model.onnx", zeros), model.predict_proba(zeros), atol=1e-5)
    script = export_model(tmp_path / "run", "torchscript", tmp_path / "script", rows=str(tmp_path / "rows.npy"))
    assert script.difference is not None and script.difference <= 1e-5
    for some in (rows[:1], np.repeat(rows, 3, axis=0), zeros.astype(np.float32)):  # others than were traced
        scripted = FORMATS["torchscript"].run(script.file, some)
        assert scripted is not None
        np.testing.assert_allclose(scripted, model.predict_proba(some), atol=1e-5)


def test_a_row_on_a_threshold_goes_the_same_way(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (120, 3)) / 10, np.arange(120) % 2
    model = RobustClassifier(Probe(detector="knn", heads="trees")).fit(X, y)
    forest: Any = model.model_.heads["trees"]  # type: ignore[attr-defined]
    values = np.array(tree_attributes(forest)["nodes_values"])
    inner = forest.feature >= 0
    assert (values[inner] <= forest.threshold[inner]).all()
    model.save(tmp_path / "run")
    on = np.repeat(forest.threshold[inner][:60, None], 3, axis=1).astype(np.float32)
    np.save(tmp_path / "rows.npy", np.vstack([on, np.nextafter(on, np.float32(9))]))
    for to in ("onnx", "torchscript"):
        exported = export_model(tmp_path / "run", to, tmp_path / to, rows=str(tmp_path / "rows.npy"))
        assert exported.difference is not None and exported.difference <= 1e-5


@pytest.mark.usefixtures("without_onednn")
def test_networks_of_features_and_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["ant", "bee"])[np.arange(40) % 2]
    far = rng.normal(size=(40, 5)) + 1000 + 3 * (y == "bee")[:, None]  # standardised in double precision
    bytes_ = rng.integers(0, 150, (40, 12, 12, 3), dtype=np.uint8)
    bytes_[y == "bee"] += 100
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("vectors", far, {}),
        ("images", bytes_, {"net": "small-cnn", "net_options": {"width": 4}}),
    ]
    for name, X, options in cases:
        chosen = recipe("f-coteaching", warm_up=1, epochs=2) if name == "vectors" else QUICK
        model = RobustClassifier(chosen.with_selector("knn"), device="cpu", **options).fit(X, y)
        folder = tmp_path / name
        model.save(folder)
        np.savez(tmp_path / "rows.npz", **{"features" if name == "vectors" else "images": X})
        for to, file in (("onnx", "model.onnx"), ("torchscript", "model.pt")):
            exported = export_model(folder, to, tmp_path / f"{name}-{to}", rows=str(tmp_path / "rows.npz"))
            assert exported.file.name == file and exported.n_checked == 40
            assert exported.difference is not None and exported.difference <= 1e-5
            about = json.loads((exported.file.parent / "about.json").read_text())
            assert about["classes"] == ["ant", "bee"] and about["checked"]["rows"] == 40
            shape = ["n", 5] if name == "vectors" else ["n", 3, 12, 12]
            assert about["input"]["shape"] == shape
            assert about["input"]["name"] == ("features" if name == "vectors" else "pixels")
            assert "model." in (exported.file.parent / "README.md").read_text()
            assert export_model(folder, to, tmp_path / "drawn").difference is not None  # without rows
        from safetensors.torch import load_file

        weights = export_model(folder, "safetensors", tmp_path / f"{name}-weights")
        assert weights.difference is None and weights.n_checked == 0
        tensors = load_file(weights.file)
        expected = {f"0.{key}" for key in model.networks_[0].state_dict()} | {"scaling.mean", "scaling.scale"}
        assert expected <= set(tensors)


@pytest.mark.usefixtures("without_onednn")
def test_an_encoder_that_was_fine_tuned(tmp_path: Path) -> None:
    tiny = f"torch:{Path(__file__).parents[2] / 'contracts' / 'tiny_encoder.py'}:make_net"
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.integers(0, 150, (40, 6, 6, 3), dtype=np.uint8) + (100 * y[:, None, None, None]).astype(np.uint8)
    options = {"encoder": tiny, "size": 12}  # larger than the images
    chosen = QUICK.with_selector("knn")
    model = RobustClassifier(chosen, net="encoder", net_options=options, device="cpu").fit(X, y)
    FORMATS["onnx"].write(model, tmp_path / "model.onnx")
    pixels = (X.transpose(0, 3, 1, 2) / 255).astype(np.float32)
    np.testing.assert_allclose(predicted(tmp_path / "model.onnx", pixels), model.predict_proba(X), atol=1e-5)
    smaller = RobustClassifier(
        chosen, net="encoder", net_options={"encoder": f"{tiny}?size=8", "size": 8}, device="cpu"
    ).fit(np.repeat(np.repeat(X, 2, axis=1), 2, axis=2), y)
    with pytest.raises(InvalidData, match=r"the network cannot be written as ONNX.*; take --to torchscript"):
        FORMATS["onnx"].write(smaller, tmp_path / "small.onnx")  # images that shrink are smoothed


def test_the_command_and_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    cat = np.arange(60) % 2 == 0
    table = pd.DataFrame(
        {
            "width": rng.normal(size=60) + 4 * cat,
            "colour": np.where(cat ^ (np.arange(60) % 9 == 0), "red", "blue"),
            "label": np.where(cat, "cat", "dog"),
        }
    )
    table.to_csv(tmp_path / "data.csv", index=False)
    options = ["--selector", "knn", "--set", "heads=linear"]
    assert run(["train", str(tmp_path / "data.csv"), "--out", str(tmp_path / "run"), *options]) == 0
    out = tmp_path / "out"
    command = ["export", str(tmp_path / "run"), "--to", "onnx", "--out", str(out)]
    capsys.readouterr()
    assert run([*command, "--rows", str(tmp_path / "data.csv")]) == 0
    assert "checked on 60 rows: probabilities differ from those of the run by at most" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} >= {"model.onnx", "about.json", "README.md", "encoding.json"}
    assert json.loads((out / "about.json").read_text())["columns"] == ["colour", "width"]
    assert "encoding.json" in (out / "README.md").read_text()
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_checked"] == 64
    assert run(["export", str(tmp_path / "run"), "--to", "safetensors", "--out", str(tmp_path / "weights")]) == 0
    assert "arrays of the heads" in (tmp_path / "weights/README.md").read_text()
    capsys.readouterr()
    for words, sentence in (
        (["--to", "onnx", "--out", "model.onnx"], "--to onnx writes a folder, got --out model.onnx"),
        (["--to", "onx", "--out", "x"], "did you mean 'onnx'"),
        (["--to", "csv", "--out", "x.csv", "--rows", "digits"], "--rows is for models"),
    ):
        assert run(["export", str(tmp_path / "run"), *words]) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
    assert run(["list", "exports"]) == 0
    assert "torchscript" in capsys.readouterr().out


def test_what_cannot_be_exported_gets_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    RobustClassifier(Probe(detector="knn", heads="linear")).fit(X, y).save(tmp_path / "run")
    with pytest.raises(InvalidOption, match="onnx is a format of trained models"):
        export_run(tmp_path / "run", "onnx", tmp_path / "x")
    monkeypatch.setattr(module, "MAX_DIFFERENCE", -1.0)
    with pytest.raises(InvalidData, match="predicts other probabilities than the run"):
        export_model(tmp_path / "run", "onnx", tmp_path / "out")
    assert not (tmp_path / "out" / "model.onnx").exists()
