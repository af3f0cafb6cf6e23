"""MCD: Mahalanobis distance to the class mean, with robust estimates of the means and a shared covariance."""

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from eigenclean.arrays import Array, ClassRows, Float64s, Ints, row_chunks
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.cuts import Cut, QuantileCut
from eigenclean.detect.fine.eigenvectors import weighted_class_sums
from eigenclean.detect.folds import content_hash
from eigenclean.errors import InvalidOption
from eigenclean.progress import track
from eigenclean.seeds import tagged_generator


class MCD(BlockDetector):
    """Minimum covariance determinant, one step of it, as in RoG (Lee et al., ICML 2019).

    A random 70 % of each class give its mean, and all of them together one covariance; a sample's score is
    −½ of its squared Mahalanobis distance to the mean of its class, the log-density of a Gaussian up to a constant.
    The best 70 % of every class are kept, however many labels are wrong: at 80 % noise most of those are wrong too.
    Set ``fraction`` if the noise rate is known, or let a mixture find it with ``cut="gaussian"``.

    Args:
        fraction: share of each class that means and covariance are computed from, and that is kept.
        steps: concentration steps. The first estimates from the random samples, each further one from those that
            were kept before. The published method takes one.
        shrinkage: weight of a multiple of the identity in the covariance, between 0 and 1. The published method is
            0, the pseudo-inverse, which gives directions of pure noise the same weight as those that separate the
            classes; with more features than samples all samples are then equally far away. So 0.5 is the default.
            (Samples that the covariance is estimated from appear nearer than they are, whatever their labels.)
            None takes the weight of the oracle approximation (Chen et al., 2010).
        cut: "quantile" keeps ``fraction`` of each class; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.
        random_state: seed of the first samples. Which ones it takes depends on their features, not on their order.

    Attributes:
        classes_: sorted labels.
        means_: K x d.
        covariance_: d x d, the average of the class covariances, weighted by size.
        shrinkage_: the weight that was used.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = MCD().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.7), bool(verdict.flagged.mean() < 0.35)
        (True, True)
    """

    name: ClassVar[str] = "mcd"

    means_: Float64s
    covariance_: Float64s
    shrinkage_: float

    def __init__(
        self,
        *,
        fraction: float = 0.7,
        steps: int = 1,
        shrinkage: float | None = 0.5,
        cut: str | Cut = "quantile",
        threshold: float = 0.5,
        random_state: int | None = 0,
    ) -> None:
        self.fraction = fraction
        self.steps = steps
        self.shrinkage = shrinkage
        self.cut = cut
        self.threshold = threshold
        self.random_state = random_state

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        if not 0 < self.fraction <= 1:
            raise InvalidOption(f"MCD: fraction must be above 0 and at most 1, got {self.fraction}")
        if self.steps < 1:
            raise InvalidOption(f"MCD: steps must be at least 1, got {self.steps}")
        if self.shrinkage is not None and not 0 <= self.shrinkage <= 1:
            raise InvalidOption(f"MCD: shrinkage must be between 0 and 1, got {self.shrinkage}")

    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        scores = self._estimate(features, codes, weights)
        return replace(self.score_blocks(features, codes), scores=scores)

    def _estimate(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None
    ) -> Blocks[Float64s]:
        weight = codes.map(_ones) if weights is None else weights
        classes = ClassRows.of(np.concatenate(list(codes)), len(self.classes_))
        masses = np.concatenate(list(weight))
        scores = features.map(_random_keys, args=(self.random_state,)).persist()
        for _ in range(self.steps):
            least = self._least(np.concatenate(list(scores)), classes, masses)
            chosen = scores.map(_chosen, codes, weight, args=(least,)).persist()
            self._estimate_from(features, codes, chosen)
            scores = self.score_blocks(features, codes).scores.persist()
        return scores

    def _least(self, scores: Float64s, rows: ClassRows, weight: Float64s) -> Float64s:
        """The lowest score of the best ``fraction`` of each class, among samples of positive weight."""
        least = np.full(len(rows), np.inf)
        for k in range(len(rows)):
            of_class = scores[rows[k][weight[rows[k]] > 0]]
            n = max(1, int(self.fraction * len(of_class)))
            least[k] = np.partition(of_class, len(of_class) - n)[len(of_class) - n]
        return least

    def _estimate_from(self, features: Blocks[Array], codes: Blocks[Ints], weight: Blocks[Float64s]) -> None:
        k, d = len(self.classes_), self.n_features_in_
        sums, totals, count = features.total(_add_sums, codes, weight, initial=partial(_no_sums, k, d))
        self.means_ = sums / totals[:, None]
        scatter = features.total(_add_scatter, codes, weight, args=(self.means_,), initial=partial(_no_scatter, d))
        self.covariance_ = scatter / totals.sum()  # both released codes divide again for every class
        self.shrinkage_ = self._choose_shrinkage(int(count[0]) - k)
        self._whitening = self._whiten()

    def _choose_shrinkage(self, freedom: int) -> float:
        if self.shrinkage is not None:
            return float(self.shrinkage)
        d = len(self.covariance_)
        # The oracle approximating shrinkage, from the traces of the covariance and of its square.
        square, mean = float(np.mean(self.covariance_**2)), float(np.trace(self.covariance_)) / d
        below = (freedom + 1.0) * (square - mean**2 / d)
        return 1.0 if below <= 0 else min(1.0, (square + mean**2) / below)

    def _whiten(self) -> Float64s:
        """W with W Wᵀ the (pseudo-)inverse of the covariance; 0 where nothing varies but by rounding."""
        d, eps = len(self.covariance_), float(np.finfo(np.float64).eps)
        values, vectors = np.linalg.eigh(self.covariance_)
        values = (1 - self.shrinkage_) * values + self.shrinkage_ * values.mean()
        rounding = (64 * eps) ** 2 * float(np.mean(np.vecdot(self.means_, self.means_)))
        nonzero = values > max(d * eps * float(values.max()), rounding)
        return np.asarray(vectors[:, nonzero] / np.sqrt(values[nonzero]))

    def _score(self, X: Array, codes: Ints) -> Float64s:
        scores = np.empty(len(X))
        centres = self.means_ @ self._whitening
        chunks = list(row_chunks(len(X), X.shape[1] * 8))
        for chunk in track(chunks, "distances", [chunk.stop - chunk.start for chunk in chunks]):
            difference = X[chunk].astype(np.float64) @ self._whitening - centres[codes[chunk]]
            scores[chunk] = -0.5 * np.vecdot(difference, difference)
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """The nearest other class; its share is its density among those of the others."""
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        centres = self.means_ @ self._whitening
        lengths = 0.5 * np.vecdot(centres, centres)
        for chunk in row_chunks(len(rows), (X.shape[1] + 2 * len(centres)) * 8):
            white = X[rows[chunk]].astype(np.float64) @ self._whitening
            fit = white @ centres.T - lengths  # −½ distance², up to a term that is the same for all classes
            fit[np.arange(len(fit)), codes[rows[chunk]]] = -np.inf
            best[chunk] = fit.argmax(axis=1)
            share[chunk] = 1.0 / np.exp(fit - fit.max(axis=1, keepdims=True)).sum(axis=1)
        return best, share

    _min_class_size: ClassVar[int] = 10  # as in the mixture cuts

    def _method_cut(self) -> Cut | None:
        return QuantileCut(fraction=1 - self.fraction) if self.cut == "quantile" else None


