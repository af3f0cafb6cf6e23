"""`eigenclean detect`: from a source to a verdict and a report."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, percent, print_json, say, table, working
from eigenclean.cli.encoding import Embed, embed
from eigenclean.errors import InvalidOption
from eigenclean.workflows.detect import by_dask, by_stream, in_memory

if TYPE_CHECKING:
    from eigenclean.detect import Detector
    from eigenclean.detect.decisions import Decision
    from eigenclean.scale.resources import Engine

AUTO = "auto"


def detect(
    source: o.SourceArgument,
    out: o.Out,
    method: Annotated[
        str | None,
        typer.Option(
            help="Detector; see `eigenclean list detectors`. auto takes the one that finds planted errors best."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Flag a label when P(right) is at most this; 0.5 unless the method says otherwise."),
    ] = None,
    max_false_flags: Annotated[
        float | None,
        typer.Option(help="Flag as many as possible while at most this share of the flags is expected wrong."),
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Flag this many, those most worth a look.")] = None,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Plant errors in a copy of the labels, and count those found.")
    ] = False,
    planted: Annotated[
        float, typer.Option(help="Share of labels that --self-test and --method auto make wrong.")
    ] = 0.05,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    feature_column: o.FeatureColumns = None,
    id_column: o.IdColumn = None,
    text_column: o.TextColumn = None,
    image_column: o.ImageColumn = None,
    image_root: o.ImageRoot = None,
    encoder: o.Encoder = None,
    device: o.Device = None,
    half: o.Half = False,
    batch: o.Batch = None,
    cache: o.Cache = None,
    no_cache: o.NoCache = False,
    strict: o.Strict = False,
    setting: o.Set = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="memory, stream (data larger than memory) or dask (a cluster); by default memory, or stream when "
            "the features are larger than a share of the free memory."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler; by default --engine dask starts a cluster on this machine."
        ),
    ] = None,
    seed: o.Seed = 0,
    csv: Annotated[bool, typer.Option("--csv", help="Also write verdict.csv.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    as_json: o.Json = False,
) -> None:
    """Find labels that are probably wrong; write verdict.parquet, summary.json and report.html.

    Images and texts without features are embedded first, see `eigenclean embed`.
    """
    from eigenclean.detect.options import build_detector
    from eigenclean.report.run_folder import results_folder
    from eigenclean.scale.resources import choose_engine
    from eigenclean.sources import open_source
    from eigenclean.sources.record import source_record

    decision = _decision(threshold, max_false_flags, budget)
    options = o.parse_settings(setting)
    if method == AUTO and options:
        raise InvalidOption("--set is for one method, --method auto tries several: name the method instead")
    if threshold is not None:
        options["threshold"] = threshold
    names: list[str | None] = [method]
    if self_test or method == AUTO:
        from eigenclean.workflows import self_test as testing

        testing.check_share(planted)
        names = [*testing.candidate_names()] if method == AUTO else names
    judges = [build_detector(name, options, seed=seed) for name in names]
    asked = _engine(engine, scheduler, judges, alone=not self_test and method != AUTO)
    given: dict[str, Any] = {
        "labels": labels,
        "label_column": label_column,
        "feature_columns": feature_column,
        "id_column": id_column,
        "text_column": text_column,
        "image_column": image_column,
        "image_root": image_root,
    }
    data = open_source(source, **given, raw=encoder is not None)
    extra: dict[str, Any] = {"source": source_record(source, **given)}
    how = Embed(encoder, device, half, batch, cache, not no_cache, strict)
    publishing: dict[str, Any] = {
        "command": shlex.join(["eigenclean", *sys.argv[1:]]),
        "csv": csv,
        "report": report,
    }
    with results_folder(out) as folder, working():
        if how.wanted_for(data):
            data = embedded = embed(data, how)
            extra["embedding"] = {**embedded.facts(), "again": how.again(embedded)}
        chosen = choose_engine(data) if asked is None else asked
        if chosen == "stream":
            summary = by_stream(data, judges[0], decision, folder, facts=extra, **publishing)
        elif chosen == "dask":
            summary = by_dask(data, judges[0], decision, folder, scheduler, facts=extra, **publishing)
        else:
            planting = planted if self_test or method == AUTO else None
            summary = in_memory(
                data, judges, decision, folder, planted=planting, tested=self_test, facts=extra, **publishing
            )
    _print(summary, folder, decision, as_json=as_json, csv=csv, report=report)


def _engine(
    engine: str | None, scheduler: str | None, judges: "Sequence[Detector]", *, alone: bool
) -> "Engine | None":
    """The engine that was asked for, or that the method calls for; None leaves it to the size of the data."""
    from eigenclean.detect import BlockDetector, as_block_detector
    from eigenclean.names import check_name
    from eigenclean.scale.resources import ENGINES

    if engine is not None:
        check_name(engine, ENGINES, by="detect", what="engine")
    if scheduler is not None and engine != "dask":
        raise InvalidOption("--scheduler is the address of a Dask cluster: give --engine dask with it")
    if engine in ("stream", "dask"):
        if not alone:
            raise InvalidOption(
                f"--self-test and --method auto judge many times, which --engine {engine} does not: leave one out"
            )
        as_block_detector(judges[0])
        return "stream" if engine == "stream" else "dask"
    if engine == "memory" or not alone or not isinstance(judges[0], BlockDetector):
        return "memory"
    return None


def _print(
    summary: dict[str, Any],
    folder: Path,
    decision: "Decision | None",
    *,
    as_json: bool,
    csv: bool,
    report: bool,
) -> None:
    if as_json:
        print_json(summary)
        return
    if "auto" in summary:
        say(f"Method auto: {summary['auto']['reason']}.")
    print_summary(summary)
    if decision is not None:
        wrong = percent(summary["decision"]["expected_false_flags"])
        outcome = f"{wrong} of these flags are expected to be wrong" if summary["n_flagged"] else "there are none"
        say(f"Decision: {decision}; {outcome}.")
    if "self_test" in summary:
        print_self_test(summary["self_test"])
    written = [
        "verdict.parquet",
        "summary.json",
        *(["verdict.csv"] if csv else []),
        *(["report.html"] if report else []),
    ]
    mention(f"written to {folder}: {', '.join(written)}")


def _decision(threshold: float | None, max_false_flags: float | None, budget: int | None) -> "Decision | None":
    """The decision that the options ask for; None leaves it to the method's own threshold."""
    from eigenclean.detect.decisions import Decision

    options = {"--threshold": threshold, "--max-false-flags": max_false_flags, "--budget": budget}
    given = [option for option, value in options.items() if value is not None]
    if len(given) > 1:
        raise InvalidOption(
            f"--threshold, --max-false-flags and --budget exclude each other: give one of them, "
            f"got {' and '.join(given)}"
        )
    if not given:
        return None
    return Decision(threshold=threshold, max_false_flags=max_false_flags, budget=budget)


