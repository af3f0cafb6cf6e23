"""Who takes part in `eigenclean bench train`: recipes, the probe, and scikit-learn classifiers in three ways.

``logistic`` is a classifier as it is, ``logistic+judge`` is `RobustClassifier(estimator=...)`, which trains it on
judged labels, and ``logistic+cleanlearning`` is cleanlab's ``CleanLearning`` around the same classifier.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train import RECIPES, recipe
from eigenclean_lab.bench.training.settings import TABLES, TrainingSetting

PROBE = "probe"
PLAIN, JUDGED, CLEANLEARNING = "plain", "judge", "cleanlearning"
_COMMAND = "bench train"


def _logistic(seed: int) -> Any:
    return LogisticRegression(max_iter=200)


def _trees(seed: int) -> Any:
    return ExtraTreesClassifier(random_state=seed)


def _boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed)


MODELS: dict[str, Callable[[int], Any]] = {"logistic": _logistic, "trees": _trees, "boosting": _boosting}
_TABLES_ONLY = ("trees", "boosting")  # nobody fits these to hundreds of pixels or features of an encoder
CLASSIFIERS: dict[str, tuple[str, str]] = {  # name: model and way
    model if way == PLAIN else f"{model}+{way}": (model, way)
    for model in MODELS
    for way in (PLAIN, JUDGED, CLEANLEARNING)
}
NAMES = (*RECIPES, PROBE, *CLASSIFIERS)


def contenders(setting: TrainingSetting, names: Sequence[str]) -> list[str]:
    """The names that take part in the setting.

    >>> contenders(TrainingSetting("fashion", None), ["fine", "probe", "trees", "finetune"])
    ['fine']
    """
    return [name for name in names if _takes_part(name, setting)]


def select_contenders(names: Sequence[str] | None) -> list[str]:
    """The named ones, checked; all when None."""
    for name in names or ():
        check_name(name, NAMES, by=_COMMAND, what="recipe")
    return list(dict.fromkeys(names)) if names else list(NAMES)


def check_any(requests: Sequence[Any], names: Sequence[str]) -> None:
    """Raise `InvalidOption` when none of the names takes part in any of the settings."""
    if not requests:
        raise InvalidOption(f"{_COMMAND}: {', '.join(names)} takes part in none of these settings")


def describe(name: str) -> dict[str, Any]:
    """What is trained without a network, as plain values; the judge is named as a component."""
    if name == PROBE:
        return recipe(PROBE).to_dict()
    model, treatment = CLASSIFIERS[name]
    judged = {"judged": recipe(PROBE).to_dict()} if treatment == JUDGED else {}
    return {"model": repr(MODELS[model](0)), "way": treatment, **judged}


def _takes_part(name: str, setting: TrainingSetting) -> bool:
    if name in RECIPES:
        return recipe(name).net != "encoder"  # no setting has a pretrained network to tune
    if name in CLASSIFIERS and CLASSIFIERS[name][0] in _TABLES_ONLY:
        return setting.data in TABLES
    return setting.net == "mlp"  # vectors