def _random_keys(X: Array, random_state: int | None) -> Float64s:
    """A random number for each row that depends on its values alone, so that the order of rows does not matter."""
    mixed = content_hash(X, int(tagged_generator(random_state, "random keys").integers(1 << 31)))
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed >> np.uint64(11), dtype=np.float64)


def _ones(codes: Ints) -> Float64s:
    return np.ones(len(codes))


def _chosen(scores: Float64s, codes: Ints, weight: Float64s, least: Float64s) -> Float64s:
    """The weights of the rows with the best scores, 0 for the others; ties are included."""
    return np.where(scores >= least[codes], weight, 0.0)


def _no_sums(k: int, d: int) -> tuple[Float64s, Float64s, Float64s]:
    return np.zeros((k, d)), np.zeros(k), np.zeros(1)


def _no_scatter(d: int) -> Float64s:
    return np.zeros((d, d))


def _add_sums(
    totals: tuple[Float64s, Float64s, Float64s], features: Array, codes: Ints, weight: Float64s
) -> tuple[Float64s, Float64s, Float64s]:
    sums, masses, count = totals
    chosen = np.flatnonzero(weight > 0)
    for chunk in row_chunks(len(chosen), features.shape[1] * 8):
        rows = chosen[chunk]
        sums += weighted_class_sums(codes[rows], weight[rows], features[rows].astype(np.float64), len(sums))
    masses += np.bincount(codes, weight, len(masses))
    count += len(chosen)
    return totals


def _add_scatter(total: Float64s, features: Array, codes: Ints, weight: Float64s, means: Float64s) -> Float64s:
    chosen = np.flatnonzero(weight > 0)
    for chunk in row_chunks(len(chosen), features.shape[1] * 8):
        rows = chosen[chunk]
        centred = (features[rows] - means[codes[rows]]) * np.sqrt(weight[rows])[:, None]
        total += centred.T @ centred
    return total
