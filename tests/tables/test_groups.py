"""Rows in groups by the values of a column, read back from the encoded numbers."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eigenclean.tables import fit_encoding
from eigenclean.tables.encoders import DateEncoder, NumberEncoder
from eigenclean.tables.groups import ColumnGroups, column_blocks, column_groups

N = 400
RNG = np.random.default_rng(2)


def groups_of(**columns: Any) -> dict[str, ColumnGroups]:
    table = pa.table(columns)
    encoding = fit_encoding(table.to_batches, table.schema)
    features = encoding.transform(table)
    texts = RNG.standard_normal((len(features), 3))  # embedded texts stand before the columns
    return {groups.column: groups for groups in column_groups(encoding, np.concatenate([texts, features], axis=1))}


@pytest.mark.parametrize("n_values", [2, 5, 40])
@pytest.mark.parametrize("with_gaps", [False, True])
def test_every_category_is_a_group(n_values: int, with_gaps: bool) -> None:
    names = [f"v{number}" for number in RNG.geometric(0.1 if n_values == 40 else 0.4, N) % n_values]
    cells = [None if with_gaps and row % 7 == 0 else name for row, name in enumerate(names)]
    result = groups_of(city=cells)["city"]
    said = [result.groups[code] for code in result.codes]
    assert all(text in (f"= '{cell}'", "is another value") for text, cell in zip(said, cells, strict=True) if cell)
    assert [text == "is missing" for text in said] == [cell is None for cell in cells]
    assert ("is another value" in said) == (n_values == 40)


def test_numbers_are_ranges_that_hold_them() -> None:
    values = RNG.lognormal(0, 2, N)
    values[:20] = np.nan
    result = groups_of(width=values, other=RNG.standard_normal(N))["width"]
    assert result.groups[-1] == "is missing" and len(result.groups) == 7
    assert (result.codes[:20] == 6).all() and (result.codes[20:] < 6).all()
    shares = np.bincount(result.codes[20:]) / (N - 20)
    np.testing.assert_allclose(shares, [0.1, 0.15, 0.25, 0.25, 0.15, 0.1], atol=0.01)
    top = float(result.groups[5].removeprefix("is above "))
    np.testing.assert_array_equal(result.codes[20:] == 5, values[20:] > top * 1.0001)


def test_few_numbers_are_single_values_and_years_are_years() -> None:
    days = [dt.date(2020 + row % 4, 1 + row % 12, 1 + row % 28) for row in range(N)]
    days[0] = dt.date(2020, 1, 1)
    result = groups_of(rooms=RNG.integers(1, 4, N), built=days, w=RNG.standard_normal(N))
    assert result["rooms"].groups == ("= 1", "= 2", "= 3")
    assert result["built"].groups == ("is in 2020", "is in 2021", "is in 2022", "is in 2023")
    assert [2020 + code for code in result["built"].codes] == [day.year for day in days]
    months = groups_of(day=[dt.date(2024, 1 + row % 12, 5) for row in range(N)], w=RNG.standard_normal(N))["day"]
    assert months.groups[0].startswith("is up to 2024-0") and len(months.groups) >= 5


def test_decoding_undoes_encoding() -> None:
    values = np.r_[RNG.standard_normal(N), 1e6, -40.0]
    stamps = np.datetime64("2021-03-04T05:06:07") + RNG.integers(0, 10**8, N + 2).astype("timedelta64[s]")
    table = pa.table({"w": values, "t": pa.array(stamps), "g": RNG.standard_normal(N + 2)})
    encoding = fit_encoding(table.to_batches, table.schema)
    features = encoding.transform(table)
    for encoder, columns in column_blocks(encoding, features.shape[1]):
        if isinstance(encoder, NumberEncoder) and encoder.name == "w":
            np.testing.assert_allclose(encoder.decode(features[:, columns])[0], values, rtol=1e-9, atol=1e-9)
        if isinstance(encoder, DateEncoder):
            np.testing.assert_array_equal(
                encoder.decode(features[:, columns])[0], stamps.astype("datetime64[s]").astype(np.int64)
            )
