"""Runs the cells of experiments: what is known is not run again, and several processes share the rest."""

import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from typing import Any

from eigenclean.errors import EigencleanWarning, InvalidOption, MissingExtra
from eigenclean.extras import require
from eigenclean.names import check_name
from eigenclean.progress import track
from eigenclean.train import recipe
from eigenclean_lab.bench.quality_data import MissingData
from eigenclean_lab.reproduce.cells import Cell, Measure, code_of, command_of, fingerprint
from eigenclean_lab.reproduce.context import Context, Measured
from eigenclean_lab.reproduce.released_code import as_released
from eigenclean_lab.reproduce.values import Experiment, Part, Task

Job = tuple[Task, int, str]  # the command that gets it, too
Save = Callable[[list[Cell]], None]


def chosen(experiment: Experiment, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Experiment:
    """The experiment with only these rows and columns; all when none are named.

    A row that is compared with another brings that one along.
    """
    for what, names, there in (
        ("row", rows, [row.name for row in experiment.rows]),
        ("column", columns, [column.name for column in experiment.columns]),
    ):
        for name in names:
            check_name(name, there, by=f"reproduce {experiment.name}", what=what)
    wanted = {*rows, *(row.against for row in experiment.rows if row.name in rows)}
    return replace(
        experiment,
        rows=tuple(row for row in experiment.rows if not rows or row.name in wanted),
        columns=tuple(column for column in experiment.columns if not columns or column.name in columns),
    )


def released(experiment: Experiment) -> Experiment:
    """The same experiment with every habit of the released code that is about one of its recipes."""
    rows = tuple(replace(row, parts=tuple(map(_released, row.parts))) for row in experiment.rows)
    return replace(experiment, rows=rows)


def _released(one: Part) -> Part:
    return one if one.kind != "train" else replace(one, emulate=as_released(recipe(one.method)))


def jobs_of(experiment: Experiment, context: Context, seeds: Sequence[int], *, habits: bool = False) -> list[Job]:
    """Every task with every seed, each once; seeds come one after the other, so that a stopped run compares all."""
    found: dict[tuple[Task, int], str] = {}
    for seed in seeds:
        for column in experiment.columns:
            for row in experiment.rows:
                for one in row.parts:
                    task = Task(one, column.data, column.noise)
                    if one.kind == "theory" and seed != seeds[0]:
                        continue
                    names = experiment.name, context.profile, row.name, column.name
                    found.setdefault((task, seed), command_of(*names, seed, habits))
    return [(task, seed, command) for (task, seed), command in found.items()]


def run(
    jobs: Sequence[Job],
    context: Context,
    *,
    known: Mapping[str, Cell],
    again: bool = False,
    keep_old: bool = False,
    processes: int = 1,
    save: Save | None = None,
) -> list[Cell]:
    """Measure what is not known yet; return the cells that were asked for, known ones included.

    Args:
        jobs: from `jobs_of`.
        context: where, and how large.
        known: cells of earlier runs by key.
        again: run also those that are known.
        keep_old: accept known cells that other code has measured.
        processes: how many work at once.
        save: called with every new cell, so that nothing is lost.
    """
    if isinstance(processes, bool) or processes < 1:
        raise InvalidOption(f"reproduce: processes must be 1 or more, got {processes}")
    cells: dict[str, Cell] = {}
    todo: list[Job] = []
    for task, seed, command in jobs:
        key = fingerprint(task, context.profile, seed)
        old = known.get(key)
        if old is not None and not again and (keep_old or old.code == code_of(task.part.kind)):
            cells[key] = old
        else:
            todo.append((task, seed, command))
    for cell in _measured(todo, context, processes):
        cells[cell.key] = cell
        if save is not None:
            save([cell])
    return [cells[fingerprint(task, context.profile, seed)] for task, seed, _ in jobs]


def _measured(todo: Sequence[Job], context: Context, processes: int) -> Iterable[Cell]:
    if processes == 1:
        for job in track(todo, "cells"):
            yield measure_cell(job, context)
        return
    groups = _together(todo)
    # A fresh interpreter for each: forked ones would share torch's threads, and hang.
    with ProcessPoolExecutor(
        min(processes, max(len(groups), 1)), get_context("spawn"), _few_threads, (processes,)
    ) as pool:
        waiting = [pool.submit(_measure_group, group, context) for group in groups]
        done = as_completed(waiting)
        for _ in track(range(len(waiting)), "groups of cells"):
            yield from next(done).result()


def _together(todo: Sequence[Job]) -> list[list[Job]]:
    """Cells that share a trained network go to one process, which then trains it once."""
    groups: dict[Any, list[Job]] = {}
    for task, seed, command in todo:
        alone = task.part.kind in ("train", "theory")
        groups.setdefault((task, seed) if alone else (task.data, task.noise, seed), []).append(
            (task, seed, command)
        )
    return list(groups.values())


def _measure_group(group: Sequence[Job], context: Context) -> list[Cell]:
    return [measure_cell(job, context) for job in group]


def _few_threads(processes: int) -> None:
    """What threads a process may use, so that all of them together use each processor once."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    few = max(1, (os.cpu_count() or 1) // processes)
    torch: Any = require("torch", extra="train", caller="reproduce")
    torch.set_num_threads(few)
    threadpool_limits(few)


def measure_cell(job: Job, context: Context) -> Cell:
    """One cell; what cannot be had here, or fails, is said in its note."""
    task, seed, command = job
    key = fingerprint(task, context.profile, seed)
    inside = context if context.runs is None else replace(context, runs=context.runs / key)
    made = partial(
        Cell, task.as_dict(), context.profile.name, seed, key, code_of(task.part.kind), command=command,
        date=datetime.now(UTC).date().isoformat(),
    )  # fmt: skip
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigencleanWarning)
            found = _measure(task.part.kind)(task, seed, inside)
    except (MissingData, MissingExtra) as error:
        return made("missing", str(error))
    except Exception as error:  # hours of other cells must not be lost to one; the table names it
        return made("failed", f"{type(error).__name__}: {' '.join(str(error).split())}")
    seconds = round(time.perf_counter() - started, 1)
    if inside.runs is not None:  # what a killed training would go on from
        shutil.rmtree(inside.runs, ignore_errors=True)
    return made(
        "measured", figures=_rounded(found.figures), curves=_rounded(found.curves), noise_hash=found.noise_hash,
        seconds=seconds,
    )  # fmt: skip


def _measure(kind: str) -> Measure:
    """Who measures that kind; imported when needed, as most of it needs torch."""
    if kind == "theory":
        return _measure_theory
    require("torch", extra="train", caller="reproduce")
    require("accelerate", extra="train", caller="reproduce")
    from eigenclean_lab.reproduce import filtering, trained_features, training

    kinds: dict[str, Measure] = {
        "train": training.measure_training,
        "judge": trained_features.measure_judge,
        "shift": trained_features.measure_shift,
        "fraction": trained_features.measure_fraction,
        "plane": trained_features.measure_plane,
        "filter": filtering.measure_filter,
    }
    return kinds[kind]


def _measure_theory(task: Task, seed: int, context: Context) -> Measured:
    from eigenclean_lab import theory

    found = {"theorem1": theory.run_theorem1, "theorem2": theory.run_theorem2}[task.part.method](
        context.profile.name, seed=seed
    )
    return Measured(found.numbers, {"cells": list(found.cells), "notes": list(found.notes)})


def _rounded(value: Any) -> Any:
    """Numbers with six digits: more would only make the file longer."""
    if isinstance(value, Mapping):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
