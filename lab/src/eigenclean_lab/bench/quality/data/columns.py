"""Columns of numbers and categories as features: what a careful user does before any detector sees a table."""

from collections.abc import Mapping

import numpy as np
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from eigenclean.arrays import Array


def encode_columns(columns: Mapping[str, Array]) -> Array:
    """Features of a table: standardised numbers, flags of missing numbers, and one-hot categories.

    Args:
        columns: floats with NaN where a number is missing, or text with "" where a category is missing; a
            missing category counts as one more category. Constant columns are left out.

    >>> encode_columns({"size": np.array([1.0, 3.0]), "kind": np.array(["a", "b"]), "same": np.array(["x", "x"])})
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]], dtype=float32)
    """
    varying = {name: column for name, column in columns.items() if _varies(column)}
    numbers = [column for column in varying.values() if column.dtype.kind == "f"]
    categories = [column for column in varying.values() if column.dtype.kind != "f"]
    encoded: list[Array] = []
    if numbers:
        table = np.column_stack(numbers)
        scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()).fit_transform(table)
        encoded += [np.asarray(scaled), np.asarray(MissingIndicator().fit_transform(table))]
    if categories:
        one_hot = OneHotEncoder(sparse_output=False).fit_transform(np.column_stack(categories))
        encoded.append(np.asarray(one_hot))
    return np.hstack(encoded).astype(np.float32)


def _varies(column: Array) -> bool:
    missing = np.isnan(column) if column.dtype.kind == "f" else column == ""
    values = column[~missing]
    return bool(len(values)) and (bool(missing.any()) or bool((values != values[0]).any()))
