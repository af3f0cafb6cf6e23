"""`eigenclean score`: how good a verdict is when the truth is known, or a model on test labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, say, table, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.errors import InvalidOption

if TYPE_CHECKING:
    from eigenclean.workflows.embedding import EmbeddingOptions
    from eigenclean.workflows.options import SourceOptions


@with_groups
def score(
    *,
    run: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder that `eigenclean detect` or `eigenclean train` wrote.", show_default=False
        ),
    ],
    truth: Annotated[
        Path | None,
        typer.Option(help="The right labels: .npy in row order, or .npz with labels and ids.", show_default=False),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(help="Rows with labels, right or not, to measure a trained model on.", show_default=False),
    ] = None,
    report: Annotated[
        bool, typer.Option(help="Show the result, with a reliability plot, in DIR/report.html.")
    ] = True,
    encoder: o.EncoderOfRun = None,
    cache: o.Cache = None,
    strict: o.Strict = False,
    columns: o.RawTableOptions,
    as_json: o.Json = False,
) -> None:
    """Measure a verdict against the truth: precision, recall, F, AUROC, calibration.

    With `--test`, measure a trained model: accuracy by the labels as they are, and an interval for the true one.
    How that source is read and embedded (`--label-column`, `--encoder`, ...) is as in `eigenclean predict`.
    """
    from eigenclean.workflows.embedding import EmbeddingOptions
    from eigenclean.workflows.score import score_run

    if test is not None:
        if truth is not None:
            raise InvalidOption("eigenclean score: --truth is for a verdict, --test for a model; give one of them")
        embedding = EmbeddingOptions(encoder, cache=cache, strict=strict)
        _score_model(run, test, columns.source_options(), embedding, as_json)
        return
    if truth is None:
        raise InvalidOption("eigenclean score: give --truth FILE for a verdict, or --test SOURCE for a model")
    scored = score_run(run, truth, report=report, notify=mention)
    if as_json:
        print_json(scored.quality)
    else:
        print_quality({scored.method: scored.quality})
        say_next("eigenclean", "review", run)


def _score_model(
    run: Path, test: str, reading: "SourceOptions", embedding: "EmbeddingOptions", as_json: bool
) -> None:
    from eigenclean.workflows.training.accuracy import score_model, sentence

    with working():
        record = score_model(run, test, reading, embedding, notify=mention).as_dict()
    if as_json:
        print_json(record)
        return
    say(sentence(record))
    say_next("eigenclean", "detect", test, "--out", "test-labels")


_ROWS = (  # key in the record, what it means
    ("flagged_share", "labels flagged"),
    ("noise_rate", "labels really wrong"),
    ("estimated_noise_rate", "estimated noise rate"),
    ("precision", "precision  kept labels that are right"),
    ("recall", "recall     right labels that are kept"),
    ("f", "F          of the two"),
    ("noisy_precision", "precision  flagged labels that are wrong"),
    ("noisy_recall", "recall     wrong labels that are flagged"),
    ("noisy_f", "F          of the two"),
    ("suggestion_accuracy", "suggestions that are right"),
    ("auroc", "AUROC      of the ranking"),
    ("average_precision", "average precision of the ranking"),
    ("ece", "ECE        calibration error"),
)


def print_quality(verdicts: dict[str, dict[str, Any]]) -> None:
    """Print a table of quality figures, with a column for each verdict."""
    output = table(None, "measured", *verdicts)
    for key, meaning in _ROWS:
        numbers = [quality[key] for quality in verdicts.values()]
        output.add_row(meaning, *("–" if number is None else f"{number:.3f}" for number in numbers))
    console.print(output)
