"""Runs the cells of an experiment: known cells are not measured again, and several processes share the rest."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.extras import require
from eigenclean.names import check_name
from eigenclean.progress import track
from eigenclean.train import recipe
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.recipes import PROBE
from eigenclean_lab.reproduce.released_code import released_deviations, task_in
from eigenclean_lab.reproduce.suite import PaperSuite, command_for
from eigenclean_lab.reproduce.values import Experiment, MethodSpec
from eigenclean_lab.store import Cell, Save, run_cells


def select_cells(experiment: Experiment, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Experiment:
    """The experiment with only these rows and columns; all when none are named.

    A row that is compared with another one includes that row.
    """
    for what, names, known in (
        ("row", rows, [row.name for row in experiment.rows]),
        ("column", columns, [column.name for column in experiment.columns]),
    ):
        for name in names:
            check_name(name, known, by=f"reproduce {experiment.name}", what=what)
    names_with_references = {*rows, *(row.against for row in experiment.rows if row.name in rows)}
    return replace(
        experiment,
        rows=tuple(row for row in experiment.rows if not rows or row.name in names_with_references),
        columns=tuple(column for column in experiment.columns if not columns or column.name in columns),
    )


def as_released(experiment: Experiment) -> Experiment:
    """The same experiment with every deviation of the released code that concerns one of its recipes."""
    rows = tuple(replace(row, specs=tuple(map(_as_released, row.specs))) for row in experiment.rows)
    return replace(experiment, rows=rows)


def _as_released(spec: MethodSpec) -> MethodSpec:
    if spec.kind != "train" or spec.method == PROBE:
        return spec
    return replace(spec, emulate=released_deviations(recipe(spec.method)))


def requests_for(
    experiment: Experiment, context: Context, seeds: Sequence[int], *, as_released: bool = False
) -> list[Cell]:
    """Every task with every seed, each once.

    Seeds come one after the other, so that a run that is stopped has compared all rows on the seeds before.
    """
    suite = PaperSuite(context)
    requests: dict[tuple[str, int], Cell] = {}
    for seed in seeds:
        for column in experiment.columns:
            for row in experiment.rows:
                for spec in row.specs:
                    if spec.kind == "theory" and seed != seeds[0]:
                        continue  # one simulation draws many times
                    command = command_for(
                        experiment.name, context.profile, row.name, column.name, seed, as_released
                    )
                    request = suite.new_request(task_in(spec, column), seed, command)
                    requests.setdefault(request.identity, request)
    return list(requests.values())


def run(
    requests: Sequence[Cell],
    context: Context,
    *,
    known: Sequence[Cell] = (),
    remeasure: bool = False,
    keep_old: bool = False,
    processes: int = 1,
    save: Save | None = None,
) -> list[Cell]:
    """Measure what is not known yet; return the requested cells, known ones included.

    Args:
        requests: from `requests_for`.
        context: profile, folders and device.
        known: cells of earlier runs.
        remeasure: measure also those that are known.
        keep_old: accept known cells that other code has measured.
        processes: how many work at once.
        save: called with every new cell.
    """
    if isinstance(processes, bool) or processes < 1:
        raise InvalidOption(f"reproduce: processes must be 1 or more, got {processes}")
    if keep_old:
        stamps = {request.identity: request for request in requests}
        known = [_with_code(cell, stamps.get(cell.identity)) for cell in known]
    suite = PaperSuite(context)
    if processes == 1:
        return run_cells(requests, suite.measure, known=known, remeasure=remeasure, save=save)
    current = {cell.identity: cell for cell in known}
    pending = [
        request
        for request in requests
        if remeasure or request.identity not in current or not current[request.identity].is_current(request)
    ]
    for cell in _measured_by_processes(pending, suite, processes):
        current[cell.identity] = cell
        if save is not None:
            save([cell])
    return [current[request.identity] for request in requests]


def _with_code(cell: Cell, request: Cell | None) -> Cell:
    """The cell as if the present code had measured it."""
    return cell if request is None else replace(cell, code=request.code)


def _measured_by_processes(pending: Sequence[Cell], suite: PaperSuite, processes: int) -> Iterator[Cell]:
    groups = share_networks(pending)
    # A fresh interpreter for each process: forked ones would share torch's threads, and hang.
    with ProcessPoolExecutor(
        min(processes, max(len(groups), 1)), get_context("spawn"), _limit_threads, (processes,)
    ) as pool:
        futures = [pool.submit(_measure_group, group, suite) for group in groups]
        finished = as_completed(futures)
        for _ in track(range(len(futures)), "groups of cells"):
            yield from next(finished).result()


def share_networks(requests: Sequence[Cell]) -> list[list[Cell]]:
    """Groups of requests; those that analyse the same network form one, so that one process trains it once."""
    groups: dict[Any, list[Cell]] = {}
    for request in requests:
        task = request.task
        runs_alone = task["kind"] in ("train", "theory")
        group = request.identity if runs_alone else (task["data"], task["noise"], request.seed)
        groups.setdefault(group, []).append(request)
    return list(groups.values())


def _measure_group(group: Sequence[Cell], suite: PaperSuite) -> list[Cell]:
    return [suite.measure(request) for request in group]


def _limit_threads(processes: int) -> None:
    """Give each process its share of the processors."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threads = max(1, (os.cpu_count() or 1) // processes)
    torch: Any = require("torch", extra="train", caller="reproduce")
    torch.set_num_threads(threads)
    threadpool_limits(threads)
