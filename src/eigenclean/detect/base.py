"""What every detector does around its own idea: checks, the cut, the verdict."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from eigenclean.arrays import (
    Array,
    Bools,
    Float64s,
    Ints,
    check_features,
    check_ids,
    check_labels,
    check_two_classes,
    encode_labels,
    locate_labels,
    preview,
)
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.cuts import CUTS, Cut, make_cut
from eigenclean.detect.cuts.base import plain_numbers
from eigenclean.detect.decisions import Decision
from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption
from eigenclean.progress import quiet
from eigenclean.sources import as_matrix, as_vector
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class Learned:
    """What a detector makes of rows in blocks.

    Attributes:
        scores: of the rows of each block.
        suggest: for the flagged rows of each block and the fitted cut: another class each, and its probability
            given that the label is wrong.
    """

    scores: Blocks[Float64s]
    suggest: Callable[[Blocks[Ints], Cut], Blocks[tuple[Ints, Float64s]]]


@dataclass(frozen=True)
class Weighed:
    """Scores after the cut and the decision.

    Attributes:
        cut: the cut.
        p_clean: probability that each label is right.
        flagged: which labels look wrong.
        made_by: how it came about.
    """

    cut: Cut
    p_clean: Float64s
    flagged: Bools
    made_by: dict[str, Any]


class Detector(BaseEstimator, ABC):
    """Arrays in, arrays out: scores how well each label fits, and turns the scores into a verdict.

    A detector of your own writes `_learn`, `_score` and `_suggest`; everything else is here. ``X`` is whatever
    the detector ``consumes``; arrays, polars, pandas and Arrow objects are all welcome. ``y`` are labels of any
    kind, integers or strings. Inputs are never changed.

    Attributes:
        classes_: the sorted labels.
        cut_: the fitted cut; missing after `partial_fit`, when scores have not been seen yet.
    """

    name: ClassVar[str]
    consumes: ClassVar[str] = "features"

    cut: str | Cut
    threshold: float
    classes_: Array
    cut_: Cut

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn what each class looks like.

        ``sample_weight`` says whom to learn from (a mask of last round's clean set, or weights); everyone is
        scored all the same. A class without any weight is learned from all its samples.
        """
        self.check_options()
        features, labels = self._check(X, y)
        classes, codes = encode_labels(labels)
        check_two_classes(classes, by=self._by)
        weight = _check_weight(sample_weight, codes, len(classes), by=self._by)
        self.classes_ = classes
        scores = self._learn(features, codes, weight)
        self._fit_cut(scores, codes)
        return self

    def fit_cut(self, X: Any, y: Any) -> Self:
        """Fit the cut alone, to the scores of these samples: the last step after `partial_fit` or `merge`."""
        features, codes = self._check_known(X, y)
        self._fit_cut(self._score(features, codes), codes)
        return self

    def score_samples(self, X: Any, y: Any) -> Float64s:
        """How well each label fits; higher means more likely right."""
        return self._score(*self._check_known(X, y))

    def p_clean(self, X: Any, y: Any) -> Float64s:
        """Probability that each label is right: the score through the cut."""
        features, codes = self._check_known(X, y)
        scores = self._score(features, codes)
        return self._cut_for(scores, codes).p_clean(scores, codes)

    def judge(self, X: Any, y: Any, ids: Any = None, decision: Decision | None = None) -> Verdict:
        """The whole verdict. A detector that is not fitted yet is fitted on these very samples.

        ``decision`` says which labels to flag; None takes the detector's own threshold.
        """
        if not self.__sklearn_is_fitted__():
            self.fit(X, y)
        features, codes = self._check_known(X, y)
        row_ids = check_ids(None if ids is None else as_vector(ids), len(codes), by=self._by)
        scores = self._score(features, codes)
        weighed = self.weigh(scores, codes, decision)
        suggested, confidence = codes.copy(), weighed.p_clean.copy()
        rows = np.flatnonzero(weighed.flagged)
        if len(rows):
            suggested[rows], share = self._suggest(features, codes, rows, weighed.cut)
            confidence[rows] = (1.0 - weighed.p_clean[rows]) * share
        return Verdict(
            ids=row_ids,
            labels=self.classes_[codes],
            score=scores,
            p_clean=weighed.p_clean,
            flagged=weighed.flagged,
            suggested=self.classes_[suggested],
            suggested_confidence=confidence,
            made_by=weighed.made_by,
        )

    def weigh(self, scores: Float64s, codes: Ints, decision: Decision | None = None) -> Weighed:
        """Scores of samples of these classes through the cut and the decision: all of a verdict but suggestions."""
        cut = self._cut_for(scores, codes)
        p = cut.p_clean(scores, codes)
        rule = Decision(threshold=self.threshold) if decision is None else decision
        flagged = rule.flags(p, scores)  # kept only when strictly above a threshold, as in the released code
        return Weighed(cut, p, flagged, decided(self._made_by(cut), rule.record(p, flagged), cut))

    # Rows in blocks, for data of any size.

    in_blocks: ClassVar[bool] = False  # whether what it learns is sums over rows

    def learn_blocks(self, features: Blocks[Array], codes: Blocks[Ints], classes: Array) -> Learned:
        """Learn from checked rows in blocks, whose labels are ``classes[codes]``; `fit_scores` fits the cut."""
        self.check_in_blocks()
        check_two_classes(classes, by=self._by)
        self.classes_ = classes
        if hasattr(self, "cut_"):
            del self.cut_
        return self._learn_blocks(features, codes)

    def judge_blocks(self, features: Blocks[Array], codes: Blocks[Ints]) -> Learned:
        """Judge checked rows in blocks with what was learned before."""
        self.check_in_blocks()
        fitted = self._for_inference()
        return Learned(
            features.map(_score_block, codes, args=(fitted,)),
            lambda rows, cut: features.map(_suggest_block, codes, rows, args=(fitted, cut)),
        )

    def fit_scores(self, scores: Float64s, codes: Ints) -> Self:
        """Fit the cut to the scores of all rows."""
        self._fit_cut(scores, codes)
        return self

    def check_in_blocks(self) -> None:
        """Raise `InvalidOption` unless it can go through rows in blocks, with the options that it has."""
        self.check_options()
        if not self.in_blocks:
            raise InvalidOption(
                f"{self.name} needs all rows at once and cannot stream them; use --engine memory, or a method "
                "whose statistics are sums over rows: judge, fine, fine-relative, mcd"
            )

    def _learn_blocks(self, features: Blocks[Array], codes: Blocks[Ints]) -> Learned:
        raise NotImplementedError  # for those that are `in_blocks`

    def _for_inference(self) -> Self:
        """A detector that scores and suggests the same, without state that only learning needs; sent to workers."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    # What a detector of one's own provides.

    @abstractmethod
    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        """Learn from the samples (of positive weight) and return the scores of all of them."""

    @abstractmethod
    def _score(self, X: Array, codes: Ints) -> Float64s:
        """Score samples with the fitted detector."""

    @abstractmethod
    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """For the flagged ``rows``: another class each, and its probability given that the label is wrong."""

    # What they all share.

    @property
    def _by(self) -> str:
        return type(self).__name__

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        make_cut(self.cut).check_options()
        if not 0 <= self.threshold <= 1:
            raise InvalidOption(f"{self._by}: threshold must be between 0 and 1, got {self.threshold}")

    def _check(self, X: Any, y: Any) -> tuple[Array, Array]:
        features = check_features(as_matrix(X), by=self._by)
        return features, check_labels(as_vector(y), by=self._by, n_rows=len(features))

    def _check_known(self, X: Any, y: Any) -> tuple[Array, Ints]:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {self._by} is not fitted yet: call fit(X, y) first")
        self.check_options()
        features, labels = self._check(X, y)
        if features.shape[1] != self._n_columns:
            raise InvalidData(f"{self._by}: fitted on {self._n_columns} features, got {features.shape[1]}")
        return features, locate_labels(labels, self.classes_, by=self._by)

    @property
    def n_columns(self) -> int:
        """Columns of X at fitting."""
        return self._n_columns

    @property
    @abstractmethod
    def _n_columns(self) -> int:
        """Columns of X at fitting."""

    def _fit_cut(self, scores: Float64s, codes: Ints) -> None:
        self.cut_ = self._new_cut(scores, codes)
        self._warn_about_whole_classes(self.cut_)

    def _cut_for(self, scores: Float64s, codes: Ints) -> Cut:
        """The fitted cut; without one (after `partial_fit`), a cut fitted to these very scores."""
        return self.cut_ if hasattr(self, "cut_") else self._new_cut(scores, codes)

    def _new_cut(self, scores: Float64s, codes: Ints) -> Cut:
        k, own = len(self.classes_), self._own_cut()
        cut = (make_cut(self.cut) if own is None else own).fit(scores, codes, k, ceiling=self._ceiling)
        cut.whole_ = cut.whole_ | (np.bincount(codes, minlength=k) < self._fewest) | self._undecidable(cut)
        return cut

    _fewest: ClassVar[int] = 0  # classes with fewer samples are kept whole, whatever the cut thinks of them

    def _own_cut(self) -> Cut | None:
        """The decision that belongs to the method, when the options ask for it; None takes the cut they name."""
        return None

    def _undecidable(self, cut: Cut) -> Bools:
        """Which classes, beyond those of the cut, say nothing about their labels."""
        return np.zeros(len(self.classes_), dtype=bool)

    @property
    def _ceiling(self) -> float | None:
        """The highest score there can be, if there is one."""
        return None

    def _warn_about_whole_classes(self, cut: Cut) -> None:
        for note in self._notes(cut):
            warnings.warn(note, EigencleanWarning, stacklevel=4)

    def _notes(self, cut: Cut) -> list[str]:
        whole = cut.whole_
        if not whole.any():
            return []
        n = int(whole.sum())
        named = (
            f"class {preview(self.classes_[whole])}"
            if n == 1
            else f"{n} classes ({preview(self.classes_[whole], 4)})"
        )
        return [
            f"{self._by}: {named} kept whole: too few samples, or all alike, to tell right labels from wrong ones"
        ]

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record: dict[str, Any] = {
            "method": self.name,
            "parameters": plain_parameters(self),
            "threshold": float(self.threshold),
            "notes": self._notes(cut),
        }
        mixture = cut.describe()
        if mixture:
            mixture["boundary"] = plain_numbers(cut.boundary(self.threshold))
            record["mixture"] = mixture
        return record


def _score_block(features: Array, codes: Ints, detector: Detector) -> Float64s:
    with quiet():
        return detector._score(features, codes)


def _suggest_block(features: Array, codes: Ints, rows: Ints, detector: Detector, cut: Cut) -> tuple[Ints, Float64s]:
    if not len(rows):
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    return detector._suggest(features, codes, rows, cut)


def decided(made_by: dict[str, Any], decision: dict[str, Any], cut: Cut) -> dict[str, Any]:
    """The record with the decision in it: the threshold that it came to, and where that lies on the scores."""
    record = {**made_by, "threshold": decision["threshold"], "decision": decision}
    if "mixture" in record and decision["threshold"] != made_by["threshold"]:
        record["mixture"] = {**record["mixture"], "boundary": plain_numbers(cut.boundary(decision["threshold"]))}
    return record


def plain_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """The options of a detector as plain values for JSON; a cut becomes its name and options.

    >>> from eigenclean.detect.cuts import KMeansCut
    >>> plain_parameters(KMeansCut())
    {'min_samples': 10}
    """
    names = {kind: name for name, kind in CUTS.items()}
    plain: dict[str, Any] = {}
    for key, value in estimator.get_params(deep=False).items():
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, Cut):
            value = {"name": names.get(type(value), type(value).__name__), **plain_parameters(value)}
        elif not isinstance(value, str | int | float | bool | None):
            value = repr(value)
        plain[key] = value
    return plain


def _check_weight(sample_weight: Any, codes: Ints, n_classes: int, *, by: str) -> Float64s | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if weight.shape != codes.shape:
        raise InvalidData(
            f"{by}: sample_weight must have one value per row, got {weight.shape} for {len(codes)} rows"
        )
    if weight.dtype.kind not in "biuf" or not np.isfinite(weight).all() or (weight < 0).any():
        raise InvalidData(f"{by}: sample_weight must be a mask or finite numbers that are not negative")
    weight = weight.astype(np.float64)
    absent = np.bincount(codes, weight, n_classes) <= 0
    return np.where(absent[codes], 1.0, weight)
