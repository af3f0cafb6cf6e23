"""How `RobustClassifier` fits the probe and predicts with it."""

from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints, check_labels, locate_labels
from eigenclean.detect.columns import ColumnChecks
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources import as_vector
from eigenclean.train.data.inputs import as_inputs, check_shape
from eigenclean.train.probe.estimators import check_estimator_option
from eigenclean.train.probe.none_head import NoneHead
from eigenclean.train.probe.recipe import Probe
from eigenclean.train.probe.training import ProbabilityModel, train_probe
from eigenclean.verdict import Verdict

_BY = "RobustClassifier"


class ProbeFitting(ColumnChecks):
    """Mixin with what the probe needs of the estimator; a network is trained by the engine instead."""

    estimator: Any
    selector: Any
    classes_: Array
    model_: ProbabilityModel
    none_head_: NoneHead | None
    verdict_: Verdict
    history_: list[dict[str, Any]]
    best_epoch_: int

    def _resolve_probe(self, resolved: Probe, vectors: bool) -> Probe:
        for name in ("net", "net_options", "epochs"):
            if getattr(self, name):
                raise InvalidOption(
                    f"{_BY}: {name} is for recipes that train a network, such as judge; {resolved.name} trains none"
                )
        if not vectors:
            raise InvalidData(
                f"{_BY}: {resolved.name} needs features, got images; embed them first, or take a recipe that "
                "trains a network, such as judge"
            )
        if self.estimator is not None:
            check_estimator_option(self.estimator)
        return resolved if self.selector is None else resolved.with_selector(self.selector)

    def _train_probe(
        self, recipe: Probe, features: Array, codes: Ints, ids: Array, trusted: Bools | None, seed: int
    ) -> None:
        """Run the probe and store its results as fitted attributes."""
        result = train_probe(
            recipe, self.estimator, features, codes, self.classes_, ids, trusted=trusted, seed=seed
        )
        self.model_, self.verdict_, self.none_head_ = result.model, result.verdict, result.none_head
        self.history_, self.best_epoch_ = [result.record], 1

    def none_probability(self, X: Any) -> Float64s | None:
        """P(none) of each row: that it belongs to none of the classes; None if the judge found no such samples.

        The judge of the probe looks for them if `neighbours` is among its views, as with ``Probe(options={"views":
        "auto"})``.
        """
        head = getattr(self, "none_head_", None)
        return None if head is None else head.probability(self._vectors(X))

    def _record_accuracies(self, **pairs: tuple[Any, Any] | None) -> None:
        """Add the accuracy on pairs (X, y) to the record of the probe."""
        for name, pair in pairs.items():
            if pair is not None:
                labels = check_labels(as_vector(pair[1]), by=f"{_BY}: {name}")
                codes = locate_labels(labels, self.classes_, by=f"{_BY}: {name}")
                right = self.model_.predict_codes(self._vectors(pair[0])) == codes
                self.history_[-1]["val_accuracy" if name == "validation" else "test_accuracy"] = float(right.mean())

    def _as_features(self, X: Any) -> Any:
        """Raw rows as features, if the classifier was loaded from a run that says how; else X itself."""
        raw = getattr(self, "raw_rows_", None)
        return raw.features(X) if raw is not None and raw.accepts(X) else X

    def _vectors(self, X: Any) -> Array:
        """Features of the columns that the probe was fitted on, of raw rows as well if the run says how."""
        X = self._as_features(X)
        array = np.asarray(check_shape(as_inputs(X, by=_BY), self.n_features_in_, by=_BY))
        self._check_columns(X, array)
        return array
