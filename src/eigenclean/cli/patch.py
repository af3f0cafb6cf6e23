"""`eigenclean patch`: what people decided about labels, shown, applied and taken back."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, say, table, working
from eigenclean.errors import InvalidOption

if TYPE_CHECKING:
    from eigenclean.patch import Patch
    from eigenclean.sources import Source

_MOST = 20  # lines of a table

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


def _writing(back: bool) -> Callable[..., None]:
    """The command that applies a patch, or takes it back: they differ in nothing else."""

    def write(
        source: o.SourceArgument,
        patch: PatchArgument,
        out: Out = None,
        in_place: InPlace = False,
        by_id: o.ById = False,
        labels: o.Labels = None,
        label_column: o.LabelColumn = None,
        feature_column: o.FeatureColumns = None,
        id_column: o.IdColumn = None,
        text_column: o.TextColumn = None,
        as_json: o.Json = False,
    ) -> None:
        from eigenclean.sources.relabel import apply_patch

        if (out is None) != in_place:
            raise InvalidOption(
                "say where to: --out for a corrected copy, or --in-place to change the data themselves"
            )
        data, decisions, name, path = _opened(
            source,
            patch,
            labels,
            label_column=label_column,
            feature_columns=feature_column,
            id_column=id_column,
            text_column=text_column,
        )
        with working():
            made = apply_patch(data, decisions, path, out or path, revert=back, by_id=by_id, name=name)
        if as_json:
            print_json(made)
        else:
            _say_what_changed(made, back)

    return write


def _say_what_changed(made: Mapping[str, Any], back: bool) -> None:
    already = f", {made['already']} had them already" if made["already"] else ""
    n = made["changed"]
    put = f"old label{'s' * (n != 1)} put back" if back else f"label{'s' * (n != 1)} corrected"
    say(f"{n} {put} in {made['out']}{already}")
    if made["remove"] and not back:
        what = "sample to remove is" if made["remove"] == 1 else "samples to remove are"
        say(f"{made['remove']} {what} still there: `eigenclean train --patch` leaves out what people removed")


_APPLY = "Put the corrected labels into the data: a copy (--out), or the data themselves (--in-place)."
patch.command("apply", help=_APPLY)(_writing(back=False))
patch.command("revert", help="Take a patch back: the old labels as they were.")(_writing(back=True))


@patch.command("diff")
def diff(
    source: o.SourceArgument,
    patch: PatchArgument,
    by_id: o.ById = False,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    feature_column: o.FeatureColumns = None,
    id_column: o.IdColumn = None,
    text_column: o.TextColumn = None,
    as_json: o.Json = False,
) -> None:
    """Show what applying the patch would change; nothing is written."""
    from eigenclean.patch import RELABEL
    from eigenclean.sources.relabel import match_patch

    data, decisions, name, _ = _opened(
        source,
        patch,
        labels,
        label_column=label_column,
        feature_columns=feature_column,
        id_column=id_column,
        text_column=text_column,
    )
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
    shown = table(None, "id", "old", "new", "")
    for one in changes[:_MOST]:
        shown.add_row(
            str(one["id"])[:60],
            str(one["old"])[:40],
            str(one["new"])[:40],
            "applied already" if one["applied"] else "",
        )
    console.print(shown, markup=False)
    if len(changes) > _MOST:
        say(f"… and {len(changes) - _MOST} more; --json shows all")
    applied = sum(one["applied"] for one in changes)
    say(f"{len(changes) - applied} labels of {data.name} would change, {applied} have been changed already")


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
    }
    if as_json:
        print_json(record)
        return
    say(f"{decisions}; data {decisions.data_hash}")
    by = ", ".join(f"{who or 'unknown'} ({n})" for who, n in reviewers)
    when = f", from {times[0]} to {times[-1]}" if times else ""
    say(f"by {by}{when}")
    if pairs:
        shown = table(None, "old", "new", "labels")
        shown.columns[1].justify = "left"
        for (old, new), n in pairs.most_common(_MOST):
            shown.add_row(str(old)[:40], str(new)[:40], str(n))
        console.print(shown, markup=False)
        if len(pairs) > _MOST:
            say(f"… and {len(pairs) - _MOST} more pairs; --json shows all")


def _opened(source: str, patch: str, labels: Path | None, **columns: Any) -> "tuple[Source, Patch, str, Path]":
    """The data, the patch, its name, and the file or folder that holds the labels; in either order of arguments."""
    from eigenclean.patch import Patch, is_patch
    from eigenclean.sources import open_source

    if is_patch(source) and not is_patch(patch):
        source, patch = patch, source
    decisions = Patch.load(patch)
    data = open_source(source, labels=labels, **columns)
    return data, decisions, patch, Path(source if labels is None else labels)
