"""`eigenclean patch`: show, apply and revert the decisions that people made about labels."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, say, table, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.next_steps import after_patch, fixed_words, say_next, sibling_name, source_words
from eigenclean.cli.hints.output_files import check_output_file, source_file
from eigenclean.errors import InvalidOption

if TYPE_CHECKING:
    from eigenclean.patch import Patch
    from eigenclean.sources import Source

_MAX_ROWS = 20  # of a table

patch = typer.Typer(help="Show label patches, apply them to data, take them back.", no_args_is_help=True)

PatchArgument = Annotated[
    str,
    typer.Argument(metavar="PATCH", help="The patch, .jsonl or .parquet.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The corrected copy, of the same kind; or labels.npy for the labels alone, to be given with --labels; "
        "or for images a .csv of files and labels.",
        show_default=False,
    ),
]
InPlace = Annotated[
    bool,
    typer.Option("--in-place", help="Change the data themselves; images move to the folder of their new label."),
]
DropRemoved = Annotated[
    bool,
    typer.Option(
        "--drop-removed",
        help="Take out what people removed: rows of a file, which stays beside it as it was; images into _removed.",
    ),
]


@patch.command("apply")
@with_groups
def apply(
    *,
    source: o.SourceArgument,
    patch: PatchArgument,
    out: Out = None,
    in_place: InPlace = False,
    drop_removed: DropRemoved = False,
    by_id: o.ById = False,
    columns: o.TextTableOptions,
    as_json: o.Json = False,
) -> None:
    """Put the corrected labels into the data: a copy (--out), or the data themselves (--in-place)."""
    from eigenclean.sources.relabel import apply_patch
    from eigenclean.sources.relabel.removal import is_counted

    _check_target(out, in_place)
    data, decisions, name, path = _open(source, patch, columns)
    _check_copy(out, path, patch)
    with working():
        result = apply_patch(data, decisions, path, out or path, by_id=by_id, drop_removed=drop_removed, name=name)
    if as_json:
        print_json(result)
        return
    _say_labels(result, "label{s} corrected")
    if result["dropped"]:
        backup = f"; what was there before is in {result['kept_in']}" if result["kept_in"] else ""
        say(f"{_samples(result['dropped'])} taken out{backup}")
        if is_counted(data.ids):
            mention("note: rows have no ids but their numbers, so that later rows have other ids now")
    elif result["dropped_before"]:
        say(f"{_samples(result['dropped_before'])} had been taken out already")
    n_remaining = result["remove"] - result["dropped"] - result["dropped_before"]
    if n_remaining:
        subject = "sample to remove is" if n_remaining == 1 else "samples to remove are"
        say(f"{n_remaining} {subject} still there: --drop-removed takes out what people removed")
    _say_next_detect(source, out, columns)


@patch.command("revert")
@with_groups
def revert(
    *,
    source: o.SourceArgument,
    patch: PatchArgument,
    out: Out = None,
    in_place: InPlace = False,
    by_id: o.ById = False,
    columns: o.TextTableOptions,
    as_json: o.Json = False,
) -> None:
    """Take a patch back: the old labels as they were, and the samples that were taken out."""
    from eigenclean.patch import Patch
    from eigenclean.sources.relabel import apply_patch, put_rows_back
    from eigenclean.sources.relabel.removal import last_removal

    _check_target(out, in_place)
    source, patch, path = _in_order(source, patch, columns)
    removal = last_removal(path, Patch.load(patch))
    if removal is not None and in_place:
        put_rows_back(path)
    data, decisions, name, path = _open(source, patch, columns, with_rows=True)
    _check_copy(out, path, patch)
    with working():
        result = apply_patch(data, decisions, path, out or path, revert=True, by_id=by_id, name=name)
    if removal is not None:
        result["dropped"] = removal.n_rows
    if as_json:
        print_json(result)
        return
    _say_labels(result, "old label{s} put back")
    if result["dropped"]:
        say(f"{_samples(result['dropped'])} put back")
    _say_next_detect(source, out, columns)


def _check_target(out: Path | None, in_place: bool) -> None:
    if (out is None) != in_place:
        raise InvalidOption("say where to: --out for a corrected copy, or --in-place to change the data themselves")


def _check_copy(out: Path | None, *reads: object) -> None:
    if out is not None:
        check_output_file(out, *reads)


def _samples(n: int) -> str:
    return f"{n} sample{'s' * (n != 1)}"


def _say_labels(result: Mapping[str, Any], what: str) -> None:
    already = f", {result['already']} had them already" if result["already"] else ""
    n = result["changed"]
    say(f"{n} {what.format(s='s' * (n != 1))} in {result['out']}{already}")


def _say_next_detect(source: str, out: Path | None, columns: o.TextTableOptions) -> None:
    options = vars(columns)
    fixed = source_words(source, options) if out is None else fixed_words(source, out, options)
    say_next("eigenclean", "detect", *fixed, "--out", "run-fixed")


@patch.command("import")
def import_answers(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run whose suspects were exported.")],
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help="JSON export of Label Studio, or records of Argilla.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The patch to write, .jsonl or .parquet.")],
    label_column: Annotated[
        str | None, typer.Option(help="Name of the choices or of the question, where there are several.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Turn what people answered in Label Studio or Argilla into a patch.

    The samples must come from `eigenclean export RUN --to label-studio|argilla`, which gives them their ids.
    """
    from eigenclean.workflows.check import run_summary
    from eigenclean.workflows.review import import_answers as import_into_patch

    check_output_file(out, answers, source_file(run_summary(run)))
    with working():
        decisions = import_into_patch(run, answers, out, question=label_column)
    if as_json:
        print_json({"out": str(out), "n_decisions": len(decisions), **decisions.counts()})
        return
    say(f"{decisions}; written to {out}")
    say_next("eigenclean", *after_patch(run_summary(run), out))


