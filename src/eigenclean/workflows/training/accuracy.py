"""Accuracy of a trained model on test rows whose labels may be wrong, with an interval for the true one."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.detect import detector
from eigenclean.errors import EigencleanError, EigencleanWarning, InvalidData
from eigenclean.metrics.true_accuracy import AccuracyEstimate, true_accuracy
from eigenclean.report.formatting import fixed_percent
from eigenclean.train import RobustClassifier
from eigenclean.workflows.embedding import EmbeddingOptions
from eigenclean.workflows.options import Notify, SourceOptions, ignore
from eigenclean.workflows.predict import run_inputs


def accuracy_on(model: RobustClassifier, inputs: Any, labels: Array) -> AccuracyEstimate:
    """Measure the model on labelled rows, judging their labels by the features that the model sees.

    The detector learns from the test rows alone: their labels may be better or worse than those of the training.
    """
    judge = detector()  # whatever the recipe has: the probabilities of others are not calibrated
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigencleanWarning)  # the width of the interval says the same
        verdict = judge.judge(_features(model, inputs), labels)
    return true_accuracy(model.predict(inputs), verdict)


def estimated_accuracy(model: RobustClassifier, inputs: Any, labels: Array) -> dict[str, Any] | None:
    """`accuracy_on` for JSON; None if the test labels cannot be judged, such as those of a single class."""
    try:
        return accuracy_on(model, inputs, labels).as_dict()
    except EigencleanError:
        return None


def score_model(
    run: Path,
    source: str,
    reading: SourceOptions | None = None,
    embedding: EmbeddingOptions | None = None,
    *,
    notify: Notify = ignore,
) -> AccuracyEstimate:
    """Measure the model in the folder of a training run on the rows of a labelled source.

    ``reading``, ``embedding`` and ``notify`` are those of `run_predict`.
    """
    model, options = RobustClassifier.load(run), reading or SourceOptions()
    ids, inputs = run_inputs(model, source, options, embedding or EmbeddingOptions(), notify)
    labelled = options.open(source, need_features=False)
    place = {value: row for row, value in enumerate(labelled.ids.tolist())}
    rows = np.array([place.get(value, -1) for value in ids.tolist()], dtype=np.intp)
    if (rows < 0).any():
        raise InvalidData(f"{source}: its rows cannot be matched with its labels by their ids")
    return accuracy_on(model, inputs, labelled.labels[rows])


def sentence(record: dict[str, Any]) -> str:
    """What `AccuracyEstimate.as_dict` says, for people.

    >>> print(sentence({"measured": 0.8, "estimate": 0.87, "interval": [0.84, 0.9], "level": 0.9, "n": 500}))
    accuracy on 500 test rows: 80.0 % as measured; if test labels may be wrong too, truly about 87.0 % (90 %
    interval: 84.0 to 90.0 %)
    """
    low, high = record["interval"]
    return (
        f"accuracy on {record['n']} test rows: {fixed_percent(record['measured'])} as measured; if test labels may "
        f"be wrong too, truly about {fixed_percent(record['estimate'])} ({100 * record['level']:.0f} % interval: "
        f"{100 * low:.1f} to {fixed_percent(high)})"
    )


def _features(model: RobustClassifier, inputs: Any) -> Array:
    """What the labels are judged by: vectors as they are, and of images what the first network sees in them."""
    if hasattr(model, "model_") or not model.inputs_.are_images:
        return np.asarray(inputs)
    from eigenclean.train.loop.evaluation import network_outputs

    array = model.inputs_.check(inputs, by="test")
    pool = model.inputs_.pool(array, np.zeros(len(array), dtype=np.intp), model.classes_)
    features, _ = network_outputs(model.networks_[0], pool, features=True)
    assert features is not None
    return np.asarray(features.float().cpu().numpy())
