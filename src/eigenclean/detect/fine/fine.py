"""FINE: a label is trusted when the feature is aligned with the first eigenvector of its class."""

import os
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from eigenclean.arrays import (
    Array,
    ClassRows,
    Float64s,
    Ints,
    check_two_classes,
    encode_labels,
    gather,
    row_chunks,
    working_dtype,
)
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.cuts import Cut
from eigenclean.detect.fine.alternatives import (
    FEW,
    best_rival,
    closest,
    score_and_rivals,
    scores_seen,
    suggest_seen,
)
from eigenclean.detect.fine.eigenvectors import ClassBlocks, Way, pairs_by_moments
from eigenclean.errors import InvalidOption
from eigenclean.moments import ClassMoments, class_vector, top_eigenpair
from eigenclean.progress import track

Score = Literal["abs_cos", "sq_cos", "abs_raw", "sq_raw"]
SCORES: tuple[Score, ...] = ("abs_cos", "sq_cos", "abs_raw", "sq_raw")
PRESETS: dict[str, Score] = {"official": "abs_cos", "paper": "sq_raw"}
_CHEAP = 2_000_000_000  # multiplications that nobody notices: moments of small data are kept without being asked


class FINE(BlockDetector):
    """FINE (Kim et al., NeurIPS 2021): eigenvectors of the classes judge the labels.

    For each class the first eigenvector u of Σ z zᵀ over its features z is what the class has in common, also when
    some of its labels are wrong. A sample's score is its alignment with u; a mixture on the scores of each class
    decides. No classifier, no noise rate.

    Args:
        preset: "official" scores by |cos∠(u, z)|, as the released code does and as ranks best; "paper" by the
            squared raw product ⟨u, z⟩², as printed.
        score: overrides the preset: "abs_cos", "sq_cos", "abs_raw" or "sq_raw".
        vector: "eigen", or "mean" for the direction of the class mean (the paper's ablation).
        component: which eigenvector, 1 for the first (another ablation).
        subset: share of each class that the eigenvector is computed from, such as 0.01; all are scored.
        cut: how scores become probabilities: a name ("gaussian", "beta", "kmeans", "quantile", "fixed") or a Cut.
            ``GaussianCut(monotone=False, split="always")`` decides as the released code does.
        threshold: labels are kept when P(right) is strictly above it.
        keep_moments: keep the d x d sums of each class, so that `merge` works after `fit`. None keeps them while
            that costs next to nothing.
        random_state: seed of the subset.

    Attributes:
        classes_: sorted labels.
        eigenvectors_: K x d, the unit vector of each class.
        eigenvalues_: K, the eigenvalue of each (the squared length of the mean for ``vector="mean"``).
        n_samples_per_class_: K.
        cut_: the fitted cut.

    A class of zeros has no direction: its vector is 0 and its scores are 0. A zero feature has cosine 0.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[:100] = (wrong[:100] + 1) % 10
        >>> verdict = FINE().fit(X, wrong).judge(X, wrong)
        >>> bool(verdict.p_clean[:100].mean() < verdict.p_clean[100:].mean())
        True
    """

    name: ClassVar[str] = "fine"
    # As in the runs of FINE's authors: every class is split in two, since its labels are known to be noisy, and
    # inside semi-supervised methods the mixtures get ten iterations of EM.
    training_options: ClassVar[Mapping[str, Any]] = {"cut.split": "always"}
    semi_supervised_options: ClassVar[Mapping[str, Any]] = {"cut.max_iter": 10}

    def __init__(
        self,
        *,
        preset: Literal["official", "paper"] = "official",
        score: Score | None = None,
        vector: Literal["eigen", "mean"] = "eigen",
        component: int = 1,
        subset: float | None = None,
        cut: str | Cut = "gaussian",
        threshold: float = 0.5,
        keep_moments: bool | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.preset = preset
        self.score = score
        self.vector = vector
        self.component = component
        self.subset = subset
        self.cut = cut
        self.threshold = threshold
        self.keep_moments = keep_moments
        self.random_state = random_state

    # Moments: pieces add up.

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Add samples to the class moments. Call `fit_cut` at the end, or `judge` with all samples."""
        self.check_options()
        if self.subset is not None:
            raise InvalidOption("FINE: subset samples the whole data and cannot be used with partial_fit; use fit")
        if self._moments is None and self.__sklearn_is_fitted__():
            raise InvalidOption(
                "FINE: partial_fit after fit needs the class moments, which fit does not keep for large data; "
                "use partial_fit from the start, or FINE(keep_moments=True)"
            )
        features, labels = self._check(X, y)
        classes, codes = encode_labels(labels)
        return self._take(ClassMoments.of(features, codes, classes))

    def merge(self, other: "FINE") -> Self:
        """Take in everything another FINE was fitted on, as if both had been fitted on it together."""
        self._summed(to="merge")
        return self._take(other._summed(to="merge"))

    def subtract(self, other: "FINE") -> Self:
        """Take out what another FINE was fitted on, as if this one had never seen it; emptied classes are gone."""
        rest = self._summed(to="subtract").without(other._summed(to="subtract"))
        self._moments = None
        return self._take(rest)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the moments, and the cut if it is fitted, into the folder ``path``: safetensors and JSON.

        What is written can be loaded, added to, taken from and judged with, on another day or machine.
        """
        from eigenclean.detect.fine.files import save_fine

        return save_fine(self, self._moments, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        from eigenclean.detect.fine.files import load_fine

        fine = load_fine(cls, path)
        assert isinstance(fine, cls)
        return fine

    @property
    def eigenvectors_(self) -> Float64s:
        """K x d, the unit vector of each class."""
        return self._solved()[1]

    @property
    def eigenvalues_(self) -> Float64s:
        """K, the eigenvalue that belongs to each vector."""
        return self._solved()[0]

    # The detector's own part.

    _moments: ClassMoments | None = None
    _pairs: tuple[Float64s, Float64s] | None = None
    _way: Way | None = None
    n_samples_per_class_: Ints

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        k, self._way = len(self.classes_), None
        rows = ClassRows.of(codes, k)
        self.n_samples_per_class_ = rows.counts
        values, vectors = np.zeros(k), np.zeros((k, X.shape[1]))
        dtype = working_dtype(X.dtype)
        buffer = np.empty((int(rows.counts.max()), X.shape[1]), dtype)
        rng = np.random.default_rng(self.random_state)
        for j in track(range(k), "class vectors", rows.counts):
            block = gather(X, rows[j], dtype, buffer)
            own = None if weight is None else weight[rows[j]]
            values[j], vectors[j] = self._class_pair(*_chosen(block, own, self.subset, rng))
        keep = self._keeps_moments(X, k)
        self._moments = ClassMoments.of(X, codes, self.classes_, weight) if keep else None
        self._pairs = values, vectors
        return self._score(X, codes)

    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        classes = self.classes_
        data = ClassBlocks(features, codes, len(classes))
        self.n_samples_per_class_, self._moments, self._pairs = data.sizes, None, None
        self._way = way = self._choose_way(data, features.budget)
        if way.name == "iterations":
            values, vectors, passes = data.iterated()
            self._pairs, self._way = (values, vectors), replace(way, passes=passes)
        elif way.name == "rows":
            self._pairs = self._pairs_of_subset(data)
        elif way.name == "sums":
            means = data.sums() / np.maximum(data.sizes, 1)[:, None]
            lengths = np.linalg.norm(means, axis=1)
            self._pairs = lengths**2, means / np.where(lengths > 0, lengths, 1.0)[:, None]
        else:
            moments, starts = data.moments(classes)
            if self.keep_moments is not False:
                self._moments = moments
            if self.component == 1:
                self._pairs = pairs_by_moments(moments, starts, data.dtype)
            else:
                pairs = [class_vector(moments, j, self.vector, self.component) for j in range(data.k)]
                self._pairs = np.array([value for value, _ in pairs]), np.stack([vector for _, vector in pairs])
        return self.score_blocks(features, codes)

    def _choose_way(self, data: ClassBlocks, budget: int) -> Way:
        n, d, k, itemsize = data.n, data.d, data.k, data.dtype.itemsize
        if self.subset is not None:
            return Way("rows", 1, int(self.subset * n) * d * itemsize, 0.0)
        if self.vector == "mean":
            return Way("sums", 1, 8 * k * d, 0.0)
        if self.component > 1 or self.keep_moments:
            if 8 * k * d * d > budget:
                why = "keep_moments" if self.keep_moments else f"component={self.component}"
                raise InvalidOption(
                    f"FINE: {why} needs {8 * k * d * d / 1e9:.1f} GB for the moments of {k} classes of {d} "
                    f"features, but {budget / 1e9:.1f} GB are free for them; leave it out, or use more memory"
                )
            return Way("moments", 1, 8 * k * d * d, 0.0)
        return Way.choose(n=n, d=d, k=k, itemsize=itemsize, budget=budget)

    def _pairs_of_subset(self, data: ClassBlocks) -> tuple[Float64s, Float64s]:
        """The same rows that `fit` would choose, found without the others."""
        rng = np.random.default_rng(self.random_state)
        assert self.subset is not None
        places = [_picked(int(size), self.subset, rng) for size in data.sizes]
        found = data.rows({j: own for j, own in enumerate(places) if len(own)})
        values, vectors = np.zeros(data.k), np.zeros((data.k, data.d))
        for j, rows in found.items():
            values[j], vectors[j] = self._class_pair(rows.astype(data.dtype, copy=False), None)
        return values, vectors

    def _for_inference(self) -> Self:
        if self._moments is None:
            return self
        fitted = copy(self)
        fitted._pairs, fitted._moments = self._solved(), None
        return fitted

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        return record if self._way is None else {**record, "vectors": self._way.record()}

    def _score(self, X: Array, codes: Ints) -> Float64s:
        dtype = working_dtype(X.dtype)
        vectors = self.eigenvectors_.astype(dtype)
        scores = np.empty(len(X))
        # Rows in their own order, each with its class's vector beside it: one read of X and no sorting into blocks.
        # Both fit into the cache of one core.
        parts = list(row_chunks(len(X), X.shape[1] * dtype.itemsize, 1 << 20))
        for part in track(parts, "alignments", [part.stop - part.start for part in parts]):
            block = X[part].astype(dtype, copy=False)
            scores[part] = self._alignment(np.vecdot(block, vectors[codes[part]]), block)
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """The other class whose vector fits best, and how typical the sample is of it, as a share among rivals."""
        dtype = working_dtype(X.dtype)
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for part in row_chunks(len(rows), self._row_bytes):
            block = gather(X, rows[part], dtype)
            best[part], share[part] = best_rival(*self._rivals(block, codes[rows[part]]), cut)
        return best, share

    def _rivals(self, block: Array, codes: Ints) -> tuple[Ints, Float64s]:
        """The other classes that fit each row best, best first, and its score if it were one of them."""
        return closest(self._alignment(block @ self.eigenvectors_.T.astype(block.dtype), block), codes)

    @property
    def _row_bytes(self) -> int:
        """What `_rivals` takes for a row."""
        return 8 * self.n_features_in_ + 24 * len(self.classes_)

    def score_blocks(self, features: Blocks[Array], codes: Blocks[Ints]) -> BlockScores:
        """Score checked rows in blocks; where classes are few, rivals are noted with the scores, in one pass."""
        if len(self.classes_) > FEW:
            return super().score_blocks(features, codes)
        self.check_options()
        seen = features.map(score_and_rivals, codes, args=(self._for_inference(),)).persist()
        return BlockScores(seen.map(scores_seen), lambda rows, cut: seen.map(suggest_seen, rows, args=(cut,)))

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        if self.preset not in PRESETS:
            raise InvalidOption(f"FINE: preset must be one of {', '.join(PRESETS)}, got {self.preset!r}")
        if self.score is not None and self.score not in SCORES:
            raise InvalidOption(f"FINE: score must be one of {', '.join(SCORES)}, got {self.score!r}")
        if self.vector not in ("eigen", "mean"):
            raise InvalidOption(f"FINE: vector must be 'eigen' or 'mean', got {self.vector!r}")
        if self.component < 1 or (self.component > 1 and self.vector == "mean"):
            raise InvalidOption(f"FINE: component must be 1 or more, and 1 for the mean, got {self.component}")
        if self.subset is not None and not 0 < self.subset <= 1:
            raise InvalidOption(f"FINE: subset must be above 0 and at most 1, got {self.subset}")

    def _keeps_moments(self, X: Array, k: int) -> bool:
        if self.keep_moments is not None:
            return self.keep_moments
        n, d = X.shape
        return self.subset is None and n * d * d <= _CHEAP and k * d * d <= 1 << 23

    def _class_pair(self, block: Array, weight: Float64s | None) -> tuple[float, Float64s]:
        if self.vector == "eigen" and self.component == 1:
            return top_eigenpair(block, weight)
        codes, one = np.zeros(len(block), dtype=np.intp), np.zeros(1)
        return class_vector(ClassMoments.of(block, codes, one, weight), 0, self.vector, self.component)

    @property
    def _ceiling(self) -> float | None:
        return 1.0 if self._score_form.endswith("cos") else None

    @property
    def _score_form(self) -> Score:
        return self.score or PRESETS[self.preset]

    def _alignment(self, products: Array, block: Array) -> Float64s:
        """Scores from the products ⟨u, z⟩ of each row of ``block`` with one vector, or with each of several."""
        score, inner = self._score_form, products.astype(np.float64)
        if score.endswith("cos"):
            length = np.sqrt(np.vecdot(block, block)).astype(np.float64)
            length[length == 0] = np.inf  # a zero feature points nowhere: cosine 0
            inner /= length if inner.ndim == 1 else length[:, None]
            np.clip(inner, -1.0, 1.0, out=inner)
        return np.asarray(np.abs(inner)) if score.startswith("abs") else inner**2

    def _summed(self, *, to: str) -> ClassMoments:
        """The class moments, if they were kept."""
        if self._moments is None:
            raise InvalidOption(
                f"FINE: {to} needs the class moments, which fit does not keep for large data; "
                "use partial_fit on the pieces, or FINE(keep_moments=True)"
            )
        return self._moments

    def _take(self, moments: ClassMoments) -> Self:
        self._moments = moments if self._moments is None else self._moments + moments
        self._pairs = self._way = None
        self.classes_, self.n_features_in_ = self._moments.classes, self._moments.n_features
        self.n_samples_per_class_ = self._moments.counts.round().astype(np.intp)
        if hasattr(self, "cut_"):
            del self.cut_  # it was fitted to scores that have changed
        return self

    def _solved(self) -> tuple[Float64s, Float64s]:
        """Eigenpairs; after `partial_fit` they are computed when first asked for."""
        if self._pairs is None:
            if self._moments is None:
                raise AttributeError("this FINE is not fitted yet: call fit(X, y) first")
            check_two_classes(self.classes_, by="FINE")
            k = len(self.classes_)
            pairs = [class_vector(self._moments, j, self.vector, self.component) for j in range(k)]
            self._pairs = np.array([value for value, _ in pairs]), np.stack([vector for _, vector in pairs])
        return self._pairs


def _chosen(
    block: Array, weight: Float64s | None, subset: float | None, rng: np.random.Generator
) -> tuple[Array, Float64s | None]:
    """The rows that the class vector is computed from, with their weights if those are not all one."""
    if weight is not None:
        there = np.flatnonzero(weight)
        if len(there) < len(block):
            block, weight = block[there], weight[there]
        if (weight == 1).all():
            weight = None
    if subset is not None:
        picked = _picked(len(block), subset, rng)
        block, weight = block[picked], None if weight is None else weight[picked]
    return block, weight


def _picked(n: int, subset: float, rng: np.random.Generator) -> Ints:
    m = min(n, max(2, int(np.ceil(subset * n))))
    return np.sort(rng.choice(n, m, replace=False))
