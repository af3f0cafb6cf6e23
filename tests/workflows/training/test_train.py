"""What is seen of a run from outside, and the page about it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData
from eigenclean.sources import MemorySource
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.sources.raw import TextSource
from eigenclean.train import RobustClassifier, recipe
from eigenclean.truth import Truth
from eigenclean.workflows.train import TrainingOptions, network_inputs, run_training
from eigenclean.workflows.train_callbacks import BINS, SelectionHistory, SelectionQuality, score_histogram
from eigenclean.workflows.train_report import render_run, summarize_run


def test_precision_and_recall_of_what_was_learned_from() -> None:
    watch = SelectionQuality(Truth(np.array([0, 0, 1, 1])), np.array([0, 1, 1, 0]))  # rows 1 and 3 are wrong
    network_states = [
        SimpleNamespace(trained_on=np.array(kept, dtype=bool)) for kept in ([1, 1, 0, 0], [1, 0, 1, 0])
    ]
    record: dict[str, Any] = {}
    watch.on_epoch_end(SimpleNamespace(network_states=network_states), record)
    assert record == {"precision": 0.75, "recall": 0.75, "f": 0.75}


def test_histograms_count_every_sample_once() -> None:
    scores = np.concatenate([np.linspace(0, 1, 500), [99.0]])
    right = np.arange(501) < 200
    counts = score_histogram(scores, {"right": right, "wrong": ~right})
    assert (sum(counts["right"]), sum(counts["wrong"]), len(counts["right"])) == (200, 301, BINS)
    assert counts["high"] < 2  # the stray one does not squeeze the rest into one bar
    assert score_histogram(np.ones(5), {"kept": np.ones(5, dtype=bool)})["kept"][0] == 5


def test_rounds_go_on_after_a_kill(tmp_path: Path) -> None:
    rounds = SelectionHistory(tmp_path)
    lines_ = [{"epoch": epoch, "kept_by_class": [1.0]} for epoch in (1, 2, 3)]
    rounds.path.write_text("".join(json.dumps(line) + "\n" for line in lines_))
    rounds.on_train_begin(SimpleNamespace(epochs_done=2, is_main=True, pool=SimpleNamespace(n_classes=1)))
    assert [entry["epoch"] for entry in rounds.records] == [1, 2]


@pytest.mark.parametrize("text", ["{", "[]\n", '{"epoch": "1"}\n', "[" * 100_000, "\udcff"], ids=range(5))
def test_damaged_rounds_get_a_sentence(text: str, tmp_path: Path) -> None:
    rounds = SelectionHistory(tmp_path)
    rounds.path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidData, match="is damaged, so the run cannot be resumed"):
        rounds.on_train_begin(SimpleNamespace(epochs_done=2, is_main=True, pool=SimpleNamespace(n_classes=1)))


def test_texts_and_features_cannot_be_fine_tuned() -> None:
    labels = np.array(["card", "top-up"])
    texts = TextSource("questions.csv", ["where is my card?", "top up failed"], labels)
    sentence = (
        "net encoder needs images, but questions.csv holds texts, and encoders of texts cannot be fine-tuned; "
    )
    with pytest.raises(InvalidData, match=sentence + "take the recipe probe, or judge without --net"):
        network_inputs(texts, "encoder")
    features = MemorySource("table", np.eye(2), labels)
    with pytest.raises(InvalidData, match="net encoder needs images, but table has features only; take the recipe"):
        network_inputs(features, "encoder")


def test_a_run_on_digits_leaves_everything(tmp_path: Path) -> None:
    options = TrainingOptions(
        recipe("f-coteaching").with_epochs(8), noise="symmetric:0.4", validation=0.2, device="cpu"
    )
    digits = DATASETS["digits"]()
    done = run_training(digits, options, tmp_path, test=digits)
    assert done.facts["test_accuracy_last"] > 0.8
    assert done.facts["quality"]["f"] > 0.7
    lines_ = [json.loads(line) for line in (tmp_path / "rounds.jsonl").read_text().splitlines()]
    assert len(lines_) == 8
    assert all(len(line["kept_by_class"]) == 10 for line in lines_)
    assert [line["epoch"] for line in lines_ if "scores" in line] == [
        record["epoch"] for record in done.model.history_ if record["selected"]
    ]
    assert len(done.model.history_[-1]["test_accuracy_each"]) == 2
    page = (tmp_path / "report.html").read_text()
    for words in ("f-coteaching with mlp", "Right labels in blue", "Kept fraction by class", "The last verdict"):
        assert words in page
    assert set(re.findall(r"https?://[^'\"<> ]*", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_the_page_escapes_what_users_wrote(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.array(["<script>alert(1)</script>", "b"])[np.arange(60) % 2]
    X = rng.normal(size=(60, 4)) + (np.arange(60) % 2)[:, None] * 3
    model = RobustClassifier("fine", epochs=4, device="cpu").fit(X, labels)
    facts = {
        "recipe": "fine",
        "net": "mlp",
        "epochs": 4,
        "best_epoch": 4,
        "seconds": 1.0,
        "version": "1",
        "data_hash": "x",
    }
    rounds = [{"epoch": 4, "kept_by_class": [1.0, 0.5]}]
    page = render_run(summarize_run(model, facts, rounds, source="<b>mine</b>", command="a < b"))
    assert "<script>" not in page
    assert "<b>mine</b>" not in page
    assert "&lt;script&gt;" in page


def test_images_without_features_train_a_perceptron(tmp_path: Path) -> None:
    digits = DATASETS["digits"]()
    assert digits.images is not None
    source = ImageSource("mine", np.asarray(digits.images)[:300], digits.labels[:300])
    done = run_training(
        source, TrainingOptions(recipe("standard").with_epochs(10), net="mlp", device="cpu"), tmp_path
    )
    assert done.model.inputs_.are_images
    assert done.model.history_[-1]["train_accuracy"] > 0.7


def test_the_report_names_losses_and_steps_with_their_options(tmp_path: Path) -> None:
    digits = DATASETS["digits"]()
    data = MemorySource("digits", digits.features()[:200], digits.labels[:200])
    options = TrainingOptions(recipe("gce", q=0.5).with_epochs(2), net="linear", device="cpu")
    run_training(data, options, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<td>gce, q=0.5" in page
    assert "ComponentSpec" not in page


@pytest.mark.parametrize(("old", "new"), [("Plan", "TrainingOptions"), ("Run", "TrainingRun")])
def test_former_names_work_with_a_warning(old: str, new: str) -> None:
    from eigenclean.workflows import train

    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(train, old) is getattr(train, new)
