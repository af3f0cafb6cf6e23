"""`eigenclean check`: a gate that data with too many wrong labels do not pass."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, say, table, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.completion import names_of
from eigenclean.cli.hints.next_steps import IMAGES, recorded_source, say_next, source_words
from eigenclean.errors import InvalidOption
from eigenclean.report.formatting import fixed_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eigenclean.workflows.gate import Gate

FAILED = 1


@with_groups
def check(
    *,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE|DIR...",
            help="Data (as for detect), or folders that `eigenclean detect` wrote; several are checked in turn.",
            show_default=False,
        ),
    ],
    max_noise: Annotated[
        float, typer.Option(help="Fail when the share of wrong labels is nearly certainly above this.")
    ] = 0.02,
    max_false_flags: Annotated[
        float | None, typer.Option(help="Name suspects such that at most this share of them is expected wrong.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(autocompletion=names_of("detectors"), help="Detector; see `eigenclean list detectors`."),
    ] = None,
    patch: o.PatchOptions,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write Markdown to this file.")] = None,
    annotate: Annotated[
        bool,
        typer.Option(
            "--annotate", help="Print annotations of GitHub Actions: suspects at their lines of the file."
        ),
    ] = False,
    columns: o.RawTableOptions,
    encoder: o.Encoder = None,
    setting: o.Set = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Exit with 1 when too many labels are wrong, with 0 when not, with 2 when it cannot be told.

    What counts is the lower end of the interval of the estimated noise rate: the gate closes when there is hardly
    any doubt. Labels that people have confirmed (--patch) count as right.
    """
    from eigenclean.detect.decisions import Decision
    from eigenclean.detect.registry import build_detector
    from eigenclean.workflows.check import CheckRequest, check_run, check_source, is_run, run_folder
    from eigenclean.workflows.embedding import EmbeddingOptions
    from eigenclean.workflows.gate import check_limit, to_annotations, write_results

    check_limit(max_noise)
    if len(sources) > 1 and (patch.patch is not None or columns.labels is not None):
        raise InvalidOption("--patch and --labels are about one source: check one at a time")
    only_runs = all(map(is_run, sources))
    if only_runs and (method is not None or setting):
        raise InvalidOption("a folder that detect wrote has been judged already: leave out --method and --set")
    request = CheckRequest(
        max_noise,
        None if only_runs else build_detector(method, o.parse_settings(setting), seed=seed),
        None if max_false_flags is None else Decision(max_false_flags=max_false_flags),
        patch.patch_options(),
        columns.source_options(),
        EmbeddingOptions(encoder),
    )
    with working():
        gates = [
            check_run(run_folder(source), request)
            if is_run(source)
            else check_source(source, request, notify=mention)
            for source in sources
        ]
    write_results(gates, junit=junit, markdown=markdown)
    if annotate:
        for line in to_annotations(gates):
            say(line)
    elif as_json:
        print_json([gate.as_dict() for gate in gates] if len(gates) > 1 else gates[0].as_dict())
    else:
        for gate in gates:
            _print(gate)
        _say_next(sources, [gate.passed for gate in gates], vars(columns))
    if not all(gate.passed for gate in gates):
        raise typer.Exit(FAILED)


def _print(gate: "Gate") -> None:
    say(gate.sentence)
    if gate.passed:
        return
    output = table(None, "class", "labels", "estimated noise", "lower end")
    for row in gate.classes:
        output.add_row(
            str(row["label"])[:60], str(row["n_samples"]), fixed_percent(row["noise"]), fixed_percent(row["low"])
        )
    console.print(output, markup=False)
    say(f"{gate.n_flagged} labels look wrong, the worst:")
    worst = table(None, "id", "given", "suggested", "P(right)")
    for suspect in gate.suspects:
        suggested = "–" if suspect["suggested_label"] is None else str(suspect["suggested_label"])
        worst.add_row(
            str(suspect["id"])[:60],
            str(suspect["given_label"])[:40],
            suggested[:40],
            f"{suspect['label_score']:.3f}",
        )
    console.print(worst, markup=False)


def _say_next(sources: "Sequence[str]", passed: "Sequence[bool]", columns: "Mapping[str, Any]") -> None:
    """For the first that failed: review a run, detect suspects of data; if none failed, train on the first."""
    from eigenclean.workflows.check import is_run, run_folder, run_summary

    source = sources[passed.index(False) if False in passed else 0]
    if is_run(source):
        if False in passed:
            say_next("eigenclean", "review", run_folder(source))
            return
        words = recorded_source(run_summary(source))
        if words is not None:
            say_next("eigenclean", "train", *words, "--out", "model")
    elif False in passed:
        say_next("eigenclean", "detect", *source_words(source, columns), "--out", "run")
    else:
        say_next("eigenclean", "train", *source_words(source, columns, without=IMAGES), "--out", "model")
