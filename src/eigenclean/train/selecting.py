"""Selection of samples for a training loop of the user's: any library, one small object."""

from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, check_ids, check_labels
from eigenclean.detect import DETECTORS, Detector, build_detector
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.names import check_name
from eigenclean.sources import as_matrix, as_vector
from eigenclean.verdict import Verdict

_BY = "Selecting"


class Selecting:
    """Judges the labels every few epochs by the features that a network has then, and weights the samples.

    Call `update` at the end of each epoch with the features of all samples, in evaluation mode and without
    augmentation. `weights` are 1 until labels have been judged.

    Args:
        detector: a name from `DETECTORS`, used with its options for networks in training; or a detector.
        every: epochs between judgements.
        warm_up: epochs before the first one.
        soft: kept labels have P(right) as their weight instead of 1; flagged ones always have 0.

    Attributes:
        verdict: of the last judgement; None before.
        n_updates: how often `update` was called.

    >>> selecting = Selecting("knn", every=2)
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(40, 2))
    >>> labels = np.repeat(["cat", "dog"], 20)
    >>> labels[0] = "dog"
    >>> selecting.weights([0, 1]).tolist()
    [1.0, 1.0]
    >>> [selecting.update(X, labels) for epoch in range(3)]
    [True, False, True]
    >>> bool(selecting.weights([0])[0] < selecting.weights([1])[0])
    True
    """

    def __init__(
        self, detector: str | Detector = "fine", *, every: int = 1, warm_up: int = 0, soft: bool = True
    ) -> None:
        for name, value, least in (("every", every, 1), ("warm_up", warm_up, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidOption(f"{_BY}: {name} must be a number from {least}, got {value!r}")
        if isinstance(detector, str):
            check_name(detector, DETECTORS, by=_BY, what="detector")
            detector = build_detector(detector, dict(DETECTORS[detector].training_options))
        if not isinstance(detector, Detector):
            raise InvalidOption(f"{_BY}: detector must be a name or a detector, got {type(detector).__name__}")
        if detector.consumes != "features":
            raise InvalidOption(f"{_BY}: the detector must judge features, got one that needs {detector.consumes}")
        self.detector, self.every, self.warm_up, self.soft = detector, every, warm_up, soft
        self.verdict: Verdict | None = None
        self.n_updates = 0
        self._ids: Array | None = None
        self._order: Array | None = None
        self._weights: Float64s | None = None

    def update(self, features: Any, labels: Any, ids: Any = None) -> bool:
        """Judge the labels if it is time to, by features of all samples; return whether they were judged.

        Args:
            features: n x d, an array or a tensor.
            labels: the given labels.
            ids: of the samples, for `weights`; by default 0, 1, 2, …
        """
        due = self.n_updates >= self.warm_up and (self.n_updates - self.warm_up) % self.every == 0
        self.n_updates += 1
        if not due:
            return False
        X = as_matrix(_array(features))
        y = check_labels(as_vector(_array(labels)), by=_BY, n_rows=len(X))
        row_ids = check_ids(None if ids is None else as_vector(_array(ids)), len(y), by=_BY)
        keep = self._kept(row_ids)
        self.verdict = self.detector.fit_judge(X, y, sample_weight=keep, ids=row_ids)
        is_kept = ~self.verdict.flagged
        self._weights = np.where(is_kept, self.verdict.p_clean if self.soft else 1.0, 0.0).astype(np.float64)
        self._order = np.argsort(row_ids, kind="stable")
        self._ids = row_ids[self._order]
        return True

    def weights(self, ids: Any) -> Float64s:
        """The weight of each of these samples in the loss."""
        ids_asked = np.atleast_1d(as_vector(_array(ids)))
        if self._ids is None or self._order is None or self._weights is None:
            return np.ones(len(ids_asked))
        places = np.minimum(np.searchsorted(self._ids, ids_asked), len(self._ids) - 1)
        unknown = self._ids[places] != ids_asked
        if unknown.any():
            raise InvalidData(f"{_BY}: {ids_asked[unknown][0].item()!r} is not among the ids of the last update")
        return np.asarray(self._weights[self._order[places]])

    def _kept(self, ids: Array) -> Bools | None:
        """What the last judgement kept, if it was about the same samples: classes are learned from these."""
        if self.verdict is None or not np.array_equal(self.verdict.ids, ids):
            return None
        return ~self.verdict.flagged


def _array(values: Any) -> Any:
    """A tensor of torch as an array; anything else as it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values
