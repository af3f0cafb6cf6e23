"""A classifier that learns in spite of wrong labels, for people who know scikit-learn."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from eigenclean.arrays import (
    Array,
    Float64s,
    check_features,
    check_ids,
    check_labels,
    check_two_classes,
    encode_labels,
)
from eigenclean.detect import DETECTORS
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.names import check_name
from eigenclean.nets import NETS
from eigenclean.sources import as_matrix, as_vector
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes import RECIPES
from eigenclean.train.recipes import recipe as make_recipe
from eigenclean.train.scaling import Scaling
from eigenclean.train.selectors import FromDetector, Selector
from eigenclean.verdict import Verdict

if TYPE_CHECKING:
    from torch import nn

    from eigenclean.train.callbacks import Callback
    from eigenclean.train.engine import Engine

_BY = "RobustClassifier"


class RobustClassifier(ClassifierMixin, BaseEstimator):
    """A network trained by a recipe that expects some labels to be wrong.

    Features are arrays or data frames and are standardised inside; labels are integers or strings.

    Args:
        recipe: a name from `RECIPES`, or a `Recipe`.
        net: a name from `NETS`.
        net_options: options of the network, such as ``{"hidden": [512]}``.
        selector: another selector for the recipe: the name of a detector, or a `Selector`.
        epochs: epochs in all, when not those of the recipe.
        random_state: seed of weights and order; None for a different result each time.
        device: "cpu", or None for the best there is.
        mixed_precision: "no", "fp16" or "bf16".
        callbacks: who hears about the training, see `Callback`.

    Attributes:
        classes_: sorted labels.
        networks_: the trained networks; their logits are added up to predict.
        history_: one record per epoch: epoch, lr, loss, train_accuracy (on the labels as given, of the samples
            learned from), kept_fraction, selected.
        verdict_: of the last selection; for a recipe that never judges, of the default detector on the features
            of the trained network.
        recipe_: the recipe that was carried out.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = RobustClassifier("fine", epochs=6).fit(X[:500], y[:500])
        >>> bool(model.score(X[:500], y[:500]) > 0.8)
        True
    """

    def __init__(
        self,
        recipe: str | Recipe = "fine",
        *,
        net: str = "mlp",
        net_options: Mapping[str, Any] | None = None,
        selector: str | Selector | None = None,
        epochs: int | None = None,
        random_state: int | None = 0,
        device: str | None = None,
        mixed_precision: str = "no",
        callbacks: "Sequence[Callback]" = (),
    ) -> None:
        self.recipe = recipe
        self.net = net
        self.net_options = net_options
        self.selector = selector
        self.epochs = epochs
        self.random_state = random_state
        self.device = device
        self.mixed_precision = mixed_precision
        self.callbacks = callbacks

    classes_: Array
    networks_: "list[nn.Module]"
    history_: list[dict[str, Any]]
    verdict_: Verdict
    recipe_: Recipe
    scaling_: Scaling
    n_features_in_: int

    def fit(self, X: Any, y: Any, ids: Any = None) -> Self:
        """Train. ``ids`` names the rows in the verdict; by default 0, 1, 2, …"""
        require("torch", extra="train", caller=_BY)
        require("accelerate", extra="train", caller=_BY)
        chosen = self._chosen_recipe()
        features = check_features(as_matrix(X), by=_BY)
        labels = check_labels(as_vector(y), by=_BY, n_rows=len(features))
        row_ids = check_ids(None if ids is None else as_vector(ids), len(features), by=_BY)
        self.classes_, codes = encode_labels(labels)
        check_two_classes(self.classes_, by=_BY)
        self.n_features_in_ = features.shape[1]
        self.scaling_ = Scaling.of(features)
        self.recipe_ = chosen

        from eigenclean.train.pool import Pool

        engine = self._engine(Pool.of(self.scaling_(features), codes, self.classes_, row_ids)).fit()
        self.networks_ = engine.networks
        self.history_ = engine.history
        self.verdict_ = _verdict(engine)
        return self

    def predict(self, X: Any) -> Array:
        """The most likely class of each row."""
        logits = self._logits(X)
        return np.asarray(self.classes_[logits.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Float64s:
        """Probability of each class, columns as in ``classes_``."""
        logits = self._logits(X) / len(self.networks_)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def save(self, folder: str | os.PathLike[str], **run: Any) -> None:
        """Write ``model.safetensors``, ``model.json`` and the verdict into a folder; no pickle.

        ``run`` adds facts of the run (seconds, data_hash) to the summary of the verdict.
        """
        self._check_fitted()
        from eigenclean.train.saving import save_model

        save_model(self, folder, run)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "RobustClassifier":
        """Read what `save` wrote."""
        require("torch", extra="train", caller=_BY)
        require("safetensors", extra="train", caller=_BY)
        from eigenclean.train.saving import load_model

        return load_model(folder)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "networks_")

    def _chosen_recipe(self) -> Recipe:
        """The recipe with what this estimator changes about it; every name is checked here."""
        check_name(self.net, NETS, by=_BY, what="net")
        if isinstance(self.recipe, Recipe):
            chosen = self.recipe
        else:
            check_name(self.recipe, RECIPES, by=_BY, what="recipe")
            chosen = make_recipe(self.recipe)
        if isinstance(self.selector, Selector):
            chosen = chosen.with_selector(self.selector)
        elif self.selector is not None:
            check_name(self.selector, DETECTORS, by=_BY, what="selector")
            chosen = chosen.with_selector(FromDetector(self.selector))
        return chosen if self.epochs is None else chosen.with_epochs(self.epochs)

    def _engine(self, pool: Any) -> "Engine":
        from functools import partial

        from eigenclean.nets import make_net
        from eigenclean.train.engine import Engine

        options = dict(self.net_options or {})
        return Engine(
            self.recipe_,
            partial(make_net, self.net, self.n_features_in_, len(self.classes_), **options),
            pool,
            seed=self._seed(),
            device=self.device,
            mixed_precision=self.mixed_precision,
            callbacks=self.callbacks,
        )

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise InvalidOption(f"{_BY}: random_state must be an integer from 0 or None, got {self.random_state!r}")
        return int(self.random_state)

    def _logits(self, X: Any) -> Float64s:
        self._check_fitted()
        import torch

        from eigenclean.train.observe import outputs
        from eigenclean.train.pool import as_doubles

        features = check_features(as_matrix(X), by=_BY)
        if features.shape[1] != self.n_features_in_:
            raise InvalidData(f"{_BY}: fitted on {self.n_features_in_} features, got {features.shape[1]}")
        inputs = torch.from_numpy(self.scaling_(features))
        return sum((as_doubles(outputs(net, inputs)[1]) for net in self.networks_), np.zeros(1))

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {_BY} is not fitted yet: call fit(X, y) first")


def _verdict(engine: "Engine") -> Verdict:
    """The last verdict of the first network; if nobody was ever judged, one of the default detector."""
    if engine.verdicts[0] is not None:
        return engine.verdicts[0]
    from eigenclean.detect import detector
    from eigenclean.train.observe import observe

    judge = detector()
    evidence = observe(engine.networks[0], engine.pool, [judge.consumes])
    return judge.judge(evidence.need(judge.consumes, by=judge.name), evidence.labels, ids=evidence.ids)
