"""Where suspects gather: every number against a slow loop, chance, limits, and what a user may write."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eigenclean.report import summarize
from eigenclean.report.html import render
from eigenclean.report.sections import ReportInput
from eigenclean.report.sections.columns import column_findings
from eigenclean.report.sections.suspects import suspects
from eigenclean.tables import TableEncoding, fit_encoding
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]
N = 600
REGION = "</td><script>alert(1)</script>"


def encoded(table: pa.Table) -> tuple[TableEncoding, Any]:
    encoding = fit_encoding(table.to_batches, table.schema)
    return encoding, encoding.transform(table)


@pytest.fixture
def gathered(make: Make) -> tuple[Verdict, pa.Table]:
    rng = np.random.default_rng(5)
    verdict = make(N, 3)
    flagged = np.asarray(verdict.flagged)
    careless = np.where(flagged, rng.random(N) < 0.5, rng.random(N) < 0.05)
    region = np.where(careless, REGION, np.array(["north", "south"])[rng.integers(0, 2, N)])
    age = np.where(flagged & (rng.random(N) < 0.3), 95.0, rng.uniform(20, 60, N))
    return verdict, pa.table({"region": region, "age": age, "noise": rng.standard_normal(N)})


def test_findings_are_counts(gathered: tuple[Verdict, pa.Table]) -> None:
    verdict, table = gathered
    encoding, features = encoded(table)
    shown = summarize(verdict, features=features, encoding=encoding)["columns"]
    flagged, cells = verdict.flagged.tolist(), table.column("region").to_pylist()
    n_there = sum(is_flagged and cell == REGION for is_flagged, cell in zip(flagged, cells, strict=True))
    first = shown["findings"][0]
    assert first["column"] == "region" and first["values"] == f"= '{REGION}'"
    assert first["n_flagged"] == n_there
    assert first["flagged_share"] == pytest.approx(n_there / sum(flagged))
    assert first["row_share"] == pytest.approx(cells.count(REGION) / N)
    assert {finding["column"] for finding in shown["findings"]} == {"region", "age"}
    assert shown["sentence"].startswith(f"{round(100 * n_there / sum(flagged))}\u202f% of the flagged labels")
    page = render(summarize(verdict, features=features, encoding=encoding))
    assert "Where suspects gather" in page and "<script>alert" not in page


def test_suspects_name_the_values_that_speak_against_their_label(make: Make) -> None:
    rng = np.random.default_rng(5)
    right, wrong = np.arange(N) % 2, np.arange(N) % 20 == 3
    given = np.where(wrong, 1 - right, right)
    flags = {"flagged": wrong, "p_clean": np.where(wrong, 0.1, 0.9), "labels": given, "suggested": right}
    verdict = make(N, 2, **flags)
    width = rng.normal(5 * right, 1).round(3)
    colour = np.array(["<b>red", "blue"])[right]
    table = pa.table({"width": width, "colour": colour, "noise": rng.standard_normal(N)})
    encoding, features = encoded(table)
    shown = summarize(verdict, features=features, encoding=encoding)
    for card in shown["suspects"]["cards"]:
        row = int(card["id"])
        named = {entry["column"]: entry for entry in card["against"]}
        assert named["width"]["value"] == f"{width[row]:.6g}" and named["colour"]["value"] == colour[row]
        assert named["colour"]["typical"] == ("<b>red", "blue")[given[row]] and "noise" not in named
        assert abs(float(named["width"]["typical"]) - 5 * given[row]) < 1
    page = render(shown)
    assert "Speaks against the given label" in page and "<b>red" not in page.replace("<b><bdi", "")
    nothing = make(N, 2, **{**flags, "flagged": np.zeros(N, dtype=bool), "suggested": given})
    doubtful = summarize(nothing, features=features, encoding=encoding)["suspects"]
    assert len(doubtful["cards"]) == 20 and doubtful["cards"][0]["against"]


def test_chance_is_no_finding(make: Make) -> None:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"w{chr(97 + k)}": rng.standard_normal(N) for k in range(8)}
    columns |= {f"c{chr(97 + k)}": np.array(list("abcdefgh"))[rng.integers(0, 8, N)] for k in range(8)}
    encoding, features = encoded(pa.table(columns))
    for seed in range(5):
        shown = summarize(make(N, 3, seed=seed), features=features, encoding=encoding)
        assert shown["columns"] == {"findings": [], "sentence": None}
        assert 'id="columns"' not in render(shown)


def test_rows_are_sampled_and_fetched_once(
    gathered: tuple[Verdict, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict, table = gathered
    encoding, features = encoded(table)
    monkeypatch.setattr("eigenclean.report.encoded_rows.MAX_ROWS", 40)
    asked: list[int] = []

    def fetch(rows: Any) -> Any:
        asked.append(len(rows))
        return features[rows]

    inputs = ReportInput(verdict, features=fetch, encoding=encoding)
    shown = column_findings(inputs)
    assert suspects(inputs)["has_values"]
    assert len(asked) == 1 and asked[0] <= 80 + 60
    assert shown["findings"][0]["column"] == "region"
    assert shown["findings"][0]["n_flagged"] > 40 * 0.3


def test_without_a_table_there_is_no_section(make: Make) -> None:
    shown = summarize(make(), features=np.zeros((300, 4)))
    assert shown["columns"]["findings"] == []
