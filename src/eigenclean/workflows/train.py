"""A whole training run: data in, noise if wanted, a model and everything about the run out."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.metrics import score_verdict
from eigenclean.names import check_name
from eigenclean.nets import NETS, takes_images
from eigenclean.noise import Corruption, corrupt, parse_noise
from eigenclean.noise.instance import Instance
from eigenclean.sampling import held_out
from eigenclean.sources import Source
from eigenclean.sources.raw import RawSource
from eigenclean.sources.relabel import ReviewedLabels
from eigenclean.train import RobustClassifier
from eigenclean.train.callbacks import Callback
from eigenclean.train.data.inputs import take_rows
from eigenclean.train.recipe import Recipe
from eigenclean.version import __version__
from eigenclean.workflows.train_callbacks import Rounds, SelectionQuality
from eigenclean.workflows.train_report import write_run_report
from eigenclean.workflows.trained_eigenvectors import TrainedEigenvectors


@dataclass(frozen=True)
class Run:
    """What came of a run.

    Attributes:
        model: the trained classifier.
        facts: of the run: recipe, net, seconds, accuracies; "quality" of the verdict when the truth is known.
        is_main: whether this process is the one that writes and talks.
    """

    model: RobustClassifier
    facts: dict[str, Any]
    is_main: bool = True


@dataclass(frozen=True)
class Plan:
    """How to run: everything but the data.

    Attributes:
        recipe: what to do.
        net: a name from `NETS`; None for the recipe's own.
        noise: make labels wrong first, such as "symmetric:0.5".
        validation: share of each class that is set apart, and corrupted as the rest is.
        seed: of everything random.
        device: "cpu", or None for the best there is.
        mixed_precision: "no", "fp16" or "bf16".
        net_options: options of the network.
        tensorboard: whether to write logs for it.
        command: how it was called, for the report.
    """

    recipe: Recipe
    net: str | None = None
    noise: str | None = None
    validation: float = 0.0
    seed: int = 0
    device: str | None = None
    mixed_precision: str = "no"
    net_options: Mapping[str, Any] = field(default_factory=dict)
    tensorboard: bool = False
    command: str | None = None


def run_training(
    data: Source,
    plan: Plan,
    folder: Path,
    *,
    validation: Source | None = None,
    test: Source | None = None,
    resume: bool = False,
    decisions: ReviewedLabels | None = None,
) -> Run:
    """Train; write model, verdict, metrics and report into ``folder``. ``resume`` goes on where it stopped.

    ``decisions`` of people count: their labels, what they confirmed is always learned, what they removed never.
    """
    started = time.perf_counter()
    if decisions is not None and plan.noise is not None:
        raise InvalidOption("noise would undo what people decided: give --noise or --patch, not both")
    if decisions is not None:
        data = data.relabelled(decisions.labels)
    there = np.ones(len(data), dtype=bool) if decisions is None else ~decisions.removed
    net = plan.recipe.net if plan.net is None else plan.net
    check_name(net, NETS, by="eigenclean train", what="net")
    inputs = _inputs(data, net)
    # The split goes by the labels of the source, which are the right ones when noise is made here.
    apart = held_out(data.labels, plan.validation, random_state=plan.seed)
    parts = {True: np.flatnonzero(~apart & there), False: np.flatnonzero(apart & there)}
    known, other = (_corrupted(data, inputs, parts[learned], plan, learned) for learned in (True, False))
    given = {
        learned: data.labels[parts[learned]] if noisy is None else noisy.labels
        for learned, noisy in ((True, known), (False, other))
    }
    watching = _callbacks(folder, known, given[True], plan)
    model = RobustClassifier(
        plan.recipe,
        net=net,
        net_options=dict(plan.net_options) or None,
        random_state=plan.seed,
        device=plan.device,
        mixed_precision=plan.mixed_precision,
        callbacks=watching,
    )
    model.fit(
        inputs if len(parts[True]) == len(data) else take_rows(inputs, parts[True]),
        given[True],
        ids=data.ids[parts[True]],
        validation=(take_rows(inputs, parts[False]), given[False]) if len(parts[False]) else _pair(validation, net),
        test=_pair(test, net),
        folder=folder,
        resume=resume,
        trusted=None if decisions is None else decisions.verified[parts[True]],
    )
    facts = _facts(model, plan, net, data, time.perf_counter() - started)
    if decisions is not None:
        facts |= {"n_settled": int(decisions.verified.sum()), "n_removed": int(decisions.removed.sum())}
    if known is not None:  # the right labels come in here, after all learning
        facts |= {"noise": plan.noise, "quality": score_verdict(model.verdict_, known.truth).as_dict()}
    main = int(os.environ.get("RANK", "0")) == 0
    if main:
        model.save(folder, **facts)
        write_run_report(folder, model, facts, watching, source=data.name, command=plan.command)
    return Run(model, facts, main)


def _pair(data: Source | None, net: str) -> tuple[Any, Array] | None:
    return None if data is None else (_inputs(data, net), data.labels)


def _inputs(data: Source, net: str) -> Any:
    """Images for networks of images, features for the others; a sentence when the source has not what is needed."""
    if not takes_images(net) and not isinstance(data, RawSource):
        return data.features()
    if data.images is None:
        if isinstance(data, RawSource):
            data.features()  # says what to do with texts
        raise InvalidData(f"net {net} needs images, but {data.name} has features only; take the net mlp or linear")
    return data.images


def _corrupted(data: Source, inputs: Any, rows: Array, plan: Plan, learned: bool) -> Corruption | None:
    """Noise for one part; validation samples are drawn on their own."""
    if plan.noise is None or len(rows) == 0:
        return None
    noise = parse_noise(plan.noise)
    features = inputs[rows].reshape(len(rows), -1) if isinstance(noise, Instance) else None
    seed = plan.seed if learned else np.random.default_rng([plan.seed, 1])
    return corrupt(data.labels[rows], noise, random_state=seed, features=features, classes=np.unique(data.labels))


def _callbacks(folder: Path, known: Corruption | None, given: Array, plan: Plan) -> list[Callback]:
    truth = None if known is None else known.truth
    watching: list[Callback] = [Rounds(folder, truth), TrainedEigenvectors(truth, given)]
    if known is not None:
        watching.append(SelectionQuality(known.truth, known.labels))
    if plan.tensorboard:
        from eigenclean.train.tensorboard import TensorBoard

        watching.append(TensorBoard(folder / "tensorboard"))
    return watching


def _facts(model: RobustClassifier, plan: Plan, net: str, data: Source, seconds: float) -> dict[str, Any]:
    best, last = model.history_[model.best_epoch_ - 1], model.history_[-1]
    facts = {
        "recipe": model.recipe_.name,
        "net": net,
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
        found = [record["test_accuracy"] for record in model.history_]
        facts |= {"test_accuracy_highest": max(found), "test_accuracy_last_ten": float(np.mean(found[-10:]))}
    return facts
