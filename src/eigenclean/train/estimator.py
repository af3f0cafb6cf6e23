"""A scikit-learn classifier that is trained in spite of wrong labels."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from eigenclean.arrays import (
    Array,
    Bools,
    Float64s,
    check_ids,
    check_labels,
    check_two_classes,
    encode_labels,
)
from eigenclean.detect import DETECTORS
from eigenclean.detect.columns import ColumnChecks
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.names import check_name
from eigenclean.nets import NETS, standardises
from eigenclean.sampling import held_out
from eigenclean.sources import as_vector
from eigenclean.train.data.inputs import InputSpec, as_inputs, take_rows
from eigenclean.train.data.scaling import UNIT
from eigenclean.train.presets import image_preset
from eigenclean.train.probe.fitting import ProbeFitting
from eigenclean.train.probe.recipe import PROBE, Probe
from eigenclean.train.raw_rows import RawRows
from eigenclean.train.recipe import Recipe
from eigenclean.train.recipes import recipe as make_recipe
from eigenclean.train.recipes import recipe_names
from eigenclean.train.selectors import Selector
from eigenclean.verdict import Verdict

if TYPE_CHECKING:
    from torch import nn

    from eigenclean.train.callbacks import Callback
    from eigenclean.train.engine import Engine

_BY = "RobustClassifier"
_FITTED = ("networks_", "last_networks_", "inputs_", "model_", "none_head_", "raw_rows_")  # by kind of recipe


class RobustClassifier(ProbeFitting, ColumnChecks, ClassifierMixin, BaseEstimator):
    """A classifier trained by a recipe for data with some wrong labels.

    Inputs are features (arrays or data frames) or images (n x height x width, with channels last or first), and are
    standardised inside. Labels are integers or strings.

    Args:
        recipe: a name, or a `Recipe` or `Probe`. "probe" judges the labels of features and fits a shrunk linear
            head, without torch; those of `RECIPES` train networks. None takes "probe" for features and "judge" for
            images.
        estimator: any scikit-learn classifier: a copy of it is trained on the judged labels of features, weighted
            by the probability that they are right, instead of the heads of the probe.
        net: a name from `NETS`, or a function of (shape of one input, number of classes) that returns a torch
            module whose forward returns (features, logits), or logits alone: features are then the input of its
            last linear layer. None for the network of the recipe.
        net_options: options of the network, such as ``{"hidden": [512]}``.
        selector: another selector for the recipe: the name of a detector, or a `Selector`. For the probe, the
            detector that judges the labels.
        epochs: total number of epochs; None for those of the recipe.
        validation_fraction: fraction of each class that is held out to choose the best epoch.
        random_state: seed of the weights and of the order of the samples; None for a different result each time.
        device: "cpu", or None for the best there is.
        mixed_precision: "no", "fp16" or "bf16".
        callbacks: called at the events of the training, see `Callback`.

    Attributes:
        classes_: sorted labels.
        n_features_in_: number of columns of X; not set for images.
        feature_names_in_: names of the columns, if X was a data frame.
        model_: the classifier of the probe.
        networks_: the trained networks of other recipes, of the best epoch when there are validation samples,
            otherwise of the last; predictions come from the sum of their logits.
        last_networks_: those of the last epoch.
        best_epoch_: the epoch that ``networks_`` are from.
        history_: one record per epoch, a single one for the probe: epoch, lr, loss, train_accuracy (on the given
            labels of the samples that were trained on), kept_fraction, selected, and val_accuracy and test_accuracy
            if there are such samples.
        verdict_: of the last selection; for a recipe without a detector, of the default detector on the features
            of the trained network.
        recipe_: the recipe with all options resolved.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = RobustClassifier("probe").fit(X[:500], y[:500])
        >>> bool(model.score(X[:500], y[:500]) > 0.8)
        True
    """

    def __init__(
        self,
        recipe: str | Recipe | Probe | None = None,
        *,
        estimator: Any = None,
        net: "str | Callable[[Any, int], nn.Module] | None" = None,
        net_options: Mapping[str, Any] | None = None,
        selector: str | Selector | None = None,
        epochs: int | None = None,
        validation_fraction: float = 0.0,
        random_state: int | None = 0,
        device: str | None = None,
        mixed_precision: str = "no",
        callbacks: "Sequence[Callback]" = (),
    ) -> None:
        self.recipe = recipe
        self.estimator = estimator
        self.net = net
        self.net_options = net_options
        self.selector = selector
        self.epochs = epochs
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.device = device
        self.mixed_precision = mixed_precision
        self.callbacks = callbacks

    classes_: Array
    networks_: "list[nn.Module]"
    last_networks_: "list[nn.Module]"
    best_epoch_: int
    history_: list[dict[str, Any]]
    verdict_: Verdict
    recipe_: Any  # Recipe or Probe
    raw_rows_: RawRows
    inputs_: InputSpec

    def fit(
        self,
        X: Any,
        y: Any,
        ids: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        test: tuple[Any, Any] | None = None,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        trusted: Any = None,
    ) -> Self:
        """Train as the recipe says.

        Args:
            X: features or images.
            y: the given labels.
            ids: ids of the rows in the verdict; by default 0, 1, 2, …
            validation: a pair (X, y) with labels as noisy as those given, to choose the best epoch.
            test: a pair (X, y) whose accuracy is recorded after every epoch.
            folder: where a checkpoint and metrics.jsonl are written after every epoch of a network.
            resume: continue from the checkpoint in ``folder``, if there is one.
            trusted: mask of the rows whose labels a person has confirmed: they are always trained on.
        """
        if issparse(X):
            raise InvalidData(f"{_BY}: sparse features are not supported; give X.toarray()")
        if y is None:
            raise InvalidData(f"{_BY}: requires y to be passed, but the target y is None")
        array = as_inputs(X, by=_BY)
        resolved = self._resolve_recipe(vectors=array.ndim == 2)
        if isinstance(resolved, Recipe):
            require("torch", extra="train", caller=_BY)
            require("accelerate", extra="train", caller=_BY)
        for name in _FITTED:
            if hasattr(self, name):
                delattr(self, name)
        self.recipe_ = resolved
        labels = check_labels(as_vector(y), by=_BY, n_rows=len(array))
        row_ids = check_ids(None if ids is None else as_vector(ids), len(array), by=_BY)
        self.classes_, codes = encode_labels(labels)
        check_two_classes(self.classes_, by=_BY)
        self._set_input_columns(X, array)
        rows: Any = slice(None)
        if self.validation_fraction and validation is None:
            validation_rows = held_out(codes, self.validation_fraction, random_state=self._seed())
            validation = (take_rows(array, validation_rows), labels[validation_rows])
            rows = ~validation_rows
        training = array if isinstance(rows, slice) else take_rows(array, rows)
        if isinstance(resolved, Probe):
            mask = None if trusted is None else _check_mask(trusted, len(array))[rows]
            self._train_probe(resolved, np.asarray(training), codes[rows], row_ids[rows], mask, self._seed())
            self._record_accuracies(validation=validation, test=test)
            return self
        self.inputs_ = InputSpec.fit(training, self._scale(resolved), self._augment(training))
        pool = self.inputs_.pool(training, codes[rows], self.classes_, row_ids[rows])
        if trusted is not None:
            pool = pool.with_trusted(_check_mask(trusted, len(array))[rows])
        self._train(self._engine(pool, validation, test), folder, resume)
        return self

    def predict(self, X: Any) -> Array:
        """The most likely class of each row."""
        is_probe = hasattr(self, "model_")
        codes = self.model_.predict_codes(self._vectors(X)) if is_probe else self._logits(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Float64s:
        """Probability of each class, columns as in ``classes_``."""
        if hasattr(self, "model_"):
            return self.model_.predict_proba(self._vectors(X))
        logits = self._logits(X) / len(self.networks_)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def save(self, folder: str | os.PathLike[str], **run: Any) -> None:
        """Write the model, ``model.json`` and the verdict into a folder; no pickle.

        Networks are written to ``model.safetensors``, the heads of the probe to ``model.npz``. ``run`` has further
        entries (seconds, data_hash) for the summary of the verdict.
        """
        self._check_fitted()
        from eigenclean.train.storage.writing import save_model

        save_model(self, folder, run)

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], net: "Callable[[Any, int], nn.Module] | None" = None
    ) -> "RobustClassifier":
        """Read what `save` or `eigenclean train` wrote; ``net`` is needed for a network that has no name.

        The classifier of a run also predicts raw rows: data frames with the columns of its table, and the texts or
        images that its encoder embeds.
        """
        from eigenclean.train.storage.probe_files import load_probe
        from eigenclean.train.storage.record import is_probe, read_record

        if is_probe(read_record(folder)):
            model = load_probe(folder)
            model.raw_rows_ = RawRows.read(folder)
            return model
        require("torch", extra="train", caller=_BY)
        require("safetensors", extra="train", caller=_BY)
        from eigenclean.train.storage.model_files import load_model

        model = load_model(folder, net)
        model.raw_rows_ = RawRows.read(folder)
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "networks_") or hasattr(self, "model_")

    def _set_input_columns(self, X: Any, array: Any) -> None:
        """Store the columns of feature vectors; images have none."""
        if array.ndim == 2:
            self._set_columns(X, array)
            return
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)

    def _resolve_recipe(self, *, vectors: bool) -> Recipe | Probe:
        """The recipe with the selector and epochs of this estimator; all names are checked here."""
        resolved: Recipe | Probe
        if isinstance(self.recipe, Recipe | Probe):
            resolved = self.recipe
        elif self.recipe in (None, PROBE) and (vectors or self.recipe == PROBE or self.estimator is not None):
            resolved = Probe()
        else:
            name = "judge" if self.recipe is None else self.recipe
            check_name(name, recipe_names(), by=_BY, what="recipe")
            resolved = make_recipe(name, preset="head" if vectors else image_preset(name))
        if not 0 <= self.validation_fraction < 1:
            raise InvalidOption(
                f"{_BY}: validation_fraction must be from 0 to below 1, got {self.validation_fraction}"
            )
        if isinstance(resolved, Probe):
            return self._resolve_probe(resolved, vectors)
        if self.estimator is not None:
            raise InvalidOption(f"{_BY}: estimator is for the recipe {PROBE}, and {resolved.name} trains a network")
        net = self._net(resolved)
        if hasattr(net, "state_dict") and not isinstance(net, type):  # a module is callable, too
            raise InvalidOption(
                f"{_BY}: net must be a function of (shape of an input, number of classes) that makes a module, "
                f"got a module: give net=lambda shape, n_classes: {type(net).__name__}(...)"
            )
        if not callable(net):
            check_name(net, NETS, by=_BY, what="net")
        if isinstance(self.selector, str):
            check_name(self.selector, DETECTORS, by=_BY, what="selector")
        if self.selector is not None:
            resolved = resolved.with_selector(self.selector)
        return resolved if self.epochs is None else resolved.with_epochs(self.epochs)

    def _net(self, recipe: Recipe) -> "str | Callable[[Any, int], nn.Module]":
        return recipe.net if self.net is None else self.net

    def _scale(self, recipe: Recipe) -> str:
        """How images are standardised: as the recipe says, unless the network does it."""
        net = self._net(recipe)
        return UNIT if isinstance(net, str) and standardises(net) else recipe.scale

    def _make_net(self) -> "nn.Module":
        from eigenclean.nets import make_net

        net = self._net(self.recipe_)
        options, k = dict(self.net_options or {}), len(self.classes_)
        if callable(net):
            from eigenclean.nets.adapted import adapted

            return adapted(net(self.inputs_.network_shape, k, **options), self.inputs_.network_shape, k)
        return make_net(net, self.inputs_.network_shape, k, **options)

    def _augment(self, array: Any) -> Any:
        from eigenclean.train.augment import augmentation_by_name

        return augmentation_by_name(self.recipe_.augment, images=array.ndim > 2)

    def _engine(self, pool: Any, validation: Any, test: Any) -> "Engine":
        from eigenclean.train.engine import Engine

        pools = {
            name: None if pair is None else self.inputs_.labelled_pool(pair, self.classes_, by=f"{_BY}: {name}")
            for name, pair in (("validation", validation), ("test", test))
        }
        return Engine(
            self.recipe_,
            self._make_net,
            pool,
            **pools,
            augment=self.inputs_.augment,
            seed=self._seed(),
            device=self.device,
            mixed_precision=self.mixed_precision,
            callbacks=self.callbacks,
        )

    def _train(self, engine: "Engine", folder: str | os.PathLike[str] | None, resume: bool) -> None:
        """Run the engine and store its results as fitted attributes."""
        from eigenclean.train.storage.run_files import Checkpoints, MetricsFile

        restore = None
        if folder is not None:
            net = self._net(self.recipe_)
            identity = {
                "net": net if isinstance(net, str) else "own",
                "net_options": dict(self.net_options or {}),
                "classes": self.classes_.tolist(),
            }
            checkpoints = Checkpoints(folder, identity)
            engine.callbacks += [checkpoints, MetricsFile(folder)]
            restore = checkpoints.resume() if resume else None
        engine.fit(restore)
        self.last_networks_ = engine.networks
        self.networks_ = engine.best.networks(engine.networks)
        self.best_epoch_ = engine.best.epoch or engine.epochs_done
        self.history_ = engine.history
        self.verdict_ = _verdict(engine)

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise InvalidOption(f"{_BY}: random_state must be an integer from 0 or None, got {self.random_state!r}")
        return int(self.random_state)

    def _logits(self, X: Any) -> Float64s:
        self._check_fitted()
        from eigenclean.train.data.pool import as_doubles
        from eigenclean.train.loop.evaluation import network_outputs

        X = self._as_features(X)
        array = self.inputs_.check(X, by=_BY)
        if isinstance(array, np.ndarray) and array.ndim == 2:
            self._check_columns(X, array)
        pool = self.inputs_.pool(array, np.zeros(len(array), dtype=np.intp), self.classes_)
        return sum((as_doubles(network_outputs(net, pool)[1]) for net in self.networks_), np.zeros(1))

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {_BY} is not fitted yet: call fit(X, y) first")


def _check_mask(trusted: Any, n_rows: int) -> Bools:
    mask = as_vector(trusted)
    if mask.dtype != bool or mask.shape != (n_rows,):
        raise InvalidData(
            f"{_BY}: trusted must be true or false for each of the {n_rows} rows, got shape {mask.shape} of type "
            f"{mask.dtype}"
        )
    return mask


def _verdict(engine: "Engine") -> Verdict:
    """The last verdict of the first network; if its selectors made none, a verdict of the default detector."""
    verdict = engine.judge_all()
    if verdict is not None:
        return verdict
    from eigenclean.detect import detector
    from eigenclean.train.loop.evaluation import collect_evidence

    judge = detector()
    evidence = collect_evidence(engine.networks[0], engine.pool, [judge.consumes])
    return judge.judge(evidence.need(judge.consumes, by=judge.name), evidence.labels, ids=evidence.ids)
