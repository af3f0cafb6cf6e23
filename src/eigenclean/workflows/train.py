"""`eigenclean train`: from a source, with noise if wanted, to a model, a verdict and a report in a folder."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.deprecation import renamed_names
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features import EmbeddedSource
from eigenclean.metrics import score_verdict
from eigenclean.names import check_name
from eigenclean.nets import NETS, standardises, takes_images
from eigenclean.noise import Corruption, corrupt, parse_noise
from eigenclean.noise.instance import Instance
from eigenclean.sampling import held_out
from eigenclean.seeds import tagged_generator
from eigenclean.sources import LazyImages, Source
from eigenclean.sources.raw import RawSource
from eigenclean.sources.relabel import ReviewedLabels
from eigenclean.sources.tabular.source import TableSource
from eigenclean.tables import TableEncoding
from eigenclean.train import RobustClassifier
from eigenclean.train.callbacks import Callback
from eigenclean.train.data.inputs import take_rows
from eigenclean.train.probe.recipe import Probe
from eigenclean.train.recipe import Recipe
from eigenclean.version import __version__
from eigenclean.workflows.embedding import EmbeddingOptions
from eigenclean.workflows.options import Notify, ignore, link_facts
from eigenclean.workflows.train_callbacks import SelectionHistory, SelectionQuality
from eigenclean.workflows.train_files import is_main_process, progress_folder, publish_training
from eigenclean.workflows.trained_eigenvectors import TrainedEigenvectors
from eigenclean.workflows.training.accuracy import estimated_accuracy
from eigenclean.workflows.training.consensus import labels_to_learn
from eigenclean.workflows.training.image_sizes import ENCODER_SIDE, SIDE, in_one_size


@dataclass(frozen=True)
class TrainingRun:
    """The result of a training run.

    Attributes:
        model: the trained classifier.
        facts: of the run: recipe, net, seconds, accuracies; "quality" of the verdict when the truth is known.
        is_main: whether this process is the one that writes files and prints.
    """

    model: RobustClassifier
    facts: dict[str, Any]
    is_main: bool = True


@dataclass(frozen=True)
class TrainingOptions:
    """How to train: everything but the data.

    Attributes:
        recipe: the training method.
        net: a name from `NETS`; None for the recipe's own.
        noise: noise to add to the labels first, such as "symmetric:0.5".
        validation: share of each class that is held out for validation, and corrupted like the rest.
        seed: seed of everything random.
        device: "cpu", or None for the best there is.
        mixed_precision: "no", "fp16" or "bf16".
        net_options: options of the network.
        tensorboard: whether to write TensorBoard logs.
        command: the command line, for the report.
        embedding: how images and texts became features, where they were embedded.
    """

    recipe: Recipe | Probe
    net: str | None = None
    noise: str | None = None
    validation: float = 0.0
    seed: int = 0
    device: str | None = None
    mixed_precision: str = "no"
    net_options: Mapping[str, Any] = field(default_factory=dict)
    tensorboard: bool = False
    command: str | None = None
    embedding: EmbeddingOptions = field(default_factory=EmbeddingOptions)


def run_training(
    data: Source,
    options: TrainingOptions,
    folder: Path,
    *,
    validation: Source | None = None,
    test: Source | None = None,
    resume: bool = False,
    force: bool = False,
    decisions: ReviewedLabels | None = None,
    notify: Notify = ignore,
) -> TrainingRun:
    """Train, and write model, verdict, metrics and report into ``folder``, as one.

    Args:
        data: what to learn from.
        options: how to train.
        folder: where the results go.
        validation: samples to choose the best epoch by, unless ``options.validation`` holds some out.
        test: samples whose accuracy is measured.
        resume: continue an interrupted run in this folder.
        force: replace the results of a finished run; without it, they are an error.
        decisions: labels that people reviewed: theirs replace the given ones, what they confirmed is always learned
            from, and what they removed never.
        notify: told when images are brought to one size, and what the consensus of several annotators changes.
    """
    started = time.perf_counter()
    progress = progress_folder(folder, resume=resume, force=force)
    if decisions is not None and options.noise is not None:
        raise InvalidOption("noise would undo what people decided: give --noise or --patch, not both")
    if decisions is not None or data.annotations is not None:
        data = data.relabelled(labels_to_learn(data, decisions, notify=notify))
    is_used = np.ones(len(data), dtype=bool) if decisions is None else ~decisions.removed
    net = network_name(options)
    inputs = network_inputs(data, net, notify=notify)
    side = inputs.resize if isinstance(inputs, LazyImages) else None
    # The split is stratified by the labels of the source, which are the right ones when noise is added here.
    is_validation = held_out(data.labels, options.validation, random_state=options.seed)
    rows = {True: np.flatnonzero(~is_validation & is_used), False: np.flatnonzero(is_validation & is_used)}
    noisy_train, noisy_validation = (
        _corrupted(data, inputs, rows[learned], options, learned) for learned in (True, False)
    )
    labels = {
        learned: data.labels[rows[learned]] if noisy is None else noisy.labels
        for learned, noisy in ((True, noisy_train), (False, noisy_validation))
    }
    callbacks = [] if net is None else _callbacks(folder, progress, noisy_train, labels[True], options)
    model = RobustClassifier(
        options.recipe,
        net=net,
        net_options=dict(options.net_options) or None,
        random_state=options.seed,
        device=options.device,
        mixed_precision=options.mixed_precision,
        callbacks=callbacks,
    )
    model.fit(
        inputs if len(rows[True]) == len(data) else take_rows(inputs, rows[True]),
        labels[True],
        ids=data.ids[rows[True]],
        validation=(take_rows(inputs, rows[False]), labels[False])
        if len(rows[False])
        else _pair(validation, net, side),
        test=_pair(test, net, side),
        folder=progress,
        resume=resume,
        trusted=None if decisions is None else decisions.verified[rows[True]],
    )
    facts = {**_facts(model, options, net, data, time.perf_counter() - started), **link_facts(data)}
    tested = _pair(test, net, side)
    if tested is not None and is_main_process():
        facts["test_accuracy_estimate"] = estimated_accuracy(model, *tested)
    encoding = column_encoding(data)
    if encoding is not None:
        facts["features"] = encoding.facts()
    if isinstance(data, EmbeddedSource):
        facts["embedding"] = {**data.facts(), "options": options.embedding.record(data)}
    if decisions is not None:
        facts |= {"n_settled": int(decisions.verified.sum()), "n_removed": int(decisions.removed.sum())}
    if noisy_train is not None:  # the truth is read here, after all learning
        facts |= {"noise": options.noise, "quality": score_verdict(model.verdict_, noisy_train.truth).as_dict()}
    is_main = is_main_process()
    if is_main:
        publish_training(
            folder,
            progress,
            model,
            facts,
            callbacks,
            source=data.name,
            command=options.command,
            encoding=encoding,
        )
    return TrainingRun(model, facts, is_main)


def _pair(data: Source | None, net: str | None, side: int | None) -> tuple[Any, Array] | None:
    return None if data is None else (network_inputs(data, net, side), data.labels)


def network_name(options: TrainingOptions) -> str | None:
    """The network that is trained; None for the probe."""
    if isinstance(options.recipe, Probe):
        return None
    net = options.recipe.net if options.net is None else options.net
    check_name(net, NETS, by="eigenclean train", what="net")
    return net


def column_encoding(data: Source) -> TableEncoding | None:
    """How the columns of a table became features, for rows that come later; None for other data."""
    table = data.raw if isinstance(data, EmbeddedSource) else data
    return table.column_encoding() if isinstance(table, TableSource) else table.encoding


def network_inputs(data: Source, net: str | None, side: int | None = None, *, notify: Notify = ignore) -> Any:
    """Images for networks of images, features for the others; an error when the source has neither.

    ``side`` is that of the squares that images become; None if they keep their size, unless they have several.
    """
    if net is None or (not takes_images(net) and not isinstance(data, RawSource)):
        return data.features()
    if data.images is None:
        if isinstance(data, RawSource):
            raise InvalidData(
                f"net {net} needs images, but {data.name} holds texts, and encoders of texts cannot be fine-tuned; "
                "take the recipe probe, or judge without --net: texts are then embedded first"
            )
        other = "the recipe probe" if standardises(net) else "the net mlp or linear"
        raise InvalidData(f"net {net} needs images, but {data.name} has features only; take {other}")
    default = ENCODER_SIDE if standardises(net) else SIDE
    return in_one_size(data.images, side, default=default, notify=notify)


def _corrupted(
    data: Source, inputs: Any, rows: Array, options: TrainingOptions, learned: bool
) -> Corruption | None:
    """Noise for the training or the validation rows, drawn independently."""
    if options.noise is None or len(rows) == 0:
        return None
    noise = parse_noise(options.noise)
    features = inputs[rows].reshape(len(rows), -1) if isinstance(noise, Instance) else None
    seed = options.seed if learned else tagged_generator(options.seed, "noise of the validation samples")
    return corrupt(data.labels[rows], noise, random_state=seed, features=features, classes=np.unique(data.labels))


def _callbacks(
    folder: Path, progress: Path, noisy: Corruption | None, labels: Array, options: TrainingOptions
) -> list[Callback]:
    truth = None if noisy is None else noisy.truth
    callbacks: list[Callback] = [SelectionHistory(progress, truth), TrainedEigenvectors(truth, labels)]
    if noisy is not None:
        callbacks.append(SelectionQuality(noisy.truth, noisy.labels))
    if options.tensorboard:
        from eigenclean.train.tensorboard import TensorBoard

        callbacks.append(TensorBoard(folder / "tensorboard"))
    return callbacks


def _facts(
    model: RobustClassifier, options: TrainingOptions, net: str | None, data: Source, seconds: float
) -> dict[str, Any]:
    best, last = model.history_[model.best_epoch_ - 1], model.history_[-1]
    facts = {
        "recipe": model.recipe_.name,
        "net": net or "none",
        "epochs": model.recipe_.epochs,
        "best_epoch": model.best_epoch_,
        "seconds": seconds,
        "version": __version__,
        "data_hash": data.data_hash(),
    }
    for name in ("val_accuracy", "test_accuracy"):
        if name in last:
            facts |= {f"{name}_best": best[name], f"{name}_last": last[name]}
    if "test_accuracy" in last:  # as semi-supervised methods are reported: without validation samples
        accuracies = [record["test_accuracy"] for record in model.history_]
        facts |= {
            "test_accuracy_highest": max(accuracies),
            "test_accuracy_last_ten": float(np.mean(accuracies[-10:])),
        }
    return facts


__getattr__ = renamed_names(__name__, {"Plan": "TrainingOptions", "Run": "TrainingRun"})
