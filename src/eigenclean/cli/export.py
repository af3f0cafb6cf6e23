"""`eigenclean export`: a verdict for other tools, or a trained model for other libraries."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import mention, print_json, say
from eigenclean.cli.hints.completion import names_of
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.cli.hints.output_files import check_output_file, source_file
from eigenclean.errors import InvalidOption


def export(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder that `eigenclean detect` or `eigenclean train` wrote.", show_default=False
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            autocompletion=names_of("exports"),
            help="For which tool; see `eigenclean list exports`.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; for a model, the folder.")],
    everything: Annotated[
        bool | None,
        typer.Option(
            "--all/--flagged",
            help="All samples in their order, or the flagged ones, worst first; by default what the tool is for.",
            show_default=False,
        ),
    ] = None,
    images: Annotated[Path | None, typer.Option(help="Folder in which the ids are names of image files.")] = None,
    rows: Annotated[
        str | None,
        typer.Option(help="Source whose rows an exported model and the run must predict alike; else random rows."),
    ] = None,
    image_root: o.ImageRootOfRun = None,
    follow_links: o.FollowLinks = False,
    as_json: o.Json = False,
) -> None:
    """Write a verdict for spreadsheets, cleanlab's users, Label Studio, Argilla or FiftyOne, or a model as ONNX.

    A model (`--to onnx`, `torchscript` or `safetensors`) is written into a folder, with its classes and inputs.
    """
    from eigenclean.train.export import FORMATS
    from eigenclean.workflows.check import run_summary
    from eigenclean.workflows.export import export_run

    if to in FORMATS:
        _export_model(run, to, out, rows, as_json)
        return
    if rows is not None:
        raise InvalidOption("eigenclean export: --rows is for models, that is for --to onnx and torchscript")
    check_output_file(out, source_file(run_summary(run)))
    exported = export_run(
        run,
        to,
        out,
        all_rows=everything,
        images=images,
        image_root=image_root,
        follow_links=follow_links,
        notify=mention,
    )
    if as_json:
        print_json({"out": str(out), "to": to, "n_rows": exported.n_rows})
        return
    say(f"{exported.n_rows} {'samples' if exported.all_rows else 'flagged samples'} written to {out}, for {to}")
    say_next("eigenclean", "review", run)


def _export_model(run: Path, to: str, out: Path, rows: str | None, as_json: bool) -> None:
    from eigenclean.workflows.training.export_model import export_model

    exported = export_model(run, to, out, rows=rows, notify=mention)
    if as_json:
        difference = exported.difference
        print_json({"out": str(out), "to": to, "n_checked": exported.n_checked, "largest_difference": difference})
        return
    say(f"the model is in {exported.file}, with its classes and inputs in about.json and README.md beside it")
    if exported.difference is not None:
        row_kind = "" if exported.real_rows else "random "
        say(
            f"checked on {exported.n_checked} {row_kind}rows: probabilities differ from those of the run by at "
            f"most {exported.difference:.0e}"
        )
    say_next("eigenclean", "predict", run, "SOURCE", "--out", "predictions.csv")
