"""`eigenclean predict`: tables, texts, images and arrays, with labels and without, by probes and by networks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow.parquet as pq
import pytest
from PIL import Image

from eigenclean import RobustClassifier
from eigenclean.cli.app import run
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train import Probe
from eigenclean.workflows import SourceOptions, run_predict
from eigenclean.workflows.training.image_sizes import in_one_size

QUICK = ["--selector", "knn", "--set", "heads=linear"]


@pytest.fixture
def table() -> pd.DataFrame:
    """Columns of several kinds that tell cats from dogs."""
    rng = np.random.default_rng(0)
    is_cat = np.arange(80) % 2 == 0
    return pd.DataFrame(
        {
            "id": [f"row {number}" for number in range(80)],
            "width": rng.normal(size=80) + 4 * is_cat,
            "colour": np.where(is_cat ^ (np.arange(80) % 9 == 0), "red", "blue"),
            "label": np.where(is_cat, "cat", "dog"),
        }
    )


@pytest.fixture
def trained(table: pd.DataFrame, tmp_path: Path) -> Path:
    table.to_csv(tmp_path / "data.csv", index=False)
    assert run(["train", str(tmp_path / "data.csv"), "--out", str(tmp_path / "run"), *QUICK]) == 0
    return tmp_path / "run"


def test_a_table_without_labels_is_encoded_as_in_training(
    table: pd.DataFrame, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = table.drop(columns="label").assign(more=1)[["colour", "id", "more", "width"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "predictions.parquet"
    assert run(["predict", str(trained), str(tmp_path / "new.csv"), "--out", str(out)]) == 0
    assert "80 rows predicted" in capsys.readouterr().out
    frame = pq.read_table(out).to_pandas()
    assert frame.columns.tolist() == ["id", "label", "probability", "probability cat", "probability dog"]
    assert frame["id"].tolist() == table["id"].tolist()
    assert (frame["label"] == table["label"]).mean() > 0.95
    np.testing.assert_allclose(frame["probability"], frame[["probability cat", "probability dog"]].max(axis=1))
    labelled = run_predict(trained, str(tmp_path / "data.csv"))
    np.testing.assert_allclose(labelled.probabilities[:, 0], frame["probability cat"])
    new.iloc[:1].to_json(tmp_path / "first.jsonl", orient="records", lines=True)
    assert run_predict(trained, str(tmp_path / "first.jsonl")).labels.tolist() == ["cat"]
    model = RobustClassifier.load(trained)
    assert np.array_equal(model.predict(new), frame["label"])
    with pytest.raises(InvalidData, match="the data frame has no column 'colour', which the model was trained on"):
        model.predict(new[["width"]])
    card = (trained / "model.md").read_text()
    assert "2: cat, dog" in card and "1 number, 1 category (2 values)" in card and "labels judged by knn" in card


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("width,label\n1,cat\n", "new.csv has no column 'colour', which the model was trained on; add it"),
        ("colour,width\n", "new.csv"),
    ],
)
def test_other_tables_are_refused_in_one_sentence(
    content: str, sentence: str, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.csv").write_text(content)
    assert run(["predict", str(trained), str(tmp_path / "new.csv"), "--out", str(tmp_path / "p.csv")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


def test_wrong_options_and_folders_are_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["predict", str(trained), "digits", "--out", "predictions.txt"]) == 2
    assert "--out must be a .parquet or .csv file, got predictions.txt" in capsys.readouterr().err
    assert run(["predict", str(tmp_path / "none"), "digits", "--out", "p.csv"]) == 2
    assert "no saved classifier at" in capsys.readouterr().err
    assert run(["predict", str(trained), "digits", "--out", str(tmp_path / "p.csv")]) == 2
    assert "X has 64 features, but RobustClassifier is expecting" in capsys.readouterr().err
    assert run(["predict", str(trained), str(tmp_path / "data.csv"), "--id-column", "key", "--out", "p.csv"]) == 2
    assert "has no column 'key'" in capsys.readouterr().err


def test_arrays_need_no_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + 4 * codes[:, None]
    model = RobustClassifier(Probe(detector="knn", heads="linear")).fit(X, codes)
    model.save(tmp_path / "run")
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", features=X, ids=np.arange(100, 160))
    pd.DataFrame(X, columns=["f0", "f1", "f2", "f3"]).to_csv(tmp_path / "x.csv", index=False)
    for name in ("x.npy", "x.npz", "x.csv"):
        result = run_predict(tmp_path / "run", str(tmp_path / name), reading=SourceOptions())
        np.testing.assert_allclose(result.probabilities, model.predict_proba(X), atol=1e-9)
    assert run_predict(tmp_path / "run", str(tmp_path / "x.npz")).ids[0] == 100


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Dark and bright photos of several sizes, in class folders."""
    rng = np.random.default_rng(0)
    for number in range(24):
        label, side = ("dark", "bright")[number % 2], 12 + number % 3
        pixels = rng.integers(0, 60, (side, side + 2, 3)) + 180 * (number % 2)
        folder = tmp_path / "photos" / label
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number}.png")
    return tmp_path / "photos"


