"""``model.md``: what a trained model is, for those who get it: data, labels, training, accuracies, versions."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import sklearn

from eigenclean.report.formatting import fixed_percent, plain
from eigenclean.tables import TableEncoding
from eigenclean.train import Probe, RobustClassifier
from eigenclean.train.probe.model import ProbeModel
from eigenclean.version import __version__
from eigenclean.workflows.training.accuracy import sentence

MODEL_CARD = "model.md"
_MAX_CLASSES = 50
_MEANINGS = {
    "test_accuracy_last": "on the test samples, by their labels as they are; wrong test labels count as errors",
    "val_accuracy_best": "on the validation samples, whose labels are as noisy as those learned from",
}


def model_card(
    model: RobustClassifier, facts: Mapping[str, Any], *, source: str, encoding: TableEncoding | None = None
) -> str:
    """The card as Markdown."""
    verdict = model.verdict_
    classes = [plain(label) for label in model.classes_.tolist()]
    class_list = ", ".join(map(str, classes[:_MAX_CLASSES])) + (" …" if len(classes) > _MAX_CLASSES else "")
    lines = [
        f"# Model: {plain(facts['recipe'])}",
        "",
        "| | |",
        "|---|---|",
        f"| Data | {_cell(source)}, {len(verdict)} rows learned from |",
        f"| Hash of the data | `{facts['data_hash']}` |",
        f"| Classes | {len(classes)}: {_cell(class_list)} |",
        f"| Input | {_cell(_inputs(model, facts, encoding))} |",
        f"| Labels | {verdict.n_flagged} of {len(verdict)} look wrong to {verdict.method}; estimated noise rate "
        f"{fixed_percent(verdict.noise_rate)} |",
        f"| Training | {_cell(_training(model, facts))} |",
    ]
    lines += [
        f"| Accuracy | {fixed_percent(facts[name])} {meaning} |"
        for name, meaning in _MEANINGS.items()
        if facts.get(name) is not None
    ]
    estimated = facts.get("test_accuracy_estimate")
    if estimated is not None:
        lines.append(f"| True accuracy | {_cell(sentence(estimated))} |")
    lines += [
        f"| Versions | eigenclean {__version__}, Python {sys.version.split()[0]}, numpy {np.__version__}, "
        f"scikit-learn {sklearn.__version__} |",
        "",
        "Use it with `eigenclean predict RUN SOURCE --out predictions.csv`, or in Python with",
        "`RobustClassifier.load(RUN).predict(rows)`. Every row gets one of the classes, whatever it shows.",
    ]
    return "\n".join(lines) + "\n"


def _inputs(model: RobustClassifier, facts: Mapping[str, Any], encoding: TableEncoding | None) -> str:
    embedding = facts.get("embedding")
    if embedding is not None:
        other_columns = "" if encoding is None else f", beside {encoding.sentence()}"
        return f"{embedding['kind']}s, embedded by {embedding['encoder']}{other_columns}"
    if encoding is not None:
        return encoding.sentence()
    if not hasattr(model, "model_") and model.inputs_.are_images:
        return f"images of {' x '.join(map(str, model.inputs_.shape))}"  # type: ignore[arg-type]
    return f"{model.n_features_in_} features"


def _training(model: RobustClassifier, facts: Mapping[str, Any]) -> str:
    if isinstance(model.recipe_, Probe):
        heads = model.model_.describe() if isinstance(model.model_, ProbeModel) else {}
        return f"labels judged by {model.recipe_.detector}, then heads: {', '.join(heads)}"
    epochs = f"{facts['epochs']} epochs, best epoch {facts['best_epoch']}"
    return f"{facts['recipe']} with the network {facts['net']}, {epochs}"


def _cell(text: Any) -> str:
    """A text in a cell of a table, whatever is in it."""
    return str(plain(str(text), 2000)).replace("|", "\\|").replace("\n", " ")
