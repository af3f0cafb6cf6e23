"""Which columns of a table speak against the label of a row.

The contribution of a column is how much the probability of the given label would rise if the row had the values in
this column that trusted rows with the label have. The probability is that of a forest that was trained on trusted
rows, so it is the same question for every detector. Rows, columns, donors and trees are bounded: a suspect costs
some milliseconds, and only suspects that are shown are asked about.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints
from eigenclean.tables.encoders import ColumnEncoder

MAX_COLUMNS = 64  # columns that are tried, those in which the classes differ most
N_DONORS = 8  # trusted rows with the label whose values are tried
MIN_EFFECT = 0.03  # what is less is not named
_MAX_ROWS = 4000  # trusted rows that the forest is trained on
_MIN_CLASS_ROWS = 20
_TREES, _DEPTH = 48, 14
_CHUNK_ROWS = 8192  # rows that are predicted at once

Blocks = Sequence[tuple[ColumnEncoder, slice]]


class Contributions:
    """Answers for suspects of one table; the forest is trained when the first answer is needed.

    Args:
        features: the encoded rows.
        codes: class codes of the given labels.
        trusted: which rows are not flagged.
        blocks: the columns, with the features that they became.
    """

    def __init__(self, features: Array, codes: Ints, trusted: Bools, blocks: Blocks, n_classes: int) -> None:
        self._features, self._codes = features, codes
        by_class = ClassRows.of(codes, n_classes)
        self._rows = [_spread(by_class[k][trusted[by_class[k]]], _class_rows(n_classes)) for k in range(n_classes)]
        self._blocks, self._separation = blocks, _separation(features, self._rows, blocks)
        self._tried = np.argsort(-self._separation, kind="stable")[:MAX_COLUMNS].tolist()
        self._forest: Any = None
        self._lock = Lock()  # requests come in several threads

    def order(self) -> list[int]:
        """The columns, those first in which the classes differ most."""
        order: list[int] = np.argsort(-self._separation, kind="stable").tolist()
        return order

    def typical_row(self, code: int) -> int | None:
        """The trusted row of a class that is nearest to the mean of the class."""
        rows = self._rows[code]
        if len(rows) == 0:
            return None
        block = np.asarray(self._features[rows], dtype=np.float64)
        return int(rows[((block - block.mean(axis=0)) ** 2).sum(axis=1).argmin()])

    def against(self, row: int) -> list[tuple[int, float]]:
        """Columns that speak against the label of the row, with their contributions, the largest first."""
        code = int(self._codes[row])
        donors = _spread(self._rows[code], N_DONORS)
        if len(donors) == 0:
            return []
        with self._lock:
            if self._forest is None:
                self._forest = _fit(self._features, self._codes, np.concatenate(self._rows))
        place = np.flatnonzero(self._forest.classes_ == code)
        original = np.asarray(self._features[row], dtype=np.float32)
        values = np.asarray(self._features[donors], dtype=np.float32)
        base = float(self._forest.predict_proba(original[None])[0, place].sum())
        effects: list[tuple[int, float]] = []
        per_chunk = max(1, _CHUNK_ROWS // len(donors))
        for start in range(0, len(self._tried), per_chunk):
            columns = self._tried[start : start + per_chunk]
            replaced = np.tile(original, (len(columns) * len(donors), 1))
            for number, column in enumerate(columns):
                part = slice(number * len(donors), (number + 1) * len(donors))
                replaced[part, self._blocks[column][1]] = values[:, self._blocks[column][1]]
            p = self._forest.predict_proba(replaced)[:, place].sum(axis=1).reshape(len(columns), len(donors))
            effects += zip(columns, (p.mean(axis=1) - base).tolist(), strict=True)
        named = [(column, effect) for column, effect in effects if effect >= MIN_EFFECT]
        return sorted(named, key=lambda entry: (-entry[1], entry[0]))


def _fit(features: Array, codes: Ints, rows: Ints) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier  # slow to import, and only tables need it

    forest = ExtraTreesClassifier(_TREES, max_depth=_DEPTH, min_samples_leaf=2, random_state=0)
    return forest.fit(np.asarray(features[rows], dtype=np.float32), codes[rows])


def _class_rows(n_classes: int) -> int:
    return max(_MIN_CLASS_ROWS, _MAX_ROWS // max(n_classes, 1))


def _spread(rows: Ints, most: int) -> Ints:
    """At most so many of the rows, at equal distances."""
    return rows[:: max(1, -(-len(rows) // most))]


def _separation(features: Array, rows: Sequence[Ints], blocks: Blocks) -> Float64s:
    """For each column, how far apart the means of the classes are, in standard deviations of the column."""
    filled = [class_rows for class_rows in rows if len(class_rows)]
    if not filled:
        return np.zeros(len(blocks))
    means = np.stack([np.asarray(features[class_rows], dtype=np.float64).mean(axis=0) for class_rows in filled])
    sizes = np.array([len(class_rows) for class_rows in filled])
    spread = np.asarray(features[np.concatenate(filled)], dtype=np.float64).std(axis=0)
    centre = sizes @ means / sizes.sum()
    between = sizes @ (means - centre) ** 2 / sizes.sum() / np.where(spread > 0, spread**2, 1)
    return np.array([float(between[columns].max(initial=0)) for _, columns in blocks])
