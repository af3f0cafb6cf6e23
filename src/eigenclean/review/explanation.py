"""Why a label is suspected: the alignment of its sample with each class, and the nearest trusted samples.

Computed once for all suspects of a run and cached in the run's folder. The work grows with the number of suspects
and, up to a limit per class, of trusted samples; memory holds one class and one chunk of suspects at a time.
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
N_NEIGHBOURS = 4  # per label
N_COMPARED = 10  # alignments kept per suspect: the given class, the suggested one, the best others
MAX_TRUSTED = 20_000  # trusted samples of a class that are searched, at regular steps
STRIP_COLUMNS = 48  # features drawn for a sample that has neither image nor text
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Explanation:
    """For each suspect, worst first.

    Attributes:
        classes: S x m, codes of the compared classes, the given and the suggested one first.
        alignment: S x m, |cosine| between the sample and the first eigenvector of the class's trusted samples.
        near: S x 2 x k, rows of the nearest trusted samples with the given and the suggested label; -1 for none.
        cosine: S x 2 x k, cosine similarity to those samples.
        strip_rows: rows that have a strip, ascending; empty when there are images or texts.
        strips: their features as bytes, from the lowest to the highest value of each column.
    """

    classes: Ints
    alignment: Float32s
    near: Ints
    cosine: Float32s
    strip_rows: Ints
    strips: Array

    def neighbour_rows(self) -> Ints:
        """Every row that is shown as a neighbour."""
        return np.unique(self.near[self.near >= 0])

    def fits(self, n_suspects: int, n_rows: int, n_classes: int) -> bool:
        """Whether shapes, types and numbers are those of such a run; a file may be damaged, or somebody else's."""
        integers = (self.classes, self.near, self.strip_rows)
        if any(array.dtype.kind not in "iu" for array in integers) or self.strips.dtype != np.uint8:
            return False
        shapes_fit = (
            self.classes.ndim == 2
            and self.near.ndim == 3
            and self.near.shape[1] == 2
            and self.strip_rows.ndim == 1
            and self.strips.ndim == 2
            and len(self.strips) == len(self.strip_rows)
            and self.alignment.shape == self.classes.shape
            and self.cosine.shape == self.near.shape
            and len(self.classes) == len(self.near) == n_suspects
        )
        return (
            shapes_fit
            and all(
                array.dtype.kind == "f" and bool(np.isfinite(array).all())
                for array in (self.alignment, self.cosine)
            )
            and _in_range(self.classes, 0, n_classes)
            and _in_range(self.near, -1, n_rows)
            and _in_range(self.strip_rows, 0, n_rows)
        )

    def strip(self, row: int) -> list[int] | None:
        """The features of a row, reduced to `STRIP_COLUMNS` bytes; None where none were kept."""
        position = int(np.searchsorted(self.strip_rows, row))
        if position == len(self.strip_rows) or self.strip_rows[position] != row:
            return None
        strip: list[int] = self.strips[position].tolist()
        return strip


