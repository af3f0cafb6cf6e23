"""Any scikit-learn classifier, trained on judged labels with weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.errors import InvalidOption
from eigenclean.train.probe.targets import JudgedLabels

LEAST_PROBABILITY = 0.5  # of labels that an estimator without weights is trained on


@dataclass(frozen=True, eq=False)
class EstimatorModel:
    """A fitted classifier whose classes are some of ours.

    Attributes:
        estimator: fitted.
        codes: for each of its classes, the number of the class here.
        n_classes: how many there are here.
    """

    estimator: Any
    codes: Ints
    n_classes: int

    def predict_proba(self, features: Array) -> Float64s:
        """Probabilities of the classes, n x K; 0 for a class that has no judged label."""
        if not hasattr(self.estimator, "predict_proba"):
            raise InvalidOption(
                f"RobustClassifier: {type(self.estimator).__name__} has no predict_proba; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        probabilities = np.zeros((len(features), self.n_classes))
        probabilities[:, self.codes] = self.estimator.predict_proba(features)
        return probabilities

    def predict_codes(self, features: Array) -> Ints:
        """Number of the most likely class of each row."""
        return np.asarray(self.codes[np.searchsorted(self.codes, self.estimator.predict(features))])


def check_estimator_option(estimator: Any) -> None:
    """Raise `InvalidOption` unless it is a scikit-learn classifier."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise InvalidOption(
            "RobustClassifier: estimator must be a scikit-learn classifier such as RandomForestClassifier(), got "
            f"{estimator!r}"
        )


def fit_estimator(estimator: Any, features: Array, judged: JudgedLabels, classes: Array) -> EstimatorModel:
    """A copy of the estimator, fitted to judged labels.

    Each row has the label that is most probably right, its probability as a weight. An estimator that takes no
    weights is trained on the rows whose label is more likely right than wrong.
    """
    fitted = clone(estimator)
    if has_fit_parameter(fitted, "sample_weight"):
        fitted.fit(features, judged.codes, sample_weight=judged.weight)
    else:
        is_used = judged.weight > LEAST_PROBABILITY
        if len(np.unique(judged.codes[is_used])) < 2:
            is_used = np.ones(len(is_used), dtype=bool)
        fitted.fit(features[is_used], judged.codes[is_used])
    return EstimatorModel(fitted, np.asarray(fitted.classes_, dtype=np.intp), len(classes))
