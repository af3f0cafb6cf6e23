"""Number and names of the columns of X, stored in fit and checked afterwards, as scikit-learn's estimators do."""

from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData


class ColumnChecks:
    """Mixin of estimators whose X may be a data frame.

    Attributes:
        n_features_in_: number of columns of X in fit.
        feature_names_in_: names of the columns, if X was a data frame.
    """

    n_features_in_: int
    feature_names_in_: Array

    @property
    def _by(self) -> str:
        """The name that error sentences begin with."""
        return type(self).__name__

    def _set_columns(self, X: Any, features: Array) -> None:
        """Remember number and names of the columns of X, as scikit-learn's estimators do."""
        self.n_features_in_ = features.shape[1]
        names = column_names(X)
        if names is not None and len(names) == self.n_features_in_:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_columns(self, X: Any, features: Array) -> None:
        """Raise `InvalidData` unless X has the columns that the estimator was fitted on."""
        if features.shape[1] != self.n_features_in_:
            raise InvalidData(f"{self._by}: fitted on {self.n_features_in_} features, got {features.shape[1]}")
        names = column_names(X)
        if names is None or not hasattr(self, "feature_names_in_") or len(names) != self.n_features_in_:
            return
        differs = names != self.feature_names_in_
        if differs.any():
            first = int(np.argmax(differs))
            raise InvalidData(
                f"{self._by}: the columns must be those of fit in the same order, but column {first} is "
                f"{names[first]!r} instead of {self.feature_names_in_[first]!r}"
            )


def column_names(X: Any) -> Array | None:
    """Names of the columns of a polars, pandas or Arrow table; None if it is no table or has other names than text.

    >>> import pyarrow
    >>> column_names(pyarrow.table({"width": [1, 2], "height": [3, 4]}))
    array(['width', 'height'], dtype=object)
    """
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    if columns is None or callable(columns):
        return None
    names = list(columns)
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None