def explain(
    features: Array, codes: Ints, trusted: Bools, rows: Ints, suggested: Ints, n_classes: int, *, strips: bool
) -> Explanation:
    """Compare the suspects ``rows`` with every class; ``suggested`` are class codes, -1 for none.

    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0], [0.2, 1.0]])
    >>> codes, trusted = np.array([0, 0, 1, 1, 0]), np.array([True, True, True, True, False])
    >>> explanation = explain(X, codes, trusted, np.array([4]), np.array([1]), 2, strips=False)
    >>> explanation.near[0, :, :2], explanation.alignment[0].round(2)
    (array([[1, 0], [3, 2]]), array([0.24, 0.99], dtype=float32))
    """
    # Imported here because it loads scikit-learn, which a start with a cached explanation does not need.
    from eigenclean.detect.baselines.neighbours import unit_rows

    n, given = len(rows), codes[rows]
    near = np.full((n, 2, N_NEIGHBOURS), -1, dtype=np.intp)
    cosine = np.zeros((n, 2, N_NEIGHBOURS), dtype=np.float32)
    eigenvectors = np.zeros((n_classes, features.shape[1]), dtype=np.float32)
    by_class = ClassRows.of(codes, n_classes)
    # Suspects by given and by suggested class; those without a suggestion form an extra last class.
    suspects_by_class = [
        ClassRows.of(np.where(labels < 0, n_classes, labels), n_classes + 1) for labels in (given, suggested)
    ]
    for k in track(range(n_classes), "comparing suspects with trusted samples", by_class.counts.tolist()):
        trusted_rows = by_class[k][trusted[by_class[k]]]
        trusted_rows = trusted_rows[:: max(1, -(-len(trusted_rows) // MAX_TRUSTED))]
        if len(trusted_rows) == 0:
            continue
        block = unit_rows(features[trusted_rows])
        eigenvectors[k] = top_eigenpair(block)[1]
        for side, grouped in enumerate(suspects_by_class):
            members = grouped[k]
            for chunk in row_chunks(len(members), features.shape[1] * 8, 1 << 26):
                index, similarity = _nearest(block, unit_rows(features[rows[members[chunk]]]))
                near[members[chunk], side, : index.shape[1]] = trusted_rows[index]
                cosine[members[chunk], side, : index.shape[1]] = similarity
    compared, alignment = _alignments(
        lambda chunk: unit_rows(features[rows[chunk]]), eigenvectors, given, suggested
    )
    strip_rows = np.unique(np.concatenate([rows, near[near >= 0]])) if strips else np.zeros(0, dtype=np.intp)
    return Explanation(compared, alignment, near, cosine, strip_rows, _strips(features, strip_rows))


def _nearest(block: Float32s, queries: Float32s) -> tuple[Ints, Float32s]:
    from sklearn.neighbors import NearestNeighbors

    # Brute force is blocked inside scikit-learn; on unit vectors the Euclidean order is that of the cosine.
    search = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS, len(block)), algorithm="brute").fit(block)
    distance, index = search.kneighbors(queries)
    return np.asarray(index, dtype=np.intp), (1 - np.asarray(distance) ** 2 / 2).astype(np.float32)


def _alignments(
    unit_features: Callable[[slice], Float32s], eigenvectors: Float32s, given: Ints, suggested: Ints
) -> tuple[Ints, Float32s]:
    m = min(N_COMPARED, len(eigenvectors))
    classes = np.zeros((len(given), m), dtype=np.intp)
    alignment = np.zeros((len(given), m), dtype=np.float32)
    for chunk in row_chunks(len(given), 8 * sum(eigenvectors.shape)):
        cosines = np.abs(unit_features(chunk) @ eigenvectors.T)
        all_rows = np.arange(len(cosines))
        priority = cosines.copy()  # values above 1 put the given class first and the suggested one second
        priority[all_rows, np.where(suggested[chunk] < 0, given[chunk], suggested[chunk])] = 2.0
        priority[all_rows, given[chunk]] = 3.0
        best = np.argsort(-priority, axis=1, kind="stable")[:, :m]
        classes[chunk], alignment[chunk] = best, np.take_along_axis(cosines, best, axis=1)
    return classes, alignment


def _strips(features: Array, rows: Ints) -> Array:
    if len(rows) == 0:
        return np.zeros((0, 0), dtype=np.uint8)
    n_columns = min(STRIP_COLUMNS, features.shape[1])
    columns = np.unique(np.linspace(0, features.shape[1] - 1, n_columns).astype(np.intp))
    sample = features[rows[:: max(1, len(rows) // 5000)]][:, columns].astype(np.float64)
    low, high = np.percentile(sample, [1, 99], axis=0)  # robust against single outliers
    strips = np.empty((len(rows), len(columns)), dtype=np.uint8)
    for chunk in row_chunks(len(rows), 8 * features.shape[1]):
        values = (features[rows[chunk]][:, columns] - low) / np.where(high > low, high - low, 1)
        strips[chunk] = np.round(255 * np.clip(values, 0, 1))
    return strips


def _in_range(values: Array, low: int, stop: int) -> bool:
    return values.size == 0 or bool(values.min() >= low and values.max() < stop)


def load_explanation(path: Path, key: str) -> Explanation | None:
    """The explanation that was saved with this key; None when there is none or it does not fit."""
    if not path.is_file():
        return None
    try:
        with reading_arrays(path, "review evidence") as arrays:
            if str(arrays["key"]) != f"{_FORMAT} {key}":
                return None
            return Explanation(**{field.name: arrays[field.name] for field in fields(Explanation)})
    except (InvalidData, KeyError):
        return None  # it is only a cache: it is computed again


def save_explanation(path: Path, key: str, explanation: Explanation) -> None:
    """Save for the next start; the file is replaced as a whole or not at all."""
    arrays: dict[str, Any] = {field.name: getattr(explanation, field.name) for field in fields(Explanation)}
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, key=np.array(f"{_FORMAT} {key}"), **arrays)
