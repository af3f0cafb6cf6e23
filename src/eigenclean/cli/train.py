"""`eigenclean train`: from a source with some wrong labels to a classifier and a verdict."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, percent, print_json, say, table, working
from eigenclean.cli.score import print_quality

if TYPE_CHECKING:
    from eigenclean.sources import Source
    from eigenclean.train import Recipe
    from eigenclean.workflows.train import Plan

_MOST = 8  # lines of the table
_FILES = "model.safetensors, model.json, verdict.parquet, summary.json, metrics.jsonl, report.html"


def train(
    source: o.SourceArgument,
    out: o.Out,
    recipe: Annotated[str, typer.Option(help="How to train; see `eigenclean list recipes`.")] = "fine",
    preset: Annotated[
        str | None,
        typer.Option(
            help="Numbers for a kind of data, see `eigenclean list presets`; by default small for networks that "
            "look at images, head for others."
        ),
    ] = None,
    net: Annotated[
        str | None, typer.Option(help="Network, when not the preset's; see `eigenclean list nets`.")
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="Detector that selects the samples, when not the recipe's own.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs in all, when not those of the recipe.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="Any option of the recipe (forget_rate=0.4), number in it (stage.2.lr=0.01) or option of the "
            "network (net.hidden=[64]); may be repeated.",
        ),
    ] = None,
    noise: Annotated[
        str | None, typer.Option(metavar="KIND:RATE", help="Make labels wrong first, such as symmetric:0.5.")
    ] = None,
    validation: Annotated[
        float, typer.Option(help="Share of each class that is set apart to choose the best epoch.")
    ] = 0.0,
    test: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="Samples whose accuracy is shown; by default the test split."),
    ] = None,
    patch: o.PatchOption = None,
    by_id: o.ById = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run in this folder was stopped.")] = False,
    device: Annotated[str | None, typer.Option(help="cpu; by default the best there is.")] = None,
    mixed_precision: Annotated[str, typer.Option(help="no, fp16 or bf16.")] = "no",
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard.")] = False,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    feature_column: o.FeatureColumns = None,
    id_column: o.IdColumn = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Train a classifier in spite of wrong labels; write the model, its verdict, metrics and a report.

    After every epoch the whole state is saved: a run that was stopped, or killed, goes on with --resume to the same
    numbers.
    """
    import shlex
    import sys

    from eigenclean.extras import require

    require("torch", extra="train", caller="eigenclean train")
    from eigenclean.noise import parse_noise
    from eigenclean.report.run_folder import results_folder
    from eigenclean.workflows.train import Plan, run_training

    if noise is not None:
        parse_noise(noise)  # a mistake is best heard of at once
    settings = o.parse_settings(setting)
    of_net = {key.removeprefix("net."): settings.pop(key) for key in list(settings) if key.startswith("net.")}
    plan = Plan(
        _recipe(recipe, preset or _preset(net), selector, epochs, settings),
        net,
        noise,
        validation,
        seed,
        device,
        mixed_precision,
        of_net,
        tensorboard,
        shlex.join(["eigenclean", *sys.argv[1:]]),
    )
    columns = {"label_column": label_column, "feature_columns": feature_column, "id_column": id_column}
    data, validating, testing = _sources(source, test, labels, columns, plan)
    decisions = None if patch is None else o.read_decisions(data, patch, by_id=by_id)
    with results_folder(out) as folder:
        try:
            with working():
                made = run_training(
                    data,
                    plan,
                    folder,
                    validation=validating,
                    test=testing,
                    resume=resume,
                    decisions=decisions,
                )
        except KeyboardInterrupt:
            _mention_checkpoint(folder)
            raise
    if not made.is_main:
        return
    if as_json:
        print_json({**made.model.verdict_.summary(**made.facts), **made.model.history_[-1]})
        return
    _print_run(made.model.history_, made.facts)
    say(str(made.model.verdict_))
    if "quality" in made.facts:
        print_quality({made.model.verdict_.method: made.facts["quality"]})
    mention(f"written to {folder}: {_FILES}")


def _preset(net: str | None) -> str:
    from eigenclean.nets import NETS, takes_images

    return "small" if net in NETS and takes_images(net) else "head"


def _recipe(name: str, preset: str, selector: str | None, epochs: int | None, settings: dict[str, Any]) -> "Recipe":
    """The recipe with everything that the command line changes about it."""
    from eigenclean.detect import DETECTORS
    from eigenclean.names import check_name
    from eigenclean.train import RECIPES, recipe
    from eigenclean.train.overrides import with_settings

    check_name(name, RECIPES, by="eigenclean train", what="recipe")
    own = {key: settings.pop(key) for key in list(settings) if key in signature(RECIPES[name]).parameters}
    chosen = recipe(name, **{"preset": preset, **own})
    if selector is not None:
        check_name(selector, DETECTORS, by="eigenclean train", what="selector")
        chosen = chosen.with_selector(selector)
    if epochs is not None:
        chosen = chosen.with_epochs(epochs)
    return with_settings(chosen, settings, others=signature(RECIPES[name]).parameters)


def _sources(
    source: str, test: str | None, labels: Any, columns: Mapping[str, Any], plan: "Plan"
) -> "tuple[Source, Source | None, Source | None]":
    """What to learn from, to choose the best epoch by, and to test on: as asked for, else by the splits."""
    from eigenclean.sources import open_source

    data = open_source(source, labels=labels, **columns)
    own = data.splits if "split=" not in source else ()
    apart: list[Source | None] = [None, None if test is None else open_source(test, **columns)]
    if "val" in own and not plan.validation and plan.noise is None:  # labels that are made wrong need noisy ones
        apart[0] = open_source(source, split="val", **columns)
    named = next((name for name in ("test", "imagenet") if name in own), None)
    if test is None and named is not None:
        apart[1] = open_source(source, split=named, **columns)
    return data, apart[0], apart[1]


def _mention_checkpoint(folder: Any) -> None:
    from eigenclean.train import CHECKPOINT

    if (folder / CHECKPOINT).exists():
        mention("the epochs that were over are saved: run the same command with --resume to go on")


def _print_run(history: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> None:
    """A few epochs of the run: the first, those with a new selection, the last."""
    say(f"{run['recipe']} with {run['net']}: {run['epochs']} epochs in {run['seconds']:.1f} s")
    telling = [record for record in history[1:-1] if record["selected"]]
    step = -(-len(telling) // (_MOST - 2)) or 1
    more = [
        (key, name)
        for key, name in (("val_accuracy", "validation"), ("test_accuracy", "test"), ("f", "F of the kept"))
        if key in history[-1]
    ]
    shown = table(None, "epoch", "loss", "accuracy on given labels", "kept", *(name for _, name in more))
    for record in [*history[:1], *telling[::step], *history[max(1, len(history) - 1) :]]:
        accuracy, kept = percent(record["train_accuracy"]), percent(record["kept_fraction"])
        others = [f"{record[key]:.3f}" if key == "f" else percent(record[key]) for key, _ in more]
        shown.add_row(str(record["epoch"]), f"{record['loss']:.3f}", accuracy, kept, *others)
    console.print(shown)
    if run["best_epoch"] != history[-1]["epoch"]:
        say(f"the best epoch on the validation samples was {run['best_epoch']}; the model is the one of that epoch")
