"""`eigenclean train`: from a source with some wrong labels to a classifier and a verdict."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, say, table, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.completion import names_of
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.cli.score import print_quality
from eigenclean.errors import InvalidOption
from eigenclean.report.formatting import fixed_percent

_MAX_ROWS = 8  # of the table of epochs
_FILES = "model.json, model.md, verdict.parquet, summary.json, metrics.jsonl, report.html"


@with_groups
def train(
    *,
    source: o.SourceArgument,
    out: o.Out,
    recipe: Annotated[
        str | None,
        typer.Option(
            autocompletion=names_of("recipes"),
            help="How to train; see `eigenclean list recipes`. By default probe, which trains no network; judge "
            "with an option that is about networks, such as --net.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            autocompletion=names_of("presets"),
            help="Numbers for a kind of data, see `eigenclean list presets`; by default small for networks that "
            "look at images, head for others.",
        ),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option(
            autocompletion=names_of("nets"),
            help="Network, when not the preset's; see `eigenclean list nets`. Images are then not embedded: it is "
            "trained on their pixels.",
        ),
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(
            autocompletion=names_of("detectors"),
            help="Detector that selects the samples, when not the recipe's own.",
        ),
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
    patch: o.PatchOptions,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run in this folder was stopped.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the results of a finished run in this folder.")
    ] = False,
    mixed_precision: Annotated[str, typer.Option(help="no, fp16 or bf16.")] = "no",
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard.")] = False,
    columns: o.AnnotatedTableOptions,
    embedding: o.EncoderOptions,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Train a classifier in spite of wrong labels; write the model, its verdict, metrics and a report.

    Images and texts are embedded first, unless a network is named. Of labels by several annotators the consensus is
    learned. `eigenclean predict` uses the model.

    After every epoch the whole state is saved: a run that was stopped, or killed, goes on with --resume to the same
    numbers. The results of a finished run are replaced with --force only, and when the training is over.
    """
    from eigenclean.extras import require
    from eigenclean.noise import parse_noise
    from eigenclean.report import results_folder
    from eigenclean.train import Recipe
    from eigenclean.workflows.train import TrainingOptions, run_training
    from eigenclean.workflows.train_files import progress_folder
    from eigenclean.workflows.train_setup import (
        build_recipe,
        default_preset,
        default_recipe,
        embeds,
        open_training_sources,
    )

    if noise is not None:
        parse_noise(noise)  # report a mistake before anything is opened
    settings = o.parse_settings(setting)
    of_net = {key.removeprefix("net."): value for key, value in settings.items() if key.startswith("net.")}
    of_recipe = {key: value for key, value in settings.items() if not key.startswith("net.")}
    about_networks = any((net, preset, epochs, resume, tensorboard, mixed_precision != "no"))
    name = recipe or default_recipe(network=about_networks, settings=settings, selector=selector)
    built = build_recipe(
        name, preset=preset or default_preset(net, name), selector=selector, epochs=epochs, settings=of_recipe
    )
    if isinstance(built, Recipe):
        require("torch", extra="train", caller="eigenclean train")
    elif about_networks or of_net:
        raise InvalidOption(
            f"the recipe {built.name} trains no network: leave out --net, --preset, --resume, --tensorboard and "
            "--mixed-precision, or take another recipe, such as judge"
        )
    embedding_options = embedding.embedding_options() if embeds(built, net) else None
    training = TrainingOptions(
        built,
        net=net,
        noise=noise,
        validation=validation,
        seed=seed,
        device=embedding.device,
        mixed_precision=mixed_precision,
        net_options=of_net,
        tensorboard=tensorboard,
        command=o.command_line(),
        embedding=embedding.embedding_options(),
    )
    progress = progress_folder(out, resume=resume, force=force)  # before minutes of opening and training
    # Labels that are corrupted here need validation labels that are corrupted alike, not those of a split.
    use_split = not validation and noise is None
    with working():
        sources = open_training_sources(
            source,
            test,
            columns.source_options(),
            use_validation_split=use_split,
            embedding=embedding_options,
            notify=mention,
        )
    patch_options = patch.patch_options()
    decisions = None if patch_options is None else patch_options.decisions(sources.data)
    with results_folder(out) as folder:
        try:
            with working():
                run = run_training(
                    sources.data,
                    training,
                    folder,
                    validation=sources.validation,
                    test=sources.test,
                    resume=resume,
                    force=force,
                    decisions=decisions,
                    notify=mention,
                )
        except KeyboardInterrupt:
            _mention_checkpoint(progress)
            raise
    if not run.is_main:
        return
    if as_json:
        print_json({**run.model.verdict_.summary(**run.facts), **run.model.history_[-1]})
        return
    _print_run(run.model.history_, run.facts)
    if run.facts.get("test_accuracy_estimate") is not None:
        from eigenclean.workflows.training.accuracy import sentence

        say(sentence(run.facts["test_accuracy_estimate"]))
    say(str(run.model.verdict_))
    if "quality" in run.facts:
        print_quality({run.model.verdict_.method: run.facts["quality"]})
    weights = next(file for file in ("model.npz", "model.safetensors") if (folder / file).exists())
    mention(f"written to {folder}: {weights}, {_FILES}")
    say_next("eigenclean", "predict", out, "SOURCE", "--out", "predictions.csv")


def _mention_checkpoint(folder: Any) -> None:
    from eigenclean.train import CHECKPOINT

    if (folder / CHECKPOINT).exists():
        mention("the epochs that were over are saved: run the same command with --resume to go on")


def _print_run(history: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> None:
    """A few epochs of the run: the first, those with a new selection, the last."""
    if facts["net"] == "none":
        say(f"{facts['recipe']}: judged and fitted in {facts['seconds']:.1f} s")
    else:
        say(f"{facts['recipe']} with {facts['net']}: {facts['epochs']} epochs in {facts['seconds']:.1f} s")
    reselected = [record for record in history[1:-1] if record["selected"]]
    step = -(-len(reselected) // (_MAX_ROWS - 2)) or 1
    columns = [
        (key, name)
        for key, name in (("val_accuracy", "validation"), ("test_accuracy", "test"), ("f", "F of the kept"))
        if key in history[-1]
    ]
    output = table(None, "epoch", "loss", "accuracy on given labels", "kept", *(name for _, name in columns))
    for record in [*history[:1], *reselected[::step], *history[max(1, len(history) - 1) :]]:
        accuracy, kept = fixed_percent(record["train_accuracy"]), fixed_percent(record["kept_fraction"])
        others = [f"{record[key]:.3f}" if key == "f" else fixed_percent(record[key]) for key, _ in columns]
        output.add_row(str(record["epoch"]), f"{record['loss']:.3f}", accuracy, kept, *others)
    console.print(output)
    if facts["best_epoch"] != history[-1]["epoch"]:
        best = facts["best_epoch"]
        say(f"the best epoch on the validation samples was {best}; the model is the one of that epoch")
