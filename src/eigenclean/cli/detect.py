"""`eigenclean detect`: from a source to a verdict and a report."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.annotators import print_annotators
from eigenclean.cli.console import console, mention, print_json, say, table, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.completion import names_of
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.cli.hints.output_files import mention_other_results
from eigenclean.errors import InvalidOption
from eigenclean.report.formatting import fixed_percent, none_sentence

if TYPE_CHECKING:
    from eigenclean.detect.decisions import Decision


@dataclass(frozen=True)
class DecisionOptions:
    """The options that say which labels are flagged: a threshold, a limit on false flags, or a budget."""

    threshold: Annotated[
        float | None,
        typer.Option(help="Flag a label when P(right) is at most this; 0.5 unless the method says otherwise."),
    ] = None
    max_false_flags: Annotated[
        float | None,
        typer.Option(help="Flag as many as possible while at most this share of the flags is expected wrong."),
    ] = None
    budget: Annotated[int | None, typer.Option(help="Flag this many, those most worth a look.")] = None

    def decision(self) -> "Decision | None":
        """The decision that the options name; None for the method's own threshold."""
        from eigenclean.detect.decisions import Decision

        options = {
            "--threshold": self.threshold,
            "--max-false-flags": self.max_false_flags,
            "--budget": self.budget,
        }
        named = [option for option, value in options.items() if value is not None]
        if len(named) > 1:
            raise InvalidOption(
                f"--threshold, --max-false-flags and --budget exclude each other: give one of them, "
                f"got {' and '.join(named)}"
            )
        return Decision(self.threshold, self.max_false_flags, self.budget) if named else None


@with_groups
def detect(
    *,
    source: o.SourceArgument,
    out: o.Out,
    method: Annotated[
        str | None,
        typer.Option(
            autocompletion=names_of("detectors"),
            help="Detector; see `eigenclean list detectors`. auto takes the one that finds planted errors best.",
        ),
    ] = None,
    setting: o.Set = None,
    flagging: DecisionOptions,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Plant errors in a copy of the labels, and count those found.")
    ] = False,
    planted: Annotated[
        float, typer.Option(help="Share of labels that --self-test and --method auto make wrong.")
    ] = 0.05,
    columns: o.GroupedTableOptions,
    ask: Annotated[
        int | None,
        typer.Option(
            help="With several annotators, write ask.csv: so many rows to label again, most informative first, "
            "and by whom."
        ),
    ] = None,
    pred_probs: Annotated[
        Path | None,
        typer.Option(
            help="Out-of-sample probabilities of the classes by a model of yours: .npy, .npz, or a table with a "
            "column for each class. They count beside the features, or alone if SOURCE has only labels."
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN|PATCH",
            help="Labels that people confirmed, corrected or removed, in a run or a patch: they are known, and the "
            "rest is judged by them too. By default the decisions in the folder of --out.",
        ),
    ] = None,
    embedding: o.EncoderOptions,
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
    from eigenclean.workflows.check import run_summary
    from eigenclean.workflows.detect import (
        DetectRequest,
        EngineOptions,
        MethodOptions,
        OutputOptions,
        SelfTestOptions,
        run_detect,
    )

    request = DetectRequest(
        source,
        out,
        MethodOptions(method, o.parse_settings(setting), seed),
        flagging.decision(),
        columns.source_options(),
        embedding.embedding_options(),
        EngineOptions(engine, scheduler),
        SelfTestOptions(self_test, planted),
        OutputOptions(csv, report, o.command_line()),
        pred_probs=pred_probs,
        ask=ask,
        decisions=decisions,
    )
    mention_other_results(out, run_summary(out), source)
    with working():
        summary = run_detect(request, notify=mention)
    if as_json:
        print_json(summary)
        return
    if "auto" in summary:
        say(f"Method auto: {summary['auto']['reason']}.")
    print_summary(summary)
    if request.decision is not None:
        expected = fixed_percent(summary["decision"]["expected_false_flags"])
        outcome = (
            f"{expected} of these flags are expected to be wrong" if summary["n_flagged"] else "there are none"
        )
        say(f"Decision: {request.decision}; {outcome}.")
    if "self_test" in summary:
        print_self_test(summary["self_test"])
    if "annotators" in summary:
        print_annotators(summary["annotators"])
    files = ["verdict.parquet", "summary.json", *["verdict.csv"] * csv, *["report.html"] * report]
    if "annotators" in summary:
        files += ["annotators.parquet", "annotations.parquet", *["ask.csv"] * (ask is not None)]
    mention(f"written to {out}: {', '.join(files)}")
    say_next("eigenclean", "review" if summary["n_flagged"] else "check", out)


def print_self_test(test: dict[str, Any]) -> None:
    """What the self-test found, and what it cannot know."""
    runs = len(test["seeds"])
    say(
        f"\nSelf-test: {test['n_planted']} labels ({fixed_percent(test['share'])}) made wrong in a copy, "
        f"judged again, {runs} {'run' if runs == 1 else 'runs'}"
    )
    output = table(None, "measured", "")
    output.add_row("planted errors that were flagged (recall)", fixed_percent(test["recall"]))
    low, high = test["precision_low"], test["precision_high"]
    between = "–" if low is None else f"{fixed_percent(low)} to {fixed_percent(high)}"
    output.add_row("flags that are on wrong labels (precision)", between)
    if test["suggestion_accuracy"] is not None:
        output.add_row("suggestions that give the replaced label back", fixed_percent(test["suggestion_accuracy"]))
    output.add_row("average precision of the ranking", f"{test['average_precision']:.3f}")
    console.print(output, markup=False)
    say(test["limits"])


def print_summary(summary: dict[str, Any], max_classes: int = 10) -> None:
    """Cautions, the headline and the most suspicious classes."""
    for caution in summary.get("cautions", ()):
        say(f"Caution: {caution}.")
    n, flagged = summary["n_samples"], summary["n_flagged"]
    low, high = summary["estimated_noise_rate_interval"]
    counted = f"{flagged} of {n} labels look wrong ({fixed_percent(flagged / max(n, 1))})"
    say(
        f"{counted if flagged else f'None of {n} labels is surely wrong'}; "
        f"estimated noise rate {fixed_percent(summary['estimated_noise_rate'])} "
        f"({100 * low:.1f} to {fixed_percent(high)}); "
        f"{summary['method']}, {summary['seconds']:.1f} s"
    )
    if summary.get("n_none"):
        say(none_sentence(summary["n_none"]))
    classes = sorted(summary["per_class"], key=lambda row: -row["n_flagged"] / row["n_samples"])
    output = table(None, "class", "labels", "flagged", "estimated noise")
    for row in classes[:max_classes]:
        noise = fixed_percent(row["estimated_noise_rate"])
        output.add_row(str(row["label"])[:60], str(row["n_samples"]), str(row["n_flagged"]), noise)
    console.print(output, markup=False)
    if len(classes) > max_classes:
        say(f"… and {len(classes) - max_classes} more classes in summary.json")
    if summary.get("most_doubtful"):
        say(f"The most doubtful labels: {', '.join(str(name)[:60] for name in summary['most_doubtful'])}")