@patch.command("diff")
@with_groups
def diff(
    *,
    source: o.SourceArgument,
    patch: PatchArgument,
    by_id: o.ById = False,
    columns: o.TextTableOptions,
    as_json: o.Json = False,
) -> None:
    """Show what applying the patch would change; nothing is written."""
    from eigenclean.patch import RELABEL, REMOVE
    from eigenclean.sources.relabel import match_patch
    from eigenclean.sources.relabel.folder import is_class_folder

    data, decisions, name, _ = _open(source, patch, columns, with_rows=True)
    with working():
        match = match_patch(data, decisions, by_id=by_id, name=name)
    changes = [
        {"id": id, "row": row, "old": old, "new": new, "applied": applied}
        for id, row, old, new, applied, relabel in zip(
            decisions.ids.tolist(),
            match.rows.tolist(),
            decisions.old.tolist(),
            decisions.new.tolist(),
            match.is_applied.tolist(),
            decisions.is_(RELABEL).tolist(),
            strict=True,
        )
        if relabel
    ]
    if as_json:
        print_json(changes)
        return
    output = table(None, "id", "old", "new", "")
    for change in changes[:_MAX_ROWS]:
        output.add_row(
            str(change["id"])[:60],
            str(change["old"])[:40],
            str(change["new"])[:40],
            "applied already" if change["applied"] else "",
        )
    console.print(output, markup=False)
    if len(changes) > _MAX_ROWS:
        say(f"… and {len(changes) - _MAX_ROWS} more; --json shows all")
    applied = sum(change["applied"] for change in changes)
    say(f"{len(changes) - applied} labels of {data.name} would change, {applied} have been changed already")
    n_removed = int(decisions.is_(REMOVE).sum())
    if n_removed:
        say(f"{_samples(n_removed)} would be taken out with `patch apply --drop-removed`, and by nothing else")
    if applied < len(changes):
        target = sibling_name(source if columns.labels is None else str(columns.labels), "-fixed")
        if columns.labels is None and is_class_folder(data):  # a copy of it is a list of files and labels
            target = f"{target}.csv"
        say_next("eigenclean", "patch", "apply", *source_words(source, vars(columns)), patch, "--out", target)
    else:
        say_next("eigenclean", "detect", *source_words(source, vars(columns)), "--out", "run-fixed")


