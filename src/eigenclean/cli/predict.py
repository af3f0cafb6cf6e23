"""`eigenclean predict`: what a trained model says about new rows."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, say, table, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.cli.hints.output_files import check_output_file
from eigenclean.report.formatting import fixed_percent

_MAX_CLASSES = 10


@with_groups
def predict(
    *,
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder that `eigenclean train` wrote.", show_default=False)
    ],
    source: o.SourceArgument,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="File for the predictions: .parquet or .csv.", show_default=False),
    ],
    encoder: o.EncoderOfRun = None,
    cache: o.Cache = None,
    strict: o.Strict = False,
    columns: o.RawTableOptions,
    as_json: o.Json = False,
) -> None:
    """Predict labels and probabilities for new rows; labels in SOURCE are not used and may be missing.

    The run remembers how columns became numbers, which encoder embedded images and texts, and the classes.
    """
    from eigenclean.workflows.embedding import EmbeddingOptions
    from eigenclean.workflows.predict import check_output, run_predict

    check_output(out)
    check_output_file(out, source)
    with working():
        predictions = run_predict(
            run,
            source,
            reading=columns.source_options(),
            embedding=EmbeddingOptions(encoder, cache=cache, strict=strict),
            notify=mention,
        )
    predictions.write(out)
    counts = {str(name): int((predictions.labels == name).sum()) for name in predictions.classes.tolist()}
    confidence = float(predictions.probabilities.max(axis=1).mean())
    n_none = None if predictions.none is None else int(predictions.is_none.sum())
    if as_json:
        facts = {"n": len(predictions.ids), "counts": counts, "mean_probability": confidence, "out": str(out)}
        print_json(facts if n_none is None else {**facts, "n_none": n_none})
        return
    say(f"{len(predictions.ids)} rows predicted, with a mean probability of {fixed_percent(confidence)}")
    output = table(None, "label", "rows")
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    for name, count in ordered[:_MAX_CLASSES]:
        output.add_row(name[:60], str(count))
    console.print(output, markup=False)
    if len(ordered) > _MAX_CLASSES:
        say(f"… and {len(ordered) - _MAX_CLASSES} more labels")
    if n_none is not None:
        rows = "1 row probably belongs" if n_none == 1 else f"{n_none} rows probably belong"
        say(f"{rows} to none of these labels, see p_none")
    mention(f"written to {out}")
    say_next("eigenclean", "export", run, "--to", "onnx", "--out", "exported")
