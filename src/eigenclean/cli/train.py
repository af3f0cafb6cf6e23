"""`eigenclean train`: from a source with some wrong labels to a classifier and a verdict."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, percent, print_json, say, table, working
from eigenclean.cli.score import print_quality

_MOST = 8  # lines of the table
_METRICS = "metrics.jsonl"


def train(
    source: o.SourceArgument,
    out: o.Out,
    recipe: Annotated[str, typer.Option(help="How to train; see `eigenclean list recipes`.")] = "fine",
    net: Annotated[str, typer.Option(help="Network; see `eigenclean list nets`.")] = "mlp",
    selector: Annotated[
        str | None, typer.Option(help="Detector that selects the samples, when not the recipe's own.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs in all, when not those of the recipe.")] = None,
    noise: Annotated[
        str | None, typer.Option(metavar="KIND:RATE", help="Make labels wrong first, such as symmetric:0.5.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu; by default the best there is.")] = None,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    feature_column: o.FeatureColumns = None,
    id_column: o.IdColumn = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Train a classifier in spite of wrong labels; write the model, its verdict and metrics.jsonl."""
    from eigenclean.extras import require

    require("torch", extra="train", caller="eigenclean train")
    from eigenclean.files import write_text
    from eigenclean.metrics import score_verdict
    from eigenclean.noise import corrupt, parse_noise
    from eigenclean.report.publish import results_folder
    from eigenclean.sources import open_source
    from eigenclean.train import RobustClassifier
    from eigenclean.version import __version__

    kind = None if noise is None else parse_noise(noise)
    data = open_source(
        source, labels=labels, label_column=label_column, feature_columns=feature_column, id_column=id_column
    )
    model = RobustClassifier(recipe, net=net, selector=selector, epochs=epochs, random_state=seed, device=device)
    with results_folder(out) as folder, working():
        started = time.perf_counter()
        features = data.features()
        noisy = None if kind is None else corrupt(data.labels, kind, random_state=seed, features=features)
        model.fit(features, data.labels if noisy is None else noisy.labels, ids=data.ids)
        run: dict[str, Any] = {
            "recipe": model.recipe_.name,
            "net": net,
            "epochs": model.recipe_.epochs,
            "seconds": time.perf_counter() - started,
            "version": __version__,
            "data_hash": data.data_hash(),
        }
        if noisy is not None:  # the right labels come in here, after all learning
            run |= {"noise": noise, "quality": score_verdict(model.verdict_, noisy.truth).as_dict()}
        write_text(folder / _METRICS, "".join(json.dumps(record) + "\n" for record in model.history_))
        model.save(folder, **run)
    if as_json:
        print_json({**model.verdict_.summary(**run), **model.history_[-1]})
        return
    _print_run(model.history_, run)
    say(str(model.verdict_))
    if "quality" in run:
        print_quality({model.verdict_.method: run["quality"]})
    mention(f"written to {folder}: model.safetensors, model.json, verdict.parquet, summary.json, {_METRICS}")


def _print_run(history: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> None:
    """A few epochs of the run: the first, those with a new selection, the last."""
    say(f"{run['recipe']} with {run['net']}: {run['epochs']} epochs in {run['seconds']:.1f} s")
    telling = [record for record in history[1:-1] if record["selected"]]
    step = -(-len(telling) // (_MOST - 2)) or 1
    shown = table(None, "epoch", "loss", "accuracy on given labels", "kept")
    for record in [*history[:1], *telling[::step], *history[max(1, len(history) - 1) :]]:
        accuracy, kept = percent(record["train_accuracy"]), percent(record["kept_fraction"])
        shown.add_row(str(record["epoch"]), f"{record['loss']:.3f}", accuracy, kept)
    console.print(shown)
