"""`eigenclean bench restamp`: confirm measured cells for the present code by measuring a random sample of them."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, say, table, working
from eigenclean.names import check_name
from eigenclean_lab.cli.options import Data, Device, split_names

if TYPE_CHECKING:
    from eigenclean_lab.store import GroupReport, Store, Suite

SUITES = ("quality", "train", "scale", "paper")


def restamp(
    suites: Annotated[
        str, typer.Argument(metavar="SUITES", help="quality, train, scale, paper, with commas between.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")] = Path("results"),
    sample: Annotated[int, typer.Option(help="Cells to measure again in each group.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    max_cell_seconds: Annotated[
        float | None, typer.Option(help="Draw only cells that took at most so long when they were measured.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Allowed difference of a figure.")] = 1e-9,
    threads: Annotated[
        int | None,
        typer.Option(help="Threads of torch and BLAS. The last digits of a training depend on their number."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Compare with the cells in this folder, measured by the previous code on this machine."),
    ] = None,
    write_reference: Annotated[
        Path | None,
        typer.Option(help="Compare nothing: measure the sample with the present code and write it to this folder."),
    ] = None,
    groups: Annotated[
        str, typer.Option(help="Only groups of cells whose names match this pattern, such as '*, confirmation'.")
    ] = "*",
    profile: Annotated[str, typer.Option(help="Profile of the paper's cells.")] = "small",
    data: Data = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where data of scale and features of networks are written meanwhile.")
    ] = None,
    device: Device = None,
    json: o.Json = False,
) -> None:
    """Measure a random sample of old cells again; if all come out equal, accept the others for the present code.

    Cells are grouped by what they run (detector, recipe, kind of analysis). A group whose sample comes out equal,
    times apart, gets the fingerprint of the present code, and each of its cells records the draw: date, seed, how
    many, worst difference. A group with a different cell stays as it is. Exit code 1 when a cell differs or failed.

    The last digits of a training depend on the machine. On another one than that of the file, write a reference
    with the previous code first, then compare the present code with it.
    """
    from eigenclean_lab.store import measure_reference
    from eigenclean_lab.store import restamp as restamp_cells

    for name in split_names(suites):
        check_name(name, SUITES, by="bench restamp", what="suite")
    reports: dict[str, list[GroupReport]] = {}
    for name in split_names(suites):
        with TemporaryDirectory(dir=folder) as scratch, working(), _limited(threads):
            store, suite = _suite(name, out, data, Path(scratch), device, profile)
            if write_reference is not None:
                measure_reference(
                    store.read(),
                    suite,
                    sample=sample,
                    seed=seed,
                    max_seconds=max_cell_seconds,
                    save=store.at(write_reference).add,
                )
                continue
            reports[name] = restamp_cells(
                store.read(),
                suite,
                sample=sample,
                seed=seed,
                max_seconds=max_cell_seconds,
                tolerance=tolerance,
                reference=None if reference is None else store.at(reference).read(),
                pattern=groups,
                save=store.add,
            )
    if json:
        print_json({name: [_record(report) for report in of_suite] for name, of_suite in reports.items()})
    else:
        for name, of_suite in reports.items():
            _print(name, of_suite)
    if any(report.different for of_suite in reports.values() for report in of_suite):
        raise typer.Exit(1)


def _suite(
    name: str, out: Path, data: Path | None, scratch: Path, device: str | None, profile: str
) -> "tuple[Store, Suite]":
    from eigenclean_lab.data_folder import data_folder

    if name == "quality":
        from eigenclean_lab.bench.quality import suite as quality

        return quality.quality_store(out / quality.FILE), quality.QualitySuite(data_folder(data))
    if name == "train":
        from eigenclean_lab.bench.training import suite as training

        return training.training_store(out / training.FILE), training.TrainingSuite(data_folder(data), device)
    if name == "scale":
        from eigenclean_lab.bench.scale import suite as scale
        from eigenclean_lab.bench.scale.run import ScaleSizes

        return scale.scale_store(out / scale.FILE), scale.ScaleSuite(ScaleSizes(), scratch)
    from eigenclean_lab.reproduce.context import Context
    from eigenclean_lab.reproduce.profiles import PROFILES
    from eigenclean_lab.reproduce.suite import PaperSuite, paper_store

    check_name(profile, PROFILES, by="bench restamp", what="profile")
    # Features are cached by the fingerprint of the code that makes them, so those of older code are never used.
    context = Context(profile, data_folder(data), scratch, device)
    return paper_store(out, PROFILES[profile]), PaperSuite(context)


def _limited(threads: int | None) -> AbstractContextManager[object]:
    if threads is None:
        return nullcontext()
    from importlib.util import find_spec

    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if find_spec("torch") is not None:
        import torch

        torch.set_num_threads(threads)
    limits: AbstractContextManager[object] = threadpool_limits(threads)
    return limits


def _print(name: str, reports: "Sequence[GroupReport]") -> None:
    if not reports:
        say(f"{name}: all cells are from the present code")
        return
    output = table(name, "group", "cells", "measured again", "worst difference", "")
    output.columns[0].no_wrap = True
    for report in reports:
        status = "[green]stamped[/green]" if report.is_confirmed else "[red]different[/red]"
        if not report.compared:
            status = "not measured"
        compared = f"{len(report.compared)} of {report.drawn_from}"
        output.add_row(report.group, str(report.size), compared, f"{report.worst:.1g}", status)
    console.print(output)
    for report in reports:
        for comparison in report.different:
            figures = ", ".join(f"{figure} by {gap:.3g}" for figure, gap in comparison.differences.items())
            say(
                f"{report.group}: {_label(comparison.cell.identity)} differs: {figures or comparison.measured.note}"
            )
    notes = Counter(comparison.measured.note for report in reports for comparison in report.missing)
    for note, count in sorted(notes.items()):
        say(f"{count} drawn cells could not be measured: {note}")
    unaffordable = [report.group for report in reports if not report.drawn_from]
    if unaffordable:
        say(f"no cell could be drawn (too slow, or only times): {', '.join(unaffordable)}")


def _label(identity: tuple[str, int]) -> str:
    return f"{identity[0]} with seed {identity[1]}"


def _record(report: "GroupReport") -> dict[str, object]:
    return {
        "group": report.group,
        "cells": report.size,
        "drawn_from": report.drawn_from,
        "drawn": len(report.compared),
        "missing": len(report.missing),
        "stamped": report.is_confirmed,
        "worst_difference": report.worst,
        "different": [
            {
                "task": dict(comparison.cell.task),
                "seed": comparison.cell.seed,
                "differences": comparison.differences,
                "note": comparison.measured.note,
            }
            for comparison in report.different
        ],
    }
