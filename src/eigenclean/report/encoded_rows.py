"""The rows of a table that the sections of a report look at: fetched once, whatever the size of the table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Bools, Ints
from eigenclean.report.formatting import plain
from eigenclean.tables import TableEncoding
from eigenclean.tables.contributions import Contributions
from eigenclean.tables.decoded import decoded_values
from eigenclean.tables.groups import column_blocks

MAX_ROWS = 50_000  # of all rows at equal distances, and as many flagged ones
MAX_AGAINST = 3  # columns that are named for a suspect
_MAX_VALUE = 60  # characters


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """A sample of all rows, flagged rows, and the rows that are listed.

    Attributes:
        encoding: how their columns became features.
        features: of `rows`.
        rows: their numbers, ascending.
        sampled: positions of the rows of the sample.
        flagged: positions of flagged rows.
    """

    encoding: TableEncoding
    features: Array
    rows: Ints
    sampled: Ints
    flagged: Ints

    @classmethod
    def fetch(
        cls,
        features: ArrayLike | Callable[[Ints], Array],
        encoding: TableEncoding,
        n: int,
        flagged: Ints,
        listed: Ints,
    ) -> "EncodedRows | None":
        """None where the features are not those of the encoding."""
        sampled = np.arange(0, n, -(-n // MAX_ROWS))
        suspects = flagged[:: max(1, -(-len(flagged) // MAX_ROWS))]
        rows = np.unique(np.concatenate([sampled, suspects, listed]))
        fetched = features(rows) if callable(features) else np.asarray(features)[rows]
        if fetched.shape[1] < len(encoding.feature_names):
            return None
        return cls(encoding, fetched, rows, np.searchsorted(rows, sampled), np.searchsorted(rows, suspects))

    def against(self, listed: Ints, codes: Ints, flagged: Bools, n_classes: int) -> list[list[dict[str, Any]]]:
        """For each listed row, the columns that speak against its label: value, typical value, contribution.

        ``codes`` and ``flagged`` are those of all rows.
        """
        codes = codes[self.rows]
        contributions = Contributions(self.features, codes, ~flagged[self.rows], self._blocks, n_classes)
        places = np.searchsorted(self.rows, listed).tolist()
        typical = {code: contributions.typical_row(code) for code in set(codes[places].tolist())}
        return [
            [
                {
                    "column": plain(self._blocks[column][0].name),
                    "value": self._value(column, place),
                    "typical": self._value(column, typical[int(codes[place])]),
                    "effect": effect,
                }
                for column, effect in effects[:MAX_AGAINST]
            ]
            for place, effects in zip(places, contributions.against(places), strict=True)
        ]

    def _value(self, column: int, place: int | None) -> str | None:
        if place is None:
            return None
        encoder, columns = self._blocks[column]
        return plain(decoded_values(encoder, self.features[place : place + 1, columns])[0], _MAX_VALUE)

    @cached_property
    def _blocks(self) -> Sequence[Any]:
        return column_blocks(self.encoding, self.features.shape[1])
