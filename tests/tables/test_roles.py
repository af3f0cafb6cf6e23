"""The role of a column: known answers, and what holds for any column."""

import json
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.tables import ColumnChoices, Role, TableEncoding, fit_encoding
from eigenclean.tables.encoders import MAX_VALUES

N = 60
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, N)
WIDTHS = RNG.normal(size=N)
WORDS = ["the card was late", "please send it again to me", "no money came back at all", "it never worked for us"]


def fit(columns: dict[str, Any], **options: Any) -> TableEncoding:
    table = pa.table(columns)
    return fit_encoding(table.to_batches, table.schema, **options)


def role(name: str, values: Any, labels: Any = None) -> str:
    """The role of a column beside another one that is always used."""
    encoding = fit({name: values, "other": RNG.normal(size=len(values))}, labels=labels)
    roles = {**{encoder.name: encoder.role.value for encoder in encoding.encoders}, **encoding.left_out}
    return roles[name]


KNOWN: list[tuple[str, Any, str]] = [
    ("width", RNG.normal(size=N), "number"),
    ("rooms", RNG.integers(1, 6, N), "number"),
    ("income", RNG.integers(10_000, 90_000, N), "number"),
    ("year", RNG.integers(2007, 2010, N), "number"),
    ("customer_id", RNG.permutation(N) + 4000, "identifier"),
    ("customerId", np.repeat(np.arange(N // 2), 2), "identifier"),
    ("order_no", RNG.choice(10**6, N, replace=False), "identifier"),
    ("", np.arange(N), "identifier"),
    ("Unnamed: 0", np.arange(N), "identifier"),
    ("counter", np.arange(N) + 7, "identifier"),
    ("shuffled", RNG.permutation(N), "identifier"),
    ("species_id", CODES, "number"),
    ("humid", RNG.choice(10**6, N, replace=False), "number"),
    ("uuid", [f"{i:08x}-{i * 7919 % 104729:06x}" for i in range(N)], "identifier"),
    ("name", [f"person {i}" for i in range(N)], "identifier"),
    ("colour", [("red", "green", None)[code] for code in CODES], "category"),
    ("grade", pa.array(CODES).cast(pa.string()).dictionary_encode(), "category"),
    ("city", [f"town {i % 31}" for i in range(N)], "category"),
    ("is_new", CODES > 1, "boolean"),
    ("is_old", pa.array([True, None] * (N // 2)), "boolean"),
    ("when", [date(2020, 1, 1) + timedelta(int(i)) for i in RNG.integers(0, 500, N)], "date"),
    ("at", [datetime(2020, 1, 1) + timedelta(hours=int(i)) for i in RNG.integers(0, 500, N)], "date"),
    ("day", [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.2021" for i in range(N)], "date"),
    ("american", [f"{i % 12 + 1:02d}/{i % 28 + 1:02d}/2021" for i in range(N)], "date"),
    ("comma", [f"{x:.2f}".replace(".", ",") for x in RNG.normal(size=N)], "number"),
    ("thousands", [f"{x:,}" for x in RNG.integers(1000, 10**7, N)], "number"),
    ("mixed", [*map(str, RNG.normal(size=N - 2)), "?", "n/a"], "number"),
    ("note", [f"{WORDS[i % 4]} {i}" for i in range(N)], "text: name it with --text-column"),
    ("unit", ["cm"] * N, "constant"),
    ("zero", np.zeros(N), "constant"),
    ("seen", pa.array([1.0, None] * (N // 2)), "number"),  # one value, but the gaps are information
    ("nothing", pa.nulls(N), "empty"),
    ("gone", pa.nulls(N, pa.float64()), "empty"),
    ("bytes", [b"x", b"y"] * (N // 2), "cells of type binary"),
    ("lists", [["x"], ["y"]] * (N // 2), "cells of type list<item: string>"),
    ("took", pa.array(RNG.integers(0, 99, N), pa.duration("s")), "number"),
]


@pytest.mark.parametrize(("name", "values", "expected"), KNOWN, ids=[name or "nameless" for name, _, _ in KNOWN])
def test_known_roles(name: str, values: Any, expected: str) -> None:
    assert role(name, values).replace("element", "item") == expected


@pytest.mark.parametrize(
    "values",
    [CODES, CODES.astype(float), [f"c{code}" for code in CODES], [("a", "b", None)[code] for code in CODES]],
)
def test_a_column_that_repeats_the_label_is_left_out(values: Any) -> None:
    assert role("churn_code", values, labels=CODES) == "repeats the label"
    noisy = np.where(np.arange(N) == 5, (CODES + 1) % 3, CODES)
    assert role("churn_code", values, labels=noisy) != "repeats the label"
    encoding = fit({"churn_code": values, "x": RNG.normal(size=N)}, labels=CODES)
    assert encoding.sentence() == "features: 1 number; column 'churn_code' repeats the label; left out"


def test_choices_overrule() -> None:
    columns = {"customer_id": np.arange(N), "zip": RNG.integers(0, 4, N), "unit": ["cm"] * N, "code": CODES}
    choices = ColumnChoices(frozenset(("customer_id", "unit", "code")), frozenset(("zip",)))
    encoding = fit(columns, labels=CODES, choices=choices)
    assert {encoder.name: encoder.role.value for encoder in encoding.encoders} == {
        "code": "number",
        "customer_id": "number",
        "unit": "category",
        "zip": "category",
    }


def test_the_line_is_one_line_whatever_the_names() -> None:
    columns = {"bad\nname\x1b[31m" + "x" * 99: ["cm"] * N, **{f"copy {i}": CODES for i in range(8)}, "x": WIDTHS}
    line = fit(columns, labels=CODES).sentence()
    assert line.isprintable() and len(line) < 500
    assert "left out: bad name [31mx" in line and line.endswith("repeats the label; left out; so do 3 more")


def test_many_values_share_a_column() -> None:
    encoding = fit({"town": [f"t{min(i % 50, 40)}" for i in range(500)], "x": RNG.normal(size=500)})
    names = encoding.feature_names
    assert len(names) == MAX_VALUES + 2 and names[0] == "town = t40" and "town = another value" in names


def test_numbered_columns_are_one_matrix_and_stay_as_they_are() -> None:
    columns = {"Unnamed: 0": np.arange(N), **{f"f{i}": RNG.normal(size=N) for i in range(3)}}
    encoding = fit(columns)
    assert encoding.is_as_is and encoding.columns == ["f0", "f1", "f2"]
    assert not fit({**columns, "f1": 1000 * columns["f1"]}).is_as_is  # another unit
    assert not fit({**columns, "width": columns["f1"]}).is_as_is
    assert not fit({**columns, "f1": np.where(np.arange(N) == 3, np.nan, columns["f1"])}).is_as_is


@settings(max_examples=150)
@given(data=st.data(), kind=st.sampled_from(["text", "float", "int", "bool", "words"]), n=st.integers(1, 60))
def test_any_column_has_a_role_and_finite_numbers(data: st.DataObject, kind: str, n: int) -> None:
    cells: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
        "text": (st.text(max_size=6), pa.string()),
        "float": (st.floats(), pa.float64()),
        "int": (st.integers(-(2**62), 2**62), pa.int64()),
        "bool": (st.booleans(), pa.bool_()),
        "words": (st.sampled_from(["1", "2.5", "?", "", "yes", "2020-01-01", "1,5", "inf"]), pa.string()),
    }
    values, arrow = cells[kind]
    column = pa.array(data.draw(st.lists(st.one_of(st.none(), values), min_size=n, max_size=n)), arrow)
    table = pa.table({data.draw(st.text(max_size=5)): column})
    encoding = fit_encoding(table.to_batches, table.schema, labels=np.arange(n) % 2)
    assert len(encoding.encoders) + len(encoding.left_out) == 1
    features = encoding.transform(table)
    assert features.shape == (n, len(encoding.feature_names)) and np.isfinite(features).all()
    assert all(np.array_equal(encoding.transform(table.slice(i, 1)), features[i : i + 1]) for i in range(min(n, 5)))
    assert TableEncoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def test_roles_are_named_once() -> None:
    assert len({*Role}) == 9
