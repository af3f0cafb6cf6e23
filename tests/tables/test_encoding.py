"""Columns as numbers: scikit-learn's answers, saved and loaded, in any order and any unit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from eigenclean.errors import InvalidData
from eigenclean.tables import TableEncoding, fit_encoding
from eigenclean.tables.sample import sample_table

N = 200
RNG = np.random.default_rng(1)
WIDTH = np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(5, 2, N))
COLUMNS: dict[str, Any] = {
    "width": WIDTH,
    "colour": RNG.choice(["red", "green", "blue"], N).tolist(),
    "new": RNG.random(N) < 0.3,
    "when": pa.array(RNG.integers(1_500_000_000, 1_600_000_000, N), pa.timestamp("s")),
    "key": [f"k{i}" for i in range(N)],
}


def fit(columns: dict[str, Any]) -> tuple[TableEncoding, pa.Table]:
    table = pa.table(columns)
    return fit_encoding(table.to_batches, table.schema), table


def test_numbers_and_categories_as_scikit_learn_encodes_them() -> None:
    encoding, table = fit({"width": WIDTH, "colour": COLUMNS["colour"]})
    features = encoding.transform(table)
    names = encoding.feature_names
    filled = SimpleImputer(strategy="median").fit_transform(WIDTH[:, None])
    known = StandardScaler().fit(WIDTH[:, None]).transform(filled)
    np.testing.assert_allclose(features[:, names.index("width")], known[:, 0], atol=1e-9)
    one_hot: Any = OneHotEncoder(sparse_output=False).fit(np.array(COLUMNS["colour"])[:, None])
    expected = one_hot.transform(np.array(COLUMNS["colour"])[:, None])
    for number, colour in enumerate(one_hot.categories_[0]):
        column = features[:, names.index(f"colour = {colour}")]
        np.testing.assert_allclose(column, expected[:, number] - expected[:, number].mean(), atol=1e-12)
    flags = features[:, names.index("width is missing")]
    np.testing.assert_allclose(flags, np.isnan(WIDTH) - np.isnan(WIDTH).mean(), atol=1e-12)


def test_units_and_order_change_nothing() -> None:
    encoding, table = fit(COLUMNS)
    other, others = fit({name: COLUMNS[name] for name in reversed(COLUMNS)} | {"width": 1000 * WIDTH})
    np.testing.assert_allclose(other.transform(others), encoding.transform(table), atol=1e-9)
    assert other.feature_names == encoding.feature_names


def test_one_typing_error_does_not_rule_a_column() -> None:
    right, table = fit({"width": np.arange(100.0) % 37, "other": RNG.normal(size=100)})
    values = np.arange(100.0) % 37
    values[7] = 1e12
    wrong, damaged = fit({"width": values, "other": table["other"]})
    column = right.feature_names.index("width")
    difference = wrong.transform(damaged)[:, column] - right.transform(table)[:, column]
    assert np.abs(np.delete(difference, 7)).max() < 1 and abs(difference[7]) < 50


def test_infinite_values_are_named() -> None:
    encoding, table = fit({"width": [*RNG.normal(size=50), np.inf, -np.inf, np.nan], "b": RNG.normal(size=53)})
    assert encoding.sentence() == "features: 2 numbers; filled 3 missing values, 2 of them infinite"
    assert np.isfinite(encoding.transform(table)).all()


def test_saved_and_loaded(tmp_path: Path) -> None:
    encoding, table = fit(COLUMNS)
    encoding.save(tmp_path / "encoding.json")
    again = TableEncoding.load(tmp_path / "encoding.json")
    assert again == encoding
    np.testing.assert_array_equal(again.transform(table), encoding.transform(table))


def test_new_rows_are_encoded_alike() -> None:
    encoding, _ = fit(COLUMNS)
    new = pa.table(
        {
            "colour": ["violet", None, "red"],
            "width": ["5,0", "6", "?"],  # another file may write them as texts
            "new": ["yes", "1", "0"],
            "when": pa.array([0, None, 1_550_000_000], pa.timestamp("ms")),
            "more": [1, 2, 3],
        }
    )
    features = encoding.transform(new)
    assert features.shape == (3, len(encoding.feature_names)) and np.isfinite(features).all()
    names = encoding.feature_names
    red = features[:, names.index("colour = red")]
    assert red[0] == red[1] < red[2]
    with pytest.raises(InvalidData, match="has no column 'colour', which the encoding was fitted on"):
        encoding.transform(new.drop_columns(["colour"]))
    with pytest.raises(InvalidData, match="'width' must hold values that are read as number"):
        encoding.transform(new.set_column(1, "width", [[[1]] * 3]))


NUMBER = {"role": "number", "name": "width", "centre": "x", "scale": 1.0, "fill": 0.0, "as_is": False}


@pytest.mark.parametrize(
    "change",
    [{"version": 9}, {"encoders": [{"role": "text"}]}, {"encoders": [NUMBER]}, {"encoders": 3}, None, []],
)
def test_foreign_records(change: Any, tmp_path: Path) -> None:
    record = fit(COLUMNS)[0].to_dict()
    path = tmp_path / "encoding.json"
    path.write_text(json.dumps({**record, **change} if isinstance(change, dict) else change))
    with pytest.raises(InvalidData) as caught:
        TableEncoding.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidData, match="no readable encoding"):
        TableEncoding.load(tmp_path / "gone.json")


def test_large_tables_are_sampled_but_counted() -> None:
    table = pa.table({"a": pa.array([1.0, None, np.nan, np.inf] * 100), "b": ["x", "y", None, "z"] * 100})
    whole = sample_table(table.to_batches(), table.schema)
    sampled = sample_table(table.to_batches(max_chunksize=33), table.schema, limit=50)
    assert sampled.content_hash == whole.content_hash and sampled.n_rows == whole.n_rows == 400
    assert len(sampled.rows) == len(sampled.columns[0].values) <= 50
    assert [(c.n_missing, c.n_infinite) for c in sampled.columns] == [(200, 100), (100, 0)]


def test_the_hash_sees_cells_and_not_formats() -> None:
    def hashed(columns: dict[str, Any]) -> str:
        return fit({**columns, "x": [0.5, 1.5, 2.5]})[0].content_hash

    first = hashed({"a": [1, 2, 3], "b": ["x", "yz", None]})
    assert first == hashed({"a": [1.0, 2.0, 3.0], "c": pa.array(["x", "yz", None], pa.large_string())})
    others = [{"a": [1, 2, 4], "b": ["x", "yz", None]}, {"a": [1, 2, 3], "b": ["xy", "z", None]},
              {"a": [1, 2, 3], "b": ["x", "yz", ""]}, {"a": [1, 2, 3], "b": [["x"], ["yz"], None]}]  # fmt: skip
    assert len({first, *map(hashed, others)}) == 5
