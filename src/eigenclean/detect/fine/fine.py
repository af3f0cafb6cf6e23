"""FINE: a label is trusted when the feature is aligned with the first eigenvector of its class."""

import os
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from eigenclean.arrays import (
    Array,
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
    MAX_SCORED_CLASSES,
    ScoredBlock,
    best_alternative,
    score_block,
    top_alternatives,
)
from eigenclean.detect.fine.eigenvectors import ClassBlocks, EigenvectorStrategy, pairs_by_moments
from eigenclean.detect.value_range import is_in_range, largest_magnitude
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.moments import ClassMoments, class_vector, top_eigenpair
from eigenclean.progress import track
from eigenclean.seeds import tagged_generator

Score = Literal["abs_cos", "sq_cos", "abs_raw", "sq_raw"]
SCORES: tuple[Score, ...] = ("abs_cos", "sq_cos", "abs_raw", "sq_raw")
PRESETS: dict[str, Score] = {"official": "abs_cos", "paper": "sq_raw"}
_CHEAP = 2_000_000_000  # multiplications: below it, moments cost little time and are kept by default


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
    table_note: ClassVar[str | None] = (
        "fine ignores the sign of a direction, and columns are centred; the default suits tables"
    )

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
        if not is_in_range(largest_magnitude(features), features.dtype):
            raise InvalidData(
                f"FINE: the features of this piece reach {largest_magnitude(features):.3g}, whose squares cannot "
                "be added up; scale the features of all pieces by the same factor"
            )
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

    # Learning and scoring.

    _moments: ClassMoments | None = None
    _pairs: tuple[Float64s, Float64s] | None = None
    _strategy: EigenvectorStrategy | None = None
    n_samples_per_class_: Ints

    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        data = ClassBlocks(features, codes, len(self.classes_))
        self.n_samples_per_class_, self._moments, self._pairs = data.sizes, None, None
        strategy = self._choose_strategy(data)
        self._strategy = None if features.in_memory else strategy
        if strategy.name == "rows":
            self._pairs = self._pairs_of_rows(data, weights)
            if features.in_memory and self._keeps_moments(data):
                self._moments = data.class_moments(self.classes_, weights)
        elif strategy.name == "iterations":
            values, vectors, passes = data.iterate()
            self._pairs, self._strategy = (values, vectors), replace(strategy, passes=passes)
        elif strategy.name == "sums":
            means = data.sums() / np.maximum(data.sizes, 1)[:, None]
            lengths = np.linalg.norm(means, axis=1)
            self._pairs = lengths**2, means / np.where(lengths > 0, lengths, 1.0)[:, None]
        else:
            moments, starts = data.moments(self.classes_)
            if self.keep_moments is not False and not self.feature_exponent_:
                self._moments = moments
            if self.component == 1:
                self._pairs = pairs_by_moments(moments, starts, data.dtype)
            else:
                self._pairs = self._pairs_of_moments(moments)
        return self.score_blocks(features, codes)

    def _choose_strategy(self, data: ClassBlocks) -> EigenvectorStrategy:
        n, d, k, itemsize, budget = data.n, data.d, data.k, data.dtype.itemsize, data.features.budget
        if data.features.in_memory:
            return EigenvectorStrategy("rows", 1, int(data.sizes.max()) * d * itemsize, 0.0)
        if self.subset is not None:
            return EigenvectorStrategy("rows", 1, int(self.subset * n) * d * itemsize, 0.0)
        if self.vector == "mean":
            return EigenvectorStrategy("sums", 1, 8 * k * d, 0.0)
        if self.component > 1 or self.keep_moments:
            if 8 * k * d * d > budget:
                why = "keep_moments" if self.keep_moments else f"component={self.component}"
                raise InvalidOption(
                    f"FINE: {why} needs {8 * k * d * d / 1e9:.1f} GB for the moments of {k} classes of {d} "
                    f"features, but {budget / 1e9:.1f} GB are free for them; leave it out, or use more memory"
                )
            return EigenvectorStrategy("moments", 1, 8 * k * d * d, 0.0)
        return EigenvectorStrategy.choose(n=n, d=d, k=k, itemsize=itemsize, budget=budget)

    def _pairs_of_rows(self, data: ClassBlocks, weights: Blocks[Float64s] | None) -> tuple[Float64s, Float64s]:
        """Class vectors from the rows of each class that have a positive weight, or from a subset of them."""
        rng = tagged_generator(self.random_state, "subset")
        by_class = [None] * data.k if weights is None else data.split_by_class(np.concatenate(list(weights)))
        sizes = data.sizes.tolist()
        chosen = [
            _choose_rows(size, weight, self.subset, rng) for size, weight in zip(sizes, by_class, strict=True)
        ]
        values, vectors = np.zeros(data.k), np.zeros((data.k, data.d))
        positions = {j: rows for j, (rows, _) in enumerate(chosen) if sizes[j]}
        progress = track(list(positions), "class vectors", [sizes[j] for j in positions])
        for _, (j, rows) in zip(progress, data.rows(positions), strict=True):
            values[j], vectors[j] = self._class_pair(rows, chosen[j][1])
        return values, vectors

    def _pairs_of_moments(self, moments: ClassMoments) -> tuple[Float64s, Float64s]:
        pairs = [class_vector(moments, j, self.vector, self.component) for j in range(len(moments.classes))]
        return np.array([value for value, _ in pairs]), np.stack([vector for _, vector in pairs])

    def _for_inference(self) -> Self:
        if self._moments is None:
            return self
        fitted = copy(self)
        fitted._pairs, fitted._moments = self._solved(), None
        return fitted

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        # The strategy matters where rows are read from a disk or a cluster; in memory it is always the same.
        return record if self._strategy is None else {**record, "vectors": self._strategy.record()}

    def _score(self, X: Array, codes: Ints) -> Float64s:
        dtype = working_dtype(X.dtype)
        vectors = self.eigenvectors_.astype(dtype)
        scores = np.empty(len(X))
        # Rows in their own order, each with its class's vector beside it: one read of X and no sorting into blocks.
        # Both fit into the cache of one core.
        chunks = list(row_chunks(len(X), X.shape[1] * dtype.itemsize, 1 << 20))
        for chunk in track(chunks, "alignments", [chunk.stop - chunk.start for chunk in chunks]):
            block = X[chunk].astype(dtype, copy=False)
            scores[chunk] = self._alignment(np.vecdot(block, vectors[codes[chunk]]), block)
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """The other class whose vector fits best, and how typical the sample is of it, as a share of all others."""
        dtype = working_dtype(X.dtype)
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for chunk in row_chunks(len(rows), self._row_bytes):
            block = gather(X, rows[chunk], dtype)
            best[chunk], share[chunk] = best_alternative(*self._alternatives(block, codes[rows[chunk]]), cut)
        return best, share

    def _alternatives(self, block: Array, codes: Ints) -> tuple[Ints, Float64s]:
        """The other classes that fit each row best, best first, and its score if it were one of them."""
        return top_alternatives(self._alignment(block @ self.eigenvectors_.T.astype(block.dtype), block), codes)

    @property
    def _row_bytes(self) -> int:
        """Memory that `_alternatives` takes per row."""
        return 8 * self.n_features_in_ + 24 * len(self.classes_)

    def score_blocks(self, features: Blocks[Array], codes: Blocks[Ints]) -> BlockScores:
        """Score checked rows in blocks; with few classes, alternatives are computed in the same pass."""
        if features.in_memory or len(self.classes_) > MAX_SCORED_CLASSES:
            return super().score_blocks(features, codes)
        self.check_options()
        scored = features.map(score_block, codes, args=(self._for_inference(),)).persist()
        return BlockScores(
            scored.map(attrgetter("scores")),
            lambda rows, cut: scored.map(ScoredBlock.suggest, rows, args=(cut,)),
        )

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

    def _keeps_moments(self, data: ClassBlocks) -> bool:
        if self.feature_exponent_:  # sums of scaled features are not those of other pieces
            return False
        if self.keep_moments is not None:
            return self.keep_moments
        return self.subset is None and data.n * data.d**2 <= _CHEAP and data.k * data.d**2 <= 1 << 23

    def _class_pair(self, block: Array, weight: Float64s | None) -> tuple[float, Float64s]:
        if self.vector == "eigen" and self.component == 1:
            return top_eigenpair(block, weight)
        codes, single_class = np.zeros(len(block), dtype=np.intp), np.zeros(1)
        moments = ClassMoments.of(block, codes, single_class, weight)
        return class_vector(moments, 0, self.vector, self.component)

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
        if self.feature_exponent_:
            raise InvalidOption(
                f"FINE: {to} needs sums of squares, which are infinite or zero for features of such a magnitude; "
                "scale the features of all pieces by the same factor"
            )
        if self._moments is None:
            raise InvalidOption(
                f"FINE: {to} needs the class moments, which fit does not keep for large data; "
                "use partial_fit on the pieces, or FINE(keep_moments=True)"
            )
        return self._moments

    def _take(self, moments: ClassMoments) -> Self:
        self._moments = moments if self._moments is None else self._moments + moments
        self._pairs = self._strategy = None
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
            self._pairs = self._pairs_of_moments(self._moments)
        return self._pairs


def _choose_rows(
    size: int, weight: Float64s | None, subset: float | None, rng: np.random.Generator
) -> tuple[Ints | None, Float64s | None]:
    """Rows of a class that its vector is computed from (None for all), and their weights unless all are one."""
    rows: Ints | None = None
    if weight is not None:
        positive = np.flatnonzero(weight)
        if len(positive) < size:
            rows, weight = positive, weight[positive]
        if (weight == 1).all():
            weight = None
    if subset is not None:
        n = size if rows is None else len(rows)
        sample = np.sort(rng.choice(n, min(n, max(2, int(np.ceil(subset * n)))), replace=False))
        rows, weight = sample if rows is None else rows[sample], None if weight is None else weight[sample]
    return rows, weight