def test_photos_of_several_sizes_train_a_network_and_loose_ones_are_predicted(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--net", "small-cnn", "--recipe", "standard", "--epochs", "2", "--device", "cpu"]
    assert run(["train", str(photos), "--out", str(tmp_path / "run"), *options, "--test", str(photos)]) == 0
    assert "the images have 3 sizes and are brought to 64 x 64 pixels" in capsys.readouterr().err
    result = run_predict(tmp_path / "run", str(photos / "dark"))  # no class folders in it
    assert len(result.ids) == 12 and set(result.labels.tolist()) <= {"bright", "dark"}
    with pytest.raises(InvalidData, match="the model was trained on images, but wine has none"):
        run_predict(tmp_path / "run", "wine")


def test_images_of_one_size_stay_as_they_are() -> None:
    array = np.zeros((3, 8, 8), dtype=np.uint8)
    assert in_one_size(array) is array


def test_texts_are_embedded_by_the_encoder_of_the_run(tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    texts = [
        f"{word} number {number}" for number in range(20) for word in ("refund my payment", "the card is lost")
    ]
    labels = ["refund", "card"] * 20
    pd.DataFrame({"text": texts, "label": labels}).to_csv(tmp_path / "texts.csv", index=False)
    cache = ["--cache", str(tmp_path / "cache")]
    arguments = ["train", str(tmp_path / "texts.csv"), "--out", str(tmp_path / "run"), *QUICK, *cache]
    assert run([*arguments, "--encoder", "wordllama"]) == 0
    pd.DataFrame({"text": texts[:2]}).to_csv(tmp_path / "new.csv", index=False)
    assert (
        run(["predict", str(tmp_path / "run"), str(tmp_path / "new.csv"), "--out", str(tmp_path / "p.csv"), *cache])
        == 0
    )
    assert pd.read_csv(tmp_path / "p.csv")["label"].tolist() == labels[:2]
    assert RobustClassifier.load(tmp_path / "run").predict(texts[:2]).tolist() == labels[:2]


def test_a_run_chooses_no_foreign_encoder(trained: Path, tmp_path: Path) -> None:
    summary = json.loads((trained / "summary.json").read_text())
    summary["embedding"] = {"kind": "text", "encoder": "x", "options": {"encoder": "torch:evil.py:make"}}
    (trained / "summary.json").write_text(json.dumps(summary))
    (trained / "manifest.json").unlink()
    (tmp_path / "new.csv").write_text("text\nhello\nyou\n")
    with pytest.raises(InvalidOption, match="which is not a bundled one and is not run because a file says so"):
        run_predict(trained, str(tmp_path / "new.csv"), reading=SourceOptions(text_column="text"))


def test_the_default_recipe_follows_the_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "wine", "--out", str(tmp_path / "run"), "--recipe", "probe", "--net", "mlp"]) == 2
    assert "the recipe probe trains no network: leave out --net" in capsys.readouterr().err
    assert run(["train", "wine", "--out", str(tmp_path / "run"), "--recipe", "probe", "--epochs", "3"]) == 2
    assert "--epochs is for recipes that train a network" in capsys.readouterr().err
    assert run(["train", "wine", "--out", str(tmp_path / "run"), *QUICK, "--json"]) == 0
    record: Any = capsys.readouterr().out
    assert '"recipe": "probe"' in record
