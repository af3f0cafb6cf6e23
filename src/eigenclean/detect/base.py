"""The estimator that every detector is: it checks the input, fits the cut and makes the verdict."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from eigenclean.arrays import (
    Array,
    Bools,
    Float64s,
    Ints,
    check_class_sizes,
    check_features,
    check_ids,
    check_labels,
    check_two_classes,
    encode_labels,
    locate_labels,
    preview,
)
from eigenclean.deprecation import RenamedAttribute
from eigenclean.detect.columns import ColumnChecks
from eigenclean.detect.cuts import CUTS, Cut, make_cut
from eigenclean.detect.cuts.base import plain_numbers
from eigenclean.detect.decisions import Decision
from eigenclean.detect.value_range import scale_like_fit, scale_to_range
from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption
from eigenclean.evidence import EvidenceKind
from eigenclean.sources import as_matrix, as_vector
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class DecisionResult:
    """Scores after the cut and the decision: all of a verdict but the suggestions.

    Attributes:
        cut: the cut that gave the probabilities.
        p_clean: probability that each label is right.
        flagged: which labels are probably wrong by the decision.
        made_by: the verdict's record of method, parameters, cut and decision.
    """

    cut: Cut
    p_clean: Float64s
    flagged: Bools
    made_by: dict[str, Any]


class Detector(ColumnChecks, BaseEstimator, ABC):
    """Arrays in, arrays out: scores how well each label fits, and turns the scores into a verdict.

    A detector of your own implements `_learn`, `_score` and `_suggest`; everything else is here. ``X`` is whatever
    the detector `consumes`, as an array or a polars, pandas or Arrow object. ``y`` are labels of any kind, integers
    or strings. Inputs are never changed. A detector whose statistics are sums over rows derives from
    `eigenclean.detect.block_detector.BlockDetector` instead, so that data of any size can be judged.

    Attributes:
        classes_: the sorted labels.
        n_features_in_: number of columns of X at fitting.
        feature_names_in_: names of the columns, if X was a data frame.
        feature_exponent_: features are multiplied by ``2**-feature_exponent_`` before anything is computed from
            them; 0 unless the largest value is so large or small that squares would be infinite or zero.
        cut_: the fitted cut; missing after `partial_fit`, when scores have not been seen yet.
    """

    name: ClassVar[str]
    # Options with which training uses the detector as a selector, and further ones for semi-supervised methods.
    training_options: ClassVar[Mapping[str, Any]] = {}
    semi_supervised_options: ClassVar[Mapping[str, Any]] = {}
    # Options with which the recipe `probe` judges the labels, unless the user says otherwise.
    probe_options: ClassVar[Mapping[str, Any]] = {}
    # Options for features of a network that was trained on the given labels.
    in_sample_options: ClassVar[Mapping[str, Any]] = {}
    # What users should know when columns of a table were centred and scaled for the detector.
    table_note: ClassVar[str | None] = None

    cut: str | Cut
    threshold: float
    classes_: Array
    cut_: Cut
    feature_exponent_: int = 0

    n_columns = RenamedAttribute("n_features_in_")
    weigh = RenamedAttribute("apply_decision")
    fit_scores = RenamedAttribute("fit_cut_to_scores")

    @property
    def consumes(self) -> EvidenceKind:
        """The kind of evidence that the detector expects as ``X``, with the options that it has."""
        return "features"

    def with_probabilities(self, has_features: bool) -> "Detector | None":
        """A copy that also uses predicted probabilities of the classes, or None if the method cannot.

        What the copy then `consumes` says what its X are: the probabilities, or logits made of them. If it still
        consumes features, the probabilities are the last K columns of X.
        """
        return None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn what each class looks like.

        ``sample_weight`` restricts what is learned from (a mask of last round's clean set, or weights); all samples
        are scored all the same. A class without any weight is learned from all its samples.
        """
        _, codes, scores = self._fit_scores(X, y, sample_weight)
        self._fit_cut(scores, codes)
        return self

    def fit_judge(
        self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, decision: Decision | None = None
    ) -> Verdict:
        """The same as `fit` and then `judge` on these samples, but the samples are scored only once."""
        features, codes, scores = self._fit_scores(X, y, sample_weight)
        self._fit_cut(scores, codes)
        return self._verdict(features, codes, scores, ids, decision)

    def fit_cut(self, X: Any, y: Any) -> Self:
        """Fit the cut alone, to the scores of these samples: the last step after `partial_fit` or `merge`."""
        features, codes = self._check_known(X, y)
        self._fit_cut(self._score(features, codes), codes)
        return self

    def fit_cut_to_scores(self, scores: Float64s, codes: Ints) -> Self:
        """Fit the cut alone, to scores of samples of the classes ``classes_[codes]``."""
        self._fit_cut(scores, codes)
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
            return self.fit_judge(X, y, ids=ids, decision=decision)
        features, codes = self._check_known(X, y)
        return self._verdict(features, codes, self._score(features, codes), ids, decision)

    def apply_decision(self, scores: Float64s, codes: Ints, decision: Decision | None = None) -> DecisionResult:
        """Turn scores of samples of these classes into probabilities by the cut, and into flags by the decision."""
        cut = self._cut_for(scores, codes)
        p = cut.p_clean(scores, codes)
        rule = Decision(threshold=self.threshold) if decision is None else decision
        flagged = rule.flags(p, scores)  # kept only when strictly above a threshold, as in the released code
        return DecisionResult(cut, p, flagged, _with_decision(self._made_by(cut), rule.record(p, flagged), cut))

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        make_cut(self.cut).check_options()
        if not 0 <= self.threshold <= 1:
            raise InvalidOption(f"{self._by}: threshold must be between 0 and 1, got {self.threshold}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        base: Any = super()  # known to scikit-learn from 1.6 on
        tags = base.__sklearn_tags__()
        tags.target_tags.required = True  # the labels are what is judged
        return tags

    # What a detector implements.

    @abstractmethod
    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        """Learn from the samples (of positive weight) and return the scores of all of them."""

    @abstractmethod
    def _score(self, X: Array, codes: Ints) -> Float64s:
        """Score samples with the fitted detector."""

    @abstractmethod
    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """For the flagged ``rows``: another class each, and its probability given that the label is wrong."""

    # What a detector may override.

    _min_class_size: ClassVar[int] = 0  # smaller classes are kept whole, whatever the cut says

    def _method_cut(self) -> Cut | None:
        """The cut that belongs to the published method, if the options ask for it; None takes the cut they name."""
        return None

    def _undecidable(self, cut: Cut) -> Bools:
        """Which classes, besides those of the cut, cannot be judged by this method."""
        return np.zeros(len(self.classes_), dtype=bool)

    @property
    def _ceiling(self) -> float | None:
        """The upper bound of the score, if it has one."""
        return None

    def _none_probability(self, X: Array, codes: Ints) -> Float64s | None:
        """P(the sample belongs to none of the classes); None without any such sample."""
        return None

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        """How the scores and probabilities came about, as plain values for the verdict."""
        record: dict[str, Any] = {
            "method": self.name,
            "parameters": plain_parameters(self),
            "threshold": float(self.threshold),
            "notes": self._notes(cut),
        }
        if self.feature_exponent_:
            record["feature_exponent"] = self.feature_exponent_
        mixture = cut.describe()
        if mixture:
            mixture["boundary"] = plain_numbers(cut.boundary(self.threshold))
            record["mixture"] = mixture
        return record

    # What they all share.

    def _fit_scores(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Ints, Float64s]:
        """Check the input and learn from it; return it, and the scores to which the cut is to be fitted."""
        self.check_options()
        features, labels = self._check(X, y)
        classes, codes = encode_labels(labels)
        check_two_classes(classes, by=self._by)
        check_class_sizes(np.bincount(codes), by=self._by)
        weight = check_weight(sample_weight, codes, len(classes), by=self._by)
        if self.consumes == "features":  # logits and losses have a meaning that scaling would change
            features, self.feature_exponent_ = scale_to_range(features, by=self._by)
        self.classes_ = classes
        self._set_columns(X, features)
        return features, codes, self._learn(features, codes, weight)

    def _verdict(
        self, features: Array, codes: Ints, scores: Float64s, ids: Any, decision: Decision | None
    ) -> Verdict:
        """The verdict on checked samples with these scores, by the fitted cut."""
        row_ids = check_ids(None if ids is None else as_vector(ids), len(codes), by=self._by)
        result = self.apply_decision(scores, codes, decision)
        return self._assemble(features, codes, scores, row_ids, result, self._none_probability(features, codes))

    def _assemble(
        self,
        features: Array,
        codes: Ints,
        scores: Float64s,
        ids: Array,
        result: DecisionResult,
        p_none: Float64s | None,
    ) -> Verdict:
        """The verdict on checked samples of which the probabilities and flags are known."""
        rows = np.flatnonzero(result.flagged)
        return Verdict.assemble(
            ids=ids,
            classes=self.classes_,
            codes=codes,
            score=scores,
            p_clean=result.p_clean,
            flagged=result.flagged,
            suggestions=self._suggest(features, codes, rows, result.cut) if len(rows) else None,
            made_by=result.made_by,
            p_none=p_none,
        )

    def _check(self, X: Any, y: Any) -> tuple[Array, Array]:
        if issparse(X):
            raise InvalidData(f"{self._by}: sparse features are not supported; give X.toarray()")
        if y is None:
            raise InvalidData(f"{self._by}: requires y to be passed, but the target y is None")
        features = check_features(as_matrix(X), by=self._by)
        return features, check_labels(as_vector(y), by=self._by, n_rows=len(features))

    def _check_known(self, X: Any, y: Any) -> tuple[Array, Ints]:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {self._by} is not fitted yet: call fit(X, y) first")
        self.check_options()
        features, labels = self._check(X, y)
        self._check_columns(X, features)
        if self.consumes == "features":
            features = scale_like_fit(features, self.feature_exponent_, by=self._by)
        return features, locate_labels(labels, self.classes_, by=self._by)

    def _fit_cut(self, scores: Float64s, codes: Ints) -> None:
        self.cut_ = self._new_cut(scores, codes)
        for note in self._notes(self.cut_):
            warnings.warn(note, EigencleanWarning, stacklevel=3)

    def _cut_for(self, scores: Float64s, codes: Ints) -> Cut:
        """The fitted cut; without one (after `partial_fit`), a cut fitted to these very scores."""
        return self.cut_ if hasattr(self, "cut_") else self._new_cut(scores, codes)

    def _new_cut(self, scores: Float64s, codes: Ints) -> Cut:
        k, method_cut = len(self.classes_), self._method_cut()
        cut = make_cut(self.cut) if method_cut is None else method_cut
        cut.fit(scores, codes, k, ceiling=self._ceiling)
        cut.whole_ = cut.whole_ | (np.bincount(codes, minlength=k) < self._min_class_size) | self._undecidable(cut)
        return cut

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


def _with_decision(made_by: dict[str, Any], decision: dict[str, Any], cut: Cut) -> dict[str, Any]:
    """The record with the decision in it: the threshold that it came to, and where that lies on the scores."""
    record = {**made_by, "threshold": decision["threshold"], "decision": decision}
    if "mixture" in record and decision["threshold"] != made_by["threshold"]:
        record["mixture"] = {**record["mixture"], "boundary": plain_numbers(cut.boundary(decision["threshold"]))}
    return record


def check_weight(sample_weight: Any, codes: Ints, n_classes: int, *, by: str) -> Float64s | None:
    """Weights of rows as numbers; 1 for all rows of a class of which none would count."""
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
