"""Quality of a verdict when the truth is known."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Bools, Float64s, Ints
from eigenclean.errors import InvalidData
from eigenclean.metrics.calibration import check_mask, check_probabilities, expected_calibration_error


def dense_rank(first: Float64s, then: Float64s | None = None) -> Ints:
    """Ranks from 0 upwards by ``first``, ties broken by ``then``; equal pairs share a rank.

    >>> dense_rank(np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.3, 0.2, 0.9, 0.3]))
    array([2, 1, 0, 2])
    """
    keys = (first,) if then is None else (then, first)  # lexsort takes the main key last
    order = np.lexsort(keys)
    is_new_rank = np.zeros(len(first), dtype=bool)
    for key in keys:
        sorted_key = key[order]
        is_new_rank[1:] |= sorted_key[1:] != sorted_key[:-1]
    rank = np.empty(len(first), dtype=np.intp)
    rank[order] = np.cumsum(is_new_rank)
    return rank


def auroc(rank: Ints, positive: Bools) -> float | None:
    """Area under the ROC curve: P(a positive row ranks above a negative one), a tie counts half; None without both.

    >>> auroc(np.array([0, 1, 1, 2]), np.array([False, False, True, True]))
    0.875
    """
    positives, negatives = _counts_by_rank(rank, positive)
    n_positive, n_negative = int(positives.sum()), int(negatives.sum())
    if n_positive == 0 or n_negative == 0:
        return None
    below = np.cumsum(negatives) - negatives
    return float((positives * (below + negatives / 2)).sum() / n_positive / n_negative)


def average_precision(rank: Ints, positive: Bools) -> float | None:
    """Precision at the rank of each positive row, from the top, averaged over them; None without one.

    >>> round(average_precision(np.array([3, 2, 1, 0]), np.array([True, False, True, False])), 3)
    0.833
    """
    positives, negatives = (counts[::-1] for counts in _counts_by_rank(rank, positive))
    if positives.sum() == 0:
        return None
    retrieved = np.cumsum(positives)
    precision = retrieved / (retrieved + np.cumsum(negatives))
    return float((positives * precision).sum() / retrieved[-1])


def _counts_by_rank(rank: Ints, positive: Bools) -> tuple[Ints, Ints]:
    """How many positive and how many negative rows have each rank, lowest first."""
    n_ranks = int(rank.max()) + 1 if len(rank) else 0
    return np.bincount(rank[positive], minlength=n_ranks), np.bincount(rank[~positive], minlength=n_ranks)


@dataclass(frozen=True)
class DetectionQuality:
    """Quality measures of one verdict; a label is clean when it is right, and kept when it is not flagged.

    A share of no labels is 0; a measure of the ranking that is undefined is None.

    Attributes:
        precision: share of kept labels that are clean.
        recall: share of clean labels that are kept.
        f: harmonic mean of both.
        specificity: share of wrong labels that are flagged.
        accuracy: share of labels that are judged correctly.
        noisy_precision: share of flagged labels that are wrong.
        noisy_recall: share of wrong labels that are flagged; equal to the specificity.
        noisy_f: harmonic mean of both.
        auroc: probability that a clean label ranks above a wrong one; None unless there are both.
        average_precision: of the wrong labels in a list with the worst first; None when none is wrong.
        ece: expected calibration error of the probabilities, in ten bins.
        noise_rate: true share of wrong labels.
        estimated_noise_rate: the detector's estimate.
        noise_rate_error: the estimate minus the truth.
        flagged_share: share of labels that are flagged.
        suggestion_accuracy: share of flagged wrong labels whose suggestion is right; None without any.
    """

    precision: float
    recall: float
    f: float
    specificity: float
    accuracy: float
    noisy_precision: float
    noisy_recall: float
    noisy_f: float
    auroc: float | None
    average_precision: float | None
    ece: float
    noise_rate: float
    estimated_noise_rate: float
    noise_rate_error: float
    flagged_share: float
    suggestion_accuracy: float | None = None

    def as_dict(self) -> dict[str, float | None]:
        """The measures by name, ready for JSON."""
        return dataclasses.asdict(self)


def detection_quality(
    flagged: ArrayLike,
    p_clean: ArrayLike,
    is_clean: ArrayLike,
    score: ArrayLike | None = None,
    noise_rate: float | None = None,
) -> DetectionQuality:
    """Compare what was flagged with what is wrong.

    Args:
        flagged: True where the label was judged wrong.
        p_clean: probability that the label is right.
        is_clean: True where the label is right.
        score: breaks ties of ``p_clean`` in the ranking, which many saturated probabilities would hide.
        noise_rate: the detector's estimate; by default the mean of 1 - ``p_clean``.

    >>> quality = detection_quality([False, False, True], [0.9, 0.8, 0.1], is_clean=[True, False, False])
    >>> quality.precision, quality.recall, quality.noisy_recall, quality.auroc
    (0.5, 1.0, 0.5, 1.0)
    """
    by = "detection_quality"
    p = check_probabilities(p_clean, by=by, what="p_clean")
    issue = check_mask(flagged, len(p), by=by, what="flagged")
    clean = check_mask(is_clean, len(p), by=by, what="is_clean")
    rank = dense_rank(p, None if score is None else _check_score(score, len(p)))
    precision, recall, f = _precision_recall_f(predicted=~issue, actual=clean)
    noisy_precision, noisy_recall, noisy_f = _precision_recall_f(predicted=issue, actual=~clean)
    wrong = float(np.mean(~clean))
    estimate = float(np.mean(1 - p)) if noise_rate is None else float(noise_rate)
    return DetectionQuality(
        precision=precision,
        recall=recall,
        f=f,
        specificity=noisy_recall,
        accuracy=float(np.mean(issue != clean)),
        noisy_precision=noisy_precision,
        noisy_recall=noisy_recall,
        noisy_f=noisy_f,
        auroc=auroc(rank, clean),
        average_precision=average_precision(rank.max() - rank, ~clean),
        ece=expected_calibration_error(p, clean),
        noise_rate=wrong,
        estimated_noise_rate=estimate,
        noise_rate_error=estimate - wrong,
        flagged_share=float(np.mean(issue)),
    )


def _precision_recall_f(predicted: Bools, actual: Bools) -> tuple[float, float, float]:
    hits = int(np.count_nonzero(predicted & actual))
    n_predicted, n_actual = int(np.count_nonzero(predicted)), int(np.count_nonzero(actual))
    return _share(hits, n_predicted), _share(hits, n_actual), _share(2 * hits, n_predicted + n_actual)


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


def _check_score(score: ArrayLike, n_rows: int) -> Float64s:
    array = np.asarray(score)
    if array.shape != (n_rows,) or array.dtype.kind not in "fiub":
        raise InvalidData(
            f"detection_quality: score must be one number for each of {n_rows} rows, "
            f"got shape {array.shape} of type {array.dtype}"
        )
    array = array.astype(np.float64, copy=False)
    if np.isnan(array).any():
        row = int(np.argmax(np.isnan(array)))
        raise InvalidData(f"detection_quality: score must not be NaN, but row {row} is; drop such rows")
    return array
