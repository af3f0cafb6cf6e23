"""How rows are prepared for a head, and the arrays that describe it in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Float64s, Floats, Ints, working_dtype
from eigenclean.detect.judge.row_maps import StandardizedColumns
from eigenclean.detect.judge.unit_rows import MAX_COLUMNS, RowMap, RowNormalizer, hash_columns
from eigenclean.errors import InvalidData

Arrays = Mapping[str, Array]
_UNIT, _STANDARD, _FOURIER = "unit-length", "standardised", "fourier"
_HASHED = "hashed_example"


@dataclass(frozen=True, eq=False)
class FourierRows:
    """Random Fourier features of a Gaussian kernel on prepared rows; the frequencies are stored, not drawn again.

    Attributes:
        base: prepares the rows first.
        frequencies: columns of prepared rows x half the number of features.
    """

    base: RowMap
    frequencies: Float64s

    @classmethod
    def draw(cls, base: RowMap, bandwidth: float, n_features: int) -> "FourierRows":
        """Draw the frequencies for a bandwidth in the units of the prepared rows."""
        rng = np.random.default_rng(0)
        return cls(base, rng.standard_normal((base.n_columns, n_features // 2)) / bandwidth)

    @property
    def n_columns(self) -> int:
        """Columns of the prepared rows."""
        return 2 * int(self.frequencies.shape[1])

    def apply(self, features: Array, rows: Ints | None = None) -> Floats:
        """Fourier features of all rows, or of these ``rows``."""
        prepared = self.base.apply(features, rows)
        angles = prepared @ self.frequencies.astype(working_dtype(features.dtype))
        scale = np.sqrt(2.0 / self.n_columns).astype(angles.dtype)
        return np.asarray(np.hstack([np.cos(angles), np.sin(angles)]) * scale)


def describe_rows(row_map: RowMap) -> tuple[dict[str, Any], dict[str, Array]]:
    """A record for JSON and the arrays that belong to it."""
    if isinstance(row_map, RowNormalizer):
        record: dict[str, Any] = {"kind": _UNIT, "take_roots": bool(row_map.take_roots)}
        return record, {"centre": row_map.centre}
    if isinstance(row_map, StandardizedColumns):
        return {"kind": _STANDARD}, {"means": row_map.means, "deviations": row_map.deviations}
    assert isinstance(row_map, FourierRows)
    base, arrays = describe_rows(row_map.base)
    return {"kind": _FOURIER, "base": base}, {**arrays, "frequencies": row_map.frequencies}


def rows_from(record: Mapping[str, Any], arrays: Arrays) -> RowMap:
    """The preparation of rows that `describe_rows` has described."""
    if record["kind"] == _STANDARD:
        return StandardizedColumns(arrays["means"], arrays["deviations"])
    if record["kind"] == _FOURIER:
        return FourierRows(rows_from(record["base"], arrays), arrays["frequencies"])
    if record["kind"] != _UNIT:
        raise ValueError(f"rows are prepared in the way {record['kind']!r}, which is not known here")
    return RowNormalizer(bool(record["take_roots"]), arrays["centre"])


def hash_check(n_columns: int) -> dict[str, Array]:
    """One hashed row, to be stored with a model of so many columns that they are hashed; else nothing.

    The groups and signs of feature hashing are drawn anew whenever a model is used. numpy does not promise that a
    later version draws the same, and with others the model would predict nonsense.
    """
    if n_columns <= MAX_COLUMNS:
        return {}
    return {_HASHED: hash_columns(np.sin(np.arange(n_columns, dtype=np.float64))[None])}


def verify_hash(arrays: Arrays, n_columns: int) -> None:
    """Raise `InvalidData` if rows are hashed otherwise than when the arrays were stored."""
    if _HASHED in arrays:
        for name, values in hash_check(n_columns).items():
            if not np.allclose(values, arrays[name]):
                raise InvalidData(
                    "columns are hashed with random numbers of numpy, which differ from those of the version with "
                    "which this model was saved: train it again, or install that version of numpy"
                )
