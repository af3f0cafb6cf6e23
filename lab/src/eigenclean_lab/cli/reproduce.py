"""`eigenclean reproduce`: the paper's tables, figures and theorems as commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, print_whole, say, table, working
from eigenclean_lab.cli.options import Again, Data, Device, Remeasure, print_notes, remeasuring, split_names

if TYPE_CHECKING:
    from eigenclean_lab.reproduce.compare import Table

_ALSO = {
    "list": "the names",
    "all": "every experiment",
    "docs": "write docs/paper.md and docs/paper/",
}


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="table1 … table10, fig3a … fig7, rounds, theorem1, theorem2, discrepancies; list, all or docs.",
        ),
    ],
    profile: Annotated[
        str,
        typer.Option(
            help="paper (its own data, a GPU), medium (images and a pretrained network, a night for a table), "
            "small (real data, two processors) or smoke (seconds)."
        ),
    ] = "small",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")] = Path("results"),
    rows: Annotated[str, typer.Option(help="Only these rows, with commas between.")] = "",
    columns: Annotated[str, typer.Option(help="Only these columns, with commas between.")] = "",
    seeds: Annotated[
        int | None, typer.Option(help="How many, from 0 on; by default as many as the profile has.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Only this one.")] = None,
    processes: Annotated[int, typer.Option(help="Processes that share the cells.")] = 1,
    as_released: Annotated[
        bool, typer.Option("--as-released", help="With every deviation of the released code; see `discrepancies`.")
    ] = False,
    data: Data = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder for features of trained networks; by default in ~/.cache/eigenclean."),
    ] = None,
    device: Device = None,
    remeasure: Remeasure = False,
    again: Again = False,
    keep_old: Annotated[
        bool, typer.Option("--keep-old", help="Accept results of other versions of the code.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Measure nothing: print what the results have.")] = False,
    docs: Annotated[Path, typer.Option(help="Folder of the documentation, for `docs`.")] = Path("docs"),
    as_json: o.Json = False,
) -> None:
    """Run a table, figure or theorem of the paper; print paper | measured | difference, and write a page.

    Every cell is a line of reproduce_PROFILE.jsonl, with its command, seed, noise hash and code version. A stopped
    run resumes. What cannot run here is marked with what it needs. Exit code 1 when a cell failed.
    """
    from eigenclean.errors import InvalidOption
    from eigenclean.names import check_name
    from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
    from eigenclean_lab.reproduce.profile_experiment import in_profile
    from eigenclean_lab.reproduce.profiles import PROFILES

    check_name(what, [*EXPERIMENTS, *_ALSO], by="eigenclean reproduce", what="name")
    check_name(profile, PROFILES, by="eigenclean reproduce", what="profile")
    if what == "list":
        _list(as_json)
        return
    if what == "docs":
        from eigenclean_lab.reproduce.pages.docs_page import write_docs_pages

        written = write_docs_pages(out, docs)
        say(f"written: {written[0]} and {len(written) - 1} pages and figures")
        return
    from eigenclean.files import make_folder
    from eigenclean_lab.data_folder import data_folder
    from eigenclean_lab.reproduce import runner
    from eigenclean_lab.reproduce.compare import compare
    from eigenclean_lab.reproduce.context import Context, cache_folder
    from eigenclean_lab.reproduce.pages.html_page import write_page
    from eigenclean_lab.reproduce.suite import paper_store

    size = PROFILES[profile]
    runs = out / "runs" if size.checkpoints else None
    context = Context(profile, data_folder(data), cache_folder(cache), device, runs)
    store = paper_store(make_folder(out), size)
    whole = [in_profile(EXPERIMENTS[name], size) for name in (EXPERIMENTS if what == "all" else [what])]
    selected = [
        runner.select_cells(
            experiment, split_names(rows, (row.name for row in experiment.rows)), split_names(columns)
        )
        for experiment in whole
    ]
    if what != "all" and not selected[0].columns:
        raise InvalidOption(f"reproduce: the profile {profile} has no data for {what}; take small or paper")
    chosen_seeds = [seed] if seed is not None else list(range(_count(seeds, size.seeds)))
    failed, records = False, []
    for experiment in selected:
        if as_released:
            experiment = runner.as_released(experiment)
        cells = store.read()
        if not show:
            requests = runner.requests_for(experiment, context, chosen_seeds, as_released=as_released)
            with working():
                cells = runner.run(
                    requests,
                    context,
                    known=cells,
                    remeasure=remeasuring(remeasure, again),
                    keep_old=keep_old,
                    processes=processes,
                    save=lambda new: store.add(cell for cell in new if cell.is_measured),
                )
            failed |= any(cell.status == "failed" for cell in cells)
        results = compare(experiment, cells, size)
        page = write_page(results, size, out / "pages", as_released=as_released)
        if as_json:
            records.append(_record(results))
        else:
            _print(results)
            mention(f"written: {page}; cells in {store.path}")
    if as_json:
        print_json(records[0] if len(records) == 1 else records)
    if failed:
        raise typer.Exit(1)


def _list(as_json: bool) -> None:
    from eigenclean_lab.reproduce.catalogue import EXPERIMENTS

    if as_json:
        print_json(list(EXPERIMENTS))
        return
    output = table(None, "name", "what", "cells")
    output.columns[0].no_wrap = True
    output.columns[1].justify = "left"
    for name, experiment in EXPERIMENTS.items():
        tasks = sum(len(row.specs) for row in experiment.rows)
        output.add_row(name, experiment.title, f"{tasks * len(experiment.columns)} x seeds")
    console.print(output)


def _count(seeds: int | None, usual: int) -> int:
    from eigenclean.errors import InvalidOption

    if seeds is not None and seeds < 1:
        raise InvalidOption(f"reproduce: seeds must be 1 or more, got {seeds}")
    return usual if seeds is None else seeds


def _print(results: "Table") -> None:
    from eigenclean_lab.reproduce.claims import claims
    from eigenclean_lab.reproduce.pages.formatting import header, lines

    experiment = results.experiment
    say(f"{experiment.name}: {experiment.title}")
    output = table(None, *("\n".join(head) for head in header(results)))
    for column, rows in lines(results):
        output.add_row(f"[bold]{column}[/bold]")
        for row in rows:
            output.add_row(f"  {row[0]}", *row[1:])
    print_whole(output)
    for claim in claims(results):
        say(f"{claim.text}: {'; '.join(filter(None, (claim.verdict, claim.detail)))}")
    print_notes((cell, note) for note, cells in results.notes.items() for cell in cells)
    for note in experiment.notes:
        say(note)


def _record(results: "Table") -> dict[str, Any]:
    """A table of results and its claims as plain values, for --json."""
    from dataclasses import asdict

    from eigenclean_lab.reproduce.claims import claims

    entries = [
        {"row": row, "column": column, "figure": figure, **asdict(entry), "difference": entry.difference}
        for (row, column, figure), entry in results.entries.items()
    ]
    return {
        "name": results.experiment.name,
        "title": results.experiment.title,
        "entries": entries,
        "claims": [claim.as_dict() for claim in claims(results)],
    }
