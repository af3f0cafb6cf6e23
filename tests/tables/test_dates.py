"""How many columns a date becomes: parts of it are for tables that have enough rows for them."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest

from eigenclean.tables import TableEncoding, fit_encoding


def encoding_of(n: int) -> tuple[TableEncoding, pa.Table]:
    days = np.random.default_rng(0).integers(0, 900, n).tolist()
    table = pa.table({"day": [date(2019, 1, 1) + timedelta(days=day) for day in days]})
    return fit_encoding(table.to_batches, table.schema), table


@pytest.mark.parametrize(("n", "width"), [(214, 1), (499, 1), (500, 5), (2000, 5)])
def test_parts_need_rows(n: int, width: int) -> None:
    encoding, table = encoding_of(n)
    features = encoding.transform(table)
    assert features.shape == (n, width) and encoding.feature_names[0] == "day"
    assert features.var(axis=0).sum() == pytest.approx(1, abs=0.05)  # as much as one number, either way
    later = np.argsort(np.array(table.column("day").to_pylist()))
    assert np.all(np.diff(features[later, 0]) >= 0)
