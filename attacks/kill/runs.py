"""Kills of `detect` (in memory, streaming, on Dask): a run is the old one or the new one, never a mixture."""

import json
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from attacks import table_seeds
from attacks.commands import broken_promises, execute
from attacks.kill.scenario import Scenario, run_again
from eigenclean.cli.app import run
from eigenclean.errors import EigencleanError
from eigenclean.verdict import Verdict

OLD, NEW = "old.npz", "new.npz"
NEW_LABELS = 10  # the smallest label of the second data set


class Detect(Scenario):
    """`detect` over an earlier run about other data."""

    name = "detect"
    options: tuple[str, ...] = ("--csv",)

    def build(self, folder: Path) -> None:
        """Two data sets, and the run about the first one."""
        for seed, name in enumerate((OLD, NEW)):
            features, labels = table_seeds.numbers(seed)
            np.savez(folder / name, features=features, labels=labels + (NEW_LABELS if name == NEW else 0))
        assert run(["detect", str(folder / OLD), "--out", str(folder / "run"), "--csv"]) == 0

    def command(self, folder: Path) -> list[str]:
        """The command line that is killed."""
        return ["detect", str(folder / NEW), "--out", str(folder / "run"), *self.options]

    def work(self, folder: Path) -> None:
        """Judge the second data set into the same folder."""
        assert run(self.command(folder)) == 0

    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """What readers see is one run; a second try succeeds and cleans up."""
        hashes = {data_hash(folder / name): name for name in (OLD, NEW)}
        yield from _readers(folder, hashes)
        yield from run_again(self.command(folder), folder)
        data_sets = set(_files(folder / "run", hashes).values())
        if data_sets != {NEW}:
            yield f"after a second try the files are of {_named(data_sets)}"


class Stream(Detect):
    """Streaming `detect`, which writes the verdict block by block."""

    name = "stream"
    options = ("--csv", "--engine", "stream")


class FirstDetect(Detect):
    """`detect` into a folder that does not exist yet."""

    name = "first-detect"
    kills = 20

    def build(self, folder: Path) -> None:
        """The data alone."""
        super().build(folder)
        for path in sorted((folder / "run").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (folder / "run").rmdir()


class Dask(Detect):
    """`detect` on a Dask cluster, which swaps a folder of Parquet files; its workers are killed as well."""

    name = "dask"
    options = ("--engine", "dask")

    def work(self, folder: Path) -> None:
        """Judge with workers that are threads: a cluster of processes takes seconds to start."""
        _use_threads()
        super().work(folder)

    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """As for the others, with the same kind of cluster."""
        _use_threads()
        yield from super().check(folder, done)


def data_hash(path: Path) -> str:
    """Hash of a data set, as a run records it."""
    from eigenclean.sources import open_source

    return open_source(str(path)).data_hash()


def _readers(folder: Path, hashes: dict[str, str]) -> Iterable[str]:
    """What our own readers make of a run after a kill."""
    from eigenclean.review import Review

    run_folder = folder / "run"
    try:
        review = Review.open(run_folder)
    except EigencleanError:
        pass  # refusing is allowed
    else:
        data_sets = {hashes.get(review.data_hash, "?"), _of_verdict(review.suspects.verdict)}
        review.close()
        if len(data_sets) > 1:
            yield f"review shows a verdict and a summary of {_named(data_sets)}"
    for arguments in (
        ["check", str(run_folder)],
        ["export", str(run_folder), "--to", "csv", "--out", f"{folder}/x.csv"],
    ):
        outcome = execute(arguments)
        yield from broken_promises(outcome, arguments)
    try:
        Verdict.load(run_folder)
    except EigencleanError:
        return
    by_file = _files(run_folder, hashes)
    if len(set(by_file.values())) > 1:
        yield f"readers accept a mixture: {by_file}"


def _files(run_folder: Path, hashes: dict[str, str]) -> dict[str, str]:
    """For every file of a run, the data set that it is about."""
    data_sets = {}
    if (run_folder / "verdict.parquet").exists():
        data_sets["verdict.parquet"] = _of_verdict(Verdict.load(run_folder))
    for name, find in (("summary.json", _of_summary), ("report.json", _of_report)):
        if (run_folder / name).exists():
            data_sets[name] = hashes.get(find(json.loads((run_folder / name).read_text(encoding="utf-8"))), "?")
    if (run_folder / "report.html").exists():
        page = (run_folder / "report.html").read_text(encoding="utf-8")
        data_sets["report.html"] = next((name for digest, name in hashes.items() if digest in page), "?")
    return data_sets


def _of_summary(record: Any) -> Any:
    return record.get("data_hash")


def _of_report(record: Any) -> Any:
    return record["run"].get("data_hash")


def _of_verdict(verdict: Verdict) -> str:
    """The data set whose labels the verdict has."""
    return NEW if int(verdict.labels.min()) >= NEW_LABELS else OLD


def _named(data_sets: set[str]) -> str:
    return " and ".join(sorted(data_sets)) or "nothing"


def _use_threads() -> None:
    distributed: Any = import_module("distributed")
    real = distributed.LocalCluster

    def threads(**options: Any) -> Any:
        cluster_options = {name: value for name, value in options.items() if name not in ("n_workers", "host")}
        return real(n_workers=1, processes=False, **cluster_options)

    distributed.LocalCluster = threads
