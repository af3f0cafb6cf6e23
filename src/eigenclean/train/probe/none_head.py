"""P(none) of new rows: the probability that a row belongs to none of the classes, by what the judge has learned.

The judge knows it of rows with a given label. A row to predict has none, so that its features alone decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from eigenclean.arrays import Array, Float64s, row_chunks
from eigenclean.detect.blocks import block_rows
from eigenclean.detect.folds import content_hash, folds_of_hashes
from eigenclean.detect.judge.discriminants import Discriminants
from eigenclean.detect.judge.open_set.component import NoneComponent
from eigenclean.detect.judge.row_maps import PrincipalComponents
from eigenclean.detect.judge.unit_rows import RowNormalizer, UnitRows
from eigenclean.detect.value_range import scale
from eigenclean.train.probe.rows import describe_rows, rows_from

_MAX_EXPONENT = 1100  # of the range of doubles
_MAX_NUMBER = 1000  # of the assignments to folds, of which there are a handful


@dataclass(frozen=True, eq=False)
class NoneHead:
    """Discriminants of the classes and of clusters of samples of no class, with the models that calibrate them.

    Attributes:
        row_map: prepares the rows.
        discriminants: of the classes, and of the clusters after them; rows of training have those of other folds.
        number: of the assignment of rows to folds.
        scales: of the scores, one for each noise model.
        offsets: of classes and clusters, models x (K + clusters).
        weights: of the models.
        reliability: factor of P(none), because some rows that are like the clusters have a class.
        n_classes: K.
        exponent: features are multiplied by ``2**-exponent`` first.
    """

    row_map: PrincipalComponents
    discriminants: Discriminants
    number: int
    scales: Float64s
    offsets: Float64s
    weights: Float64s
    reliability: float
    n_classes: int
    exponent: int = 0

    @classmethod
    def of(cls, component: NoneComponent, exponent: int = 0) -> "NoneHead":
        """From what the judge has learned."""
        repeat, row_map = component.repeat, component.repeat.row_maps[0]
        assert isinstance(row_map, PrincipalComponents)
        base, components = row_map.base, row_map.components
        if isinstance(base, RowNormalizer) and base.basis is not None:  # one matrix instead of two
            components = base.basis.T if components is None else base.basis.T @ components
            base = RowNormalizer(base.take_roots, base.centre)
        models = repeat.model.models
        return cls(
            PrincipalComponents(base, components),
            repeat.discriminants[0],
            repeat.number,
            np.array([float(model.scales[0]) for model in models]),
            np.stack([model.offsets for model in models]),
            repeat.model.weights,
            float(component.reliability),
            len(component.shares),
            exponent,
        )

    def probability(self, features: Array) -> Float64s:
        """P(none | x) of each row."""
        n_folds, p = len(self.discriminants.offsets), np.empty(len(features))
        for chunk in row_chunks(len(features), 1, block_rows(features)):
            rows = scale(features[chunk], self.exponent)
            folds = folds_of_hashes(content_hash(rows), n_folds, self.number)
            values = self.discriminants.of(UnitRows(rows, folds, self.row_map)).astype(np.float64)
            tables = (
                weight * softmax(factor * values + offsets, axis=1)
                for weight, factor, offsets in zip(self.weights, self.scales, self.offsets, strict=True)
            )
            p[chunk] = sum(table[:, self.n_classes :].sum(axis=1) for table in tables)
        return np.asarray(self.reliability * p)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """A record for JSON, and arrays by name."""
        rows, arrays = describe_rows(self.row_map.base)
        arrays = {f"rows.{name}": values for name, values in arrays.items()}
        if self.row_map.components is not None:
            arrays["components"] = self.row_map.components
        arrays |= {"directions": self.discriminants.directions, "lengths": self.discriminants.offsets}
        arrays |= {"scales": self.scales, "offsets": self.offsets, "weights": self.weights}
        numbers = {"number": self.number, "reliability": self.reliability, "exponent": self.exponent}
        return {"rows": rows, **numbers}, arrays

    @classmethod
    def from_arrays(
        cls, record: Mapping[str, Any], arrays: Mapping[str, Array], n_classes: int, n_columns: int
    ) -> "NoneHead":
        """The head that `to_arrays` described; a ValueError or KeyError when the arrays do not fit together."""
        rows = {name.removeprefix("rows."): values for name, values in arrays.items() if name.startswith("rows.")}
        head = cls(
            PrincipalComponents(rows_from(record["rows"], rows), arrays.get("components")),
            Discriminants(arrays["directions"], arrays["lengths"]),
            int(record["number"]),
            arrays["scales"],
            arrays["offsets"],
            arrays["weights"],
            float(record["reliability"]),
            n_classes,
            int(record["exponent"]),
        )
        n_folds, n_all, _ = head.discriminants.directions.shape
        n_models = len(head.weights)
        shapes = head.discriminants.offsets.shape, head.scales.shape, head.offsets.shape, head.weights.shape
        if shapes != ((n_folds, n_all), (n_models,), (n_models, n_all), (n_models,)) or n_all <= n_classes:
            raise ValueError("the arrays about samples of no class do not fit together")
        is_shares = bool((head.weights >= 0).all()) and abs(float(head.weights.sum()) - 1.0) < 1e-6
        in_range = 0 <= head.number <= _MAX_NUMBER and abs(head.exponent) <= _MAX_EXPONENT
        if not is_shares or not in_range or not 0 <= head.reliability <= 1:
            raise ValueError("its numbers about samples of no class are out of range")
        if head.probability(np.zeros((1, n_columns), dtype=np.float32)).shape != (1,):
            raise ValueError("the arrays about samples of no class do not fit to its columns")
        return head