def print_self_test(test: dict[str, Any]) -> None:
    """What the self-test found, and what it cannot know."""
    runs = len(test["seeds"])
    say(
        f"\nSelf-test: {test['n_planted']} labels ({percent(test['share'])}) made wrong in a copy, judged again, "
        f"{runs} {'run' if runs == 1 else 'runs'}"
    )
    shown = table(None, "measured", "")
    shown.add_row("planted errors that were flagged (recall)", percent(test["recall"]))
    low, high = test["precision_low"], test["precision_high"]
    between = "–" if low is None else f"{percent(low)} to {percent(high)}"
    shown.add_row("flags that are on wrong labels (precision)", between)
    if test["suggestion_accuracy"] is not None:
        shown.add_row("suggestions that give the replaced label back", percent(test["suggestion_accuracy"]))
    shown.add_row("average precision of the ranking", f"{test['average_precision']:.3f}")
    console.print(shown, markup=False)
    say(test["limits"])


def print_summary(summary: dict[str, Any], most: int = 10) -> None:
    """The headline and the most suspicious classes."""
    n, flagged = summary["n_samples"], summary["n_flagged"]
    low, high = summary["estimated_noise_rate_interval"]
    say(
        f"{flagged} of {n} labels look wrong ({percent(flagged / max(n, 1))}); "
        f"estimated noise rate {percent(summary['estimated_noise_rate'])} ({100 * low:.1f} to {percent(high)}); "
        f"{summary['method']}, {summary['seconds']:.1f} s"
    )
    classes = sorted(summary["per_class"], key=lambda row: -row["n_flagged"] / row["n_samples"])
    shown = table(None, "class", "labels", "flagged", "estimated noise")
    for row in classes[:most]:
        noise = percent(row["estimated_noise_rate"])
        shown.add_row(str(row["label"])[:60], str(row["n_samples"]), str(row["n_flagged"]), noise)
    console.print(shown, markup=False)
    if len(classes) > most:
        say(f"… and {len(classes) - most} more classes in summary.json")
