"""Out-of-fold probabilities of usual models: what cleanlab's users have, and what some settings give a detector."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from eigenclean.arrays import Array, Float64s, Ints

_FOLDS = 5


def _logistic(seed: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=100))


def _mlp(seed: int) -> Any:
    return make_pipeline(StandardScaler(), MLPClassifier(max_iter=30, random_state=seed))


def _trees(seed: int) -> Any:
    return ExtraTreesClassifier(random_state=seed)


def _boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed)


MODELS: dict[str, Callable[[int], Any]] = {
    "logistic": _logistic,
    "mlp": _mlp,
    "trees": _trees,
    "boosting": _boosting,
}


def out_of_fold(model: str, features: Array, codes: Ints, *, seed: int) -> Float64s:
    """n x K: probabilities of each row from a model that was fitted to the other four fifths of the rows.

    A class that such a model has not met has probability 0 there.

    Args:
        model: a name from `MODELS`.
        features: n x d.
        codes: the given classes, from 0 to K - 1.
        seed: of the folds and of the model.
    """
    probabilities = np.zeros((len(codes), int(codes.max()) + 1))
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    # One thread: those of boosting wait for each other in a loop, which on a busy machine takes minutes.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # early stopping is deliberate
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for fitted, held_out in folds.split(features, codes):
            predictor = MODELS[model](seed).fit(features[fitted], codes[fitted])
            probabilities[np.ix_(held_out, predictor.classes_)] = predictor.predict_proba(features[held_out])
    return probabilities
