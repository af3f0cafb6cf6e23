"""From features and given labels to a classifier of judged labels, a verdict and a record of the training."""

from dataclasses import dataclass
from typing import Any, Protocol

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.train.probe.estimators import fit_estimator
from eigenclean.train.probe.model import fit_probe
from eigenclean.train.probe.none_head import NoneHead
from eigenclean.train.probe.recipe import Probe
from eigenclean.train.probe.targets import JudgedLabels
from eigenclean.verdict import Verdict


class ProbabilityModel(Protocol):
    """The interface of a trained model: probabilities and classes of rows."""

    def predict_proba(self, features: Array) -> Float64s:
        """Probabilities of the classes, n x K."""
        ...

    def predict_codes(self, features: Array) -> Ints:
        """Number of the most likely class of each row."""
        ...


@dataclass(frozen=True, eq=False)
class ProbeTraining:
    """The result of `train_probe`.

    Attributes:
        model: the classifier.
        verdict: on the given labels.
        record: like that of an epoch: train_accuracy and kept_fraction, and as loss the cross-entropy of the judged
            labels of rows that were left out; None for a classifier of the user.
        none_head: P(none) of new rows; None if the judge has found no samples of no class.
    """

    model: ProbabilityModel
    verdict: Verdict
    record: dict[str, Any]
    none_head: NoneHead | None = None


def train_probe(
    recipe: Probe,
    estimator: Any,
    features: Array,
    codes: Ints,
    classes: Array,
    ids: Array,
    *,
    trusted: Bools | None = None,
    seed: int = 0,
) -> ProbeTraining:
    """Judge the labels ``classes[codes]``, then fit the heads of the recipe or a copy of ``estimator``."""
    detector, none_head = recipe.make_detector(), None
    verdict = detector.judge(features, classes[codes], ids=ids)
    component = getattr(detector, "none_component", None)  # only the judge looks for samples of no class
    if component is not None:
        none_head = NoneHead.of(component, detector.feature_exponent_)
    judged = JudgedLabels.of(verdict, classes, trusted)
    model: ProbabilityModel
    if estimator is not None:
        model, loss = fit_estimator(estimator, features, judged, classes), None
    else:
        fit = fit_probe(features, judged, recipe.head_names(), seed)
        model, loss = fit.model, fit.model.stack.loss
    is_kept = ~verdict.flagged if trusted is None else ~verdict.flagged | trusted
    agrees = model.predict_codes(features) == codes
    record = {
        "epoch": 1,
        "loss": loss,
        "train_accuracy": float(agrees[is_kept].mean()) if is_kept.any() else 0.0,
        "kept_fraction": float(is_kept.mean()),
        "selected": True,
    }
    return ProbeTraining(model, verdict, record, none_head)
