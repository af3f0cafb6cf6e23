"""Why a label is suspected: how its sample aligns with the classes, and the trusted samples nearest to it.

Computed once for all suspects of a run and kept beside it. Work grows with the suspects and, up to a limit per
class, with the trusted samples; what is in memory at a time is one class and one block.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Array, Bools, ClassRows, Ints, row_chunks
from eigenclean.errors import InvalidData
from eigenclean.files import reading_arrays, replacing
from eigenclean.moments import top_eigenpair
from eigenclean.progress import track

Float32s = NDArray[np.float32]

FILE = "review.npz"
NEAREST = 4  # of each label
CLASSES = 10  # alignments kept per suspect: the given class, the suggested one, the best others
MOST = 20_000  # trusted samples of a class that are searched, evenly taken
STRIP = 48  # features drawn of a sample that has neither picture nor text
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Why:
    """For each suspect, worst first.

    Attributes:
        classes: S x m, codes of the classes compared with, the given and the suggested one first.
        alignment: S x m, |cosine| between the sample and the first eigenvector of the class's trusted samples.
        near: S x 2 x k, rows of the nearest trusted samples with the given and the suggested label; -1 for none.
        cosine: S x 2 x k, how near.
        strip_rows: rows that have a strip, ascending; empty when there are pictures or texts.
        strips: their features as bytes, from the lowest to the highest value of each column.
    """

    classes: Ints
    alignment: Float32s
    near: Ints
    cosine: Float32s
    strip_rows: Ints
    strips: Array

    def rows(self) -> Ints:
        """Every row that is shown as a neighbour."""
        return np.unique(self.near[self.near >= 0])

    def strip(self, row: int) -> list[int] | None:
        """The features of a row in small, if there are any."""
        at = int(np.searchsorted(self.strip_rows, row))
        if at == len(self.strip_rows) or self.strip_rows[at] != row:
            return None
        strip: list[int] = self.strips[at].tolist()
        return strip


def explain(
    features: Array, codes: Ints, trusted: Bools, rows: Ints, suggested: Ints, n_classes: int, *, strips: bool
) -> Why:
    """Compare the suspects ``rows`` with every class; ``suggested`` are class codes, -1 for none.

    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0], [0.2, 1.0]])
    >>> codes, trusted = np.array([0, 0, 1, 1, 0]), np.array([True, True, True, True, False])
    >>> why = explain(X, codes, trusted, np.array([4]), np.array([1]), 2, strips=False)
    >>> why.near[0, :, :2], why.alignment[0].round(2)
    (array([[1, 0], [3, 2]]), array([0.24, 0.99], dtype=float32))
    """
    from eigenclean.detect.baselines.neighbours import (
        unit_rows,  # with scikit-learn, which a second start need not wait for
    )

    n, given = len(rows), codes[rows]
    near = np.full((n, 2, NEAREST), -1, dtype=np.intp)
    cosine = np.zeros((n, 2, NEAREST), dtype=np.float32)
    vectors = np.zeros((n_classes, features.shape[1]), dtype=np.float32)
    by_class = ClassRows.of(codes, n_classes)
    asked = [ClassRows.of(np.where(labels < 0, n_classes, labels), n_classes + 1) for labels in (given, suggested)]
    for k in track(range(n_classes), "comparing suspects with trusted samples", by_class.counts.tolist()):
        kept = by_class[k][trusted[by_class[k]]]
        kept = kept[:: max(1, -(-len(kept) // MOST))]
        if len(kept) == 0:
            continue
        block = unit_rows(features[kept])
        vectors[k] = top_eigenpair(block)[1]
        for side in (0, 1):
            who = asked[side][k]
            for part in row_chunks(len(who), features.shape[1] * 8, 1 << 26):
                index, similar = _nearest(block, unit_rows(features[rows[who[part]]]))
                near[who[part], side, : index.shape[1]] = kept[index]
                cosine[who[part], side, : index.shape[1]] = similar
    compared, alignment = _alignments(lambda part: unit_rows(features[rows[part]]), vectors, given, suggested)
    shown = np.unique(np.concatenate([rows, near[near >= 0]])) if strips else np.zeros(0, dtype=np.intp)
    return Why(compared, alignment, near, cosine, shown, _strips(features, shown))


def _nearest(block: Float32s, queries: Float32s) -> tuple[Ints, Float32s]:
    from sklearn.neighbors import NearestNeighbors

    # Brute force works in blocks of its own; on unit vectors the euclidean order is the cosine's.
    search = NearestNeighbors(n_neighbors=min(NEAREST, len(block)), algorithm="brute").fit(block)
    distance, index = search.kneighbors(queries)
    return np.asarray(index, dtype=np.intp), (1 - np.asarray(distance) ** 2 / 2).astype(np.float32)


def _alignments(
    unit: Callable[[slice], Float32s], vectors: Float32s, given: Ints, suggested: Ints
) -> tuple[Ints, Float32s]:
    m = min(CLASSES, len(vectors))
    classes = np.zeros((len(given), m), dtype=np.intp)
    alignment = np.zeros((len(given), m), dtype=np.float32)
    for part in row_chunks(len(given), 8 * sum(vectors.shape)):
        fit = np.abs(unit(part) @ vectors.T)
        order = fit.copy()
        at = np.arange(len(fit))
        proposed = np.where(suggested[part] < 0, given[part], suggested[part])
        order[at, proposed] = 2.0
        order[at, given[part]] = 3.0
        best = np.argsort(-order, axis=1, kind="stable")[:, :m]
        classes[part], alignment[part] = best, np.take_along_axis(fit, best, axis=1)
    return classes, alignment


def _strips(features: Array, rows: Ints) -> Array:
    if len(rows) == 0:
        return np.zeros((0, 0), dtype=np.uint8)
    columns = np.unique(np.linspace(0, features.shape[1] - 1, min(STRIP, features.shape[1])).astype(np.intp))
    sample = features[rows[:: max(1, len(rows) // 5000)]][:, columns].astype(np.float64)
    low, high = np.percentile(sample, [1, 99], axis=0)  # one wild value must not flatten the rest
    strips = np.empty((len(rows), len(columns)), dtype=np.uint8)
    for part in row_chunks(len(rows), 8 * features.shape[1]):
        values = (features[rows[part]][:, columns] - low) / np.where(high > low, high - low, 1)
        strips[part] = np.round(255 * np.clip(values, 0, 1))
    return strips


def load_why(path: Path, key: str) -> Why | None:
    """What `save_why` kept under that key; None when there is nothing, or it is about something else."""
    if not path.is_file():
        return None
    try:
        with reading_arrays(path, "review evidence") as arrays:
            if str(arrays["key"]) != f"{_FORMAT} {key}":
                return None
            return Why(**{field.name: arrays[field.name] for field in fields(Why)})
    except (InvalidData, KeyError):
        return None  # it is only kept to save time: compute it again


def save_why(path: Path, key: str, why: Why) -> None:
    """Keep it for the next start, whole or not at all."""
    arrays: dict[str, Any] = {field.name: getattr(why, field.name) for field in fields(Why)}
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, key=np.array(f"{_FORMAT} {key}"), **arrays)
