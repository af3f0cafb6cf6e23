"""Cells come back from their files as they were written, in an order of their own."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eigenclean.errors import InvalidData, MissingExtra
from eigenclean_lab.store import Cell, Measured, MissingData, Restamp, Store, measure_cell, run_cells


def cell(name: str, seed: int = 0, **more: Any) -> Cell:
    facts: dict[str, Any] = {
        "key": "key",
        "code": "code",
        "status": "measured",
        "figures": {"f": 0.1 + 0.2},
        **more,
    }
    return Cell({"detector": name}, seed, **facts)


STAMP = Restamp("2026-01-02", "fine", 9, 8, 2, 0, 1e-12, 1e-9, True, "older")


@pytest.mark.parametrize("file", ["cells.json", "cells.jsonl"])
def test_cells_come_back_bit_by_bit(file: str, tmp_path: Path) -> None:
    store = Store(tmp_path / file, "bench")
    assert store.read() == []
    cells = [
        cell("b"),
        cell("a", 1, curves={"loss": [0.5, None]}, facts={"epochs": None}, restamped=STAMP),
        cell("a"),
    ]
    store.write(cells)
    assert store.read() == [cells[2], cells[1], cells[0]]
    assert sum("detector" in line for line in store.path.read_text().splitlines()) == 3  # a line for each cell


@pytest.mark.parametrize("file", ["cells.json", "cells.jsonl"])
def test_a_new_cell_replaces_the_one_of_the_same_task_and_seed(file: str, tmp_path: Path) -> None:
    store = Store(tmp_path / file, "bench", order=lambda cell: -cell.seed)
    store.write([cell("a"), cell("a", 1)])
    store.add([cell("a", code="newer")])
    assert [(stored.seed, stored.code) for stored in store.read()] == [(1, "code"), (0, "newer")]


def test_the_json_file_is_one_document(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells.json", "bench")
    store.write([cell("a")])
    assert json.loads(store.path.read_text())["cells"][0]["task"] == {"detector": "a"}


@pytest.mark.parametrize(
    ("file", "content"), [("x.json", "[]"), ("x.json", '{"cells": [{}]}'), ("x.jsonl", "{}\n")]
)
def test_a_foreign_file_is_refused_in_one_sentence(file: str, content: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(InvalidData, match="is not a file of `eigenclean bench`; move it away"):
        Store(tmp_path / file, "bench").read()


def test_missing_data_and_errors_are_a_status() -> None:
    def raising(error: Exception) -> Any:
        def measure() -> Measured:
            raise error

        return measure

    request = cell("a", status="missing", figures={}, facts={"epochs": 3})
    for error, status, note in (
        (MissingData("needs x.npz"), "missing", "needs x.npz"),
        (MissingExtra("needs torch"), "missing", "needs torch"),
        (ValueError("two\nlines"), "failed", "ValueError: two lines"),
    ):
        outcome = measure_cell(request, raising(error))
        assert (outcome.status, outcome.note, dict(outcome.figures)) == (status, note, {})
    done = measure_cell(request, lambda: Measured({"f": 1.0}, facts={"noise_hash": "ab"}))
    assert done.is_measured and done.facts == {"epochs": 3, "noise_hash": "ab"} and done.date


def test_only_stale_and_unknown_cells_are_measured() -> None:
    measured: list[str] = []

    def measure(request: Cell) -> Cell:
        measured.append(request.task["detector"])
        return replace(request, status="measured")

    requests = [cell(name, status="missing") for name in ("known", "other code", "other key", "failed", "new")]
    known = [
        cell("known"),
        cell("other code", code="older"),
        cell("other key", key="older"),
        cell("failed", status="failed"),
    ]
    saved: list[Cell] = []
    results = run_cells(requests, measure, known=known, save=saved.extend)
    assert measured == [each.task["detector"] for each in saved] == ["other code", "other key", "failed", "new"]
    assert [each.task["detector"] for each in results] == [each.task["detector"] for each in requests]
    measured.clear()
    run_cells(requests, measure, known=known, remeasure=True)
    assert len(measured) == 5
