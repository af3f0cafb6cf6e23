"""scikit-learn's own checks of an estimator, for every detector; the exceptions are listed with their reasons."""

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from eigenclean import detector
from eigenclean.detect import DETECTORS, Detector
from eigenclean.errors import InvalidData

pytest.importorskip("sklearn", minversion="1.6", reason="tags and expected failures came with scikit-learn 1.6")
utils: Any = import_module("sklearn.utils")
estimator_checks: Any = import_module("sklearn.utils.estimator_checks")

FASTER = [
    pytest.param(name, marks=pytest.mark.slow if name in ("judge", "vote") else ()) for name in sorted(DETECTORS)
]
EXPECTED_FAILURES = {
    "check_methods_sample_order_invariance": "score_samples(X, y) scores labels, so it needs y",
    "check_methods_subset_invariance": "score_samples(X, y) scores labels, so it needs y",
    "check_all_zero_sample_weights_error": "a class without any weight is learned from all its samples",
    "check_dtype_object": "columns of objects are refused in one sentence, a ValueError: they mostly hold text",
}
# FINE has an option called `score`, which the check takes for the method of that name.
EXPECTED_FAILURES_OF_FINE = {
    "check_n_features_in_after_fitting": "the option `score` is no method; n_features_in_ is tested below",
}


def expected_failures(estimator: Detector) -> dict[str, str]:
    return EXPECTED_FAILURES | (EXPECTED_FAILURES_OF_FINE if "score" in estimator.get_params() else {})


# The judge, and `vote`, which runs it and others, fit some hundred times here; `make test-all` tests them too.
SLOW = ("judge", "vote")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in sorted(DETECTORS)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_checks_of_scikit_learn(name: str) -> None:
    allowed = expected_failures(detector(name))
    results: list[dict[str, Any]] = estimator_checks.check_estimator(detector(name), on_fail=None)
    assert len(results) > 40
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert set(failed) == set(allowed), {check: str(failed[check]) for check in set(failed) - set(allowed)}


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_a_detector_needs_labels_and_says_so(name: str) -> None:
    assert utils.get_tags(detector(name)).target_tags.required


@pytest.mark.filterwarnings("ignore::eigenclean.errors.EigencleanWarning")
@pytest.mark.parametrize("name", FASTER)
def test_the_columns_of_a_frame_are_remembered_and_checked(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    names = ["a", "b", "c", "d"]
    judge = detector(name)
    expected = clone(judge).fit(X, y).score_samples(X, y)
    other = ["a", "b", "d", "c"]
    table = pa.table(dict(zip(names, X.T, strict=True)))
    for frame, swapped in (
        (pd.DataFrame(X, columns=names), pd.DataFrame(X, columns=other)),
        (pl.DataFrame(X, schema=names), pl.DataFrame(X, schema=other)),
        (table, table.select(other)),
    ):
        fitted = clone(judge).fit(frame, y)
        assert fitted.n_features_in_ == 4
        assert fitted.feature_names_in_.tolist() == names
        np.testing.assert_allclose(
            fitted.score_samples(X, y), expected, rtol=1e-9
        )  # without names there is no check
        with pytest.raises(InvalidData, match="column 2 is 'd' instead of 'c'"):
            fitted.score_samples(swapped, y)
        with pytest.raises(InvalidData, match="fitted on 4 features, got 3"):
            fitted.judge(X[:, :3], y)
        assert not hasattr(fitted.fit(X, y), "feature_names_in_")


def test_sparse_features_are_refused_in_one_sentence() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidData, match=r"FINE: sparse features are not supported; give X\.toarray\(\)"):
        detector("fine").fit(sparse.csr_array(X), y)