@patch.command("show")
def show(patch: PatchArgument, as_json: o.Json = False) -> None:
    """Show what is in a patch: how many decisions of which kind, from which label to which, by whom."""
    from eigenclean.patch import RELABEL, Patch

    decisions = Patch.load(patch)
    changed = decisions.is_(RELABEL)
    pairs = Counter(zip(decisions.old[changed].tolist(), decisions.new[changed].tolist(), strict=True))
    times = sorted(time for time in decisions.time.tolist() if time)
    reviewers = Counter(decisions.reviewer.tolist()).most_common()
    record = {
        "n_decisions": len(decisions),
        **decisions.counts(),
        "pairs": [{"old": old, "new": new, "n": n} for (old, new), n in pairs.most_common()],
        "reviewers": dict(reviewers),
        "first": times[0] if times else None,
        "last": times[-1] if times else None,
        "data_hash": decisions.data_hash,
        "notes": [{"id": id, "note": note} for id, note in _notes(decisions)],
    }
    if as_json:
        print_json(record)
        return
    say(f"{decisions}; data {decisions.data_hash}")
    by = ", ".join(f"{who or 'unknown'} ({n})" for who, n in reviewers)
    when = f", from {times[0]} to {times[-1]}" if times else ""
    say(f"by {by}{when}")
    if pairs:
        output = table(None, "old", "new", "labels")
        output.columns[1].justify = "left"
        for (old, new), n in pairs.most_common(_MAX_ROWS):
            output.add_row(str(old)[:40], str(new)[:40], str(n))
        console.print(output, markup=False)
        if len(pairs) > _MAX_ROWS:
            say(f"… and {len(pairs) - _MAX_ROWS} more pairs; --json shows all")
    notes = _notes(decisions)
    if notes:
        output = table(None, "id", "note")
        output.columns[1].justify = "left"
        for id, note in notes[:_MAX_ROWS]:
            output.add_row(str(id)[:40], " ".join(note.split())[:120])
        console.print(output, markup=False)
        if len(notes) > _MAX_ROWS:
            say(f"… and {len(notes) - _MAX_ROWS} more notes; --json shows all")
    say_next("eigenclean", "patch", "diff", "SOURCE", patch)


def _notes(patch: "Patch") -> list[tuple[Any, str]]:
    """Ids and what people wrote about them."""
    return [(id, note) for id, note in zip(patch.ids.tolist(), patch.reason.tolist(), strict=True) if note]


def _in_order(source: str, patch: str, columns: o.TextTableOptions) -> tuple[str, str, Path]:
    """The data, the patch, which may be given in either order, and the file or folder that holds the labels."""
    from eigenclean.patch import is_patch

    if is_patch(source) and not is_patch(patch):
        source, patch = patch, source
    return source, patch, Path(source if columns.labels is None else columns.labels)


def _open(
    source: str, patch: str, columns: o.TextTableOptions, *, with_rows: bool = False
) -> "tuple[Source, Patch, str, Path]":
    """The data, the patch, its name, and the file or folder that holds the labels.

    ``with_rows``: if the patch took rows out of the file, then the file that still has them.
    """
    from eigenclean.patch import Patch
    from eigenclean.sources.relabel.removal import last_removal, with_removed

    source, patch, path = _in_order(source, patch, columns)
    decisions = Patch.load(patch)
    if with_rows and last_removal(path, decisions) is not None:
        path = with_removed(path)
        source = str(path)
    data = columns.source_options().open(source, need_features=False, notify=mention)
    return data, decisions, patch, path
