"""Rows of a table: values by column name, what speaks against a label, typical rows, filters; 3 and 300 columns."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect
from sklearn.datasets import load_wine

from eigenclean.cli.app import run as eigenclean
from eigenclean.review import Review
from eigenclean.review.suspects import Suspects
from eigenclean.review.table import MAX_COLUMNS, TableRows, table_rows
from eigenclean.sources import open_source
from eigenclean.tables import contributions
from eigenclean.tables.contributions import Contributions
from eigenclean.tables.groups import column_blocks
from eigenclean.verdict import Verdict
from tests.review.conftest import HOSTILE
from tests.review.page.test_accessibility import CONTRAST

OpenPage = Callable[..., Any]
N = 200
WRONG = np.arange(0, 40, 4)  # rows whose label was changed
NOWHERE = np.zeros(0, dtype=np.int64)


def columns_of(rng: np.random.Generator, right: Any) -> dict[str, Any]:
    return {
        "width": rng.normal(5 * right, 1),
        "colour": np.array(["red", "blue"])[np.where(rng.random(N) < 0.9, right, 1 - right)],
        "noise": rng.standard_normal(N),
    }


def table_of(**more: Any) -> tuple[pa.Table, Any, Any]:
    rng = np.random.default_rng(3)
    right = np.arange(N) % 2
    given = np.where(np.isin(np.arange(N), WRONG), 1 - right, right)
    columns = columns_of(rng, right) | {"label": np.array(["cat", "dog"])[given], **more}
    return pa.table(columns), right, given


def verdict_of(labels: Any, wrong: Any = WRONG) -> Verdict:
    names = np.unique(labels)
    flagged = np.isin(np.arange(len(labels)), wrong)
    p = np.where(flagged, 0.1, 0.9)
    other = np.where(labels == names[0], names[1], names[0])
    return Verdict(
        ids=np.arange(len(labels)),
        labels=labels,
        score=p,
        p_clean=p,
        flagged=flagged,
        suggested=np.where(flagged, other, labels),
        suggested_confidence=p,
        made_by={"method": "me"},
    )


def rows_of(table: pa.Table, neighbours: Any = NOWHERE, **options: Any) -> tuple[TableRows, Suspects]:
    source = open_source(table, **options)
    suspects = Suspects.of(verdict_of(source.labels))
    rows = table_rows(source, suspects, neighbours)
    assert rows is not None
    return rows, suspects


def test_values_are_those_of_the_table() -> None:
    table, _, _ = table_of(
        key=[f"key {i}" for i in range(N)], gaps=[None if i % 3 == 0 else i / 7 for i in range(N)]
    )
    rows, suspects = rows_of(table, np.array([7]), leave_out="key")
    names = [column.name for column in rows.columns]
    assert names == ["width", "colour", "noise", "key", "gaps"]
    for row in (*suspects.rows.tolist(), 7):
        values = dict(zip(names, rows.values(row) or [], strict=True))
        assert values["colour"] == table.column("colour")[row].as_py() and values["key"] == f"key {row}"
        assert values["gaps"] == (None if row % 3 == 0 else f"{row / 7:.6g}")
    assert rows.values(9) is None  # a row that is not shown
    described = rows.describe()
    assert [column["used"] for column in described["columns"]] == [True, True, True, False, True]
    assert set(described["typical"]) == {0, 1} and described["n_hidden"] == 0


def test_a_typical_row_is_a_trusted_row_of_its_class() -> None:
    table, _, given = table_of()
    rows, _ = rows_of(table)
    for code, row in rows.describe()["typical"].items():
        assert given[int(row["id"])] == code and int(row["id"]) not in WRONG
        assert abs(float(row["values"][0]) - 5 * code) < 1


def test_the_columns_that_speak_against_a_label_are_named() -> None:
    table, right, _ = table_of()
    rows, suspects = rows_of(table)
    for row in suspects.rows.tolist():
        details = rows.details([row])[0]
        named = dict(details["against"])
        assert named[0] > 0.2  # the width
        assert 2 not in named  # the noise
        odd = table.column("colour")[row].as_py() != ("red", "blue")[right[row]]
        assert odd or 1 in named
        assert [effect for _, effect in details["against"]] == sorted(named.values(), reverse=True)
        first = details["against"][0][0]
        assert details["brief"][0] == [first, details["values"][first]]
    every = suspects.rows.tolist()
    together = rows_of(table)[0].details(every)  # the same every time, and alone as together
    assert [rows.details([row])[0] for row in every] == together


def test_cost_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    table, _, given = table_of(
        **{f"n{chr(97 + k % 26)}{k}x": np.random.default_rng(k).random(N) for k in range(100)}
    )
    source = open_source(table)
    assert source.encoding is not None
    features = source.features()
    monkeypatch.setattr(contributions, "_CHUNK_ROWS", 100)
    asked = Contributions(features, given, ~np.isin(np.arange(N), WRONG), column_blocks(source.encoding, 103), 2)
    names = source.encoding.columns
    assert {names[column] for column in asked.order()[:2]} == {"width", "colour"}
    assert len(asked._tried) == contributions.MAX_COLUMNS
    result = asked.against([int(WRONG[0])])[0]
    assert names[result[0][0]] in {"width", "colour"}
    small: list[int] = []
    forest = asked._forests[None]
    predict = forest.predict_proba

    def counted(rows: Any) -> Any:
        small.append(len(rows))
        return predict(rows)

    monkeypatch.setattr(forest, "predict_proba", counted)
    assert asked.against([int(WRONG[0])])[0] == result
    assert max(small) <= 100 and sum(small) == 1 + contributions.MAX_COLUMNS * contributions.N_DONORS


def test_of_many_classes_each_has_a_forest_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contributions, "MAX_CLASSES", 1)
    table, _, _ = table_of()
    rows, suspects = rows_of(table)
    for details in rows.details(suspects.rows.tolist()):
        named = dict(details["against"])
        assert named[0] > 0.1 and 2 not in named


def test_a_class_without_trusted_rows_has_no_opinion() -> None:
    table, _, given = table_of()
    source = open_source(table)
    verdict = verdict_of(source.labels, np.flatnonzero(given == 1))
    rows = table_rows(source, Suspects.of(verdict), NOWHERE)
    assert rows is not None
    details = rows.details([int(np.flatnonzero(given == 1)[0])])[0]
    assert details["against"] == [] and len(details["values"]) == 3
    assert set(rows.describe()["typical"]) == {0}


def test_groups_of_suspects() -> None:
    table, _, _ = table_of(key=[f"key {i}" for i in range(N)])
    rows, suspects = rows_of(table, leave_out="key")
    result = rows.groups(1)
    said = [result["groups"][code] for code in result["codes"]]
    cells = table.column("colour").to_pylist()
    assert said == [f"= '{cells[row]}'" for row in suspects.rows]
    assert len(rows.groups(0, 3)["codes"]) == 3
    assert rows.groups(3) == {"groups": [], "codes": []}


def test_of_many_columns_those_are_kept_that_tell_classes_apart() -> None:
    rng = np.random.default_rng(0)
    table, _, _ = table_of()
    noise = {f"n{chr(97 + k % 26)}{k}x": rng.random(N) for k in range(MAX_COLUMNS + 40)}
    rows, _ = rows_of(pa.table({**noise, **{name: table.column(name) for name in table.column_names}}))
    names = [column.name for column in rows.columns]
    assert len(names) == MAX_COLUMNS and {"width", "colour"} <= set(names) and rows.n_hidden == 43


def test_embeddings_are_no_rows_to_read() -> None:
    rng = np.random.default_rng(0)
    matrix = {f"f{k}": rng.standard_normal(N) for k in range(80)}
    source = open_source(pa.table({**matrix, "label": np.arange(N) % 2}))
    assert table_rows(source, Suspects.of(verdict_of(source.labels)), NOWHERE) is None
    few = open_source(pa.table({**{name: matrix[name] for name in ("f0", "f1", "f2")}, "label": np.arange(N) % 2}))
    rows = table_rows(few, Suspects.of(verdict_of(few.labels)), NOWHERE)
    assert rows is not None and [column.name for column in rows.columns] == ["f0", "f1", "f2"]
    assert rows.groups(0)["groups"]


@pytest.fixture(scope="module", params=[3, 300])
def hostile_table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table whose names and values are hostile, of 3 or 300 columns."""
    folder = tmp_path_factory.mktemp("table")
    table, right, given = table_of()
    rng = np.random.default_rng(1)
    names = [HOSTILE[0], HOSTILE[1], f"{HOSTILE[4]}x"]
    colours = np.array([HOSTILE[2], HOSTILE[3]])[right]
    columns: dict[str, Any] = {names[0]: table.column("width"), names[1]: colours, names[2]: table.column("noise")}
    columns |= {f"n{chr(97 + k % 26)}{k}x": rng.random(N) for k in range(request.param - 3)}
    pq.write_table(pa.table({**columns, "label": np.array(HOSTILE[:2])[given]}), folder / "x.parquet")
    command = ["detect", str(folder / "x.parquet"), "--method", "knn", "--out", str(folder / "run"), "--no-report"]
    assert eigenclean(command) == 0
    return folder


