"""`eigenclean detect`: from a source to a verdict and a report."""

import shlex
import sys
import time
from typing import Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, percent, print_json, say, table, working


def detect(
    source: o.SourceArgument,
    out: o.Out,
    method: Annotated[str | None, typer.Option(help="Detector; see `eigenclean list detectors`.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Flag a label when P(right) is at most this; 0.5 unless the method says otherwise."),
    ] = None,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    feature_column: o.FeatureColumns = None,
    id_column: o.IdColumn = None,
    text_column: o.TextColumn = None,
    setting: o.Set = None,
    seed: o.Seed = 0,
    csv: Annotated[bool, typer.Option("--csv", help="Also write verdict.csv.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    as_json: o.Json = False,
) -> None:
    """Find labels that are probably wrong; write verdict.parquet, summary.json and report.html."""
    from eigenclean.detect.options import build_detector
    from eigenclean.report.publish import publish, results_folder
    from eigenclean.sources import open_source

    options = o.parse_settings(setting)
    if threshold is not None:
        options["threshold"] = threshold
    judge = build_detector(method, options, seed=seed)
    data = open_source(
        source,
        labels=labels,
        label_column=label_column,
        feature_columns=feature_column,
        id_column=id_column,
        text_column=text_column,
    )
    with results_folder(out) as folder, working():
        started = time.perf_counter()
        features = data.features()
        verdict = judge.fit(features, data.labels).judge(features, data.labels, ids=data.ids)
        seconds = time.perf_counter() - started
        command = shlex.join(["eigenclean", *sys.argv[1:]])
        summary = publish(folder, verdict, data, command=command, seconds=seconds, csv=csv, report=report)
    if as_json:
        print_json(summary)
        return
    print_summary(summary)
    written = [
        "verdict.parquet",
        "summary.json",
        *(["verdict.csv"] if csv else []),
        *(["report.html"] if report else []),
    ]
    mention(f"written to {folder}: {', '.join(written)}")


def print_summary(summary: dict[str, Any], most: int = 10) -> None:
    """The headline and the most suspicious classes."""
    n, flagged = summary["n_samples"], summary["n_flagged"]
    say(
        f"{flagged} of {n} labels look wrong ({percent(flagged / max(n, 1))}); "
        f"estimated noise rate {percent(summary['estimated_noise_rate'])}; {summary['method']}, "
        f"{summary['seconds']:.1f} s"
    )
    classes = sorted(summary["per_class"], key=lambda row: -row["n_flagged"] / row["n_samples"])
    shown = table(None, "class", "labels", "flagged", "estimated noise")
    for row in classes[:most]:
        noise = percent(row["estimated_noise_rate"])
        shown.add_row(str(row["label"])[:60], str(row["n_samples"]), str(row["n_flagged"]), noise)
    console.print(shown, markup=False)
    if len(classes) > most:
        say(f"… and {len(classes) - most} more classes in summary.json")
