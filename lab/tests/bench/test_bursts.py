"""The benchmark of near copies that share a wrong label, and the pages of benchmarks of people's labels."""

import json
from pathlib import Path

import numpy as np
import pytest

from eigenclean_lab.bench import bursts
from eigenclean_lab.bench.annotators import run as annotators

ROOT = Path(__file__).resolve().parents[3]


def test_copies_have_the_wrong_label_and_the_group_of_their_row() -> None:
    name, rows = next(bursts.data_sets(None, 0, 0))
    copied = bursts.add_bursts(rows, 0)
    n, wrong = len(rows.labels), rows.labels != rows.truth
    assert name == "digits" and wrong.mean() == pytest.approx(0.1, abs=0.001)
    sources = copied.groups[n:]
    assert len(sources) == bursts.N_COPIES * round(wrong.sum() / 3) and wrong[sources].all()
    assert (copied.labels[n:] == rows.labels[sources]).all()
    distance = np.abs(copied.features[n:] - rows.features[sources]) / np.maximum(rows.features.std(axis=0), 1e-9)
    assert 0 < distance.mean() < 0.1 and (copied.features[:n] == rows.features).all()


def test_the_table_says_whether_the_bar_is_met() -> None:
    lost = bursts.BurstOutcome("a", bursts.GROUPED, 0, 0.9, 0.8)
    text = bursts.tables(bursts.facts([lost, bursts.BurstOutcome("b", bursts.GROUPED, 0, 0.9, 0.89)]))
    assert "| .900 | .800 | **missed** |" in text and "| .900 | .890 | met |" in text


def test_pages_show_the_results() -> None:
    for file, name, tables in (
        (bursts.FILE, "file.md", bursts.tables),
        (annotators.FILE, "annotators.md", annotators.tables),
    ):
        results = json.loads((ROOT / "results" / file).read_text(encoding="utf-8"))
        assert tables(results) in (ROOT / "docs" / "howto" / name).read_text(encoding="utf-8")
