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
MAX_CLASSES = 32  # every node of a tree holds a number for each class: of more, each has a forest of its own
_MAX_FORESTS = 64  # that are kept
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
        self._forests: dict[int | None, Any] = {}
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

    def against(self, rows: Sequence[int]) -> list[list[tuple[int, float]]]:
        """For each row, the columns that speak against its label, with their contributions, the largest first."""
        given = [int(self._codes[row]) for row in rows]
        donors = {code: _spread(self._rows[code], N_DONORS) for code in set(given)}
        base = self._probabilities(np.asarray(self._features[list(rows)]), given) if len(rows) else np.zeros(0)
        effects: list[list[tuple[int, float]]] = [[] for _ in rows]
        pairs = [(at, column) for at, code in enumerate(given) if len(donors[code]) for column in self._tried]
        for start in range(0, len(pairs), _CHUNK_ROWS // N_DONORS):
            chunk = pairs[start : start + _CHUNK_ROWS // N_DONORS]
            sizes = [len(donors[given[at]]) for at, _ in chunk]
            ends = np.cumsum(sizes).tolist()
            replaced = np.repeat(self._features[[rows[at] for at, _ in chunk]], sizes, axis=0).astype(np.float32)
            for (at, column), end, size in zip(chunk, ends, sizes, strict=True):
                block = self._blocks[column][1]
                replaced[end - size : end, block] = self._features[donors[given[at]], block]
            p = self._probabilities(replaced, np.repeat([given[at] for at, _ in chunk], sizes))
            means = np.add.reduceat(p, [0, *ends[:-1]]) / sizes
            for (at, column), mean in zip(chunk, means.tolist(), strict=True):
                if mean - base[at] >= MIN_EFFECT:
                    effects[at].append((column, mean - float(base[at])))
        return [sorted(named, key=lambda entry: (-entry[1], entry[0])) for named in effects]

    def _probabilities(self, features: Array, codes: Sequence[int] | Ints) -> Float64s:
        """The probability of the class of each row; 0 for a class without trusted rows."""
        given, p = np.asarray(codes, dtype=np.int64), np.zeros(len(features))
        rows = features.astype(np.float32, copy=False)
        for code in np.unique(given).tolist():
            chosen = np.flatnonzero(given == code)
            forest = self._forest(code if len(self._rows) > MAX_CLASSES else None)
            if forest is not None:
                p[chosen] = forest.predict_proba(rows[chosen])[:, forest.classes_ == code].sum(axis=1)
        return p

    def _forest(self, code: int | None) -> Any:
        """The forest of all classes, or of one class against all others; None without trusted rows."""
        with self._lock:
            if code not in self._forests:
                self._forests[code] = self._fit(code)
                while len(self._forests) > _MAX_FORESTS:
                    del self._forests[next(iter(self._forests))]
            return self._forests[code]

    def _fit(self, code: int | None) -> Any:
        from sklearn.ensemble import ExtraTreesClassifier  # slow to import, and only tables need it

        every = np.concatenate([np.zeros(0, dtype=np.int64), *self._rows])
        if code is None:
            rows, labels = every, self._codes[every]
        else:
            others = _spread(every[self._codes[every] != code], _MAX_ROWS // 4)
            rows = np.concatenate([self._rows[code], others])
            labels = np.where(self._codes[rows] == code, code, -1)
        if len(rows) == 0:
            return None
        forest = ExtraTreesClassifier(
            _TREES if code is None else _TREES // 2,
            max_depth=_DEPTH,
            min_samples_leaf=2,
            class_weight=None if code is None else "balanced",
            random_state=0,
        )
        return forest.fit(np.asarray(self._features[rows], dtype=np.float32), labels)


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