def test_the_pane_and_the_filter_in_a_browser(
    hostile_table: Path, open_page: OpenPage, serving: Callable[[Review], Any], tmp_path: Path
) -> None:
    review = Review.open(shutil.copytree(hostile_table / "run", tmp_path / "run"))
    assert review.table is not None and review.notes == () and len(review.suspects) > 1
    n_columns = len(review.table.columns)
    kind = "live" if n_columns == 3 else "file"
    if kind == "live":
        page = open_page(serving(review).guard.link, color_scheme="dark").page
    else:
        assert (
            eigenclean(["review", str(tmp_path / "run"), "--export", str(tmp_path / "x.html"), "--order", "worst"])
            == 0
        )
        page = open_page((tmp_path / "x.html").as_uri(), viewport={"width": 390, "height": 844}).page
    rows = page.locator(".values tbody tr")
    expect(rows).to_have_count(n_columns, timeout=20_000)  # the first explanation fits models
    item = review.items([0])[0]
    shown = rows.first.locator(".own .value")
    expect(shown).to_have_text(item["values"][item["against"][0][0]] if item["against"] else item["values"][0])
    expect(page.locator(".values .against")).to_have_count(len(item["against"]))
    expect(page.locator(".values thead th")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")
    ratios = page.evaluate(CONTRAST)
    assert [(words, round(ratio, 2)) for words, ratio in ratios if ratio < 4.5] == []
    if n_columns > 16:
        page.get_by_label("Find a column").fill("nc2x")
        assert (
            page.evaluate("[...document.querySelectorAll('.values tbody tr')].filter((r) => !r.hidden).length") == 1
        )
    if kind == "file":
        page.get_by_role("button", name="List").click()
    number = next(at for at, column in enumerate(review.table.columns) if column.name == HOSTILE[1])
    groups = review.groups(number)
    page.locator("#filter-column").select_option(str(number))
    page.locator("#filter-value").select_option("0")
    count = groups["codes"].count(0)
    expect(page.locator("#shown")).to_contain_text(str(count))
    assert page.evaluate("document.querySelectorAll('#filter-value option').length") == 1 + len(groups["groups"])
    page.locator("#filter-column").select_option("")
    expect(page.locator("#shown")).to_have_text(f"{len(review.suspects)} suspects")
    page.evaluate("document.getElementById('view-grid').click()")
    page.wait_for_timeout(200)
    assert page.locator("img, [onerror], [onmouseover]").count() == 0
    assert page.locator("script").count() == (1 if kind == "live" else 2)
    review.close()


def test_a_table_with_long_names_is_seen_as_a_whole(open_page: OpenPage, tmp_path: Path) -> None:
    data: Any = load_wine()
    given = np.array(["barolo", "grignolino", "barbera"])[data.target]
    given[::17] = "barbera"
    columns = {name: data.data[:, k] for k, name in enumerate(data.feature_names)}
    pq.write_table(pa.table({**columns, "label": given}), tmp_path / "x.parquet")
    run, file = str(tmp_path / "run"), tmp_path / "x.html"
    assert eigenclean(["detect", str(tmp_path / "x.parquet"), "--method", "knn", "--out", run, "--no-report"]) == 0
    assert eigenclean(["review", run, "--export", str(file)]) == 0
    page = open_page(file.as_uri()).page
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator(".values tbody tr")).to_have_count(13)
        assert page.locator(".values .scrolled").evaluate("box => box.scrollWidth <= box.clientWidth"), width
