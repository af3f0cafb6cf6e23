"""CRUST: right labels have loss gradients that many others of their class share."""

from typing import ClassVar, Literal

import numpy as np
from scipy.special import softmax

from eigenclean.arrays import Array, ClassRows, Float64s, Ints, row_chunks
from eigenclean.detect.baselines.head import LogitDetector
from eigenclean.detect.cuts import Cut
from eigenclean.detect.folds import content_hash
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.progress import track

CORESETS = ("row-sums", "facility-location")
_REFERENCE_ROWS = 4096  # rows of a class that similarities are summed over; of a larger class a sample
_PARTITION_ROWS = 1024  # rows of a class that are clustered together: 8 MiB of distances
_BATCH = 16  # candidates whose gains are recomputed at a time
_FARTHEST = float(np.sqrt(2.0))  # distance of two gradients of one class: p − p' of two certain predictions
_MARGIN = 6.0  # by which the best logit leads the second, on average, in a network on its training data


class CRUST(LogitDetector):
    """Coresets for robust training (Mirzasoleiman, Cao, Leskovec; NeurIPS 2020), as a detector.

    *What the released code does, and the default here:* in each class, the ``fraction`` · n samples are chosen
    whose loss gradients have the largest sum of similarities to those of the whole class, with equal weights. This
    is the dense middle of the class: gradients of right labels are alike, those of wrong ones are scattered.

    *What the paper describes* is ``coreset="facility-location"``: medoids are chosen greedily, so that the sum of
    all similarities to the nearest medoid grows as much as possible with every choice (here lazy, but exact); a
    medoid weighs as much as the samples nearest to it. Few medoids represent the right labels and many the wrong
    ones, so fewer of the chosen labels are right than of all.

    The gradient here is that of the logits, p − onehot(y); the released code multiplies it with the weights of the
    last layer.

    *Added here:* the score. It is the mean similarity, 1 − distance/√2, to the gradients of the class (to the
    medoids by their weights with facility location): about the share of the class whose gradients are like this
    one. It is weak where the wrong labels of a class are nearly as many as the right ones, and all alike
    (asymmetric noise).

    *Also added here:* a network is confident on the samples that it was trained on, a calibrated out-of-sample head
    is not; with many wrong labels its p is nearly uniform, and all gradients of a class are alike. So the logits of
    the linear head are scaled up until the best leads the second by 6 on average. Given logits are not scaled.

    Cost grows linearly with n: similarities are summed over at most 4096 samples of a class, drawn at random; for
    facility location a class is divided at random into parts of at most 1024 samples, each of which selects its
    share (the first round of GreeDi, by the same first author), and the medoids of the first part score the whole
    class. These draws depend on the features, not on the order of the samples.

    Args:
        head: "linear": X are features, and a cross-fitted linear head gives the logits; None: X are logits, n x K.
        n_folds: folds of the head.
        fraction: share of each class that is chosen.
        coreset: "row-sums" chooses as the released code does, "facility-location" as the paper describes.
        cut: "kmeans" splits the scores of each class in two; or another name, or a Cut. ``FixedCut(at=0.5)`` keeps
            samples whose gradient resembles that of half of their class.
        threshold: labels are kept when P(right) is strictly above it.

    Attributes:
        classes_: sorted labels.
        coreset_: row numbers of the chosen samples, ascending: the method's own selection.
        coreset_weight_: weight of each; all 1 with row sums, the size of the cluster with facility location.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = CRUST().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "crust"

    coreset_: Ints
    coreset_weight_: Float64s

    def __init__(
        self,
        *,
        head: Literal["linear"] | None = "linear",
        n_folds: int = 5,
        fraction: float = 0.5,
        coreset: Literal["row-sums", "facility-location"] = "row-sums",
        cut: str | Cut = "kmeans",
        threshold: float = 0.5,
    ) -> None:
        self.head = head
        self.n_folds = n_folds
        self.fraction = fraction
        self.coreset = coreset
        self.cut = cut
        self.threshold = threshold

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        if not 0 < self.fraction <= 1:
            raise InvalidOption(f"CRUST: fraction must be above 0 and at most 1, got {self.fraction}")
        check_name(self.coreset, CORESETS, by="CRUST", what="coreset")

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self._fit_head(X, codes, weight)
        weight = np.ones(len(X)) if weight is None else weight
        logits = self._logits(X)
        self._sharpness = 1.0 if self._head is None else _sharpness(logits[weight > 0])
        gradients = self._gradients(logits, codes)
        # Rounded gradients, sorted by a hash of the features, make the choice independent of the order of the rows.
        shuffled = np.lexsort((content_hash(X), codes))
        shuffled = shuffled[weight[shuffled] > 0]
        classes = ClassRows.of(codes[shuffled], len(self.classes_))
        # Of each class: gradients, and weights that add up to 1.
        self._references: list[tuple[Float64s, Float64s]] = []
        chosen: list[tuple[Ints, Float64s]] = []
        choose = self._choose_central if self.coreset == "row-sums" else self._choose_medoids
        for k in track(range(len(classes)), "coreset", classes.counts):
            chosen += choose(shuffled[classes[k]], gradients, weight)
        coreset, sizes = (np.concatenate(arrays) for arrays in zip(*chosen, strict=True))
        order = np.argsort(coreset)
        self.coreset_, self.coreset_weight_ = coreset[order], sizes[order]
        return self._score_logits(logits, codes)

    def _choose_central(self, rows: Ints, gradients: Float64s, weight: Float64s) -> list[tuple[Ints, Float64s]]:
        """The rows of a class with the largest sums of similarities, with equal weights."""
        reference = rows[:_REFERENCE_ROWS]
        self._references.append((gradients[reference], weight[reference] / weight[reference].sum()))
        sums = _similarities(gradients[rows], *self._references[-1]).round(9)
        picked = rows[np.argsort(-sums, kind="stable")[: max(1, int(self.fraction * len(rows)))]]
        return [(picked, np.ones(len(picked)))]

    def _choose_medoids(self, rows: Ints, gradients: Float64s, weight: Float64s) -> list[tuple[Ints, Float64s]]:
        """Medoids of each part of a class, with the sizes of their clusters."""
        chosen: list[tuple[Ints, Float64s]] = []
        for partition in np.array_split(rows, -(-len(rows) // _PARTITION_ROWS)):
            rounded = gradients[partition].round(6)
            n_medoids = max(1, int(self.fraction * len(partition)))
            picked, size = greedy_medoids(_distances(rounded, rounded), weight[partition], n_medoids)
            chosen.append((partition[picked], size))
        medoids, size = chosen[0]
        self._references.append((gradients[medoids], size / size.sum()))
        return chosen

    def _score_logits(self, logits: Float64s, codes: Ints) -> Float64s:
        gradients, scores = self._gradients(logits, codes), np.empty(len(codes))
        classes = ClassRows.of(codes, len(self.classes_))
        for k, (reference, weight) in enumerate(self._references):
            rows = classes[k]
            scores[rows] = _similarities(gradients[rows], reference, weight)
        return scores

    def _gradients(self, logits: Float64s, codes: Ints) -> Float64s:
        gradients = np.asarray(softmax(self._sharpness * logits, axis=1))
        gradients[np.arange(len(codes)), codes] -= 1.0
        return gradients

    def _method_cut(self) -> Cut | None:
        return None


def greedy_medoids(distances: Float64s, weight: Float64s, n_medoids: int) -> tuple[Ints, Float64s]:
    """Medoids in the order of their choice, and the weight of the rows that each is nearest to.

    Each choice reduces most the weighted sum of distances to the nearest medoid. Gains only shrink as medoids are
    added, so old ones are upper bounds (lazy evaluation), and only the largest need to be recomputed.

    >>> x = np.array([0.0, 0.1, 0.2, 0.3, 1.0])
    >>> greedy_medoids(np.abs(x[:, None] - x), np.ones(5), 2)
    (array([2, 4]), array([4., 1.]))
    """
    n = len(distances)
    nearest = np.full(n, max(_FARTHEST, float(distances.max())))
    owner = np.zeros(n, dtype=np.intp)
    bound = (nearest - distances) @ weight
    picked = np.empty(n_medoids, dtype=np.intp)
    batch = min(_BATCH, n)
    for step in range(n_medoids):
        fresh = np.zeros(n, dtype=bool)
        best = int(bound.argmax())
        while not fresh[best]:
            stale = np.where(fresh, -np.inf, bound)
            candidates = np.argpartition(stale, n - batch)[n - batch :]
            candidates = candidates[stale[candidates] > -np.inf]  # not yet recomputed or picked
            bound[candidates] = np.maximum(nearest - distances[candidates], 0.0) @ weight
            fresh[candidates] = True
            best = int(bound.argmax())
        picked[step] = best
        closer = distances[best] < nearest
        nearest[closer], owner[closer] = distances[best, closer], step
        owner[best] = step  # a copy of an earlier medoid has a cluster of its own
        bound[best] = -np.inf
    return picked, np.bincount(owner, weight, n_medoids).astype(np.float64)


def _sharpness(logits: Float64s) -> float:
    """The factor by which logits are scaled up; at least 1."""
    top = np.partition(logits, -2, axis=1)
    lead = float(np.mean(top[:, -1] - top[:, -2]))
    return max(1.0, _MARGIN / lead) if lead > 1e-6 else 1.0


def _similarities(rows: Float64s, reference: Float64s, weight: Float64s) -> Float64s:
    """Mean similarity of each row to the reference rows by their weights, which add up to 1."""
    means = np.empty(len(rows))
    for chunk in row_chunks(len(rows), 8 * sum(reference.shape)):
        means[chunk] = 1.0 - _distances(rows[chunk], reference) @ weight / _FARTHEST
    return means


def _distances(a: Float64s, b: Float64s) -> Float64s:
    squares = np.vecdot(a, a)[:, None] + np.vecdot(b, b) - 2.0 * (a @ b.T)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
