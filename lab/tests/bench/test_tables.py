"""The benchmark of raw tables: its files, its changes, and the page that shows it."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.detect.judge import Judge
from eigenclean.sources import open_source
from eigenclean_lab.bench import table_draws, tables

ROOT = Path(__file__).parents[3]


def flowers() -> tuple[dict[str, Array], Array]:
    """Two numbers, one of them whole and with a missing value, and a category."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b"], 40)
    size = np.where(labels == "a", 10.0, 30.0) + rng.integers(0, 8, 80)
    size[3] = np.nan
    garden = np.where(rng.random(80) < 0.5, "north", "")
    return {"size": size, "width": rng.normal(size=80), "garden": garden}, labels


def test_files_are_as_people_write_them(tmp_path: Path) -> None:
    columns, labels = flowers()
    tables.write_csv(columns, labels, tmp_path / "t.csv")
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert len(rows) == 80 and rows[3]["size"] == "" and rows[0]["size"].isdigit()
    assert {row["garden"] for row in rows} == {"north", ""}
    assert [row[tables.LABEL] for row in rows] == labels.tolist()


def test_only_a_date_and_a_shuffled_copy_change_the_features(tmp_path: Path) -> None:
    columns, labels = flowers()

    def features(name: str, content: dict[str, Array]) -> Array:
        tables.write_csv(content, labels, tmp_path / f"{name}.csv")
        return open_source(str(tmp_path / f"{name}.csv"), label_column=tables.LABEL).features()

    plain = features("plain", columns)
    others = {change: features(change, content) for change, content in tables.changed(columns, labels)}
    assert len(others) == 8
    differing = {change for change, values in others.items() if values.shape != plain.shape}
    assert differing == {"a date", "a shuffled copy"}
    for change in others.keys() - differing:
        np.testing.assert_allclose(others[change], plain, atol=1e-5, err_msg=change)


def test_a_table_is_measured_as_a_file_and_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[tuple[int, ...]] = []
    plain = Judge.fit_judge

    def watched(self: Judge, X: Array, y: Array, *args: Any, **options: Any) -> Any:
        judged.append(np.shape(X))
        return plain(self.set_params(views="linear"), X, y, *args, **options)

    monkeypatch.setattr(Judge, "fit_judge", watched)
    result = tables.measure("flowers", *flowers())
    assert result.n_rows == 80 and result.auroc > 0.9 and result.by_hand > 0.9
    assert result.flagged_when_clean <= 0.05
    assert {change for change, value in result.changes.items() if value} <= {"a date", "a shuffled copy"}
    assert len(judged) <= 6  # equal features are judged once
    text = "\n".join(tables.markdown(tables.facts([result])))
    assert "| flowers | 80 |" in text and "| an identifier | +0.0000 | +0.000 | 0 of 1 |" in text


def test_errors_and_columns_are_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, labels, widths = Judge.fit_judge, set(), set()

    def quick(self: Judge, X: Array, y: Array, *args: Any, **options: Any) -> Any:
        labels.add(tuple(y))
        widths.add(np.shape(X)[1])
        return plain(self.set_params(views="linear", n_repeats=1), X, y, *args, **options)

    monkeypatch.setattr(Judge, "fit_judge", quick)
    measured = table_draws.measure("flowers", *flowers(), draws=2)
    assert len(labels) == 2 and min(widths) < max(widths) and min(measured.auroc) > 0.8
    assert measured.changes["other units"] == [0.0, 0.0]  # the features are the same
    assert {len(values) for values in measured.changes.values()} == {2} and set(measured.changes) == set(
        table_draws.CHANGES
    )


def test_the_mean_of_the_draws_is_shown_with_its_error() -> None:
    drawn = table_draws.Draws("flowers", 80, [0.9, 0.8], {"a date": [-0.02, 0.04]})
    assert table_draws.markdown(table_draws.facts([drawn]))[-1] == (
        "| flowers | 2 | 0.850 | a date | +0.010 ± 0.030 | -0.020 to +0.040 |"
    )


def test_tables_without_data_are_passed_over(tmp_path: Path) -> None:
    assert tables.run(tmp_path, names=("penguins",)) == []


def test_the_page_shows_what_was_measured() -> None:
    record = json.loads((ROOT / "results" / tables.FILE).read_text())
    page = (ROOT / "docs" / "tables.md").read_text()
    assert "\n".join(tables.markdown(record)) in page
    drawn = json.loads((ROOT / "results" / table_draws.FILE).read_text())
    assert "\n".join(table_draws.markdown(drawn)) in page
