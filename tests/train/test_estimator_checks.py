"""scikit-learn's own checks of an estimator, for `RobustClassifier`; exceptions are listed with their reasons."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from eigenclean import RobustClassifier
from eigenclean.errors import InvalidData
from eigenclean.train import Optimiser, Recipe, Stage

pytest.importorskip("sklearn", minversion="1.6", reason="tags and expected failures came with scikit-learn 1.6")
estimator_checks: Any = import_module("sklearn.utils.estimator_checks")

EXPECTED_FAILURES = {
    "check_dtype_object": "columns of objects are refused in one sentence, a ValueError: they mostly hold text",
    "check_supervised_y_2d": "labels in a column (n x 1) are refused, where scikit-learn warns and flattens them",
    "check_fit2d_predict1d": "one row without a second dimension is refused, in other words than scikit-learn's",
}
# Few epochs with a large learning rate: the checks fit the classifier about a hundred times.
QUICK = Recipe("quick", (Stage(5),), optimiser=Optimiser("adamw", lr=0.1, batch_size=32))


def quick() -> RobustClassifier:
    return RobustClassifier(QUICK, net="linear", device="cpu")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        quick(),
        RobustClassifier("probe"),
        RobustClassifier(estimator=DecisionTreeClassifier(random_state=0), selector="knn"),
    ],
    ids=["network", "probe", "estimator"],
)
def test_checks_of_scikit_learn(model: RobustClassifier) -> None:
    results: list[dict[str, Any]] = estimator_checks.check_estimator(model, on_fail=None)
    assert len(results) > 40
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    unexpected = {name: repr(failed[name]) for name in failed.keys() - EXPECTED_FAILURES.keys()}
    assert set(failed) == set(EXPECTED_FAILURES), unexpected


@pytest.mark.filterwarnings("ignore:Judge.*kept whole")  # the images are noise
def test_the_columns_of_a_frame_are_remembered_checked_and_forgotten() -> None:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = quick().fit(frame, y)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(model.predict(frame), model.predict(X))
    with pytest.raises(InvalidData, match="column 2 is 'd' instead of 'c'"):
        model.predict(frame[["a", "b", "d", "c"]])
    assert not hasattr(clone(model).fit(X, y), "feature_names_in_")
    model.fit(np.random.default_rng(0).random((12, 4, 4), dtype=np.float32), np.arange(12) % 2)
    assert not hasattr(model, "n_features_in_")  # images have no columns
    assert not hasattr(model, "feature_names_in_")


def test_a_saved_classifier_still_checks_the_number_of_columns(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    quick().fit(X, y).save(tmp_path)
    model = RobustClassifier.load(tmp_path)
    assert model.n_features_in_ == 4
    with pytest.raises(InvalidData, match="X has 3 features, but RobustClassifier is expecting 4 features"):
        model.predict(X[:, :3])


def test_sparse_features_and_missing_labels_are_refused_in_one_sentence() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidData, match=r"sparse features are not supported; give X\.toarray\(\)"):
        quick().fit(sparse.csr_array(X), y)
    with pytest.raises(InvalidData, match="requires y to be passed, but the target y is None"):
        quick().fit(X, None)
